//! The lane of objects: operations to librados, whose threads call back into a mailbox.
//!
//! Unsafe code: the library reads and writes slots until it calls back, with the address of an
//! arrival, which lives as long as the client.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_engine::mailbox::{Mailbox, SlotArrival};
use iolab_engine::waiting::{Sleeper, poll_for, reap_rest};
use iolab_engine::{
    CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView, Submission, Wait,
};
use rustix::event::{PollFd, PollFlags};

use crate::cluster::c_text;
use crate::libraries::Objects;
use crate::object::Store;
use crate::options::Asked;

/// A lane on objects of a pool.
#[derive(Debug)]
pub struct RadosLane {
    /// Dropped first: its end waits for callbacks, which know addresses of arrivals.
    store: Store,
    arrivals: Box<[SlotArrival]>,
    mailbox: Arc<Mailbox>,
    view: PoolView,
    names: Box<[CString]>,
    /// The size of each object as it was found or made; the largest number where nobody looked.
    sizes: Box<[u64]>,
    /// What the library has of each slot, to be released.
    flights: Box<[Option<Flight>]>,
    done: CompletionRow,
    /// Accepted and not reaped.
    in_flight: usize,
    /// Accepted and not completed by the library.
    with_library: usize,
    busy_poll: bool,
    notes: Vec<String>,
    clock: Clock,
}

// SAFETY: librados allows its handles to be used by any thread, and one thread at a time uses the
// lane.
unsafe impl Send for RadosLane {}

/// Handles of an operation.
#[derive(Debug, Clone, Copy)]
struct Flight {
    completion: *mut c_void,
    /// Of trims; null otherwise.
    operation: *mut c_void,
}

/// Brings the result of an operation; called by a thread of the library.
unsafe extern "C" fn landed(completion: *mut c_void, argument: *mut c_void) {
    // The library that calls has been loaded.
    let Ok(objects) = Objects::get() else { return };
    // SAFETY: the argument is an arrival of a lane, which outlives the client that calls back.
    let arrival = unsafe { &*argument.cast::<SlotArrival>() };
    // SAFETY: a completion that the library hands out until it is released.
    arrival.land(i64::from(unsafe { (objects.rados_aio_get_return_value)(completion) }));
}

impl RadosLane {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<RadosLane, OpenError> {
        let asked = Asked::of(request.options);
        let store = Store::open(&asked)?;
        let names = request.files.iter().map(|target| c_text(&target.path.to_string_lossy()));
        let names = names.collect::<Result<Box<[CString]>, OpenError>>()?;
        let (mut sizes, mut notes) = (vec![u64::MAX; names.len()], Vec::new());
        if asked.touches {
            let mut holes = 0;
            for ((name, size), target) in names.iter().zip(&mut sizes).zip(request.files) {
                let touched = store.touch(name, target.size_bytes)?;
                *size = touched.bytes;
                holes += usize::from(touched.is_longer);
            }
            let all = names.len();
            let what = "were made longer for this job: a read before the first write finds a hole.";
            notes.extend((holes > 0).then(|| format!("{holes} of {all} objects {what}")));
        }
        let failed = |errno| OpenError { message: "rados: eventfd".to_owned(), errno: Some(errno) };
        let mailbox = Arc::new(Mailbox::with_bell(request.depth).map_err(failed)?);
        Ok(RadosLane {
            arrivals: SlotArrival::of_slots(&mailbox, request.depth),
            mailbox,
            store,
            view: request.buffers,
            names,
            sizes: sizes.into(),
            flights: vec![None; request.depth].into(),
            done: CompletionRow::with_depth(request.depth),
            in_flight: 0,
            with_library: 0,
            busy_poll: asked.busy_poll,
            notes,
            clock: Clock::best().0,
        })
    }

    fn offer(&mut self, op: &Op) -> Result<(), i32> {
        let name = self.names.get(op.file as usize).ok_or(libc::EBADF)?;
        let size = self.sizes[op.file as usize];
        let moves = matches!(op.kind, OpKind::Read | OpKind::Write);
        let length = if moves { op.length as usize } else { 0 };
        let slot = self.view.range_ptr(usize::from(op.slot), op.buffer_offset as usize, length).ok_or(libc::EFAULT)?;
        let arrival = &self.arrivals[usize::from(op.slot)];
        if !arrival.begin(length as u32, op.kind == OpKind::Read) {
            return Err(libc::EBUSY);
        }
        let argument = std::ptr::from_ref(arrival).cast_mut().cast();
        let (objects, pool) = (self.store.objects, self.store.pool.handle);
        let mut flight = Flight { completion: std::ptr::null_mut(), operation: std::ptr::null_mut() };
        // SAFETY: the argument is what `landed` takes; the answer goes to a place of ours.
        let made = unsafe { (objects.rados_aio_create_completion2)(argument, Some(landed), &mut flight.completion) };
        if made < 0 {
            arrival.cancel();
            return Err(-made);
        }
        let (offset, completion) = (op.offset, flight.completion);
        // SAFETY: the pool is open; the bytes lie in the slot (`range_ptr`), which is the lane's
        // until the callback, and drop waits for all of them. The library copies names.
        let status = unsafe {
            match op.kind {
                OpKind::Read => (objects.rados_aio_read)(pool, name.as_ptr(), completion, slot.cast(), length, offset),
                OpKind::Write => {
                    (objects.rados_aio_write)(pool, name.as_ptr(), completion, slot.cast(), length, offset)
                }
                OpKind::Trim => {
                    flight.operation = (objects.rados_create_write_op)();
                    let end = offset + u64::from(op.length);
                    (objects.rados_write_op_zero)(flight.operation, offset, u64::from(op.length));
                    // Ceph cuts an object that is zeroed to its end.
                    if end == size {
                        (objects.rados_write_op_truncate)(flight.operation, size);
                    }
                    let now = std::ptr::null_mut();
                    (objects.rados_aio_write_op_operate)(flight.operation, pool, completion, name.as_ptr(), now, 0)
                }
                OpKind::Sync | OpKind::DataSync | OpKind::SyncFileRange => {
                    (objects.rados_aio_flush_async)(pool, completion)
                }
            }
        };
        if status < 0 {
            arrival.cancel();
            release(objects, flight);
            return Err(-status);
        }
        self.flights[usize::from(op.slot)] = Some(flight);
        Ok(())
    }

    /// Takes what the library has completed.
    fn take(&mut self) {
        // The signal goes first: what completes from here on makes another one.
        self.mailbox.hush();
        let RadosLane { mailbox, store, flights, done, with_library, .. } = self;
        mailbox.take(|completion| {
            if let Some(flight) = flights[completion.slot as usize].take() {
                release(store.objects, flight);
            }
            done.push(completion);
            *with_library -= 1;
        });
    }

    /// Sleeps until the library has completed something, at most for so long.
    fn await_bell(&self, timeout_ns: u64) -> Result<bool, LaneError> {
        let Some(bell) = self.mailbox.bell() else { return Ok(false) };
        poll_for(&mut [PollFd::from_borrowed_fd(bell, PollFlags::IN)], timeout_ns)
    }
}

/// Gives the handles of an operation back.
fn release(objects: &Objects, flight: Flight) {
    // SAFETY: handles of the library that are used for the last time; it keeps a completion until
    // its callback has returned.
    unsafe {
        (objects.rados_aio_release)(flight.completion);
        if !flight.operation.is_null() {
            (objects.rados_release_write_op)(flight.operation);
        }
    }
}

impl Sleeper for RadosLane {
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
        if self.busy_poll { Ok(()) } else { self.await_bell(end_ns - now_ns).map(drop) }
    }
}

impl Lane for RadosLane {
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
        &self.notes
    }
}

impl Drop for RadosLane {
    fn drop(&mut self) {
        // The library's threads use slots until the last callback, which the time-outs of the
        // client bound. The end of the client waits for callbacks that have not returned.
        while self.with_library > 0 {
            if self.await_bell(1_000_000_000).is_err() {
                break;
            }
            self.take();
        }
    }
}
