//! Interrupts: how many there are, and the actions on them.

use super::{Fields, Payload};

const INFO_BYTES: u32 = 16;
const SET_BYTES: usize = 20;
const EVENTFD: u32 = 1;
const MASKABLE: u32 = 1 << 1;
const DATA_BITS: u32 = 0b111;
const ACTION_BITS: u32 = 0b111 << 3;

/// Interrupts of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptInfo {
    /// Whether individual interrupts can be masked.
    pub is_maskable: bool,
    /// The kind: 0 INTx, 1 MSI, 2 MSI-X.
    pub index: u32,
    /// The number of interrupts; 0 for a kind that does not exist.
    pub count: u32,
}

impl InterruptInfo {
    /// The payload of the request.
    pub fn query(index: u32) -> Vec<u8> {
        Payload::default().words(&[INFO_BYTES, 0, index, 0]).0
    }

    /// Decodes the request: the kind.
    pub fn decode_query(payload: &[u8]) -> Option<u32> {
        Fields(payload).u32(8)
    }

    /// The payload of the answer.
    pub fn encode(&self) -> Vec<u8> {
        let flags = EVENTFD | (u32::from(self.is_maskable) * MASKABLE);
        let flags = if self.count == 0 { 0 } else { flags };
        Payload::default().words(&[INFO_BYTES, flags, self.index, self.count]).0
    }

    /// Decodes the answer.
    pub fn decode(payload: &[u8]) -> Option<InterruptInfo> {
        let fields = Fields(payload);
        let is_maskable = fields.u32(4)? & MASKABLE != 0;
        Some(InterruptInfo { is_maskable, index: fields.u32(8)?, count: fields.u32(12)? })
    }
}

/// An action on interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum InterruptAction {
    /// Masks interrupts: they are not signalled.
    Mask = 1 << 3,
    /// Unmasks interrupts: they are signalled again.
    Unmask = 1 << 4,
    /// Signals interrupts, or connects them to an eventfd.
    Trigger = 1 << 5,
}

/// The interrupts of the range to which the action applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptData<'a> {
    /// All of them.
    None,
    /// Those whose byte is not 0.
    Bool(&'a [u8]),
    /// All of them. An eventfd for each is sent along; if none is sent, they are disconnected.
    Eventfd,
}

/// An action on interrupts of a kind, beginning at one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptSet<'a> {
    /// The action.
    pub action: InterruptAction,
    /// The interrupts to which it applies.
    pub data: InterruptData<'a>,
    /// The kind.
    pub index: u32,
    /// The first one.
    pub start: u32,
    /// The number of interrupts. Zero means the whole kind, if there is no data.
    pub count: u32,
}

impl<'a> InterruptSet<'a> {
    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, data): (u32, &[u8]) = match self.data {
            InterruptData::None => (1, &[]),
            InterruptData::Bool(data) => (2, data),
            InterruptData::Eventfd => (4, &[]),
        };
        let head = [(SET_BYTES + data.len()) as u32, self.action as u32 | kind, self.index, self.start, self.count];
        let mut payload = Payload::default().words(&head).0;
        payload.extend_from_slice(data);
        payload
    }

    /// Decodes a payload; `None` if it requests several actions at once, or none.
    pub fn decode(payload: &'a [u8]) -> Option<InterruptSet<'a>> {
        let fields = Fields(payload);
        let flags = fields.u32(4)?;
        let count = fields.u32(16)?;
        let all = [InterruptAction::Mask, InterruptAction::Unmask, InterruptAction::Trigger];
        let action = all.into_iter().find(|action| *action as u32 == flags & ACTION_BITS)?;
        let data = match flags & DATA_BITS {
            1 => InterruptData::None,
            2 => InterruptData::Bool(payload.get(SET_BYTES..)?.get(..usize::try_from(count).ok()?)?),
            4 => InterruptData::Eventfd,
            _ => return None,
        };
        Some(InterruptSet { action, data, index: fields.u32(8)?, start: fields.u32(12)?, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_as_they_were_written() {
        let sets = [
            InterruptSet {
                action: InterruptAction::Trigger,
                data: InterruptData::Eventfd,
                index: 2,
                start: 3,
                count: 1,
            },
            InterruptSet {
                action: InterruptAction::Mask,
                data: InterruptData::Bool(&[1, 0]),
                index: 1,
                start: 0,
                count: 2,
            },
            InterruptSet { action: InterruptAction::Unmask, data: InterruptData::None, index: 0, start: 0, count: 0 },
        ];
        for set in sets {
            assert_eq!(InterruptSet::decode(&set.encode()), Some(set));
        }
        assert_eq!(sets[0].encode()[..8], [20, 0, 0, 0, 0x24, 0, 0, 0]);
        for flags in [0u8, 1, 8, 0b11_0001, 0b10_0011, 0b10_0110] {
            let mut bytes = sets[2].encode();
            bytes[4] = flags;
            assert_eq!(InterruptSet::decode(&bytes), None, "{flags:#b}");
        }
        let bytes = sets[1].encode();
        assert_eq!(InterruptSet::decode(&bytes[..21]), None, "fewer bytes than interrupts");
    }

    #[test]
    fn counts_are_read_as_they_were_written() {
        let info = InterruptInfo { is_maskable: false, index: 2, count: 65 };
        assert_eq!(info.encode(), [16, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 65, 0, 0, 0]);
        assert_eq!(InterruptInfo::decode(&info.encode()), Some(info));
        assert_eq!(InterruptInfo::decode_query(&InterruptInfo::query(2)), Some(2));
    }
}
