//! The paths of objects.

/// Appends a path as it stands in a request and in what is signed: bytes other than letters,
/// digits, `-._~` and `/` as `%XX` (RFC 3986).
pub(crate) fn append_path(out: &mut String, name: &str) {
    if !name.starts_with('/') {
        out.push('/');
    }
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                out.push('%');
                out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                out.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
    }
}

/// Appends a number.
pub(crate) fn append_number(out: &mut String, number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    digits[at..].iter().for_each(|digit| out.push(char::from(*digit)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_numbers_are_written() {
        for (name, expected) in [("/b/o", "/b/o"), ("b/o", "/b/o"), ("/b/a b+é%", "/b/a%20b%2B%C3%A9%25")] {
            let mut out = String::new();
            append_path(&mut out, name);
            assert_eq!(out, expected);
        }
        for number in [0, 7, 10, u64::MAX] {
            let mut out = String::from("x");
            append_number(&mut out, number);
            assert_eq!(out, format!("x{number}"));
        }
    }
}
