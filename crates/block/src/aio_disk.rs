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

use crate::target::Target;
use crate::uring_disk::{Flying, discard, outcome};
use crate::{Action, ActionKind, BlockDevice, Completion, Geometry, Request};

/// `IOCB_CMD_*` of linux/aio_abi.h.
const READ: u16 = 0;
const WRITE: u16 = 1;
const DATA_SYNC: u16 = 3;

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
    /// By the number in a control block's data.
    places: Vec<Option<Flying>>,
    controls: Vec<Control>,
    free: Vec<u32>,
    /// Addresses of control blocks that the kernel has not been given.
    queued: Vec<u64>,
    events: Vec<Event>,
    flying: usize,
    finished: Vec<Completion>,
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
            places: (0..places).map(|_| None).collect(),
            controls: vec![Control::default(); places as usize],
            free: (0..places).rev().collect(),
            queued: Vec::with_capacity(places as usize),
            events: vec![Event::default(); places as usize],
            flying: 0,
            finished: Vec::new(),
        })
    }

    /// Prepares the control block for what is left of the request in a place.
    fn queue(&mut self, place: u32) {
        let Some(Flying { request, moved }) = self.places[place as usize].as_ref() else { return };
        let (opcode, buffer, bytes, at) = match &request.action {
            Action::Read { at, buffer } => (READ, buffer.address() as u64, buffer.len() as u64, *at),
            Action::Write { at, buffer } => (WRITE, buffer.address() as u64, buffer.len() as u64, *at),
            _ => (DATA_SYNC, 0, 0, 0),
        };
        let moved = if bytes == 0 { 0 } else { *moved };
        let control = &mut self.controls[place as usize];
        *control = Control {
            data: u64::from(place),
            opcode,
            fd: self.file.as_raw_fd() as u32,
            buffer: buffer + moved,
            bytes: bytes - moved,
            offset: (at + moved) as i64,
            ..Control::default()
        };
        self.queued.push((&raw const *control) as u64);
    }

    /// Gives the kernel what was queued. What it refuses ends with its errno.
    fn send(&mut self) {
        while !self.queued.is_empty() {
            let count = self.queued.len();
            // SAFETY: the row holds addresses of control blocks, which never move, whose buffers stay with their requests in their places.
            let taken = unsafe { libc::syscall(libc::SYS_io_submit, self.context, count, self.queued.as_ptr()) };
            if taken > 0 {
                self.queued.drain(..taken as usize);
                continue;
            }
            match io::Error::last_os_error().raw_os_error() {
                // Events have to be taken first, or a signal came: the next reap goes on.
                Some(libc::EAGAIN | libc::EINTR) => return,
                errno => {
                    let address = self.queued.remove(0);
                    let first = self.controls.as_ptr() as u64;
                    self.end(((address - first) / size_of::<Control>() as u64) as u32, -errno.unwrap_or(libc::EIO));
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
        for index in 0..usize::try_from(found).unwrap_or(0) {
            let Event { data, result, .. } = self.events[index];
            self.end(data as u32, i32::try_from(result).unwrap_or(i32::MAX));
        }
    }

    fn end(&mut self, place: u32, result: i32) {
        let Some(flying) = self.places[place as usize].as_mut() else { return };
        match outcome(flying, result) {
            None => self.queue(place),
            Some(result) => {
                self.flying -= 1;
                self.free.push(place);
                let ended = self.places[place as usize].take();
                self.finished.extend(ended.map(|flying| flying.request.complete(result)));
            }
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
        if let Some(result) = answer {
            self.finished.push(request.complete(result));
            return Ok(());
        }
        let Some(place) = self.free.pop() else { return Err(request) };
        self.places[place as usize] = Some(Flying { request, moved: 0 });
        self.flying += 1;
        self.queue(place);
        Ok(())
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<Completion>) {
        let before = done.len();
        loop {
            self.send();
            done.append(&mut self.finished);
            let waits = wait && done.len() == before && self.flying > 0;
            if self.flying > 0 {
                self.collect(usize::from(waits));
            }
            done.append(&mut self.finished);
            if self.queued.is_empty() && (!waits || done.len() > before) {
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
