//! A queue of a device: passes its tags from the driver to the lane and back.
//!
//! ```text
//!  FETCH_REQ tag ─▶ (a request arrives) event ─▶ descriptor ─▶ lane ─▶ COMMIT_AND_FETCH_REQ tag ─▶ event …
//! ```
//!
//! A tag is a slot. Its command tells the driver the address of the payload: the driver puts the
//! data of a write there before the event, and takes the data of a read from there when the tag is
//! committed.
//!
//! Unsafe: gives the driver the addresses of the payloads. It accesses them only while this thread
//! is in the ring's system call.
#![allow(unsafe_code, reason = "island: addresses of payloads for the driver")]

use std::io;
use std::os::fd::RawFd;

use crate::{ExportRequest, Exporter, RequestKind, RingCommand, RingEvent};
use iolab_engine::Lane;

use crate::ublk::ExportError;
use crate::ublk::abi::{self, Descriptor, operation};
use crate::ublk::descriptors::Descriptors;
use crate::ublk::driver::Driver;

/// The tags of a queue.
pub(crate) struct Queue<'a, L: Lane> {
    pub(crate) exporter: Exporter<'a, L>,
    descriptors: Descriptors,
    fd: RawFd,
    number: u16,
    /// Number of tags that the driver has not aborted.
    alive: usize,
}

impl<'a, L: Lane> Queue<'a, L> {
    /// The tags of a queue of the device that `fd` is open on, one for each slot.
    pub(crate) fn new(exporter: Exporter<'a, L>, fd: RawFd, number: u16, descriptors: Descriptors) -> Queue<'a, L> {
        Queue { exporter, descriptors, fd, number, alive: 0 }
    }

    /// Offers every tag to the driver.
    pub(crate) fn fetch<D: Driver>(&mut self, driver: &mut D) -> Result<(), ExportError> {
        for tag in 0..self.exporter.slots() {
            self.command(driver, abi::FETCH_REQ, tag as u16, 0)?;
            self.alive += 1;
        }
        Ok(())
    }

    /// Whether the driver has aborted all tags.
    pub(crate) fn is_dead(&self) -> bool {
        self.alive == 0
    }

    #[inline]
    fn command<D: Driver>(&self, driver: &mut D, operation: u32, tag: u16, result: i32) -> Result<(), ExportError> {
        let data = abi::io_command(self.number, tag, result, self.exporter.payload_address(tag));
        let token = u64::from(tag);
        let command = RingCommand { fd: self.fd, operation, address: 0, length: 0, data, token };
        // SAFETY: the payload belongs to the driver from here to the tag's next event, and to
        // nothing else: the exporter has released it. The pool that contains it outlives the queue.
        unsafe { driver.push(&command) }.map_err(ExportError::Ring)
    }

    /// Handles a tag's event: a request has arrived, or the driver aborts the tag.
    #[inline]
    pub(crate) fn on_event<D: Driver>(&mut self, driver: &mut D, event: RingEvent) -> Result<(), ExportError> {
        let tag = event.token as u16;
        match event.result {
            0 => match request(self.descriptors.get(tag)) {
                Some(request) => self.exporter.start(tag, request),
                None => self.command(driver, abi::COMMIT_AND_FETCH_REQ, tag, -libc::EOPNOTSUPP)?,
            },
            result if result == -libc::ENODEV => self.alive -= 1,
            result => return Err(ExportError::NoRequests(io::Error::from_raw_os_error(result.abs()))),
        }
        Ok(())
    }

    /// Lets the lane work, and commits finished requests.
    #[inline]
    pub(crate) fn work<D: Driver>(&mut self, driver: &mut D, arrived: bool) -> Result<(), ExportError> {
        self.exporter.work(arrived)?;
        while let Some(done) = self.exporter.next_finished() {
            self.command(driver, abi::COMMIT_AND_FETCH_REQ, done.slot, done.result)?;
        }
        Ok(())
    }
}

/// The request that a descriptor describes; `None` if it is unknown.
#[inline]
fn request(descriptor: Descriptor) -> Option<ExportRequest> {
    let kind = match descriptor.operation {
        operation::READ => RequestKind::Read,
        operation::WRITE => RequestKind::Write,
        // A flush has no range; the driver leaves -1 in place of the sector.
        operation::FLUSH => return Some(ExportRequest { kind: RequestKind::Flush, offset: 0, length: 0 }),
        operation::DISCARD => RequestKind::Discard,
        operation::WRITE_ZEROES => RequestKind::Zero,
        _ => return None,
    };
    let offset = descriptor.start_sector.checked_mul(512)?;
    Some(ExportRequest { kind, offset, length: u64::from(descriptor.sectors) * 512 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_become_requests() {
        let of = |operation, start_sector, sectors| request(Descriptor { operation, sectors, start_sector });
        let table = [
            (operation::READ, RequestKind::Read),
            (operation::WRITE, RequestKind::Write),
            (operation::DISCARD, RequestKind::Discard),
            (operation::WRITE_ZEROES, RequestKind::Zero),
        ];
        for (operation, kind) in table {
            assert_eq!(of(operation, 3, 8), Some(ExportRequest { kind, offset: 1536, length: 4096 }));
        }
        let flush = ExportRequest { kind: RequestKind::Flush, offset: 0, length: 0 };
        assert_eq!(of(operation::FLUSH, u64::MAX, 0), Some(flush));
        assert_eq!(of(4, 0, 8), None, "WRITE_SAME is not asked for");
        assert_eq!(of(operation::READ, u64::MAX, 8), None);
        let most = ExportRequest { kind: RequestKind::Discard, offset: 0, length: u64::from(u32::MAX) * 512 };
        assert_eq!(of(operation::DISCARD, 0, u32::MAX), Some(most));
    }
}
