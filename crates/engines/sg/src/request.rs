//! A request as the generic driver takes it, and what its answer means.
//!
//! Unsafe code: the request names memory by address; the kernel uses it until the answer.

use std::ffi::c_void;
use std::os::fd::RawFd;

use crate::bsg::BsgHeader;
use crate::command::{Command, sense_text};

/// `SG_IO` of scsi/sg.h.
const SG_IO: libc::c_ulong = 0x2285;
/// `SG_INFO_CHECK`: something is not as it should be.
const INFO_CHECK: u32 = 1;
/// How long the kernel waits for a device, ms.
const TIMEOUT_MS: u32 = 60_000;

/// Where the data of a request goes (`SG_DXFER_…`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Transfer {
    None = -1,
    ToDevice = -2,
    FromDevice = -3,
}

/// Bytes of sense data that are kept.
pub(crate) const SENSE_BYTES: usize = 32;

/// `struct sg_io_hdr` (scsi/sg.h).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct SgHeader {
    interface_id: i32,
    direction: i32,
    command_bytes: u8,
    sense_room: u8,
    pieces: u16,
    pub(crate) data_bytes: u32,
    data: *mut c_void,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    pub(crate) pack_id: i32,
    user: *mut c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_written: u8,
    host_status: u16,
    driver_status: u16,
    resid: i32,
    duration_ms: u32,
    info: u32,
}

const _: () = assert!(size_of::<SgHeader>() == 88 || size_of::<usize>() != 8);

impl SgHeader {
    pub(crate) const EMPTY: SgHeader = SgHeader {
        interface_id: 0,
        direction: Transfer::None as i32,
        command_bytes: 0,
        sense_room: 0,
        pieces: 0,
        data_bytes: 0,
        data: std::ptr::null_mut(),
        command: std::ptr::null(),
        sense: std::ptr::null_mut(),
        timeout_ms: 0,
        flags: 0,
        pack_id: 0,
        user: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_written: 0,
        host_status: 0,
        driver_status: 0,
        resid: 0,
        duration_ms: 0,
        info: 0,
    };

    /// A request. The command, the sense data and the data are named by address.
    pub(crate) fn new(
        command: &Command,
        sense: &mut [u8; SENSE_BYTES],
        transfer: Transfer,
        data: *mut u8,
        data_bytes: u32,
    ) -> SgHeader {
        SgHeader {
            interface_id: i32::from(b'S'),
            direction: transfer as i32,
            command_bytes: command.length,
            sense_room: SENSE_BYTES as u8,
            data_bytes,
            data: data.cast(),
            command: command.bytes.as_ptr(),
            sense: sense.as_mut_ptr(),
            timeout_ms: TIMEOUT_MS,
            ..SgHeader::EMPTY
        }
    }

    /// Does it and waits (`SG_IO`).
    ///
    /// # Safety
    /// All that the request names is valid, and used by nobody else.
    ///
    /// # Errors
    /// The errno of a request that the kernel did not take.
    pub(crate) unsafe fn perform(&mut self, fd: RawFd) -> Result<(), i32> {
        // SAFETY: the caller's promise; the kernel reads and writes one header.
        let answer = unsafe { libc::ioctl(fd, SG_IO as _, &raw mut *self) };
        if answer < 0 { Err(last_errno()) } else { Ok(()) }
    }

    /// Does it as a request of bsg, and waits.
    ///
    /// # Safety
    /// As for [`SgHeader::perform`].
    ///
    /// # Errors
    /// The errno of a request that the kernel did not take.
    pub(crate) unsafe fn perform_by_bsg(&mut self, fd: RawFd) -> Result<(), i32> {
        let data = (self.data as u64, self.data_bytes);
        let of = |transfer: Transfer| if self.direction == transfer as i32 { data } else { (0, 0) };
        let (out, into) = (of(Transfer::ToDevice), of(Transfer::FromDevice));
        let command = (self.command as u64, u32::from(self.command_bytes));
        let sense = (self.sense as u64, u32::from(self.sense_room));
        let mut request = BsgHeader::new(command, sense, out, into, self.timeout_ms);
        // SAFETY: the caller's promise; the request names the same memory, and the kernel reads and
        // writes one header.
        let answer = unsafe { libc::ioctl(fd, SG_IO as _, &raw mut request) };
        if answer < 0 {
            return Err(last_errno());
        }
        self.status = request.device_status as u8;
        self.host_status = request.transport_status as u16;
        self.driver_status = request.driver_status as u16;
        self.sense_written = request.sense_written.min(SENSE_BYTES as u32) as u8;
        self.info = request.info;
        self.resid = request.in_resid.max(request.out_resid);
        Ok(())
    }

    /// What came of it: the bytes that were not moved, or the errno.
    pub(crate) fn outcome(&self) -> Result<u32, i32> {
        if self.info & INFO_CHECK == 0 && self.status == 0 && self.host_status == 0 {
            return Ok(self.resid.max(0) as u32);
        }
        // Status codes of SAM-5, section 5.3.1; `DID_…` of the kernel's scsi/scsi.h.
        Err(match (self.status, self.host_status) {
            (0x08 | 0x28, _) => libc::EBUSY,
            (0x18, _) => libc::EBADE,
            (0x02, _) => libc::EREMOTEIO,
            (_, 0x01) => libc::ENODEV,
            (_, 0x03) => libc::ETIMEDOUT,
            // A recovered error, or a driver's remark: the transfer succeeded.
            (0, 0) => return Ok(self.resid.max(0) as u32),
            _ => libc::EIO,
        })
    }

    /// A failure in words.
    pub(crate) fn failure_text(&self, sense: &[u8; SENSE_BYTES]) -> String {
        let written = &sense[..usize::from(self.sense_written).min(SENSE_BYTES)];
        format!("SCSI status {:#04x}, host status {:#x}: {}", self.status, self.host_status, sense_text(written))
    }
}

pub(crate) fn last_errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_become_errnos() {
        let of = |status, host_status, info, resid| {
            SgHeader { status, host_status, info, resid, ..SgHeader::EMPTY }.outcome()
        };
        assert_eq!(of(0, 0, 0, 0), Ok(0));
        assert_eq!(of(0, 0, 0, 512), Ok(512));
        assert_eq!(of(0, 0, INFO_CHECK, 0), Ok(0));
        assert_eq!(of(2, 0, INFO_CHECK, 0), Err(libc::EREMOTEIO));
        assert_eq!(of(0x18, 0, INFO_CHECK, 0), Err(libc::EBADE));
        assert_eq!(of(0, 3, INFO_CHECK, 0), Err(libc::ETIMEDOUT));
        assert_eq!(of(0, 7, INFO_CHECK, 0), Err(libc::EIO));
    }

    #[test]
    fn the_header_has_the_layout_of_the_kernel() {
        use std::mem::offset_of;
        let places = [
            offset_of!(SgHeader, data),
            offset_of!(SgHeader, sense),
            offset_of!(SgHeader, pack_id),
            offset_of!(SgHeader, user),
            offset_of!(SgHeader, status),
            offset_of!(SgHeader, info),
        ];
        assert_eq!(places, [16, 32, 48, 56, 64, 80]);
    }
}
