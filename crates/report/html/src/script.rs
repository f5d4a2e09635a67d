//! The one script of a page, and what lets a browser run it and no other.
//!
//! The policy of a page names the script's hash, so nothing that gets into a page from outside can
//! run. A page reads as well without it.

/// The text between the tags, byte by byte.
pub(crate) const SCRIPT: &str = include_str!("script.js");

/// SHA-256 of [`SCRIPT`] as policies have it (base64). A test computes it again.
pub(crate) const HASH: &str = "chtYs+hOJP1awgxiw+fg2rc5qpfIztsb/QahoNmcm+0=";

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let group = |bytes: &[u8]| {
            let bits = bytes.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - bytes.len()));
            let letter = |place: usize| match place <= bytes.len() {
                true => char::from(LETTERS[(bits >> (18 - 6 * place)) as usize & 63]),
                false => '=',
            };
            (0..4).map(letter).collect::<String>()
        };
        bytes.chunks(3).map(group).collect()
    }

    #[test]
    fn the_policy_lets_this_script_run() {
        assert_eq!([base64(b"M"), base64(b"Ma"), base64(b"Man")], ["TQ==", "TWE=", "TWFu"]);
        assert_eq!(HASH, base64(&Sha256::digest(SCRIPT)), "script.js has changed: this is its hash now");
        assert!(!SCRIPT.contains("</"), "it would end too early");
    }
}
