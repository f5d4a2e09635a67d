//! The hash functions of DH-HMAC-CHAP, and HMAC with each of them.

use std::fmt;

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256, Sha384, Sha512};

/// A hash function (Base, figure of hash function identifiers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HashFunction {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl HashFunction {
    /// All functions, in the order in which a host offers them.
    pub const ALL: [HashFunction; 3] = [HashFunction::Sha256, HashFunction::Sha384, HashFunction::Sha512];
    /// The names that users write, in the order of [`HashFunction::ALL`].
    pub const WORDS: [&'static str; 3] = ["sha256", "sha384", "sha512"];

    /// Its identifier in messages and secrets.
    pub const fn identifier(self) -> u8 {
        self as u8 + 1
    }

    /// The function with an identifier.
    pub fn of_identifier(identifier: u8) -> Option<HashFunction> {
        HashFunction::ALL.into_iter().find(|one| one.identifier() == identifier)
    }

    /// Parses a name that users write.
    pub fn of_word(word: &str) -> Option<HashFunction> {
        HashFunction::WORDS.iter().position(|known| *known == word).map(|place| HashFunction::ALL[place])
    }

    /// Bytes of its hash values.
    pub const fn bytes(self) -> usize {
        match self {
            HashFunction::Sha256 => 32,
            HashFunction::Sha384 => 48,
            HashFunction::Sha512 => 64,
        }
    }

    /// The hash of some bytes.
    pub(crate) fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            HashFunction::Sha256 => Sha256::digest(bytes).to_vec(),
            HashFunction::Sha384 => Sha384::digest(bytes).to_vec(),
            HashFunction::Sha512 => Sha512::digest(bytes).to_vec(),
        }
    }

    /// HMAC over the concatenated parts.
    pub(crate) fn hmac(self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        match self {
            HashFunction::Sha256 => fed::<Hmac<Sha256>>(key, parts).finalize().into_bytes().to_vec(),
            HashFunction::Sha384 => fed::<Hmac<Sha384>>(key, parts).finalize().into_bytes().to_vec(),
            HashFunction::Sha512 => fed::<Hmac<Sha512>>(key, parts).finalize().into_bytes().to_vec(),
        }
    }

    /// Whether HMAC over the parts is `expected`. The time does not depend on where they differ.
    pub(crate) fn hmac_is(self, key: &[u8], parts: &[&[u8]], expected: &[u8]) -> bool {
        match self {
            HashFunction::Sha256 => fed::<Hmac<Sha256>>(key, parts).verify_slice(expected).is_ok(),
            HashFunction::Sha384 => fed::<Hmac<Sha384>>(key, parts).verify_slice(expected).is_ok(),
            HashFunction::Sha512 => fed::<Hmac<Sha512>>(key, parts).verify_slice(expected).is_ok(),
        }
    }
}

fn fed<M: Mac + hmac::digest::KeyInit>(key: &[u8], parts: &[&[u8]]) -> M {
    let Ok(mut mac) = <M as Mac>::new_from_slice(key) else { unreachable!("HMAC takes keys of every length") };
    for part in parts {
        mac.update(part);
    }
    mac
}

impl fmt::Display for HashFunction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(HashFunction::WORDS[*self as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_test_case_of_the_rfc_holds() {
        // RFC 4231, test case 2; the parts are one message.
        let cases = [
            (HashFunction::Sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
            (
                HashFunction::Sha384,
                "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
            ),
        ];
        for (function, expected) in cases {
            let parts: [&[u8]; 2] = [b"what do ya want ", b"for nothing?"];
            let value = function.hmac(b"Jefe", &parts);
            assert_eq!(hex(&value), expected);
            assert_eq!(value.len(), function.bytes());
            assert!(function.hmac_is(b"Jefe", &parts, &value));
            assert!(!function.hmac_is(b"jefe", &parts, &value));
            assert!(!function.hmac_is(b"Jefe", &parts, &value[1..]));
        }
        assert_eq!(hex(&HashFunction::Sha512.digest(b"abc"))[..16], *"ddaf35a193617aba");
    }

    #[test]
    fn identifiers_and_words_name_each() {
        for (function, word) in HashFunction::ALL.into_iter().zip(HashFunction::WORDS) {
            assert_eq!(HashFunction::of_identifier(function.identifier()), Some(function));
            assert_eq!(HashFunction::of_word(word), Some(function));
            assert_eq!(function.to_string(), word);
        }
        assert_eq!((HashFunction::of_identifier(0), HashFunction::of_identifier(4)), (None, None));
        assert_eq!(HashFunction::of_word("md5"), None);
    }
}
