//! The head of a response (RFC 9112), bounded, and how long its body is.

/// The longest head that is taken.
pub(crate) const MOST_HEAD_BYTES: usize = 32 << 10;

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyLength {
    /// There are so many bytes.
    Known(u64),
    /// It comes in chunks, each with its length.
    Chunks,
    /// The connection ends with it.
    UntilClosed,
}

/// The head of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    pub(crate) body: BodyLength,
    /// Whether the connection stays open.
    pub(crate) stays: bool,
    /// Whether the object has iolab's mark.
    pub(crate) is_marked: bool,
    /// Bytes of the head.
    pub(crate) bytes: usize,
}

/// Reads the head at the beginning of `bytes`; `None` if it is not whole.
///
/// `has_body` says whether the method's response may have one: that to HEAD has none.
pub(crate) fn head(bytes: &[u8], has_body: bool) -> Result<Option<ResponseHead>, &'static str> {
    let Some(end) = find(bytes, b"\r\n\r\n") else {
        return if bytes.len() > MOST_HEAD_BYTES { Err("the head of a response has no end") } else { Ok(None) };
    };
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| "the head of a response is no text")?;
    let mut lines = text.split("\r\n");
    let status_line = lines.next().unwrap_or_default();
    let version = status_line.strip_prefix("HTTP/1.").ok_or("the answer is no HTTP/1")?;
    let status = version.get(2..5).and_then(|digits| digits.parse().ok()).ok_or("a response without a status")?;
    let mut stays = version.starts_with('1');
    let (mut length, mut is_chunked, mut is_marked) = (None, false, false);
    for line in lines {
        let (name, value) = line.split_once(':').ok_or("a header without a colon")?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {
                let number = value.parse().map_err(|_| "a Content-Length that is no number")?;
                if length.is_some_and(|other| other != number) {
                    return Err("two different Content-Length");
                }
                length = Some(number);
            }
            "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => is_chunked = true,
            "transfer-encoding" => return Err("an unknown Transfer-Encoding"),
            "connection" if value.eq_ignore_ascii_case("close") => stays = false,
            "connection" if value.eq_ignore_ascii_case("keep-alive") => stays = true,
            name if crate::request::MARKS.contains(&name) => is_marked = true,
            _ => {}
        }
    }
    let body = match (is_chunked, length) {
        _ if !has_body || status < 200 || status == 204 || status == 304 => BodyLength::Known(0),
        (true, _) => BodyLength::Chunks,
        (false, Some(length)) => BodyLength::Known(length),
        (false, None) => {
            stays = false;
            BodyLength::UntilClosed
        }
    };
    Ok(Some(ResponseHead { status, body, stays, is_marked, bytes: end + 4 }))
}

/// The length of the chunk at the beginning of `bytes`, and the bytes before its data; `None` if
/// they have not come.
pub(crate) fn chunk(bytes: &[u8]) -> Result<Option<(u64, usize)>, &'static str> {
    const MOST_LINE: usize = 256;
    let Some(end) = find(bytes, b"\r\n") else {
        return if bytes.len() > MOST_LINE { Err("the length of a chunk has no end") } else { Ok(None) };
    };
    let line = std::str::from_utf8(&bytes[..end]).map_err(|_| "the length of a chunk is no number")?;
    let digits = line.split(';').next().unwrap_or_default().trim();
    let known = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let length = u64::from_str_radix(digits, 16).ok().filter(|_| known);
    length.map(|length| Some((length, end + 2))).ok_or("the length of a chunk is no number")
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// The errno of a status.
pub(crate) fn errno(status: u16) -> i32 {
    match status {
        401 | 403 | 407 => libc::EACCES,
        404 | 410 => libc::ENOENT,
        405 | 501 => libc::EOPNOTSUPP,
        408 | 504 => libc::ETIMEDOUT,
        409 | 423 => libc::EBUSY,
        411..=417 | 400 => libc::EINVAL,
        429 | 503 => libc::EAGAIN,
        507 => libc::ENOSPC,
        _ => libc::EIO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<ResponseHead>, &'static str> {
        head(text.as_bytes(), true)
    }

    #[test]
    fn heads_say_what_follows() {
        let table = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", 200, BodyLength::Known(7), true),
            ("HTTP/1.1 200 OK\r\ncontent-length:7\r\nConnection: Close\r\n\r\n", 200, BodyLength::Known(7), false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\n", 200, BodyLength::Known(7), false),
            ("HTTP/1.1 206 \r\nTransfer-Encoding: chunked\r\n\r\n", 206, BodyLength::Chunks, true),
            ("HTTP/1.1 204\r\n\r\n", 204, BodyLength::Known(0), true),
            ("HTTP/1.1 404 no\r\n\r\n", 404, BodyLength::UntilClosed, false),
            ("HTTP/1.1 100 Continue\r\n\r\n", 100, BodyLength::Known(0), true),
        ];
        for (text, status, body, stays) in table {
            let read = read(text).unwrap().unwrap();
            assert_eq!((read.status, read.body, read.stays, read.bytes), (status, body, stays, text.len()), "{text}");
            for end in 0..text.len() {
                assert_eq!(head(&text.as_bytes()[..end], true), Ok(None));
            }
        }
        let marked = "HTTP/1.1 200 OK\r\nX-Amz-Meta-Iolab: 1\r\nContent-Length: 9\r\n\r\n";
        let marked = head(marked.as_bytes(), false).unwrap().unwrap();
        assert_eq!((marked.is_marked, marked.body), (true, BodyLength::Known(0)));
    }

    #[test]
    fn heads_that_make_no_sense_are_refused() {
        for text in [
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1\r\n\r\n",
            "HTTP/1.1 abc\r\n\r\n",
            "HTTP/2 200\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(head(&[0xff; 4].repeat(MOST_HEAD_BYTES), true).is_err());
        assert!(head(b"HTTP/1.1 200 \xff\r\n\r\n", true).is_err());
    }

    #[test]
    fn lengths_of_chunks_are_read() {
        for (text, expected) in
            [("1a\r\n", Ok(Some((26, 4)))), ("0;x=y\r\n", Ok(Some((0, 7)))), ("1a\r", Ok(None)), ("", Ok(None))]
        {
            assert_eq!(chunk(text.as_bytes()), expected, "{text}");
        }
        for text in ["\r\n", "+1\r\n", "-1\r\n", "xyz\r\n", "11111111111111111\r\n"] {
            assert!(chunk(text.as_bytes()).is_err(), "{text}");
        }
        assert!(chunk(&[b'1'; 300]).is_err());
    }
}
