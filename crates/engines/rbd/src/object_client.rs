//! The client of objects: operations to librados, whose threads call back into a mailbox.
//!
//! Unsafe code: the library reads and writes slots until it calls back, with the address of an
//! arrival, which lives as long as the client.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use iolab_engine::mailbox::{Mailbox, SlotArrival};
use iolab_engine::{CompletionRow, LaneClient, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView};

use crate::cluster::c_text;
use crate::libraries::Objects;
use crate::object::Store;
use crate::options::Asked;

/// A client of a pool.
#[derive(Debug)]
pub struct RadosClient {
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
    busy_poll: bool,
    notes: Vec<String>,
}

// SAFETY: librados allows its handles to be used by any thread, and one thread at a time uses the
// lane.
unsafe impl Send for RadosClient {}

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

impl RadosClient {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<RadosClient, OpenError> {
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
        Ok(RadosClient {
            arrivals: SlotArrival::of_slots(&mailbox, request.depth),
            mailbox,
            store,
            view: request.buffers,
            names,
            sizes: sizes.into(),
            flights: vec![None; request.depth].into(),
            done: CompletionRow::with_depth(request.depth),
            busy_poll: asked.busy_poll,
            notes,
        })
    }
}

impl LaneClient for RadosClient {
    /// The library's threads use slots until the last callback, which the time-outs of the client
    /// bound. The end of the client waits for callbacks that have not returned.
    const WAITS_AT_END: bool = true;

    fn offer(&mut self, op: &Op) -> Result<(), i32> {
        let name = self.names.get(op.file as usize).ok_or(libc::EBADF)?;
        let size = self.sizes[op.file as usize];
        let moves = op.kind.moves_data();
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

    fn take(&mut self) -> Result<(), LaneError> {
        let RadosClient { mailbox, store, flights, done, .. } = self;
        mailbox.hush();
        mailbox.take(|completion| {
            if let Some(flight) = flights[completion.slot as usize].take() {
                release(store.objects, flight);
            }
            done.push(completion);
        });
        Ok(())
    }

    fn done(&mut self) -> &mut CompletionRow {
        &mut self.done
    }

    fn wait(&mut self, timeout_ns: u64) -> Result<(), LaneError> {
        if self.busy_poll { Ok(()) } else { self.mailbox.wait(timeout_ns) }
    }

    fn notes(&self) -> &[String] {
        &self.notes
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
