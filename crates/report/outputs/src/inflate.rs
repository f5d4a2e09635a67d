//! Compressed logs (`log_store_compressed`): the text of a log as one zlib stream (RFC 1950), in a
//! file whose name ends with `.fz`.
//!
//! fio stores its own binary entries in such files, so neither program reads those of the other.

use std::io::{self, Read, Write};

use flate2::read::ZlibDecoder;

/// The end of the name of a compressed log.
pub const COMPRESSED_END: &str = "fz";

/// Writes the text of a compressed log.
///
/// # Errors
/// The input is no compressed log, or is cut off; the output cannot be written.
pub fn inflate(from: impl Read, to: &mut impl Write) -> io::Result<u64> {
    io::copy(&mut ZlibDecoder::new(from), to)
}

/// The text at the beginning of a compressed log, as far as `head` has it, at most `most` bytes;
/// `None` if it is no compressed log.
pub(crate) fn beginning(head: &[u8], most: usize) -> Option<Vec<u8>> {
    let (mut text, mut decoder) = (vec![0; most], ZlibDecoder::new(head));
    let mut length = 0;
    while length < most {
        match decoder.read(&mut text[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            // The file is longer than its beginning.
            Err(_) if length > 0 => break,
            Err(_) => return None,
        }
    }
    text.truncate(length);
    Some(text)
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn compressed(text: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn text_comes_back_and_a_part_shows_its_beginning() {
        let text: String = (0..20_000).map(|line| format!("{line}, {}, 0, 4096, 0\n", line * 7919 % 10_007)).collect();
        let stored = compressed(text.as_bytes());
        assert!(stored.len() < text.len() / 2);
        let mut back = Vec::new();
        inflate(&stored[..], &mut back).unwrap();
        assert!(back == text.as_bytes());
        assert!(inflate(&stored[..stored.len() / 2], &mut Vec::new()).is_err(), "it is cut off");
        let start = beginning(&stored[..8192], 4096).unwrap();
        assert!(text.as_bytes().starts_with(&start) && start.len() == 4096);
        assert_eq!(beginning(&compressed(b""), 10), Some(Vec::new()));
        for other in [&b"0, 1, 2, 3\n"[..], b"", b"\x78\x9c\xff\xff\xff"] {
            assert_eq!(beginning(other, 10), None, "{other:?}");
        }
    }
}
