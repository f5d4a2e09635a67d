//! A block device as a disk, through the kernel's native AIO: for devices that cannot say in
//! advance whether a request would block.
//!
//! If the device has no `RWF_NOWAIT` (preadv2(2)), as with the kernel's RAM disks, io_uring hands
//! every transfer to a worker thread, which costs more than the transfer. AIO submits in the
//! calling thread and still completes later (io_submit(2)). Direct transfers only: others would
//! complete before `io_submit` returns. A buffer is never returned before the kernel is done with
//! it.
//!
//! Unsafe: it passes addresses of buffers to the kernel.
#![allow(unsafe_code, reason = "island: addresses of buffers in operations")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use iolab_async_io::native_aio::Context;
use iolab_async_io::native_aio::abi::{IoEvent, Iocb, command};

use crate::flights::{Flights, Memory, Transfer};
use crate::opened_file::OpenedFile;
use crate::uring_disk::discard;
use crate::{ActionKind, BlockDevice, DiskCompletion, DiskRequest, Geometry};

/// Operations submitted by one call.
const AT_ONCE: usize = 64;
const REFUSED_FOR_NOW: i32 = -libc::EAGAIN;
const INTERRUPTED: i32 = -libc::EINTR;

/// A disk on native AIO.
#[derive(Debug)]
pub(crate) struct AioDisk {
    // Dropped first: the kernel then waits for requests in flight (io_destroy(2)).
    context: Context,
    file: File,
    geometry: Geometry,
    flights: Flights,
    /// One for each transfer formed last; its data is the number of its place.
    operations: Vec<Iocb>,
    /// How many of `operations` have been submitted.
    given: usize,
    events: Vec<IoEvent>,
}

impl AioDisk {
    /// A disk on an opened block device; on failure, the device back and the reason.
    pub(crate) fn on(target: OpenedFile, depth: u32) -> Result<AioDisk, (OpenedFile, io::Error)> {
        let places = depth.clamp(1, 4096);
        let context = match Context::new(places as usize) {
            Ok(context) => context,
            Err(errno) => return Err((target, io::Error::from_raw_os_error(errno))),
        };
        Ok(AioDisk {
            context,
            file: target.file,
            geometry: target.geometry,
            flights: Flights::new(places),
            operations: Vec::with_capacity(places as usize),
            given: 0,
            events: vec![IoEvent::default(); places as usize],
        })
    }

    fn operation(&self, transfer: &Transfer) -> Iocb {
        let (buffer, bytes) = match transfer.memory {
            Memory::Piece(address) => (address as u64, transfer.length),
            Memory::Pieces(row, count) => (row as u64, u64::from(count)),
        };
        let is_in_pieces = matches!(transfer.memory, Memory::Pieces(..));
        let opcode = match (transfer.kind, is_in_pieces) {
            (ActionKind::Read, false) => command::PREAD,
            (ActionKind::Read, true) => command::PREADV,
            (ActionKind::Write, false) => command::PWRITE,
            (ActionKind::Write, true) => command::PWRITEV,
            _ => command::FDSYNC,
        };
        let (data, fd, offset) = (u64::from(transfer.place), self.file.as_raw_fd() as u32, transfer.at as i64);
        Iocb { data, opcode, fd, buffer, bytes, offset, ..Iocb::default() }
    }

    /// Makes operations of waiting requests, once all earlier operations have been submitted.
    fn form(&mut self) {
        self.operations.clear();
        self.given = 0;
        self.flights.all_shown();
        while let Some(transfer) = self.flights.next() {
            let operation = self.operation(&transfer);
            self.operations.push(operation);
        }
    }

    fn has_to_give(&self) -> bool {
        self.given < self.operations.len() || self.flights.is_waiting()
    }

    /// Submits operations. One that the kernel refuses ends with its errno.
    fn send(&mut self) {
        while self.has_to_give() {
            if self.given == self.operations.len() {
                self.form();
            }
            let mut row = [std::ptr::null_mut(); AT_ONCE];
            let rest = &mut self.operations[self.given..];
            let count = rest.len().min(AT_ONCE);
            row.iter_mut().zip(rest).for_each(|(place, operation)| *place = &raw mut *operation);
            // SAFETY: the operations live through the call; the buffers that they name stay with
            // their requests in their places until they complete, and the context is dropped before
            // those are.
            let taken = unsafe { self.context.submit(&row[..count]) };
            match taken {
                1.. => self.given += taken as usize,
                // Events have to be reaped first, or a signal came: the next reap continues.
                0 | REFUSED_FOR_NOW | INTERRUPTED => return,
                refused => {
                    let place = self.operations[self.given].data as u32;
                    self.given += 1;
                    self.flights.end(place, refused);
                }
            }
        }
    }

    /// Takes completions; waits for this number if there are none.
    fn collect(&mut self, at_least: usize) {
        let mut found = self.context.take_events(&mut self.events);
        let has_to_ask = at_least > 0 || !self.context.has_known_ring();
        if found == 0 && has_to_ask {
            found = usize::try_from(self.context.get_events(at_least, &mut self.events, u64::MAX)).unwrap_or(0);
        }
        for IoEvent { data, result, .. } in &self.events[..found] {
            self.flights.end(*data as u32, i32::try_from(*result).unwrap_or(i32::MAX));
        }
    }
}

impl BlockDevice for AioDisk {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        let kind = request.action.kind();
        let answer = self.geometry.answer(&request.action).or_else(|| {
            let (at, length) = request.action.range();
            (kind == ActionKind::Discard).then(|| discard(&self.file, at, length))
        });
        match answer {
            Some(result) => {
                self.flights.finish(request, result);
                Ok(())
            }
            None => self.flights.admit(request),
        }
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>) {
        let before = done.len();
        loop {
            self.send();
            self.flights.drain_into(done);
            let waits = wait && done.len() == before && self.flights.under_way() > 0;
            if self.flights.under_way() > 0 {
                self.collect(usize::from(waits));
            }
            self.flights.drain_into(done);
            if !self.has_to_give() && (!waits || done.len() > before) {
                return;
            }
        }
    }

    /// Devices without `RWF_NOWAIT` are mostly the kernel's RAM disks, which copy within
    /// `io_submit`.
    fn is_synchronous(&self) -> bool {
        true
    }
}

impl Drop for AioDisk {
    /// Completes what was submitted, as every disk does; destroying the context then waits for it.
    fn drop(&mut self) {
        self.send();
    }
}
