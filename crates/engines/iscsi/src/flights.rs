//! What the library knows by address while it works: the pieces of transfers, and where the results
//! of tasks go.
//!
//! Both stay where they are from the first task to the last: they are made once, and the library
//! is given pointers into them.
//!
//! Unsafe code: the callback gets slots and results back as the pointers that the library
//! was given.

use std::ffi::{c_int, c_void};

use iolab_engine::{Completion, CompletionRow};

use crate::library::{ScsiPiece, UnmapRange};
use crate::session;

/// `SCSI_STATUS_GOOD`, and others of `scsi-lowlevel.h`.
mod status {
    pub(super) const GOOD: i32 = 0;
    pub(super) const CHECK_CONDITION: i32 = 2;
    pub(super) const BUSY: i32 = 8;
    pub(super) const RESERVATION_CONFLICT: i32 = 0x18;
    pub(super) const TASK_SET_FULL: i32 = 0x28;
    pub(super) const CANCELLED: i32 = 0x0f00_0000;
    pub(super) const TIMEOUT: i32 = 0x0f00_0002;
}

/// A task of a slot.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) piece: ScsiPiece,
    pub(crate) unmap: UnmapRange,
    /// Bytes that it moves if it succeeds.
    pub(crate) moves: u32,
    pub(crate) slot: u16,
    is_used: bool,
    /// Where its result goes.
    ended: *mut Ended,
}

/// What has ended since it was looked at.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) done: CompletionRow,
    /// Tasks that the library has.
    pub(crate) with_library: usize,
    /// Tasks to be freed: not during their own callback.
    pub(crate) spent: Vec<*mut c_void>,
    /// The errno of tasks that are cut off with their session.
    pub(crate) cut_off_as: i32,
    /// The status of the first one that failed.
    pub(crate) first_failure: Option<i32>,
}

/// Flights and their results, both at addresses that do not change. They are owned by address: the
/// library's callbacks reach them while no reference to them exists.
#[derive(Debug)]
pub(crate) struct Flights {
    by_slot: *mut [Flight],
    ended: *mut Ended,
}

impl Flights {
    pub(crate) fn new(depth: usize) -> Flights {
        let ended = Box::into_raw(Box::new(Ended {
            done: CompletionRow::with_depth(depth),
            with_library: 0,
            spent: Vec::with_capacity(depth),
            cut_off_as: libc::ECONNRESET,
            first_failure: None,
        }));
        let flight = |slot: usize| Flight {
            piece: ScsiPiece { base: std::ptr::null_mut(), bytes: 0 },
            unmap: UnmapRange { lba: 0, blocks: 0 },
            moves: 0,
            slot: slot as u16,
            is_used: false,
            ended,
        };
        let by_slot: Box<[Flight]> = (0..depth).map(flight).collect();
        Flights { by_slot: Box::into_raw(by_slot), ended }
    }

    fn all(&mut self) -> &mut [Flight] {
        // SAFETY: made in `new`, freed in `drop`; `self` is borrowed for as long as the answer, and
        // callbacks come only during calls of the library, when there is no such borrow.
        unsafe { &mut *self.by_slot }
    }

    /// The flight of a slot, for a new task.
    pub(crate) fn begin(&mut self, slot: u16) -> Option<*mut Flight> {
        let is_free = self.all().get(usize::from(slot)).is_some_and(|flight| !flight.is_used);
        if !is_free {
            return None;
        }
        self.all()[usize::from(slot)].is_used = true;
        self.ended().with_library += 1;
        Some(self.by_slot.cast::<Flight>().wrapping_add(usize::from(slot)))
    }

    /// Undoes [`Flights::begin`]: the library has not taken the task.
    pub(crate) fn cancel(&mut self, slot: u16) {
        self.all()[usize::from(slot)].is_used = false;
        self.ended().with_library -= 1;
    }

    pub(crate) fn ended(&mut self) -> &mut Ended {
        // SAFETY: as in `all`.
        unsafe { &mut *self.ended }
    }

    /// Ends all that the library still has, with an error: its context is gone.
    pub(crate) fn end_all(&mut self, errno: i32) {
        for slot in 0..self.all().len() {
            let flight = &mut self.all()[slot];
            if flight.is_used {
                flight.is_used = false;
                let ended = self.ended();
                ended.with_library -= 1;
                ended.done.push(Completion { slot: slot as u32, result: -errno });
            }
        }
    }
}

impl Drop for Flights {
    fn drop(&mut self) {
        // SAFETY: both were made by `Box::into_raw`, and nobody uses them any more: the context
        // that knew them is destroyed before.
        unsafe {
            drop(Box::from_raw(self.by_slot));
            drop(Box::from_raw(self.ended));
        }
    }
}

/// The errno of a status.
fn errno(status: c_int) -> i32 {
    match status {
        status::CHECK_CONDITION => libc::EREMOTEIO,
        status::BUSY | status::TASK_SET_FULL => libc::EBUSY,
        status::RESERVATION_CONFLICT => libc::EBADE,
        status::TIMEOUT => libc::ETIMEDOUT,
        _ => libc::EIO,
    }
}

/// Takes the result of a task.
///
/// # Safety
/// `private` is the flight that was given with the task; the library calls it on the lane's thread,
/// within a call of the lane, while no reference to the flights exists.
pub(crate) unsafe extern "C" fn task_ended(_: *mut c_void, status: c_int, task: *mut c_void, private: *mut c_void) {
    // SAFETY: the caller's promise.
    let flight = unsafe { &mut *private.cast::<Flight>() };
    // SAFETY: the results live as long as the flights, beside them.
    let ended = unsafe { &mut *flight.ended };
    if !flight.is_used {
        return;
    }
    flight.is_used = false;
    ended.with_library -= 1;
    // A task that was cut off has no status of its own.
    let status = if task.is_null() || status != status::GOOD { status } else { session::status_of(task) };
    let result = match status {
        status::GOOD => flight.moves as i32,
        status::CANCELLED => -ended.cut_off_as,
        _ => -errno(status),
    };
    if status != status::GOOD && status != status::CANCELLED {
        ended.first_failure.get_or_insert(status);
    }
    ended.done.push(Completion { slot: u32::from(flight.slot), result });
    if !task.is_null() {
        ended.spent.push(task);
    }
}
