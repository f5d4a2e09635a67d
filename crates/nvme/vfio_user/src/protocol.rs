//! Encoding and decoding of the messages.
//!
//! ```text
//!   offset  0     2         4       8       12      16
//!          ┌─────┬─────────┬───────┬───────┬───────┬─────────────
//!          │ id  │ command │ bytes │ flags │ errno │ payload …
//!          └─────┴─────────┴───────┴───────┴───────┴─────────────
//! ```
//!
//! `bytes` includes the header. The protocol uses the byte order of the host; this code supports
//! little-endian hosts. Descriptors are sent with a message (`SCM_RIGHTS`, unix(7)). Decoding
//! checks only lengths; the code that executes a request checks its contents.

mod access;
mod info;
mod interrupts;
mod mapping;
mod version;

pub use access::{DmaAccess, RegionAccess, RegionWrites};
pub use info::{DeviceInfo, IoFdsInfo, RegionArea, RegionFlags, RegionInfo, RegionQuery};
pub use interrupts::{InterruptAction, InterruptData, InterruptInfo, InterruptSet};
pub use mapping::{DmaMap, DmaUnmap};
pub use version::{Abilities, MAJOR, MINOR, VersionMessage};

/// Bytes of the header.
pub const HEADER_BYTES: usize = 16;

/// Regions of a PCI function: six BARs, ROM, configuration space, VGA (`VFIO_PCI_NUM_REGIONS`).
pub const REGIONS: u32 = 9;
/// The region of the configuration space.
pub const CONFIG_REGION: u32 = 7;
/// Kinds of interrupts: INTx, MSI, MSI-X, errors, requests (`VFIO_PCI_NUM_IRQS`).
pub const INTERRUPT_KINDS: u32 = 5;

const IS_REPLY: u32 = 1;
const TYPE_BITS: u32 = 0xf;
const NO_REPLY: u32 = 1 << 4;
const HAS_ERROR: u32 = 1 << 5;

/// The request of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum MessageCommand {
    /// The first message: version and capabilities.
    Version = 1,
    /// Memory that the server may access.
    DmaMap = 2,
    /// Memory that it may no longer access.
    DmaUnmap = 3,
    /// The kind of device.
    DeviceInfo = 4,
    /// Size of a region, and its mappable parts.
    RegionInfo = 5,
    /// Descriptors that replace accesses.
    RegionIoFds = 6,
    /// The number of interrupts of a kind.
    InterruptInfo = 7,
    /// Connects, masks or signals interrupts.
    SetInterrupts = 8,
    /// Reads from a region.
    RegionRead = 9,
    /// Writes to a region.
    RegionWrite = 10,
    /// Reads the client's memory (server to client).
    DmaRead = 11,
    /// Writes the client's memory (server to client).
    DmaWrite = 12,
    /// Resets the function.
    Reset = 13,
    /// Several writes to regions.
    RegionWriteMulti = 15,
}

impl MessageCommand {
    /// The command with this number; `None` for those of migration and for unknown ones.
    pub fn of(number: u16) -> Option<MessageCommand> {
        use MessageCommand::{
            DeviceInfo, DmaMap, DmaRead, DmaUnmap, DmaWrite, InterruptInfo, RegionInfo, RegionIoFds, RegionRead,
            RegionWrite, RegionWriteMulti, Reset, SetInterrupts, Version,
        };
        let all = [
            Version,
            DmaMap,
            DmaUnmap,
            DeviceInfo,
            RegionInfo,
            RegionIoFds,
            InterruptInfo,
            SetInterrupts,
            RegionRead,
            RegionWrite,
            DmaRead,
            DmaWrite,
            Reset,
            RegionWriteMulti,
        ];
        all.into_iter().find(|command| *command as u16 == number)
    }
}

/// The header of every message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageHeader {
    /// Chosen by the sender of the request, repeated in the answer.
    pub id: u16,
    /// The request ([`MessageCommand`]), repeated in the answer.
    pub command: u16,
    /// Bytes of the whole message.
    pub bytes: u32,
    flags: u32,
    error: u32,
}

impl MessageHeader {
    /// The header of a command with this many bytes of payload.
    pub fn command(id: u16, command: MessageCommand, payload: usize) -> MessageHeader {
        MessageHeader { id, command: command as u16, bytes: whole(payload), flags: 0, error: 0 }
    }

    /// The header of the answer to a command.
    pub fn reply(&self, payload: usize) -> MessageHeader {
        MessageHeader { bytes: whole(payload), flags: IS_REPLY, error: 0, ..*self }
    }

    /// The header of the answer to a failed command.
    pub fn failure(&self, errno: u32) -> MessageHeader {
        MessageHeader { bytes: whole(0), flags: IS_REPLY | HAS_ERROR, error: errno, ..*self }
    }

    /// Whether it is an answer; `None` for an unknown type.
    pub fn is_reply(&self) -> Option<bool> {
        match self.flags & TYPE_BITS {
            0 => Some(false),
            IS_REPLY => Some(true),
            _ => None,
        }
    }

    /// Whether the sender of the request wants no answer.
    pub fn wants_no_reply(&self) -> bool {
        self.flags & NO_REPLY != 0
    }

    /// The errno of an answer to a failed command; it may be 0.
    pub fn error(&self) -> Option<u32> {
        (self.flags & HAS_ERROR != 0).then_some(self.error)
    }

    /// The bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..2].copy_from_slice(&self.id.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.command.to_le_bytes());
        for (place, word) in [self.bytes, self.flags, self.error].into_iter().enumerate() {
            bytes[4 + 4 * place..8 + 4 * place].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Decodes the first bytes of a message; `None` if there are too few, or if the message would
    /// be shorter than its header.
    pub fn decode(bytes: &[u8]) -> Option<MessageHeader> {
        let fields = Fields(bytes.get(..HEADER_BYTES)?);
        let [low, high] = [fields.u32(0)?, fields.u32(4)?];
        let header = MessageHeader {
            id: low as u16,
            command: (low >> 16) as u16,
            bytes: high,
            flags: fields.u32(8)?,
            error: fields.u32(12)?,
        };
        (header.bytes as usize >= HEADER_BYTES).then_some(header)
    }
}

fn whole(payload: usize) -> u32 {
    u32::try_from(HEADER_BYTES + payload).unwrap_or(u32::MAX)
}

/// A payload, read field by field.
#[derive(Debug, Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u32(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(self.0.get(at..at.checked_add(4)?)?.try_into().ok()?))
    }

    fn u64(&self, at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(self.0.get(at..at.checked_add(8)?)?.try_into().ok()?))
    }
}

/// A payload being written: words of 4 and 8 bytes.
#[derive(Debug, Default)]
struct Payload(Vec<u8>);

impl Payload {
    fn words(mut self, words: &[u32]) -> Payload {
        words.iter().for_each(|word| self.0.extend_from_slice(&word.to_le_bytes()));
        self
    }

    fn longs(mut self, longs: &[u64]) -> Payload {
        longs.iter().for_each(|long| self.0.extend_from_slice(&long.to_le_bytes()));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_the_layout_that_is_drawn() {
        let header = MessageHeader::command(0x0201, MessageCommand::DmaUnmap, 24);
        assert_eq!(header.encode(), [1, 2, 3, 0, 40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(header.failure(22).encode(), [1, 2, 3, 0, 16, 0, 0, 0, 0x21, 0, 0, 0, 22, 0, 0, 0]);
        for header in [header, header.reply(3), header.failure(5)] {
            assert_eq!(MessageHeader::decode(&header.encode()), Some(header));
        }
        assert_eq!((header.is_reply(), header.reply(0).is_reply()), (Some(false), Some(true)));
        assert_eq!((header.error(), header.failure(5).error()), (None, Some(5)));
        let quiet = MessageHeader { flags: NO_REPLY, ..header };
        assert!(quiet.wants_no_reply() && !header.wants_no_reply());
    }

    #[test]
    fn what_is_no_header_is_none() {
        let short = MessageHeader { bytes: 15, ..MessageHeader::command(0, MessageCommand::Reset, 0) };
        assert_eq!(MessageHeader::decode(&short.encode()), None);
        assert_eq!(MessageHeader::decode(&short.encode()[..15]), None);
        assert_eq!(MessageHeader { flags: 2, ..short }.is_reply(), None);
        assert_eq!((MessageCommand::of(14), MessageCommand::of(16)), (None, None));
    }
}
