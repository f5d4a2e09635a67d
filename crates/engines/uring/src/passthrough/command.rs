//! NVMe commands in the kernel's form: `struct nvme_uring_cmd` (`include/uapi/linux/nvme_ioctl.h`),
//! according to section 3 of the NVM Command Set Specification.

use crate::abi::{Command, pair};

/// `NVME_URING_CMD_IO` and `NVME_URING_CMD_IO_VEC`: `_IOWR('N', 0x80, 72 bytes)` and the next.
pub(crate) const URING_IO: u32 = 0xc048_4e80;
pub(crate) const URING_IO_VEC: u32 = 0xc048_4e81;

/// Opcodes of the NVM Command Set.
pub(crate) mod opcode {
    pub(crate) const FLUSH: u8 = 0x00;
    pub(crate) const WRITE: u8 = 0x01;
    pub(crate) const READ: u8 = 0x02;
    pub(crate) const WRITE_UNCORRECTABLE: u8 = 0x04;
    pub(crate) const WRITE_ZEROES: u8 = 0x08;
    pub(crate) const DATASET_MANAGEMENT: u8 = 0x09;
    pub(crate) const VERIFY: u8 = 0x0c;
}

/// Bits of dword 12 of reads, writes and similar commands.
pub(crate) mod dword12 {
    pub(crate) const FUA: u32 = 1 << 30;
    pub(crate) const PRACT: u32 = 1 << 29;
    pub(crate) const CHECK_GUARD: u32 = 1 << 28;
    pub(crate) const CHECK_APPLICATION_TAG: u32 = 1 << 27;
    pub(crate) const CHECK_REFERENCE_TAG: u32 = 1 << 26;
    pub(crate) const DEALLOCATE: u32 = 1 << 25;
}

/// The attribute Deallocate of Dataset Management, dword 11.
pub(crate) const DEALLOCATE: u32 = 1 << 2;

/// A command with a range of blocks. Dword 12 has the number of blocks less one in its lower half.
#[inline]
pub(crate) fn of_blocks(opcode: u8, nsid: u32, lba: u64, control: u32, (address, bytes): (u64, u32)) -> Command {
    [
        pair(u32::from(opcode), nsid),
        0,
        0,
        address,
        pair(0, bytes),
        pair(lba as u32, (lba >> 32) as u32),
        pair(control, 0),
        0,
        0,
        0,
    ]
}

/// A command without data.
pub(crate) fn bare(opcode: u8, nsid: u32) -> Command {
    of_blocks(opcode, nsid, 0, 0, (0, 0))
}

/// Dataset Management of 1 to 256 ranges, which must stay where they are until it completes
/// (section 3.3.3).
pub(crate) fn deallocate(nsid: u32, ranges: &[[u64; 2]]) -> Command {
    let mut command = bare(opcode::DATASET_MANAGEMENT, nsid);
    command[3] = ranges.as_ptr() as u64;
    command[4] = pair(0, size_of_val(ranges) as u32);
    command[5] = pair(ranges.len() as u32 - 1, DEALLOCATE);
    command
}

/// A range of Dataset Management: attributes, blocks, first block.
pub(crate) fn range(lba: u64, blocks: u32) -> [u64; 2] {
    [pair(0, blocks.to_le()), lba.to_le()]
}

/// The errno of a status, according to the kernel's `nvme_error_status` and `blk_status_to_errno`.
#[cold]
pub(crate) fn errno_of(status: i32) -> i32 {
    match status & 0x7ff {
        0x81 => libc::ENOSPC,
        0x80 | 0x183 => libc::EREMOTEIO,
        0x01 | 0x02 => libc::EOPNOTSUPP,
        0x20 | 0x182 => libc::EPERM,
        0x280 | 0x281 | 0x285 | 0x286 | 0x287 => libc::ENODATA,
        0x282..=0x284 => libc::EILSEQ,
        0x1bd => libc::EOVERFLOW,
        0x1be => libc::ETOOMANYREFS,
        0x83 => libc::EBADE,
        _ => libc::EIO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes at an offset of the structure, little-endian.
    fn at(command: &Command, offset: usize, bytes: usize) -> u64 {
        let all: Vec<u8> = command.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(&all[offset..offset + bytes]);
        u64::from_ne_bytes(value)
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn fields_lie_where_the_kernel_reads_them() {
        let command = of_blocks(opcode::READ, 3, 0x1_2345_6789, 7 | dword12::FUA, (0xdead_0000, 4096));
        for (what, offset, bytes, expected) in [
            ("opcode", 0, 1, 2),
            ("nsid", 4, 4, 3),
            ("metadata", 16, 8, 0),
            ("addr", 24, 8, 0xdead_0000),
            ("metadata_len", 32, 4, 0),
            ("data_len", 36, 4, 4096),
            ("cdw10", 40, 4, 0x2345_6789),
            ("cdw11", 44, 4, 1),
            ("cdw12", 48, 4, 7 | 1 << 30),
            ("cdw14", 56, 4, 0),
            ("timeout_ms", 64, 4, 0),
        ] {
            assert_eq!(at(&command, offset, bytes), expected, "{what}");
        }
        let one = deallocate(1, &[range(5, 8)]);
        assert_eq!((at(&one, 0, 1), at(&one, 36, 4), at(&one, 40, 4), at(&one, 44, 4)), (9, 16, 0, 4));
        let three = deallocate(1, &[range(5, 8); 3]);
        assert_eq!((at(&three, 36, 4), at(&three, 40, 4)), (48, 2), "the number of ranges is zero-based");
        assert_eq!(range(5, 8), [8 << 32, 5]);
    }

    #[test]
    fn statuses_become_the_errnos_of_the_block_layer() {
        for (status, errno) in [
            (0x4281, libc::ENODATA),
            (0x80, libc::EREMOTEIO),
            (0x4002, libc::EOPNOTSUPP),
            (0x282, libc::EILSEQ),
            (0x6, libc::EIO),
        ] {
            assert_eq!(errno_of(status), errno, "{status:#x}");
        }
    }
}
