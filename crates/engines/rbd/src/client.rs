//! The client: operations to librbd, whose threads carry them out, and completions back by an
//! eventfd.
//!
//! Unsafe code: the library reads and writes slots of the pool until it says that an operation
//! ended.

use std::ffi::c_void;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use iolab_engine::waiting::poll_for;
use iolab_engine::{Completion, CompletionRow, LaneClient, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::io::{Errno, read};

use crate::cluster::{Image, ImageAccess, check};
use crate::options::Asked;

/// `EVENT_TYPE_EVENTFD` of librbd.h.
const EVENT_TYPE_EVENTFD: i32 = 2;
/// Completions that one call takes.
const BATCH: usize = 64;

/// A client of an image.
#[derive(Debug)]
pub struct RbdClient {
    image: Image,
    view: PoolView,
    /// The operation of each slot that the library has.
    flights: Box<[Option<Flight>]>,
    done: CompletionRow,
    event: OwnedFd,
    busy_poll: bool,
    notes: Vec<String>,
}

/// An operation that the library has.
#[derive(Debug, Clone, Copy)]
struct Flight {
    /// Bytes that it moves if it succeeds.
    moves: u32,
    /// Whether the library says how many it has moved.
    is_read: bool,
}

impl RbdClient {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<RbdClient, OpenError> {
        let [target] = request.files else {
            let message = "rbd: a job has one image; use several jobs for several".to_owned();
            return Err(OpenError { message, errno: Some(libc::EINVAL) });
        };
        let name = target.path.to_string_lossy();
        let image = Image::open(&name, request.options, ImageAccess::ReadWrite)?;
        let failed =
            |errno: Errno| OpenError { message: format!("rbd: eventfd: {errno}"), errno: Some(errno.raw_os_error()) };
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
        // SAFETY: an open image, and a descriptor that lives as long as the image: it is a field
        // behind it.
        let status =
            unsafe { (image.images.rbd_set_image_notification)(image.handle, event.as_raw_fd(), EVENT_TYPE_EVENTFD) };
        check(status, || "rbd_set_image_notification".to_owned())?;
        let notes = match image.is_cached {
            true => vec![format!(
                "image {name}: the cache of librbd is on, so writes complete in the memory of this client (rbd_cache=0 \
                switches it off)."
            )],
            false => Vec::new(),
        };
        Ok(RbdClient {
            view: request.buffers,
            flights: vec![None; request.depth].into(),
            done: CompletionRow::with_depth(request.depth),
            event,
            busy_poll: Asked::of(request.options).busy_poll,
            notes,
            image,
        })
    }
}

impl LaneClient for RbdClient {
    /// The library's threads use slots until the last completion, which the time-outs of the client
    /// bound.
    const WAITS_AT_END: bool = true;

    fn offer(&mut self, op: &Op) -> Result<(), i32> {
        if op.file != 0 {
            return Err(libc::EBADF);
        }
        let moves = op.kind.moves_data();
        let length = if moves { op.length as usize } else { 0 };
        let slot = self.view.range_ptr(usize::from(op.slot), op.buffer_offset as usize, length).ok_or(libc::EFAULT)?;
        let (images, image) = (&self.image.images, self.image.handle);
        if self.flights.get(usize::from(op.slot)).is_none_or(Option::is_some) {
            return Err(libc::EBUSY);
        }
        let mut completion = std::ptr::null_mut();
        let argument = usize::from(op.slot) as *mut c_void;
        // SAFETY: the argument is a number that only this lane reads; no callback; the answer goes
        // to a place of ours.
        let made = unsafe { (images.rbd_aio_create_completion)(argument, std::ptr::null_mut(), &mut completion) };
        if made < 0 {
            return Err(-made);
        }
        // SAFETY: the image is open; the bytes lie in the slot (`range_ptr`), which is the lane's
        // until the completion, and drop waits for all of them.
        let status = unsafe {
            match op.kind {
                OpKind::Read => (images.rbd_aio_read)(image, op.offset, length, slot.cast(), completion),
                OpKind::Write => (images.rbd_aio_write)(image, op.offset, length, slot.cast(), completion),
                OpKind::Trim => (images.rbd_aio_discard)(image, op.offset, u64::from(op.length), completion),
                OpKind::Sync | OpKind::DataSync | OpKind::SyncFileRange => (images.rbd_aio_flush)(image, completion),
            }
        };
        if status < 0 {
            // SAFETY: a completion that the library has not taken.
            unsafe { (images.rbd_aio_release)(completion) };
            return Err(-status);
        }
        self.flights[usize::from(op.slot)] = Some(Flight { moves: length as u32, is_read: op.kind == OpKind::Read });
        Ok(())
    }

    fn take(&mut self) -> Result<(), LaneError> {
        // The signal goes first: what completes from here on makes another one.
        let _ = read(&self.event, &mut [0; 8]);
        let images = &self.image.images;
        loop {
            let mut list = [std::ptr::null_mut(); BATCH];
            // SAFETY: an open image with a notification, and a list of this length.
            let count = unsafe { (images.rbd_poll_io_events)(self.image.handle, list.as_mut_ptr(), BATCH as i32) };
            if count < 0 {
                return Err(LaneError { call: "rbd_poll_io_events", errno: -count });
            }
            for completion in &list[..(count as usize).min(BATCH)] {
                // SAFETY: a completion that the library hands out; its argument is a number.
                let slot = unsafe { (images.rbd_aio_get_arg)(*completion) } as usize;
                // One that is nobody's, or comes twice, is passed over.
                let Some(flight) = self.flights.get_mut(slot).and_then(Option::take) else { continue };
                // SAFETY: a completion of this lane that has completed, used for the last time.
                let value = unsafe {
                    let value = (images.rbd_aio_get_return_value)(*completion);
                    (images.rbd_aio_release)(*completion);
                    value
                };
                let moves = flight.moves as i32;
                let result = match value {
                    ..0 => value.max(-4095) as i32,
                    _ if flight.is_read => value.min(moves as isize) as i32,
                    _ => moves,
                };
                self.done.push(Completion { slot: slot as u32, result });
            }
            if (count as usize) < BATCH {
                return Ok(());
            }
        }
    }

    fn done(&mut self) -> &mut CompletionRow {
        &mut self.done
    }

    fn wait(&mut self, timeout_ns: u64) -> Result<(), LaneError> {
        if self.busy_poll {
            return Ok(());
        }
        poll_for(&mut [PollFd::from_borrowed_fd(self.event.as_fd(), PollFlags::IN)], timeout_ns).map(drop)
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}
