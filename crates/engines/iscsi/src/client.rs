//! The client: operations become tasks, poll(2) waits, `iscsi_service` calls back.
//!
//! Unsafe code: calls of the library with those pointers, and its socket, borrowed for poll(2).

use std::ffi::c_void;
use std::os::fd::BorrowedFd;

use iolab_engine::waiting::poll_for;
use iolab_engine::{CompletionRow, LaneClient, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView};
use iolab_options::Settings;
use rustix::event::{PollFd, PollFlags};

use crate::flights::{Flight, Flights, task_ended};
use crate::library::{ScsiPiece, UnmapRange, error_text};
use crate::options::Asked;
use crate::session::{Session, free, status_of};

/// The longest transfer of a task, bytes; longer ones are cut, and the rest is sent again.
const MOST_BYTES: u32 = 1 << 20;

/// A client of a logical unit.
#[derive(Debug)]
pub struct IscsiClient {
    /// Dropped first: its context knows addresses of the flights.
    session: Option<Session>,
    flights: Flights,
    view: PoolView,
    block_mask: u64,
    block_shift: u32,
    /// Since when nothing has come although something was due, as far as anybody looked.
    silent_since_ns: Option<u64>,
    timeout_ns: u64,
    /// The errno with which the session was given up.
    broken: Option<i32>,
    notes: Vec<String>,
}

// SAFETY: the context and the flights belong to the lane, and one thread at a time uses it.
unsafe impl Send for IscsiClient {}

impl IscsiClient {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<IscsiClient, OpenError> {
        let [target] = request.files else {
            let message = "libiscsi: a job has one logical unit; use several jobs for several".to_owned();
            return Err(OpenError { message, errno: Some(libc::EINVAL) });
        };
        let options: &Settings = request.options;
        let session = Session::open(&target.path.to_string_lossy(), options)?;
        Ok(IscsiClient {
            flights: Flights::new(request.depth),
            view: request.buffers,
            block_mask: u64::from(session.block_bytes) - 1,
            block_shift: session.block_bytes.trailing_zeros(),
            silent_since_ns: None,
            timeout_ns: Asked::of(options).timeout_ns,
            broken: None,
            notes: Vec::new(),
            session: Some(session),
        })
    }

    /// Lets the library work on what the socket is ready for.
    fn serve(&mut self, ready: PollFlags) {
        let Some(session) = &self.session else { return };
        let before = self.flights.ended().done.len();
        // SAFETY: the context is ours; its callbacks find the flights, to which no reference
        // exists now.
        let status = unsafe { (session.functions.iscsi_service)(session.context, i32::from(ready.bits())) };
        let functions = session.functions;
        let ended = self.flights.ended();
        if ended.done.len() > before {
            self.silent_since_ns = None;
        }
        ended.spent.drain(..).for_each(|task| free(&functions, task));
        if let (Some(failure), true) = (self.flights.ended().first_failure, self.notes.is_empty()) {
            let why = error_text(&functions, session.context);
            self.notes.push(format!("{}: SCSI status {failure:#x}: {why}", session.url));
        }
        if status < 0 {
            let why = error_text(&functions, session.context);
            self.give_up(libc::ECONNRESET, &why);
        }
    }

    /// Ends the session, and all operations that it has.
    #[cold]
    fn give_up(&mut self, errno: i32, why: &str) {
        self.broken = Some(errno);
        self.flights.ended().cut_off_as = errno;
        if let Some(mut session) = self.session.take() {
            self.notes.push(format!("{}: the session is gone: {why}", session.url));
            session.answers = false;
            // Destroying the context calls back for each task.
            drop(session);
        }
        // Tasks that were cut off went with their context.
        self.flights.ended().spent.clear();
        self.flights.end_all(errno);
    }

    /// Waits until the socket is ready, at most for so long, and lets the library work.
    fn turn(&mut self, timeout_ns: u64) -> Result<(), LaneError> {
        let Some(session) = &self.session else { return Ok(()) };
        // SAFETY: an open context.
        let (fd, events) = unsafe {
            let functions = &session.functions;
            ((functions.iscsi_get_fd)(session.context), (functions.iscsi_which_events)(session.context))
        };
        if fd < 0 {
            self.give_up(libc::ECONNRESET, "the connection is closed");
            return Ok(());
        }
        // SAFETY: the library keeps the descriptor open during this call.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let mut list = [PollFd::from_borrowed_fd(fd, PollFlags::from_bits_truncate(events as u16))];
        if poll_for(&mut list, timeout_ns)? {
            let ready = list[0].revents();
            self.serve(ready);
        }
        Ok(())
    }
}

impl LaneClient for IscsiClient {
    /// With operations in flight, the session just ends.
    const WAITS_AT_END: bool = false;

    fn offer(&mut self, op: &Op) -> Result<(), i32> {
        if op.file != 0 {
            return Err(libc::EBADF);
        }
        if let Some(errno) = self.broken {
            return Err(errno);
        }
        let Some(session) = &self.session else { return Err(libc::ENOTCONN) };
        if !op.kind.is_sync() && (op.offset | u64::from(op.length)) & self.block_mask != 0 {
            return Err(libc::EINVAL);
        }
        let length = if op.kind.moves_data() { op.length.min(MOST_BYTES) } else { 0 };
        let slot = self.view.range_ptr(usize::from(op.slot), op.buffer_offset as usize, length as usize);
        let slot = slot.ok_or(libc::EFAULT)?;
        let flight = self.flights.begin(op.slot).ok_or(libc::EBUSY)?;
        let (lba, blocks) = (op.offset >> self.block_shift, op.length >> self.block_shift);
        let (functions, context, lun) = (&session.functions, session.context, session.url.lun);
        let private: *mut c_void = flight.cast();
        // SAFETY: the flight stays where it is, and is this task's until its callback; the bytes
        // lie in the slot (`range_ptr`), which is the lane's until then; the context is ours.
        let task = unsafe {
            (*flight).piece = ScsiPiece { base: slot.cast(), bytes: length as usize };
            (*flight).unmap = UnmapRange { lba, blocks };
            (*flight).moves = length;
            let Flight { piece, unmap, .. } = &mut *flight;
            let (piece, unmap): (*mut ScsiPiece, *mut UnmapRange) = (piece, unmap);
            let block = session.block_bytes as i32;
            match op.kind {
                OpKind::Read => (functions.iscsi_read16_iov_task)(
                    context, lun, lba, length, block, 0, 0, 0, 0, 0, task_ended, private, piece, 1,
                ),
                OpKind::Write => (functions.iscsi_write16_iov_task)(
                    context,
                    lun,
                    lba,
                    std::ptr::null_mut(),
                    length,
                    block,
                    0,
                    0,
                    0,
                    0,
                    0,
                    task_ended,
                    private,
                    piece,
                    1,
                ),
                OpKind::Trim => (functions.iscsi_unmap_task)(context, lun, 0, 0, unmap, 1, task_ended, private),
                OpKind::Sync | OpKind::DataSync | OpKind::SyncFileRange => {
                    (functions.iscsi_synchronizecache16_task)(context, lun, 0, 0, 0, 0, task_ended, private)
                }
            }
        };
        if task.is_null() {
            self.flights.cancel(op.slot);
            return Err(libc::ENOMEM);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LaneError> {
        // Whatever the socket takes goes now.
        self.poke()
    }

    fn take(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    fn done(&mut self) -> &mut CompletionRow {
        &mut self.flights.ended().done
    }

    fn wait(&mut self, timeout_ns: u64) -> Result<(), LaneError> {
        self.turn(timeout_ns)
    }

    fn poke(&mut self) -> Result<(), LaneError> {
        if self.flights.ended().with_library > 0 { self.turn(0) } else { Ok(()) }
    }

    fn give_up_silent(&mut self, now_ns: u64) -> u64 {
        if self.flights.ended().with_library == 0 {
            return u64::MAX;
        }
        let end_ns = self.silent_since_ns.get_or_insert(now_ns).saturating_add(self.timeout_ns);
        if now_ns >= end_ns {
            self.give_up(libc::ETIMEDOUT, "the target is silent");
        }
        end_ns
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Drop for IscsiClient {
    fn drop(&mut self) {
        // With operations in flight, the session just ends: the library then forgets their slots.
        if let Some(session) = &mut self.session {
            session.answers &= self.flights.ended().with_library == 0;
        }
        self.session = None;
    }
}

/// The first bytes of a unit, read one piece after the other.
pub(crate) fn first_bytes(session: &Session, bytes: usize) -> Result<Vec<u8>, String> {
    const PIECE_BYTES: usize = 64 << 10;
    let block = session.block_bytes;
    let whole = (bytes.next_multiple_of(block as usize) as u64).min(session.size_bytes()) as usize;
    let mut data = vec![0; whole];
    let functions = &session.functions;
    for (number, part) in data.chunks_mut(PIECE_BYTES).enumerate() {
        let lba = (number * PIECE_BYTES) as u64 / u64::from(block);
        let mut piece = ScsiPiece { base: part.as_mut_ptr().cast(), bytes: part.len() };
        // SAFETY: a context that is logged in, and memory of this length that nobody else uses
        // until the task has ended, which is waited for.
        let task = unsafe {
            let (context, lun, length) = (session.context, session.url.lun, part.len() as u32);
            (functions.iscsi_read16_iov_sync)(context, lun, lba, length, block as i32, 0, 0, 0, 0, 0, &mut piece, 1)
        };
        let is_good = !task.is_null() && status_of(task) == 0;
        let why = if is_good { String::new() } else { error_text(functions, session.context) };
        free(functions, task);
        if !is_good {
            return Err(why);
        }
    }
    data.truncate(bytes);
    Ok(data)
}
