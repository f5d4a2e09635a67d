//! Native AIO: control blocks as the program submits them, completions as the kernel puts them into
//! the ring that it shares with the program (include/uapi/linux/aio_abi.h, fs/aio.c of Linux).
//!
//! ```text
//!  control block:  data: u64 │ key, flags: u32 × 2 │ operation: u16 │ priority: i16 │ fd: u32 │ buffer, bytes, offset: u64 × 3
//!  ring, at the number that is the context:  id, entries, head, tail, magic: u32 × 5 │ … │ at 32: event × entries
//!  event:          data │ control block │ result │ result 2      (u64 × 4)
//! ```
//! Programs may take completions out of the ring without a call. The kernel always moves the tail:
//! entries between the last seen tail and the current one have completed.

use std::collections::HashMap;

use iolab_trace::{Call, Flags, Operation};

use crate::memory;

const MAGIC: u32 = 0xa10a_10a1;
const HEADER_BYTES: u64 = 32;
const EVENT_BYTES: u64 = 32;
/// Largest number of control blocks read for one call.
const MOST: u64 = 1 << 16;

const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;
const PREADV: u16 = 7;
const PWRITEV: u16 = 8;

/// A control block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Control {
    pub(crate) address: u64,
    pub(crate) call: Option<Call>,
    pub(crate) fd: i32,
    pub(crate) length: u64,
    pub(crate) offset: u64,
    pub(crate) flags: Flags,
}

/// The operations in flight of a process.
#[derive(Debug, Default)]
pub(crate) struct Aio {
    /// By the address of the control block.
    pending: HashMap<u64, Operation>,
    /// The tail that was seen last, by context.
    tails: HashMap<u64, u32>,
}

/// The control blocks of `io_submit(context, number, list)`.
pub(crate) fn controls(thread: i32, number: u64, list: u64) -> Vec<Control> {
    let addresses = (0..number.min(MOST)).map_while(|index| memory::long(thread, list + index * 8));
    addresses.map_while(|address| control(thread, address)).collect()
}

fn control(thread: i32, address: u64) -> Option<Control> {
    let block: [u8; 64] = memory::bytes(thread, address)?;
    let (buffer, length) = (memory::number(&block, 24), memory::number(&block, 32));
    let (call, length) = match u16::from_le_bytes([block[16], block[17]]) {
        PREAD => (Some(Call::AioRead), length),
        PWRITE => (Some(Call::AioWrite), length),
        PREADV => (Some(Call::AioRead), memory::vector_length(thread, buffer, length)),
        PWRITEV => (Some(Call::AioWrite), memory::vector_length(thread, buffer, length)),
        FSYNC => (Some(Call::AioFsync), 0),
        FDSYNC => (Some(Call::AioFdatasync), 0),
        _ => (None, 0),
    };
    let flags = crate::calls::flags_of_transfer(u64::from(memory::half(&block, 12)));
    let (fd, offset) = (memory::half(&block, 20) as i32, memory::number(&block, 40));
    Some(Control { address, call, fd, length, offset, flags })
}

impl Aio {
    /// Remembers what was submitted; returns an operation whose end was missed, if its control
    /// block was used again.
    pub(crate) fn submitted(&mut self, address: u64, operation: Operation) -> Option<Operation> {
        self.pending.insert(address, operation)
    }

    /// Remembers where the ring of a context is, before anything is submitted to it.
    pub(crate) fn knows(&mut self, thread: i32, context: u64) {
        if !self.tails.contains_key(&context)
            && let Some((_, tail)) = ring(thread, context)
        {
            self.tails.insert(context, tail);
        }
    }

    /// Operations of a context that completed until `now_ns`; `late` if the program may have known
    /// before.
    pub(crate) fn completed(&mut self, thread: i32, context: u64, now_ns: u64, late: bool) -> Vec<Operation> {
        let mut done = Vec::new();
        let Some((entries, tail)) = ring(thread, context) else { return done };
        let mut at = self.tails.insert(context, tail).unwrap_or(tail);
        while at != tail && done.len() < entries as usize {
            let event: Option<[u8; 32]> =
                memory::bytes(thread, context + HEADER_BYTES + u64::from(at % entries) * EVENT_BYTES);
            if let Some(event) = event
                && let Some(operation) = self.pending.remove(&memory::number(&event, 8))
            {
                let result = memory::number(&event, 16) as i64;
                let duration_ns = now_ns.saturating_sub(operation.time_ns);
                let flags = operation.flags.and_if(late, Flags::END_LATE);
                done.push(Operation { result, duration_ns, flags, ..operation });
            }
            at = (at + 1) % entries;
        }
        done
    }

    /// The contexts that are known.
    pub(crate) fn contexts(&self) -> Vec<u64> {
        self.tails.keys().copied().collect()
    }

    /// Gives up what is in flight.
    pub(crate) fn give_up(&mut self) -> Vec<Operation> {
        self.pending.drain().map(|(_, operation)| operation).collect()
    }
}

/// Entries and tail of a ring.
fn ring(thread: i32, context: u64) -> Option<(u32, u32)> {
    let header: [u8; 20] = memory::bytes(thread, context)?;
    let (entries, tail) = (memory::half(&header, 4), memory::half(&header, 12));
    (memory::half(&header, 16) == MAGIC && (1..1 << 20).contains(&entries) && tail < entries).then_some((entries, tail))
}
