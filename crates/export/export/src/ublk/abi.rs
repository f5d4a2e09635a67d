//! The ublk driver's structures as bytes (`include/uapi/linux/ublk_cmd.h`).
//!
//! Control commands go to `/dev/ublk-control`, I/O commands to `/dev/ublkcN`; both are in the 80
//! bytes of an io_uring command. Fields are in the byte order of the machine. Operation numbers are
//! encoded as ioctl(2) numbers, which the driver has understood since Linux 6.4 and which newer
//! drivers require.

/// `_IOC(direction, 'u', number, bytes)` of `<asm-generic/ioctl.h>`.
const fn ioctl(direction: u32, number: u32, bytes: u32) -> u32 {
    direction << 30 | bytes << 16 | (b'u' as u32) << 8 | number
}

const READ_WRITE: u32 = 3;
/// `struct ublksrv_ctrl_cmd`.
const CONTROL_BYTES: u32 = 32;
/// `struct ublksrv_io_cmd`.
const IO_BYTES: u32 = 16;

pub(crate) const ADD_DEV: u32 = ioctl(READ_WRITE, 0x04, CONTROL_BYTES);
pub(crate) const DEL_DEV: u32 = ioctl(READ_WRITE, 0x05, CONTROL_BYTES);
pub(crate) const START_DEV: u32 = ioctl(READ_WRITE, 0x06, CONTROL_BYTES);
pub(crate) const STOP_DEV: u32 = ioctl(READ_WRITE, 0x07, CONTROL_BYTES);
pub(crate) const SET_PARAMS: u32 = ioctl(READ_WRITE, 0x08, CONTROL_BYTES);
pub(crate) const FETCH_REQ: u32 = ioctl(READ_WRITE, 0x20, IO_BYTES);
pub(crate) const COMMIT_AND_FETCH_REQ: u32 = ioctl(READ_WRITE, 0x21, IO_BYTES);

/// Maximum depth of a queue (`UBLK_MAX_QUEUE_DEPTH`).
pub(crate) const MOST_DEPTH: usize = 4096;
/// Maximum number of queues of a device (`UBLK_MAX_NR_QUEUES`).
pub(crate) const MOST_QUEUES: usize = 4096;
/// The driver chooses the device's number.
pub(crate) const ANY_DEVICE: u32 = u32::MAX;

/// The name of a control command, for messages.
pub(crate) fn command_name(operation: u32) -> &'static str {
    match operation {
        ADD_DEV => "UBLK_CMD_ADD_DEV",
        DEL_DEV => "UBLK_CMD_DEL_DEV",
        START_DEV => "UBLK_CMD_START_DEV",
        STOP_DEV => "UBLK_CMD_STOP_DEV",
        SET_PARAMS => "UBLK_CMD_SET_PARAMS",
        _ => "ublk control command",
    }
}

/// Writes fields one after the other.
struct Fields<const N: usize> {
    bytes: [u8; N],
    used: usize,
}

impl<const N: usize> Fields<N> {
    fn new() -> Fields<N> {
        Fields { bytes: [0; N], used: 0 }
    }

    fn put(mut self, field: &[u8]) -> Fields<N> {
        self.bytes[self.used..self.used + field.len()].copy_from_slice(field);
        self.used += field.len();
        self
    }

    fn u16(self, value: u16) -> Fields<N> {
        self.put(&value.to_ne_bytes())
    }

    fn u32(self, value: u32) -> Fields<N> {
        self.put(&value.to_ne_bytes())
    }

    fn u64(self, value: u64) -> Fields<N> {
        self.put(&value.to_ne_bytes())
    }
}

/// `struct ublksrv_ctrl_cmd` for a whole device, with a buffer of the command or a value.
pub(crate) fn control_command(device: u32, address: u64, bytes: u16, value: u64) -> [u8; 80] {
    // A queue of -1 means that the command is for no queue.
    Fields::new().u32(device).u16(u16::MAX).u16(bytes).u64(address).u64(value).bytes
}

/// `struct ublksrv_io_cmd` for a tag of a queue.
#[inline]
pub(crate) fn io_command(queue: u16, tag: u16, result: i32, address: u64) -> [u8; 80] {
    let mut data = [0; 80];
    data[0..2].copy_from_slice(&queue.to_ne_bytes());
    data[2..4].copy_from_slice(&tag.to_ne_bytes());
    data[4..8].copy_from_slice(&result.to_ne_bytes());
    data[8..16].copy_from_slice(&address.to_ne_bytes());
    data
}

/// `struct ublksrv_ctrl_dev_info` that requests a device with this number of queues.
pub(crate) fn device_info(device: u32, queues: u16, depth: u16, payload_bytes: u32) -> [u8; 64] {
    const CMD_IOCTL_ENCODE: u64 = 1 << 6;
    let head = Fields::new().u16(queues).u16(depth).u16(0).u16(0).u32(payload_bytes).u32(device);
    head.u32(0).u32(0).u64(CMD_IOCTL_ENCODE).bytes
}

/// The device's number in the driver's answer to [`ADD_DEV`].
pub(crate) fn device_number(info: &[u8; 64]) -> u32 {
    u32::from_ne_bytes([info[12], info[13], info[14], info[15]])
}

/// The number of queues that the driver has granted.
pub(crate) fn device_queues(info: &[u8; 64]) -> u16 {
    u16::from_ne_bytes([info[0], info[1]])
}

/// The properties of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) bytes: u64,
    pub(crate) block_bytes: u32,
    pub(crate) payload_bytes: u32,
}

/// The length of [`parameters`].
pub(crate) const PARAMETERS_BYTES: usize = 60;

/// `struct ublk_params` with the basic and the discard part. The device has a cache, so that
/// flushes are sent.
pub(crate) fn parameters(shape: Shape) -> [u8; PARAMETERS_BYTES] {
    const BASIC_AND_DISCARD: u32 = 3;
    const VOLATILE_CACHE: u32 = 1 << 2;
    const MOST_TRIMMED_SECTORS: u32 = (1 << 30) / 512;
    let shift = shape.block_bytes.trailing_zeros() as u8;
    let head = Fields::new().u32(PARAMETERS_BYTES as u32).u32(BASIC_AND_DISCARD);
    // Logical block, physical block, optimal and minimum I/O size.
    let basic = head.u32(VOLATILE_CACHE).put(&[shift, shift, shift, shift]);
    let basic = basic.u32(shape.payload_bytes / 512).u32(0).u64(shape.bytes / 512).u64(0);
    let discard = basic.u32(0).u32(shape.block_bytes).u32(MOST_TRIMMED_SECTORS).u32(MOST_TRIMMED_SECTORS);
    discard.u16(1).u16(0).bytes
}

/// The operation of a request (`UBLK_IO_OP_*`).
pub(crate) mod operation {
    pub(crate) const READ: u32 = 0;
    pub(crate) const WRITE: u32 = 1;
    pub(crate) const FLUSH: u32 = 2;
    pub(crate) const DISCARD: u32 = 3;
    pub(crate) const WRITE_ZEROES: u32 = 5;
}

/// The length of a [`Descriptor`].
pub(crate) const DESCRIPTOR_BYTES: usize = 24;

/// The used part of `struct ublksrv_io_desc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) operation: u32,
    pub(crate) sectors: u32,
    pub(crate) start_sector: u64,
}

impl Descriptor {
    #[inline]
    pub(crate) fn parse(bytes: &[u8; DESCRIPTOR_BYTES]) -> Descriptor {
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let start_sector = u64::from(word(8)) | u64::from(word(12)) << 32;
        Descriptor { operation: word(0) & 0xff, sectors: word(4), start_sector }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The literal bytes below are for little-endian machines, the only ones that iolab supports.

    #[test]
    fn operations_are_ioctl_numbers() {
        let table = [
            (ADD_DEV, 0xc020_7504),
            (DEL_DEV, 0xc020_7505),
            (START_DEV, 0xc020_7506),
            (STOP_DEV, 0xc020_7507),
            (SET_PARAMS, 0xc020_7508),
            (FETCH_REQ, 0xc010_7520),
            (COMMIT_AND_FETCH_REQ, 0xc010_7521),
        ];
        for (operation, number) in table {
            assert_eq!(operation, number, "{}", command_name(operation));
        }
    }

    #[test]
    fn a_control_command_is_laid_out_as_the_driver_reads_it() {
        let data = control_command(3, 0x1122_3344_5566_7788, 64, 0x99);
        let expected =
            [3, 0, 0, 0, 0xff, 0xff, 64, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x99, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(data[..24], expected);
        assert_eq!(data[24..], [0; 56]);
    }

    #[test]
    fn an_io_command_is_laid_out_as_the_driver_reads_it() {
        let data = io_command(0x0304, 0x0102, -5, 0xa1a2_a3a4_a5a6_a7a8);
        let expected = [4, 3, 2, 1, 0xfb, 0xff, 0xff, 0xff, 0xa8, 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1];
        assert_eq!(data[..16], expected);
        assert_eq!(data[16..], [0; 64]);
    }

    #[test]
    fn a_device_is_asked_for_by_64_bytes() {
        let mut info = device_info(ANY_DEVICE, 3, 32, 0x20000);
        let expected = [3, 0, 32, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x40];
        assert_eq!(info[..25], expected);
        assert_eq!(info[25..], [0; 39]);
        info[12..16].copy_from_slice(&[7, 0, 0, 0]);
        info[0] = 2;
        assert_eq!((device_number(&info), device_queues(&info)), (7, 2));
    }

    #[test]
    fn parameters_are_laid_out_as_the_driver_reads_them() {
        let bytes = parameters(Shape { bytes: 1 << 30, block_bytes: 4096, payload_bytes: 0x20000 });
        let expected = [
            60, 0, 0, 0, 3, 0, 0, 0, // len, types
            4, 0, 0, 0, 12, 12, 12, 12, // attrs, shifts
            0, 1, 0, 0, 0, 0, 0, 0, // max_sectors, chunk_sectors
            0, 0, 0x20, 0, 0, 0, 0, 0, // dev_sectors
            0, 0, 0, 0, 0, 0, 0, 0, // virt_boundary_mask
            0, 0, 0, 0, 0, 0x10, 0, 0, // discard_alignment, discard_granularity
            0, 0, 0x20, 0, 0, 0, 0x20, 0, // max_discard_sectors, max_write_zeroes_sectors
            1, 0, 0, 0, // max_discard_segments
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_descriptor_is_read() {
        let mut bytes = [0u8; DESCRIPTOR_BYTES];
        bytes[..16].copy_from_slice(&[1, 0x20, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 0, 0]);
        let expected = Descriptor { operation: operation::WRITE, sectors: 8, start_sector: 0x1_8000_0000 };
        assert_eq!(Descriptor::parse(&bytes), expected);
    }
}
