//! The messages on the socket: a fixed header, then text.
//!
//! ```text
//!   offset  0        4        8                16               24               32
//!          ┌────────┬────────┬────────────────┬────────────────┬────────────────┐
//!          │ kind   │ status │ address        │ bytes          │ offset         │ text …
//!          └────────┴────────┴────────────────┴────────────────┴────────────────┘
//! ```
//!
//! Numbers are little-endian. A reply repeats the kind and carries an errno in `status`, 0 for
//! success. One message is one packet of a `SOCK_SEQPACKET` socket, and is sent together with its
//! descriptor. A server that accepts no driver sends a failed reply to [`MessageKind::Hello`] at
//! once, and closes.

/// Version of the protocol, in the `address` field of [`MessageKind::Hello`] and of its reply.
pub const VERSION: u64 = 2;

/// Bytes of the header.
pub const HEAD_BYTES: usize = 32;

/// Longest message.
pub const MOST_BYTES: usize = 128 << 10;

/// The request of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum MessageKind {
    /// A driver wants a function. The reply carries the descriptor of BAR 0, its size in `bytes`,
    /// and the number of interrupt vectors in `offset`.
    Hello = 1,
    /// Map `bytes` of the descriptor sent along, from `offset`, at bus `address`. The text `r` maps
    /// them read-only.
    Map = 2,
    /// Unmap the mapping that starts at `address`.
    Unmap = 3,
    /// Signal vector `address` by a datagram on the socket sent along.
    Interrupt = 4,
    /// Reset the function.
    Reset = 5,
    /// A question about the device as a whole; text in both directions. Needs no
    /// [`MessageKind::Hello`].
    Ask = 6,
}

impl MessageKind {
    fn of(number: u32) -> Option<MessageKind> {
        [
            MessageKind::Hello,
            MessageKind::Map,
            MessageKind::Unmap,
            MessageKind::Interrupt,
            MessageKind::Reset,
            MessageKind::Ask,
        ]
        .into_iter()
        .find(|kind| *kind as u32 == number)
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The request that it makes or answers.
    pub kind: MessageKind,
    /// In replies: an errno, or 0.
    pub status: u32,
    /// See [`MessageKind`].
    pub address: u64,
    /// See [`MessageKind`].
    pub bytes: u64,
    /// See [`MessageKind`].
    pub offset: u64,
    /// Text: the question, the answer, or why a request failed.
    pub text: String,
}

impl Message {
    /// A message without numbers.
    pub fn new(kind: MessageKind) -> Message {
        Message { kind, status: 0, address: 0, bytes: 0, offset: 0, text: String::new() }
    }

    /// The reply with the reason why a request failed.
    pub fn failure(kind: MessageKind, errno: i32, why: impl Into<String>) -> Message {
        Message { status: errno.unsigned_abs(), text: why.into(), ..Message::new(kind) }
    }

    /// Encodes the packet. Text beyond [`MOST_BYTES`] is cut off.
    pub fn encode(&self) -> Vec<u8> {
        let mut packet = Vec::with_capacity(HEAD_BYTES + self.text.len());
        packet.extend_from_slice(&(self.kind as u32).to_le_bytes());
        packet.extend_from_slice(&self.status.to_le_bytes());
        for number in [self.address, self.bytes, self.offset] {
            packet.extend_from_slice(&number.to_le_bytes());
        }
        packet.extend_from_slice(self.text.as_bytes());
        packet.truncate(MOST_BYTES);
        packet
    }

    /// Decodes a packet; `None` if it does not belong to this protocol.
    pub fn decode(packet: &[u8]) -> Option<Message> {
        let word = |at: usize| Some(u32::from_le_bytes(packet.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_le_bytes(packet.get(at..at + 8)?.try_into().ok()?));
        Some(Message {
            kind: MessageKind::of(word(0)?)?,
            status: word(4)?,
            address: long(8)?,
            bytes: long(16)?,
            offset: long(24)?,
            text: String::from_utf8_lossy(packet.get(HEAD_BYTES..)?).into_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_the_layout_that_is_drawn() {
        let message =
            Message { address: 0x0102, bytes: 3, offset: 4, text: "r".into(), ..Message::new(MessageKind::Map) };
        let mut expected = vec![2, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0];
        expected.extend([3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, b'r']);
        assert_eq!(message.encode(), expected);
        assert_eq!(Message::decode(&expected), Some(message));
    }

    #[test]
    fn what_is_no_message_is_none() {
        assert_eq!(Message::decode(&[0; HEAD_BYTES]), None, "kind 0");
        assert_eq!(
            Message::decode(&Message::new(MessageKind::Hello).encode()[..HEAD_BYTES - 1]),
            None,
            "a cut-off head"
        );
        assert_eq!(Message::decode(&[]), None);
        let failure = Message::failure(MessageKind::Reset, -5, "no");
        assert_eq!(Message::decode(&failure.encode()).map(|read| (read.status, read.text)), Some((5, "no".into())));
    }
}
