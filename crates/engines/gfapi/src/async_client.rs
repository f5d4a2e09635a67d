//! The client of `gfapi_async`: operations to libgfapi, whose threads call back into a mailbox.
//!
//! Unsafe code: the library reads and writes slots until it calls back, with the address of an
//! arrival, which lives as long as the client.

use std::ffi::c_void;
use std::io;
use std::sync::Arc;

use iolab_engine::mailbox::{Mailbox, SlotArrival};
use iolab_engine::{CompletionRow, LaneClient, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView};

use crate::volume::Opened;

/// A client of a volume, with a queue.
#[derive(Debug)]
pub struct GfapiAsyncClient {
    /// Dropped first: its end waits for callbacks, which know addresses of arrivals.
    opened: Opened,
    arrivals: Box<[SlotArrival]>,
    mailbox: Arc<Mailbox>,
    view: PoolView,
    done: CompletionRow,
}

/// Brings the result of an operation; called by a thread of the library, with its errno.
unsafe extern "C" fn landed(_: *mut c_void, result: isize, _: *mut c_void, _: *mut c_void, argument: *mut c_void) {
    let errno = || io::Error::last_os_error().raw_os_error().filter(|errno| *errno != 0).unwrap_or(libc::EIO);
    // SAFETY: the argument is an arrival of a lane, which outlives the client that calls back.
    let arrival = unsafe { &*argument.cast::<SlotArrival>() };
    arrival.land(if result < 0 { -i64::from(errno()) } else { result as i64 });
}

impl GfapiAsyncClient {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<GfapiAsyncClient, OpenError> {
        let failed = |errno| OpenError { message: "gfapi: eventfd".to_owned(), errno: Some(errno) };
        let mailbox = Arc::new(Mailbox::with_bell(request.depth).map_err(failed)?);
        Ok(GfapiAsyncClient {
            opened: Opened::of(request)?,
            arrivals: SlotArrival::of_slots(&mailbox, request.depth),
            mailbox,
            view: request.buffers,
            done: CompletionRow::with_depth(request.depth),
        })
    }
}

impl LaneClient for GfapiAsyncClient {
    /// The library's threads use slots until the last callback. It has a time-out of its own for
    /// servers that answer nothing (network.ping-timeout of the volume).
    const WAITS_AT_END: bool = true;

    fn offer(&mut self, op: &Op) -> Result<(), i32> {
        let file = *self.opened.handles.get(op.file as usize).ok_or(libc::EBADF)?;
        let moves = op.kind.moves_data();
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

    fn take(&mut self) -> Result<(), LaneError> {
        let GfapiAsyncClient { mailbox, done, .. } = self;
        mailbox.hush();
        mailbox.take(|completion| done.push(completion));
        Ok(())
    }

    fn done(&mut self) -> &mut CompletionRow {
        &mut self.done
    }

    fn wait(&mut self, timeout_ns: u64) -> Result<(), LaneError> {
        self.mailbox.wait(timeout_ns)
    }

    fn notes(&self) -> &[String] {
        &self.opened.notes
    }
}
