//! A file or block device as a disk, directly on io_uring: the kernel transfers bytes from and to
//! the requests' own buffers.
//!
//! ```text
//!  submit ─▶ request in its place ─┐
//!                                  ├ reap: entries in the ring, and one io_uring_enter sends all and waits
//!  done ◀─ request ◀─ completion ──┘
//! ```
//!
//! One thread uses it: where the kernel supports it (Linux 6.1), the ring is set up for a single
//! issuer whose completions are processed only when it asks. A short transfer continues where it
//! stopped. A buffer is never returned before the kernel is done with it; if the ring breaks, its
//! buffers are leaked rather than used twice.
//!
//! Unsafe: it passes addresses of buffers to the kernel, and discards by `ioctl`.
#![allow(unsafe_code, reason = "island: addresses of buffers in submission entries")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use io_uring::{IoUring, Submitter, opcode, squeue, types};

use rustix::event::{EventfdFlags, eventfd};

use crate::flights::{Flights, Memory, Transfer};
use crate::opened_file::{Caching, DiskOptions, OpenedFile};
use crate::{Action, ActionKind, BlockDevice, DeviceError, DiskCompletion, DiskRequest, Geometry};

/// The index of the file in the table of registered files.
const FILE: types::Fixed = types::Fixed(0);
/// `BLKDISCARD` of linux/fs.h.
const BLKDISCARD: libc::Ioctl = 0x1277;
/// `IORING_ENTER_GETEVENTS` of linux/io_uring.h.
const GETEVENTS: u32 = 1;
/// More entries than any device needs; the kernel's own limit is higher.
const MOST_ENTRIES: u32 = 4096;

/// A disk on io_uring.
pub struct UringDisk {
    // Dropped first, after it has been drained: see `Drop`.
    ring: IoUring,
    file: File,
    geometry: Geometry,
    is_block_device: bool,
    caching: Caching,
    /// Indexed by the places in the entries' user data.
    flights: Flights,
    /// Entries in the ring that have not been submitted.
    queued: u32,
    /// Discards of block devices, which the ring does not support: the next reap does them.
    discards: Vec<DiskRequest>,
    is_enabled: bool,
    /// The kernel sets a flag when it has completions to process.
    shows_work: bool,
    gone: bool,
    /// An eventfd that is signalled when there is something to reap, for callers that also wait for
    /// other events.
    bell: Option<OwnedFd>,
}

impl std::fmt::Debug for UringDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UringDisk({:?}, {} under way)", self.geometry, self.flights.under_way())
    }
}

impl UringDisk {
    /// Opens a file or block device.
    ///
    /// # Errors
    /// The error of opening it, or of the kernel where io_uring is not permitted;
    /// [`crate::open_disk()`] then works without.
    pub fn open(path: &Path, opening: &DiskOptions) -> io::Result<UringDisk> {
        UringDisk::on(OpenedFile::open(path, opening)?, opening.depth).map_err(|(_, error)| error)
    }

    /// Whether transfers bypass the page cache.
    pub fn caching(&self) -> Caching {
        self.caching
    }

    /// A disk on an opened file; on failure, the file back and the reason.
    pub(crate) fn on(target: OpenedFile, depth: u32) -> Result<UringDisk, (OpenedFile, io::Error)> {
        let entries = depth.clamp(1, MOST_ENTRIES).next_power_of_two();
        let opened = set_up(entries).and_then(|(ring, shows_work)| {
            ring.submitter().register_files(&[target.file.as_raw_fd()])?;
            Ok((ring, shows_work))
        });
        let (ring, shows_work) = match opened {
            Ok(opened) => opened,
            Err(error) => return Err((target, error)),
        };
        Ok(UringDisk {
            ring,
            file: target.file,
            geometry: target.geometry,
            is_block_device: target.is_block_device,
            caching: target.caching,
            flights: Flights::new(entries),
            queued: 0,
            discards: Vec::new(),
            is_enabled: !shows_work,
            shows_work,
            gone: false,
            bell: None,
        })
    }

    /// Makes entries of waiting requests.
    fn queue(&mut self) {
        if self.queued == 0 {
            // The kernel copies pieces when it takes an entry (io_uring_setup(2),
            // `IORING_FEAT_SUBMIT_STABLE`).
            self.flights.all_shown();
        }
        while let Some(transfer) = self.flights.next() {
            let entry = entry(&transfer).user_data(u64::from(transfer.place));
            // SAFETY: the buffers' bytes stay where they are until the completion is taken, because
            // the requests stay in their places, and the iovecs until the entry is submitted; a
            // broken ring forgets its requests without freeing them, and dropping the disk waits
            // for the kernel.
            let pushed = unsafe { self.ring.submission().push(&entry) };
            assert!(pushed.is_ok(), "more entries are queued than there are places");
            self.queued += 1;
        }
    }

    /// Submits queued entries and waits for `at_least` completions.
    fn enter(&mut self, at_least: u32) {
        self.queue();
        if let Err(error) = self.try_enter(at_least) {
            match error.raw_os_error() {
                // A signal came, or completions have to be taken first: the next enter submits the
                // rest.
                Some(libc::EINTR | libc::EBUSY | libc::EAGAIN) => {}
                _ => self.lose(),
            }
        }
    }

    fn try_enter(&mut self, at_least: u32) -> io::Result<()> {
        let submitter: Submitter<'_> = self.ring.submitter();
        if !self.is_enabled {
            // From here on, only this thread may submit.
            submitter.register_enable_rings()?;
            self.is_enabled = true;
        }
        // SAFETY: no argument is passed, and the queued entries were vouched for when they were
        // pushed.
        let taken = unsafe { submitter.enter::<()>(self.queued, at_least, GETEVENTS, None) }?;
        self.queued -= taken as u32;
        Ok(())
    }

    /// Takes completions; what was short is queued again.
    fn collect(&mut self) {
        while let Some(event) = self.ring.completion().next() {
            self.flights.end(event.user_data() as u32, event.result());
        }
    }

    /// The ring is broken. Memory that the kernel may still write to is never used again.
    fn lose(&mut self) {
        self.gone = true;
        self.queued = 0;
        self.flights.lose();
    }

    fn has_to_send(&self) -> bool {
        self.queued > 0 || self.flights.is_waiting()
    }
}

/// Tells a block device that a range is no longer needed.
pub(crate) fn discard(device: &File, at: u64, length: u64) -> Result<(), DeviceError> {
    let range = [at, length];
    // SAFETY: the call reads two numbers of 64 bits (linux/fs.h), which live through it.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD, range.as_ptr()) };
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        _ if answer == 0 => Ok(()),
        // A discard is advice: a range that cannot be discarded stays as it is.
        Some(libc::EOPNOTSUPP | libc::ENOTTY) => Ok(()),
        errno => Err(DeviceError::Failed(errno.unwrap_or(libc::EIO))),
    }
}

/// A ring with the fastest set-up that the kernel supports, and whether it shows work by a flag and
/// still has to be enabled.
fn set_up(entries: u32) -> io::Result<(IoUring, bool)> {
    let mut builder = IoUring::builder();
    builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_submit_all().setup_r_disabled();
    if let Ok(ring) = builder.build(entries) {
        return Ok((ring, true));
    }
    // Linux before 6.1.
    IoUring::builder().build(entries).map(|ring| (ring, false))
}

/// The entry for a transfer.
fn entry(transfer: &Transfer) -> squeue::Entry {
    let Transfer { kind, at, length, memory, .. } = *transfer;
    match (kind, memory) {
        (ActionKind::Read, Memory::Piece(address)) => {
            opcode::Read::new(FILE, address, entry_length(length)).offset(at).build()
        }
        (ActionKind::Read, Memory::Pieces(row, count)) => opcode::Readv::new(FILE, row, count).offset(at).build(),
        (ActionKind::Write, Memory::Piece(address)) => {
            opcode::Write::new(FILE, address, entry_length(length)).offset(at).build()
        }
        (ActionKind::Write, Memory::Pieces(row, count)) => opcode::Writev::new(FILE, row, count).offset(at).build(),
        (ActionKind::Flush, _) => opcode::Fsync::new(FILE).flags(types::FsyncFlags::DATASYNC).build(),
        (ActionKind::Discard, _) => {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            opcode::Fallocate::new(FILE, length).offset(at).mode(mode).build()
        }
    }
}

/// Bytes to ask for at once, limited by the width of an entry's length.
fn entry_length(length: u64) -> u32 {
    const MOST: u64 = 1 << 30;
    length.min(MOST) as u32
}

impl BlockDevice for UringDisk {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        let answer = if self.gone { Some(Err(DeviceError::Gone)) } else { self.geometry.answer(&request.action) };
        if let Some(result) = answer {
            self.flights.finish(request, result);
            return Ok(());
        }
        if self.is_block_device && matches!(request.action, Action::Discard { .. }) {
            self.discards.push(request);
            return Ok(());
        }
        self.flights.admit(request)
    }

    fn waking(&mut self) -> Option<OwnedFd> {
        if self.bell.is_none() {
            // The ring's own descriptor does not signal completions that are processed only when
            // this thread asks.
            let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?;
            self.ring.submitter().register_eventfd(bell.as_raw_fd()).ok()?;
            self.bell = Some(bell);
        }
        self.bell.as_ref()?.try_clone().ok()
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>) {
        let before = done.len();
        if let Some(bell) = &self.bell {
            // Clear it before looking: a later completion signals it again.
            let _rang = rustix::io::read(bell, &mut [0; 8]);
        }
        while let Some(request) = self.discards.pop() {
            let (at, length) = request.action.range();
            let result = discard(&self.file, at, length);
            self.flights.finish(request, result);
        }
        loop {
            self.flights.drain_into(done);
            let under_way = self.flights.under_way() > 0;
            let waits = wait && done.len() == before && under_way;
            let has_work = !self.shows_work || self.ring.submission().taskrun();
            let is_there = !self.ring.completion().is_empty();
            if self.has_to_send() || (waits && !is_there) || (under_way && has_work) {
                self.enter(u32::from(waits && !is_there));
            }
            self.collect();
            self.flights.drain_into(done);
            // Resubmit what was short or interrupted before the caller waits for something else.
            if !self.has_to_send() && (!waits || done.len() > before) {
                return;
            }
        }
    }
}

impl Drop for UringDisk {
    /// Waits until the kernel has released every buffer.
    fn drop(&mut self) {
        while self.flights.under_way() > 0 && !self.gone {
            self.enter(1);
            self.collect();
        }
    }
}

#[cfg(test)]
mod tests;
