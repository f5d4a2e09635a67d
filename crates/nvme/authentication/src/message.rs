//! Encoding and decoding of the messages of DH-HMAC-CHAP (Base, section 8.13.5.3 and following).
//!
//! Each message begins with its type (0 common, 1 DH-HMAC-CHAP), its identifier, two reserved bytes
//! and the transaction. The rest is described at the function that encodes it.

use std::fmt;

use crate::group::DhGroup;
use crate::hash::HashFunction;

/// The longest message: a reply with the largest hash and group.
pub const MOST_MESSAGE_BYTES: usize = 16 + 2 * 64 + 1024;
/// Bytes of the longest hash value.
const TYPE_COMMON: u8 = 0;
const TYPE_CHAP: u8 = 1;

/// The identifiers, with the type of each.
pub(crate) mod kind {
    use super::{TYPE_CHAP, TYPE_COMMON};

    pub(crate) const NEGOTIATE: (u8, u8) = (TYPE_COMMON, 0x00);
    pub(crate) const CHALLENGE: (u8, u8) = (TYPE_CHAP, 0x01);
    pub(crate) const REPLY: (u8, u8) = (TYPE_CHAP, 0x02);
    pub(crate) const SUCCESS1: (u8, u8) = (TYPE_CHAP, 0x03);
    pub(crate) const SUCCESS2: (u8, u8) = (TYPE_CHAP, 0x04);
    pub(crate) const FAILURE2: (u8, u8) = (TYPE_COMMON, 0xf0);
    pub(crate) const FAILURE1: (u8, u8) = (TYPE_COMMON, 0xf1);
}

/// Bytes of a negotiation with one protocol, and the offsets of its descriptor's parts.
const NEGOTIATE_BYTES: usize = 8 + 64;
const HASHES_AT: usize = 8 + 4;
const GROUPS_AT: usize = HASHES_AT + 30;
/// The identifier of DH-HMAC-CHAP in a descriptor.
const CHAP_PROTOCOL: u8 = 1;
/// Bytes of every other message, without its variable values.
const HEAD_BYTES: usize = 16;

/// Why an authentication failed, as the side that detects it reports it (Base, figure of failure
/// reason code explanations).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthenticationFailure(pub u8);

impl AuthenticationFailure {
    /// The response is wrong.
    pub const FAILED: AuthenticationFailure = AuthenticationFailure(1);
    /// The sides have no common protocol.
    pub const NO_PROTOCOL: AuthenticationFailure = AuthenticationFailure(2);
    /// Only one side wants a secure channel.
    pub const CONCATENATION: AuthenticationFailure = AuthenticationFailure(3);
    /// The sides have no common hash function.
    pub const NO_HASH: AuthenticationFailure = AuthenticationFailure(4);
    /// The sides have no common group.
    pub const NO_GROUP: AuthenticationFailure = AuthenticationFailure(5);
    /// A message with invalid contents.
    pub const PAYLOAD: AuthenticationFailure = AuthenticationFailure(6);
    /// A message that is not the expected one.
    pub const MESSAGE: AuthenticationFailure = AuthenticationFailure(7);
}

impl fmt::Display for AuthenticationFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match *self {
            AuthenticationFailure::FAILED => "the secret does not match",
            AuthenticationFailure::NO_PROTOCOL => "no authentication protocol is known to both",
            AuthenticationFailure::CONCATENATION => "a secure channel (TLS) is wanted",
            AuthenticationFailure::NO_HASH => "no hash function is known to both",
            AuthenticationFailure::NO_GROUP => "no Diffie-Hellman group is known to both",
            AuthenticationFailure::PAYLOAD => "a message has contents that cannot be",
            AuthenticationFailure::MESSAGE => "a message came out of turn",
            AuthenticationFailure(other) => return write!(out, "for reason {other:#04x}"),
        })
    }
}

/// The kind of a message, and its transaction; `None` for invalid bytes.
pub(crate) fn head(bytes: &[u8]) -> Option<((u8, u8), u16)> {
    Some(((*bytes.first()?, *bytes.get(1)?), u16::from_le_bytes([*bytes.get(4)?, *bytes.get(5)?])))
}

fn start((of_type, identifier): (u8, u8), transaction: u16, bytes: usize) -> Vec<u8> {
    let mut message = vec![0; bytes];
    (message[0], message[1]) = (of_type, identifier);
    message[4..6].copy_from_slice(&transaction.to_le_bytes());
    message
}

/// The host's offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Negotiate {
    pub(crate) transaction: u16,
    pub(crate) wants_secure_channel: bool,
    /// Identifiers of hash functions and of groups; `None` if it does not offer this protocol.
    pub(crate) offered: Option<(Vec<u8>, Vec<u8>)>,
}

impl Negotiate {
    /// `6 SC_C; 7 descriptors; 8 (protocol, reserved, hashes, groups, 30 hashes, 30 groups)`
    pub(crate) fn write(transaction: u16) -> Vec<u8> {
        let mut message = start(kind::NEGOTIATE, transaction, NEGOTIATE_BYTES);
        message[7] = 1;
        message[8] = CHAP_PROTOCOL;
        (message[10], message[11]) = (HashFunction::ALL.len() as u8, DhGroup::ALL.len() as u8);
        for (to, one) in message[HASHES_AT..].iter_mut().zip(HashFunction::ALL) {
            *to = one.identifier();
        }
        for (to, one) in message[GROUPS_AT..].iter_mut().zip(DhGroup::ALL) {
            *to = one.identifier();
        }
        message
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Negotiate> {
        let (_, transaction) = head(bytes)?;
        let mut descriptors = bytes.get(8..)?.chunks_exact(64).take(usize::from(bytes[7]));
        let mut found = None;
        if let Some(descriptor) = descriptors.find(|one| one[0] == CHAP_PROTOCOL) {
            let hashes = descriptor[4..34].get(..usize::from(descriptor[2]))?;
            let groups = descriptor[34..64].get(..usize::from(descriptor[3]))?;
            found = Some((hashes.to_vec(), groups.to_vec()));
        }
        Some(Negotiate { transaction, wants_secure_channel: bytes[6] != 0, offered: found })
    }
}

/// A challenge, and the parameters of its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub(crate) transaction: u16,
    pub(crate) hash: u8,
    pub(crate) group: u8,
    pub(crate) sequence: u32,
    pub(crate) value: Vec<u8>,
    pub(crate) public: Vec<u8>,
}

impl Challenge {
    /// `6 bytes of a hash; 8 hash; 9 group; 10 bytes of a public value; 12 sequence; 16 values`
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut message = start(kind::CHALLENGE, self.transaction, HEAD_BYTES);
        message[6] = self.value.len() as u8;
        (message[8], message[9]) = (self.hash, self.group);
        message[10..12].copy_from_slice(&(self.public.len() as u16).to_le_bytes());
        message[12..16].copy_from_slice(&self.sequence.to_le_bytes());
        message.extend_from_slice(&self.value);
        message.extend_from_slice(&self.public);
        message
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Challenge> {
        let (_, transaction) = head(bytes)?;
        let (head, values) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let (value, rest) = values.split_at_checked(head[6].into())?;
        let public = rest.get(..usize::from(u16::from_le_bytes([head[10], head[11]])))?;
        let sequence = u32::from_le_bytes([head[12], head[13], head[14], head[15]]);
        let (value, public) = (value.to_vec(), public.to_vec());
        Some(Challenge { transaction, hash: head[8], group: head[9], sequence, value, public })
    }
}

/// A host's response, and its own challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) transaction: u16,
    pub(crate) response: Vec<u8>,
    /// The host's challenge and its sequence number, if it wants to authenticate the controller.
    pub(crate) challenge: Option<(Vec<u8>, u32)>,
    pub(crate) public: Vec<u8>,
}

impl Reply {
    /// `6 bytes of a hash; 8 has a challenge; 10 bytes of a public value; 12 sequence; 16 values`
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut message = start(kind::REPLY, self.transaction, HEAD_BYTES);
        message[6] = self.response.len() as u8;
        message[8] = self.challenge.is_some().into();
        message[10..12].copy_from_slice(&(self.public.len() as u16).to_le_bytes());
        message.extend_from_slice(&self.response);
        match &self.challenge {
            Some((challenge, sequence)) => {
                message[12..16].copy_from_slice(&sequence.to_le_bytes());
                message.extend_from_slice(challenge);
            }
            // The field of the challenge exists nevertheless.
            None => message.resize(message.len() + self.response.len(), 0),
        }
        message.extend_from_slice(&self.public);
        message
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Reply> {
        let (_, transaction) = head(bytes)?;
        let (head, values) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let (response, rest) = values.split_at_checked(head[6].into())?;
        let (challenge, rest) = rest.split_at_checked(head[6].into())?;
        let public = rest.get(..usize::from(u16::from_le_bytes([head[10], head[11]])))?;
        let sequence = u32::from_le_bytes([head[12], head[13], head[14], head[15]]);
        Some(Reply {
            transaction,
            response: response.to_vec(),
            challenge: (head[8] & 1 != 0).then(|| (challenge.to_vec(), sequence)),
            public: public.to_vec(),
        })
    }
}

/// `6 bytes of a hash; 8 has a response; 16 the response`
pub(crate) fn write_success1(transaction: u16, hash_bytes: usize, response: Option<&[u8]>) -> Vec<u8> {
    let mut message = start(kind::SUCCESS1, transaction, HEAD_BYTES);
    message[6] = hash_bytes as u8;
    message[8] = response.is_some().into();
    message.extend_from_slice(response.unwrap_or_default());
    message
}

/// The controller's response in a success message, if present; `None` if it is not such a message.
pub(crate) fn read_success1(bytes: &[u8]) -> Option<Option<Vec<u8>>> {
    let (head, values) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    if head[8] & 1 == 0 {
        return Some(None);
    }
    Some(Some(values.get(..usize::from(head[6]))?.to_vec()))
}

pub(crate) fn write_success2(transaction: u16) -> Vec<u8> {
    start(kind::SUCCESS2, transaction, HEAD_BYTES)
}

/// `6 reason: 1; 7 explanation`
pub(crate) fn write_failure(of_kind: (u8, u8), transaction: u16, failure: AuthenticationFailure) -> Vec<u8> {
    let mut message = start(of_kind, transaction, 8);
    (message[6], message[7]) = (1, failure.0);
    message
}

/// The explanation of a failure message.
pub(crate) fn read_failure(bytes: &[u8]) -> AuthenticationFailure {
    AuthenticationFailure(bytes.get(7).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_every_part_of_it_is_none() {
        let negotiate = Negotiate::write(3);
        let read = Negotiate::read(&negotiate).unwrap();
        assert_eq!(read.offered, Some((vec![1, 2, 3], vec![0, 1, 2, 3, 4, 5])));
        assert_eq!((read.transaction, read.wants_secure_channel), (3, false));
        assert_eq!(head(&negotiate), Some((kind::NEGOTIATE, 3)));
        let challenge =
            Challenge { transaction: 9, hash: 2, group: 1, sequence: 77, value: vec![1; 48], public: vec![2; 256] };
        let bytes = challenge.write();
        assert_eq!(Challenge::read(&bytes), Some(challenge));
        let replies = [
            Reply { transaction: 9, response: vec![1; 64], challenge: Some((vec![2; 64], 5)), public: vec![3; 1024] },
            Reply { transaction: 9, response: vec![1; 32], challenge: None, public: Vec::new() },
        ];
        for reply in replies {
            let bytes = reply.write();
            assert!(bytes.len() <= MOST_MESSAGE_BYTES);
            assert_eq!(Reply::read(&bytes), Some(reply));
            for cut in 0..bytes.len() {
                assert_eq!(Reply::read(&bytes[..cut]), None);
            }
        }
        for cut in 0..bytes.len() {
            assert_eq!(Challenge::read(&bytes[..cut]), None);
        }
        assert_eq!(read_success1(&write_success1(1, 32, None)), Some(None));
        assert_eq!(read_success1(&write_success1(1, 32, Some(&[4; 32]))), Some(Some(vec![4; 32])));
        assert_eq!(read_success1(&write_success1(1, 32, Some(&[4; 32]))[..47]), None);
        assert_eq!(read_failure(&write_failure(kind::FAILURE1, 1, AuthenticationFailure::NO_HASH)).0, 4);
    }

    #[test]
    fn an_offer_without_this_protocol_or_with_too_many_entries_is_noticed() {
        let mut other = Negotiate::write(1);
        other[8] = 2;
        assert_eq!(Negotiate::read(&other).unwrap().offered, None);
        let mut long = Negotiate::write(1);
        long[10] = 31;
        assert_eq!(Negotiate::read(&long), None);
        assert_eq!(Negotiate::read(&Negotiate::write(1)[..60]).unwrap().offered, None);
    }
}
