//! The proofs: the responses of host and controller (Base, section 8.13.5.6 and following).
//!
//! ```text
//! key       the secret, or HMAC(secret, name of its owner ‖ "NVMe-over-Fabrics")
//! Ca        C, or HMAC(H(g^xy), C)
//! response  HMAC(key, Ca ‖ sequence ‖ transaction ‖ 00 ‖ role ‖ own name ‖ 00 ‖ name of the other)
//! ```

use crate::group::EXPONENT_BYTES;
use crate::hash::HashFunction;
use crate::secret::Secret;

/// Random bytes that one side of an exchange uses.
pub const ENTROPY_BYTES: usize = 64 + EXPONENT_BYTES + 4 + 2;

/// Random bytes for one side of one exchange. They are never used twice.
#[derive(Clone)]
pub struct Entropy(pub [u8; ENTROPY_BYTES]);

impl std::fmt::Debug for Entropy {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Entropy(…)")
    }
}

impl Entropy {
    /// A challenge.
    pub(crate) fn challenge(&self, hash: HashFunction) -> &[u8] {
        &self.0[..hash.bytes()]
    }

    /// A private exponent.
    pub(crate) fn exponent(&self) -> [u8; EXPONENT_BYTES] {
        let mut exponent = [0; EXPONENT_BYTES];
        exponent.copy_from_slice(&self.0[64..64 + EXPONENT_BYTES]);
        exponent
    }

    /// A sequence number, which is never 0.
    pub(crate) fn sequence(&self) -> u32 {
        let [.., a, b, c, d, _, _] = self.0;
        u32::from_le_bytes([a, b, c, d]).max(1)
    }

    /// A transaction identifier.
    pub(crate) fn transaction(&self) -> u16 {
        let [.., a, b] = self.0;
        u16::from_le_bytes([a, b])
    }
}

/// The side that proves its identity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Role<'a> {
    /// The name of a role in a response.
    pub(crate) word: &'static [u8],
    pub(crate) own_name: &'a str,
    pub(crate) other_name: &'a str,
}

impl<'a> Role<'a> {
    pub(crate) fn host(host: &'a str, subsystem: &'a str) -> Role<'a> {
        Role { word: b"HostHost", own_name: host, other_name: subsystem }
    }

    pub(crate) fn controller(host: &'a str, subsystem: &'a str) -> Role<'a> {
        Role { word: b"Controller", own_name: subsystem, other_name: host }
    }
}

/// A challenge that was sent.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) hash: HashFunction,
    /// The challenge, combined with the shared secret of the group.
    value: Vec<u8>,
    sequence: u32,
    transaction: u16,
}

impl Question {
    pub(crate) fn new(
        hash: HashFunction,
        (challenge, sequence): (&[u8], u32),
        shared: Option<&[u8]>,
        transaction: u16,
    ) -> Question {
        let value = match shared {
            None => challenge.to_vec(),
            Some(shared) => hash.hmac(&hash.digest(shared), &[challenge]),
        };
        Question { hash, value, sequence, transaction }
    }

    fn with_parts<T>(&self, role: &Role<'_>, then: impl FnOnce(&[&[u8]]) -> T) -> T {
        let zero = &[0][..];
        let (sequence, transaction) = (self.sequence.to_le_bytes(), self.transaction.to_le_bytes());
        let (own, other) = (role.own_name.as_bytes(), role.other_name.as_bytes());
        then(&[&self.value, &sequence, &transaction, zero, role.word, own, zero, other])
    }

    /// The response of the owner of a secret.
    pub(crate) fn answer(&self, secret: &Secret, role: &Role<'_>) -> Vec<u8> {
        self.with_parts(role, |parts| self.hash.hmac(&secret.key(role.own_name), parts))
    }

    /// Whether a response is correct, which proves knowledge of the secret.
    pub(crate) fn is_answered(&self, answer: &[u8], secret: &Secret, role: &Role<'_>) -> bool {
        self.with_parts(role, |parts| self.hash.hmac_is(&secret.key(role.own_name), parts, answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_depends_on_all_that_it_is_made_of() {
        let secret = Secret::new(&[1; 32], None).unwrap();
        let role = Role::host("nqn.host", "nqn.drive");
        let hash = HashFunction::Sha256;
        let question = Question::new(hash, (&[5; 32], 9), None, 3);
        let mut whole = vec![5; 32];
        whole.extend_from_slice(&[9, 0, 0, 0, 3, 0, 0]);
        whole.extend_from_slice(b"HostHostnqn.host\0nqn.drive");
        let answer = question.answer(&secret, &role);
        assert_eq!(answer, hash.hmac(&[1; 32], &[&whole]));
        assert!(question.is_answered(&answer, &secret, &role));
        let other_secret = Secret::new(&[2; 32], None).unwrap();
        assert!(!question.is_answered(&answer, &other_secret, &role));
        for other in [Role::controller("nqn.host", "nqn.drive"), Role::host("nqn.hosu", "nqn.drive")] {
            assert!(!question.is_answered(&answer, &secret, &other));
        }
        for other in [
            Question::new(hash, (&[6; 32], 9), None, 3),
            Question::new(hash, (&[5; 32], 8), None, 3),
            Question::new(hash, (&[5; 32], 9), Some(&[1]), 3),
            Question::new(hash, (&[5; 32], 9), None, 4),
        ] {
            assert!(!other.is_answered(&answer, &secret, &role));
        }
    }
}
