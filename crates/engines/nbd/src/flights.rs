//! The operations of a lane that the server has: what they asked for, and how far they have come.
//!
//! A cookie is the number of the slot and a count of operations, so that a late or made-up reply
//! meets no other operation.
//!
//! Unsafe because it lends the pool of slots, which outlives the lane, to sockets.
#![allow(unsafe_code, reason = "island: lending the slot pool to sockets")]

use iolab_engine::{Completion, CompletionRow, LaneRequest, Op, OpKind, OpenError, PoolView};
use iolab_memory::SharedBytes;
use iolab_nbd::NbdStreamError;

/// Bits of a cookie that are the slot.
const SLOT_BITS: u32 = 16;

/// An operation of the server's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    /// 0 while the slot has no operation.
    pub(crate) cookie: u64,
    /// The connection that has it.
    pub(crate) connection: usize,
    pub(crate) kind: OpKind,
    /// Where on the export, bytes.
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// Where its data is in the memory of the slots.
    pub(crate) place: usize,
    /// Bytes of a read that have come.
    pub(crate) came: u32,
    /// The error that was told before the last chunk; 0 for none.
    errno: i32,
}

const IDLE: Flight =
    Flight { cookie: 0, connection: 0, kind: OpKind::Read, offset: 0, length: 0, place: 0, came: 0, errno: 0 };

/// All of them.
#[derive(Debug)]
pub(crate) struct Flights {
    by_slot: Box<[Flight]>,
    count: u64,
    view: PoolView,
    pub(crate) memory: SharedBytes,
    pub(crate) done: CompletionRow,
}

impl Flights {
    pub(crate) fn new(request: &LaneRequest<'_>) -> Result<Flights, OpenError> {
        let failed = |message: String| OpenError { message, errno: Some(libc::EINVAL) };
        if request.depth > 1 << SLOT_BITS {
            return Err(failed(format!("iodepth={} is more than 65536", request.depth)));
        }
        // SAFETY: the pool outlives the lane (contract of `LaneRequest`), and the window goes with
        // the lane; sockets use it only during calls of this lane's thread.
        let memory = unsafe { request.buffers.shared() }.map_err(|error| failed(error.to_string()))?;
        Ok(Flights {
            by_slot: vec![IDLE; request.depth].into(),
            count: 0,
            view: request.buffers,
            memory,
            done: CompletionRow::with_depth(request.depth),
        })
    }

    /// Notes an operation that moves at most `most` bytes. `None`: its buffer is not in its slot.
    #[inline]
    pub(crate) fn begin(&mut self, op: &Op, connection: usize, most: u32) -> Option<Flight> {
        let moves = op.kind.moves_data();
        let length = if moves { op.length.min(most) } else { op.length };
        let slot = usize::from(op.slot);
        let mut place = 0;
        if moves {
            self.view.range_ptr(slot, op.buffer_offset as usize, length as usize)?;
            place = self.view.slot_offset(slot) + op.buffer_offset as usize;
        }
        self.count += 1;
        let cookie = self.count << SLOT_BITS | u64::from(op.slot);
        let flight = Flight { cookie, connection, kind: op.kind, offset: op.offset, length, place, ..IDLE };
        *self.by_slot.get_mut(slot)? = flight;
        Some(flight)
    }

    #[inline]
    pub(crate) fn of_slot(&self, slot: u16) -> &Flight {
        &self.by_slot[usize::from(slot)]
    }

    #[inline]
    pub(crate) fn of_slot_mut(&mut self, slot: u16) -> &mut Flight {
        &mut self.by_slot[usize::from(slot)]
    }

    /// The slot of a reply on a connection.
    #[inline]
    pub(crate) fn find(&self, cookie: u64, connection: usize) -> Result<u16, NbdStreamError> {
        let slot = cookie as u16;
        match self.by_slot.get(usize::from(slot)) {
            Some(flight) if flight.cookie == cookie && flight.connection == connection => Ok(slot),
            _ => Err(NbdStreamError("a reply to nothing that was asked")),
        }
    }

    /// Notes an error; the operation ends with its last chunk.
    #[inline]
    pub(crate) fn fail(&mut self, slot: u16, errno: i32) {
        self.by_slot[usize::from(slot)].errno = errno;
    }

    /// Ends an operation whose answer is complete.
    #[inline]
    pub(crate) fn end(&mut self, slot: u16) {
        let flight = &mut self.by_slot[usize::from(slot)];
        let result = match (flight.errno, flight.kind) {
            (0, OpKind::Read) if flight.came != flight.length => -libc::EPROTO,
            (0, OpKind::Read | OpKind::Write) => flight.length as i32,
            (0, _) => 0,
            (errno, _) => -errno,
        };
        *flight = IDLE;
        self.done.push(Completion { slot: u32::from(slot), result });
    }

    /// Ends all operations of a connection with an error.
    #[cold]
    pub(crate) fn end_all(&mut self, connection: usize, errno: i32) {
        for slot in 0..self.by_slot.len() {
            let flight = &self.by_slot[slot];
            if flight.cookie != 0 && flight.connection == connection {
                self.fail(slot as u16, errno);
                self.end(slot as u16);
            }
        }
    }
}
