//! A block device as a disk, by the kernel's native AIO: for devices that cannot say at once whether a request would have to wait.
//!
//! io_uring hands every transfer to a worker thread where the device has no `RWF_NOWAIT` (preadv2(2)), as on RAM disks of the kernel; the thread
//! costs more than the transfer. AIO submits in place and completes later all the same (io_submit(2)). Direct transfers only: others would be
//! done before `io_submit` returns. A buffer never comes back before the kernel is done with it.
//!
//! Unsafe: raw system calls, and addresses of buffers.
#![allow(unsafe_code)] // island: system calls with addresses

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::flights::{Flights, Memory, Transfer};
use crate::target::Target;
use crate::uring_disk::discard;
use crate::{ActionKind, BlockDevice, Completion, Geometry, Request};

/// `IOCB_CMD_*` of linux/aio_abi.h.
const READ: u16 = 0;
const WRITE: u16 = 1;
const DATA_SYNC: u16 = 3;
const READ_PIECES: u16 = 7;
const WRITE_PIECES: u16 = 8;

/// `struct iocb` of linux/aio_abi.h, on a little-endian machine.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Control {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    result_fd: u32,
}

/// `struct io_event` of linux/aio_abi.h.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Event {
    data: u64,
    control: u64,
    result: i64,
    result2: i64,
}

const _: () = assert!(size_of::<Control>() == 64 && size_of::<Event>() == 32);

/// The disk.
#[derive(Debug)]
pub(crate) struct AioDisk {
    context: libc::c_ulong,
    file: File,
    geometry: Geometry,
    flights: Flights,
    /// One for each transfer that was formed last; the number of its place is its data.
    controls: Vec<Control>,
    /// Their addresses, of which the kernel has been given so many.
    row: Vec<u64>,
    given: usize,
    events: Vec<Event>,
}

impl AioDisk {
    /// A disk on an opened block device, or the device back and why not.
    pub(crate) fn on(target: Target, depth: u32) -> Result<AioDisk, (Target, io::Error)> {
        let places = depth.clamp(1, 4096);
        let mut context: libc::c_ulong = 0;
        // SAFETY: the call writes one number, which lives through it (io_setup(2)).
        let answer = unsafe { libc::syscall(libc::SYS_io_setup, places, &raw mut context) };
        if answer < 0 {
            return Err((target, io::Error::last_os_error()));
        }
        Ok(AioDisk {
            context,
            file: target.file,
            geometry: target.geometry,
            flights: Flights::new(places),
            controls: Vec::with_capacity(places as usize),
            row: Vec::with_capacity(places as usize),
            given: 0,
            events: vec![Event::default(); places as usize],
        })
    }

    fn control(&self, transfer: &Transfer) -> Control {
        let (buffer, bytes) = match transfer.memory {
            Memory::Piece(address) => (address as u64, transfer.length),
            Memory::Pieces(row, count) => (row as u64, u64::from(count)),
        };
        let is_in_pieces = matches!(transfer.memory, Memory::Pieces(..));
        let opcode = match (transfer.kind, is_in_pieces) {
            (ActionKind::Read, false) => READ,
            (ActionKind::Read, true) => READ_PIECES,
            (ActionKind::Write, false) => WRITE,
            (ActionKind::Write, true) => WRITE_PIECES,
            _ => DATA_SYNC,
        };
        let (data, fd, offset) = (u64::from(transfer.place), self.file.as_raw_fd() as u32, transfer.at as i64);
        Control { data, opcode, fd, buffer, bytes, offset, ..Control::default() }
    }

    /// Makes control blocks of what waits, when the kernel has been given all of the last ones.
    fn form(&mut self) {
        self.controls.clear();
        self.row.clear();
        self.given = 0;
        self.flights.all_shown();
        while let Some(transfer) = self.flights.next() {
            let control = self.control(&transfer);
            self.controls.push(control);
        }
        self.row.extend(self.controls.iter().map(|control| (&raw const *control) as u64));
    }

    fn has_to_give(&self) -> bool {
        self.given < self.row.len() || self.flights.is_waiting()
    }

    /// Gives the kernel what waits. What it refuses ends with its errno.
    fn send(&mut self) {
        while self.has_to_give() {
            if self.given == self.row.len() {
                self.form();
            }
            let rest = &self.row[self.given..];
            // SAFETY: the row holds addresses of control blocks, which the kernel copies, as it does the rows of pieces that they name; the buffers
            // stay with their requests in their places.
            let taken = unsafe { libc::syscall(libc::SYS_io_submit, self.context, rest.len(), rest.as_ptr()) };
            if taken > 0 {
                self.given += taken as usize;
                continue;
            }
            match io::Error::last_os_error().raw_os_error() {
                // Events have to be taken first, or a signal came: the next reap goes on.
                Some(libc::EAGAIN | libc::EINTR) => return,
                errno => {
                    let refused = self.controls[self.given].data as u32;
                    self.given += 1;
                    self.flights.end(refused, -errno.unwrap_or(libc::EIO));
                }
            }
        }
    }

    fn collect(&mut self, at_least: usize) {
        let most = self.events.len();
        // SAFETY: the call writes at most so many events into the row, which lives through it (io_getevents(2)).
        let found = unsafe {
            let (row, forever) = (self.events.as_mut_ptr(), std::ptr::null::<libc::timespec>());
            libc::syscall(libc::SYS_io_getevents, self.context, at_least, most, row, forever)
        };
        for Event { data, result, .. } in &self.events[..usize::try_from(found).unwrap_or(0)] {
            self.flights.end(*data as u32, i32::try_from(*result).unwrap_or(i32::MAX));
        }
    }
}

impl BlockDevice for AioDisk {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, request: Request) -> Result<(), Request> {
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

    fn reap(&mut self, wait: bool, done: &mut Vec<Completion>) {
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
}

impl Drop for AioDisk {
    /// The kernel waits for what is under way (io_destroy(2)); what it was not given is nobody's.
    fn drop(&mut self) {
        self.send();
        // SAFETY: the context is this disk's own and destroyed once, here.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}
