//! The lane of `gfapi_async`: operations to libgfapi, whose threads call back into a mailbox.
//!
//! Unsafe code: the library reads and writes slots until it calls back, with the address of an
//! arrival, which lives as long as the client.

use std::ffi::c_void;
use std::io;
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_engine::mailbox::{Mailbox, SlotArrival};
use iolab_engine::waiting::{Sleeper, poll_for, reap_rest};
use iolab_engine::{
    CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView, Submission, Wait,
};
use rustix::event::{PollFd, PollFlags};

use crate::volume::Opened;

/// A lane on files of a volume, with a queue.
#[derive(Debug)]
pub struct GfapiAsyncLane {
    /// Dropped first: its end waits for callbacks, which know addresses of arrivals.
    opened: Opened,
    arrivals: Box<[SlotArrival]>,
    mailbox: Arc<Mailbox>,
    view: PoolView,
    done: CompletionRow,
    /// Accepted and not reaped.
    in_flight: usize,
    /// Accepted and not completed by the library.
    with_library: usize,
    clock: Clock,
}

/// Brings the result of an operation; called by a thread of the library, with its errno.
unsafe extern "C" fn landed(_: *mut c_void, result: isize, _: *mut c_void, _: *mut c_void, argument: *mut c_void) {
    let errno = || io::Error::last_os_error().raw_os_error().filter(|errno| *errno != 0).unwrap_or(libc::EIO);
    // SAFETY: the argument is an arrival of a lane, which outlives the client that calls back.
    let arrival = unsafe { &*argument.cast::<SlotArrival>() };
    arrival.land(if result < 0 { -i64::from(errno()) } else { result as i64 });
}

impl GfapiAsyncLane {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<GfapiAsyncLane, OpenError> {
        let failed = |errno| OpenError { message: "gfapi: eventfd".to_owned(), errno: Some(errno) };
        let mailbox = Arc::new(Mailbox::with_bell(request.depth).map_err(failed)?);
        Ok(GfapiAsyncLane {
            opened: Opened::of(request)?,
            arrivals: SlotArrival::of_slots(&mailbox, request.depth),
            mailbox,
            view: request.buffers,
            done: CompletionRow::with_depth(request.depth),
            in_flight: 0,
            with_library: 0,
            clock: Clock::best().0,
        })
    }

    fn offer(&mut self, op: &Op) -> Result<(), i32> {
        let file = *self.opened.handles.get(op.file as usize).ok_or(libc::EBADF)?;
        let moves = matches!(op.kind, OpKind::Read | OpKind::Write);
        let length = if moves { op.length as usize } else { 0 };
        let slot = self.view.range_ptr(usize::from(op.slot), op.buffer_offset as usize, length).ok_or(libc::EFAULT)?;
        let offset = i64::try_from(op.offset).map_err(|_| libc::EINVAL)?;
        let arrival = &self.arrivals[usize::from(op.slot)];
        if !arrival.begin(length as u32, moves) {
            return Err(libc::EBUSY);
        }
        let functions = self.opened.volume.functions;
        let argument = std::ptr::from_ref(arrival).cast_mut().cast();
        // SAFETY: an open file; the bytes lie in the slot (`range_ptr`), which is the lane's until
        // the callback, and drop waits for all of them; the argument is what `landed` takes.
        let status = unsafe {
            match op.kind {
                OpKind::Read => (functions.glfs_pread_async)(file, slot.cast(), length, offset, 0, landed, argument),
                OpKind::Write => {
                    // A slot is smaller than the largest number.
                    (functions.glfs_pwrite_async)(file, slot.cast(), length as i32, offset, 0, landed, argument)
                }
                OpKind::Trim => (functions.glfs_discard_async)(file, offset, op.length as usize, landed, argument),
                OpKind::DataSync => (functions.glfs_fdatasync_async)(file, landed, argument),
                OpKind::Sync | OpKind::SyncFileRange => (functions.glfs_fsync_async)(file, landed, argument),
            }
        };
        if status < 0 {
            let errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO).clamp(1, 4095);
            arrival.cancel();
            return Err(errno);
        }
        Ok(())
    }

    /// Takes what the library has completed.
    fn take(&mut self) {
        // The signal goes first: what completes from here on makes another one.
        self.mailbox.hush();
        let GfapiAsyncLane { mailbox, done, with_library, .. } = self;
        *with_library -= mailbox.take(|completion| done.push(completion));
    }

    /// Sleeps until the library has completed something, at most for so long.
    fn await_bell(&self, timeout_ns: u64) -> Result<bool, LaneError> {
        let Some(bell) = self.mailbox.bell() else { return Ok(false) };
        poll_for(&mut [PollFd::from_borrowed_fd(bell, PollFlags::IN)], timeout_ns)
    }
}

impl Sleeper for GfapiAsyncLane {
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn collect(&mut self, out: &mut Completions) -> Result<usize, LaneError> {
        if self.with_library > 0 {
            self.take();
        }
        let found = self.done.drain_into(out);
        self.in_flight -= found;
        Ok(found)
    }

    fn sleep(&mut self, now_ns: u64, end_ns: u64) -> Result<(), LaneError> {
        self.await_bell(end_ns - now_ns).map(drop)
    }
}

impl Lane for GfapiAsyncLane {
    const SYNCHRONOUS: bool = false;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        match self.offer(op) {
            Ok(()) => {
                self.in_flight += 1;
                self.with_library += 1;
                Submission::Accepted
            }
            Err(errno) => Submission::Refused(errno),
        }
    }

    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let found = self.collect(out)?;
        reap_rest(self, wait, found, out)
    }

    fn notes(&self) -> &[String] {
        &self.opened.notes
    }
}

impl Drop for GfapiAsyncLane {
    fn drop(&mut self) {
        // The library's threads use slots until the last callback. It has a time-out of its own for
        // servers that answer nothing (network.ping-timeout of the volume).
        while self.with_library > 0 {
            if self.await_bell(1_000_000_000).is_err() {
                break;
            }
            self.take();
        }
    }
}
