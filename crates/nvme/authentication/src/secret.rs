//! Secrets in the form that users store: `DHHC-1:HH:BASE64:` (Base, section 8.13.5.8).
//!
//! ```text
//! DHHC-1 : 01 : Base64 of the secret and of its CRC-32, least significant byte first :
//!          └ hash that turns the secret into the key, with the name of its owner; 00 for none
//! ```

use std::fmt;
use std::str::FromStr;

use iolab_text::base64;

use crate::hash::HashFunction;

/// The text that is hashed with a secret and a name into a key.
const PURPOSE: &[u8] = b"NVMe-over-Fabrics";

/// A secret of a host or of a subsystem.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret {
    bytes: Box<[u8]>,
    /// The identifier of the hash function that derives the key from it; 0 for none.
    transform: u8,
}

/// Why a text is not a valid secret. The error contains no text of the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The text does not have this form.
    #[error("a secret has the form DHHC-1:HH:BASE64: (`iolab nvme gen-dhchap-key` makes one)")]
    Form,
    /// The text has another version.
    #[error("only secrets of version DHHC-1 are known")]
    Version,
    /// The hash function is unknown.
    #[error("the hash function of a secret is 00 (none), 01 (SHA-256), 02 (SHA-384) or 03 (SHA-512)")]
    Hash,
    /// The length is invalid, or does not match the hash function.
    #[error("a secret of this kind has {expected} bytes; this one has {found}")]
    Length {
        /// The expected length.
        expected: &'static str,
        /// The actual length.
        found: usize,
    },
    /// A character is missing or wrong.
    #[error("the check sum of the secret is wrong: a part of it is missing or was changed")]
    Checksum,
}

/// The lengths of secrets for each transformation, by its identifier.
const LENGTHS: [(&[usize], &str); 4] = [(&[32, 48, 64], "32, 48 or 64"), (&[32], "32"), (&[48], "48"), (&[64], "64")];

impl Secret {
    /// Creates a secret from random bytes. It uses as many as the hash function returns.
    ///
    /// # Errors
    /// There are too few bytes.
    pub fn new(bytes: &[u8], transform: Option<HashFunction>) -> Result<Secret, SecretError> {
        let identifier = transform.map_or(0, HashFunction::identifier);
        let (lengths, expected) = LENGTHS[usize::from(identifier)];
        if !lengths.contains(&bytes.len()) {
            return Err(SecretError::Length { expected, found: bytes.len() });
        }
        Ok(Secret { bytes: bytes.into(), transform: identifier })
    }

    /// The secret in its text form.
    pub fn text(&self) -> String {
        let mut whole = self.bytes.to_vec();
        whole.extend_from_slice(&crc32fast::hash(&self.bytes).to_le_bytes());
        format!("DHHC-1:{:02x}:{}:", self.transform, base64::encode(&whole))
    }

    /// The key for HMAC, for the host or subsystem that owns the secret.
    pub(crate) fn key(&self, owner: &str) -> Vec<u8> {
        match HashFunction::of_identifier(self.transform) {
            None => self.bytes.to_vec(),
            Some(function) => function.hmac(&self.bytes, &[owner.as_bytes(), PURPOSE]),
        }
    }
}

impl FromStr for Secret {
    type Err = SecretError;

    fn from_str(text: &str) -> Result<Secret, SecretError> {
        let mut words = text.trim().split(':');
        let (version, transform, bytes) = match (words.next(), words.next(), words.next(), words.next(), words.next()) {
            (Some(version), Some(transform), Some(bytes), Some("") | None, None) => (version, transform, bytes),
            _ => return Err(SecretError::Form),
        };
        if version != "DHHC-1" {
            return Err(if version.starts_with("DHHC-") { SecretError::Version } else { SecretError::Form });
        }
        let transform = match transform {
            "00" => None,
            "01" | "02" | "03" => HashFunction::of_identifier(transform.as_bytes()[1] - b'0'),
            _ => return Err(SecretError::Hash),
        };
        let whole = base64::decode(bytes).ok_or(SecretError::Form)?;
        let Some((bytes, sum)) = whole.split_last_chunk::<4>() else { return Err(SecretError::Checksum) };
        let secret = Secret::new(bytes, transform)?;
        if crc32fast::hash(bytes).to_le_bytes() != *sum {
            return Err(SecretError::Checksum);
        }
        Ok(secret)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Secret(DHHC-1:{:02x}, {} bytes)", self.transform, self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let bytes: Vec<u8> = (0..64).collect();
        for (length, transform) in [
            (32, None),
            (48, None),
            (64, None),
            (32, Some(HashFunction::Sha256)),
            (48, Some(HashFunction::Sha384)),
            (64, Some(HashFunction::Sha512)),
        ] {
            let secret = Secret::new(&bytes[..length], transform).unwrap();
            let text = secret.text();
            assert_eq!(text.parse::<Secret>(), Ok(secret.clone()), "{text}");
            // Some programs store a secret without the last colon; a line end is also accepted.
            assert_eq!(format!("{}\n", &text[..text.len() - 1]).parse::<Secret>(), Ok(secret.clone()));
            let shown = format!("{secret:?}");
            assert!(!shown.contains(&text[10..20]), "{shown}");
        }
    }

    #[test]
    fn a_known_secret_has_its_text() {
        // The CRC-32 of 32 zero bytes is 190A55AD.
        let secret = Secret::new(&[0; 32], None).unwrap();
        assert_eq!(secret.text(), format!("DHHC-1:00:{}CtVQoZ:", "A".repeat(42)));
    }

    #[test]
    fn what_is_no_secret_says_why() {
        let good = Secret::new(&[7; 32], Some(HashFunction::Sha256)).unwrap().text();
        let changed = good.replacen("BwcH", "BwcI", 1);
        let cases = [
            ("", SecretError::Form),
            ("hunter2", SecretError::Form),
            ("DHHC-1:01", SecretError::Form),
            ("DHHC-2:01:AAAA:", SecretError::Version),
            ("DHHC-1:04:AAAA:", SecretError::Hash),
            ("DHHC-1:1:AAAA:", SecretError::Hash),
            ("DHHC-1:01:****:", SecretError::Form),
            ("DHHC-1:01:AAAA:", SecretError::Checksum),
            ("DHHC-1:01:AAAAAAAA:", SecretError::Length { expected: "32", found: 2 }),
            (changed.as_str(), SecretError::Checksum),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Secret>(), Err(expected), "{text}");
        }
        assert_eq!(format!("{good}x").parse::<Secret>(), Err(SecretError::Form));
    }

    #[test]
    fn a_key_depends_on_the_secret_and_its_owner_unless_it_is_taken_as_it_is() {
        let plain = Secret::new(&[7; 32], None).unwrap();
        assert_eq!(plain.key("nqn.a"), [7; 32]);
        let transformed = Secret::new(&[7; 32], Some(HashFunction::Sha256)).unwrap();
        assert_eq!(transformed.key("nqn.a"), HashFunction::Sha256.hmac(&[7; 32], &[b"nqn.aNVMe-over-Fabrics"]));
        assert_ne!(transformed.key("nqn.a"), transformed.key("nqn.b"));
    }
}
