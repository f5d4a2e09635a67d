//! `iolab nvme gen-dhchap-key`: secrets for DH-HMAC-CHAP.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use iolab_nvme_authentication::{HashFunction, Secret};

use crate::exit::ExitFailure;

/// Makes a secret. Returns the text to print: the secret, unless it goes to a file.
pub(super) fn make(
    hmac: u8,
    key_length: Option<usize>,
    given: Option<&str>,
    output: Option<&Path>,
) -> Result<String, ExitFailure> {
    let mistake = |what: String| ExitFailure::mistake(format!("iolab: {what}"));
    let transform = HashFunction::of_identifier(hmac);
    let bytes = match given {
        Some(digits) => {
            of_hex(digits).ok_or_else(|| mistake("--secret takes pairs of hexadecimal digits".to_owned()))?
        }
        None => {
            let length = key_length.unwrap_or_else(|| transform.map_or(32, HashFunction::bytes));
            random(length.min(64)).map_err(|error| ExitFailure::failed(format!("iolab: no randomness: {error}")))?
        }
    };
    if key_length.is_some_and(|length| length != bytes.len()) {
        return Err(mistake(format!("--key-length: the secret would have {} bytes; omit it", bytes.len())));
    }
    let secret = Secret::new(&bytes, transform).map_err(|error| mistake(error.to_string()))?;
    let text = format!("{}\n", secret.text());
    let Some(path) = output else { return Ok(text) };
    let failed = |error: std::io::Error| ExitFailure::failed(format!("iolab: {}: {error}", path.display()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    Ok(String::new())
}

fn random(length: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    // Requests up to 256 bytes are never cut short (getrandom(2)).
    let drawn = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    if drawn < length { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}

fn of_hex(digits: &str) -> Option<Vec<u8>> {
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return None;
    }
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(made: Result<String, ExitFailure>) -> String {
        format!("{:?}", made.unwrap_err())
    }

    #[test]
    fn secrets_are_random_or_what_was_given() {
        for (hmac, length, expected) in [(0, None, 32), (0, Some(48), 48), (1, None, 32), (3, None, 64)] {
            let text = make(hmac, length, None, None).unwrap();
            assert!(text.starts_with(&format!("DHHC-1:0{hmac}:")) && text.ends_with(":\n"), "{text}");
            assert!(text.parse::<Secret>().is_ok(), "{text}");
            assert_eq!(text.len(), 10 + (expected + 4_usize).div_ceil(3) * 4 + 2);
            assert_ne!(text, make(hmac, length, None, None).unwrap());
        }
        let text = make(0, None, Some(&"07".repeat(32)), None).unwrap();
        assert_eq!(text.trim(), Secret::new(&[7; 32], None).unwrap().text());
        assert!(said(make(1, Some(48), None, None)).contains("has 32 bytes"));
        assert!(said(make(0, None, Some("0"), None)).contains("hexadecimal"));
        assert!(said(make(0, Some(32), Some("0707"), None)).contains("2 bytes"));
    }

    #[test]
    fn a_file_is_made_for_its_owner_alone_and_none_is_replaced() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        assert_eq!(make(0, None, None, Some(&path)).unwrap(), "");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let before = std::fs::read_to_string(&path).unwrap();
        assert!(before.parse::<Secret>().is_ok());
        assert!(said(make(0, None, None, Some(&path))).contains("exists"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    }
}
