//! Commands as bytes: SCSI Block Commands (SBC-4), SCSI Primary Commands (SPC-5). Pure.

/// The longest command that is used, bytes.
pub(crate) const COMMAND_BYTES: usize = 16;
/// Bytes of the parameter list of an UNMAP of one range (SBC-4, section 5.35).
pub(crate) const UNMAP_BYTES: usize = 24;

/// Force unit access, in byte 1 of reads and writes.
pub(crate) const FUA: u8 = 0x08;

/// Operation codes with 10 and with 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opcode {
    short: u8,
    long: u8,
}

pub(crate) const READ: Opcode = Opcode { short: 0x28, long: 0x88 };
pub(crate) const WRITE: Opcode = Opcode { short: 0x2a, long: 0x8a };
pub(crate) const WRITE_AND_VERIFY: Opcode = Opcode { short: 0x2e, long: 0x8e };
pub(crate) const VERIFY: Opcode = Opcode { short: 0x2f, long: 0x8f };
pub(crate) const WRITE_SAME: Opcode = Opcode { short: 0x41, long: 0x93 };
/// WRITE SAME without data (NDOB) has 16 bytes only.
pub(crate) const WRITE_SAME_WITHOUT_DATA: Opcode = Opcode { short: 0, long: 0x93 };
const SYNCHRONIZE_CACHE: u8 = 0x35;
const UNMAP: u8 = 0x42;
const READ_CAPACITY: u8 = 0x25;
/// SERVICE ACTION IN(16), and its action READ CAPACITY(16).
const READ_CAPACITY_LONG: [u8; 2] = [0x9e, 0x10];
/// Bytes of the answer of READ CAPACITY(16).
pub(crate) const CAPACITY_BYTES: usize = 32;

/// A command and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) bytes: [u8; COMMAND_BYTES],
    pub(crate) length: u8,
}

impl Command {
    /// A command on blocks.
    pub(crate) fn of_blocks(opcode: Opcode, flags: u8, lba: u64, blocks: u32) -> Command {
        let mut bytes = [0; COMMAND_BYTES];
        bytes[1] = flags;
        match (u32::try_from(lba), u16::try_from(blocks)) {
            (Ok(lba), Ok(blocks)) if opcode.short != 0 => {
                bytes[0] = opcode.short;
                bytes[2..6].copy_from_slice(&lba.to_be_bytes());
                bytes[7..9].copy_from_slice(&blocks.to_be_bytes());
                Command { bytes, length: 10 }
            }
            _ => {
                bytes[0] = opcode.long;
                bytes[2..10].copy_from_slice(&lba.to_be_bytes());
                bytes[10..14].copy_from_slice(&blocks.to_be_bytes());
                Command { bytes, length: 16 }
            }
        }
    }

    /// SYNCHRONIZE CACHE(10) of the whole device.
    pub(crate) fn synchronize_cache() -> Command {
        let mut bytes = [0; COMMAND_BYTES];
        bytes[0] = SYNCHRONIZE_CACHE;
        Command { bytes, length: 10 }
    }

    /// UNMAP of one range.
    pub(crate) fn unmap() -> Command {
        let mut bytes = [0; COMMAND_BYTES];
        (bytes[0], bytes[8]) = (UNMAP, UNMAP_BYTES as u8);
        Command { bytes, length: 10 }
    }

    /// READ CAPACITY(10).
    pub(crate) fn read_capacity() -> Command {
        let mut bytes = [0; COMMAND_BYTES];
        bytes[0] = READ_CAPACITY;
        Command { bytes, length: 10 }
    }

    /// READ CAPACITY(16).
    pub(crate) fn read_capacity_long() -> Command {
        let mut bytes = [0; COMMAND_BYTES];
        bytes[..2].copy_from_slice(&READ_CAPACITY_LONG);
        bytes[13] = CAPACITY_BYTES as u8;
        Command { bytes, length: 16 }
    }
}

/// The parameter list of an UNMAP of one range.
pub(crate) fn unmap_list(lba: u64, blocks: u32) -> [u8; UNMAP_BYTES] {
    let mut list = [0; UNMAP_BYTES];
    list[..2].copy_from_slice(&(UNMAP_BYTES as u16 - 2).to_be_bytes());
    list[2..4].copy_from_slice(&(UNMAP_BYTES as u16 - 8).to_be_bytes());
    list[8..16].copy_from_slice(&lba.to_be_bytes());
    list[16..20].copy_from_slice(&blocks.to_be_bytes());
    list
}

/// Blocks of the device and bytes of a block, from the answer of READ CAPACITY(10); `None` if only
/// READ CAPACITY(16) can say it.
pub(crate) fn short_capacity(answer: &[u8; CAPACITY_BYTES]) -> Option<(u64, u32)> {
    let [last, block_bytes] = [word(answer, 0), word(answer, 4)];
    (last != u32::MAX).then(|| (u64::from(last) + 1, block_bytes))
}

/// The same, from the answer of READ CAPACITY(16).
pub(crate) fn long_capacity(answer: &[u8; CAPACITY_BYTES]) -> (u64, u32) {
    let last = u64::from(word(answer, 0)) << 32 | u64::from(word(answer, 4));
    (last.saturating_add(1), word(answer, 8))
}

fn word(answer: &[u8; CAPACITY_BYTES], at: usize) -> u32 {
    u32::from_be_bytes([answer[at], answer[at + 1], answer[at + 2], answer[at + 3]])
}

/// Sense data in words: the sense key and the additional codes, of the fixed and of the descriptor
/// format (SPC-5, section 4.4).
pub(crate) fn sense_text(sense: &[u8]) -> String {
    const KEYS: [&str; 16] = [
        "no sense",
        "recovered error",
        "not ready",
        "medium error",
        "hardware error",
        "illegal request",
        "unit attention",
        "data protect",
        "blank check",
        "vendor specific",
        "copy aborted",
        "aborted command",
        "reserved",
        "volume overflow",
        "miscompare",
        "completed",
    ];
    let at = |place: usize| sense.get(place).copied().unwrap_or(0);
    let (key, code, qualifier) = match at(0) & 0x7f {
        0x72 | 0x73 => (at(1), at(2), at(3)),
        0x70 | 0x71 => (at(2), at(12), at(13)),
        _ => return "without sense data".to_owned(),
    };
    let key = KEYS[usize::from(key & 0xf)];
    format!("{key} (additional sense {code:#04x}, {qualifier:#04x})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn short_commands_where_they_suffice() {
        for (opcode, flags, lba, blocks, expected) in [
            (READ, 0, 0x0102_0304, 0x0506, "28000102030400050600"),
            (READ, FUA, 0xffff_ffff, 0xffff, "2808ffffffff00ffff00"),
            (WRITE, FUA, 0x1_0000_0000, 8, "8a080000000100000000000000080000"),
            (WRITE, 0, 1, 0x1_0000, "8a000000000000000001000100000000"),
            (WRITE_AND_VERIFY, 0, 7, 1, "2e000000000700000100"),
            (VERIFY, 2, 7, 1, "2f020000000700000100"),
            (WRITE_SAME, 0, 7, 9, "41000000000700000900"),
            (WRITE_SAME_WITHOUT_DATA, 1, 7, 9, "93010000000000000007000000090000"),
        ] {
            let command = Command::of_blocks(opcode, flags, lba, blocks);
            assert_eq!(hex(&command.bytes[..usize::from(command.length)]), expected, "{opcode:?} {lba} {blocks}");
        }
        assert_eq!(hex(&Command::unmap().bytes[..10]), "42000000000000001800");
        assert_eq!(hex(&unmap_list(0x0102, 0x0304)), "001600100000000000000000000001020000030400000000");
        assert_eq!(hex(&Command::read_capacity_long().bytes), "9e100000000000000000000000200000");
    }

    #[test]
    fn capacities_are_read() {
        let mut answer = [0; CAPACITY_BYTES];
        answer[..8].copy_from_slice(&[0, 0, 0x0f, 0xff, 0, 0, 2, 0]);
        assert_eq!(short_capacity(&answer), Some((4096, 512)));
        answer[..4].fill(0xff);
        assert_eq!(short_capacity(&answer), None);
        answer[..12].copy_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x10, 0]);
        assert_eq!(long_capacity(&answer), ((1 << 32) + 1, 4096));
    }

    #[test]
    fn sense_data_has_words() {
        let mut fixed = [0; 18];
        (fixed[0], fixed[2], fixed[12], fixed[13]) = (0x70, 5, 0x21, 0);
        assert_eq!(sense_text(&fixed), "illegal request (additional sense 0x21, 0x00)");
        assert_eq!(sense_text(&[0x72, 3, 0x11, 4]), "medium error (additional sense 0x11, 0x04)");
        assert_eq!(sense_text(&[]), "without sense data");
    }
}
