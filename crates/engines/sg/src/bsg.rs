//! A request as a node of bsg takes it (`/dev/bsg/0:0:0:0`): version 4 of the interface
//! (`struct sg_io_v4` of linux/bsg.h). The request names memory by address; `request.rs` gives it
//! to the kernel.

/// `struct sg_io_v4`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct BsgHeader {
    guard: i32,
    protocol: u32,
    subprotocol: u32,
    command_bytes: u32,
    command: u64,
    tag: u64,
    attribute: u32,
    priority: u32,
    extra: u32,
    sense_room: u32,
    sense: u64,
    out_pieces: u32,
    out_bytes: u32,
    in_pieces: u32,
    in_bytes: u32,
    out_data: u64,
    in_data: u64,
    timeout_ms: u32,
    flags: u32,
    user: u64,
    spare_in: u32,
    pub(crate) driver_status: u32,
    pub(crate) transport_status: u32,
    pub(crate) device_status: u32,
    retry_delay: u32,
    pub(crate) info: u32,
    duration_ms: u32,
    pub(crate) sense_written: u32,
    pub(crate) in_resid: i32,
    pub(crate) out_resid: i32,
    generated_tag: u64,
    spare_out: u32,
    padding: u32,
}

const _: () = assert!(size_of::<BsgHeader>() == 160);

/// Memory of a request: address and bytes.
pub(crate) type Memory = (u64, u32);

impl BsgHeader {
    /// A request of a command, with room for sense data, and data for the device or from it.
    pub(crate) fn new(command: Memory, sense: Memory, out: Memory, into: Memory, timeout_ms: u32) -> BsgHeader {
        BsgHeader {
            guard: i32::from(b'Q'),
            command: command.0,
            command_bytes: command.1,
            sense: sense.0,
            sense_room: sense.1,
            out_data: out.0,
            out_bytes: out.1,
            in_data: into.0,
            in_bytes: into.1,
            timeout_ms,
            ..BsgHeader::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_header_has_the_layout_of_the_kernel() {
        let places = [
            offset_of!(BsgHeader, command),
            offset_of!(BsgHeader, sense),
            offset_of!(BsgHeader, out_data),
            offset_of!(BsgHeader, timeout_ms),
            offset_of!(BsgHeader, driver_status),
            offset_of!(BsgHeader, in_resid),
            offset_of!(BsgHeader, generated_tag),
        ];
        assert_eq!(places, [16, 48, 72, 88, 108, 136, 144]);
    }
}
