//! Words for errno values.

/// What the system calls `errno`, except EILSEQ, which in I/O reports means that data did not
/// verify.
pub(crate) fn errno_text(errno: i32) -> String {
    const EILSEQ: i32 = 84;
    if errno == EILSEQ {
        return "verification failed".to_owned();
    }
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    match text.rfind(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::errno_text;

    #[test]
    fn texts_name_the_error_only() {
        assert_eq!(errno_text(28), "No space left on device");
        assert_eq!(errno_text(84), "verification failed");
    }
}
