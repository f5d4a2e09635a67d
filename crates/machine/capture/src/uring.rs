//! io_uring: entries as the program hands them over, completions as the kernel puts them into the
//! ring (io_uring(7), include/uapi/linux/io_uring.h of Linux).
//!
//! ```text
//!  parameters:   entries, flags …: u32 × 10 │ at 40: where the submission ring has what │ at 80: the completion ring
//!  entry:        operation, flags: u8 × 2 │ priority: u16 │ fd: i32 │ offset │ address: u64 × 2 │ length, flags: u32 × 2 │ user data: u64
//!  completion:   user data: u64 │ result: i32 │ flags: u32
//! ```
//! Before `io_uring_enter`, the entries between the kernel's head and the program's tail are those
//! that the call will take. The kernel moves the tail of the completion ring: entries between the
//! last seen tail and the current one have completed, no matter who takes them.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use iolab_trace::{Call, Flags, Operation};

use crate::memory::{self, half, number};
use crate::open_file::SharedOpen;

/// Where the ring's pieces are mapped from (`IORING_OFF_*`).
const MAP_SUBMISSION: u64 = 0;
const MAP_COMPLETION: u64 = 0x800_0000;
const MAP_ENTRIES: u64 = 0x1000_0000;

const SETUP_KERNEL_POLLS: u32 = 1 << 1;
const SETUP_LARGE_ENTRIES: u32 = 1 << 10;
const SETUP_LARGE_COMPLETIONS: u32 = 1 << 11;
const SETUP_NO_MAP: u32 = 1 << 14;
const SETUP_NO_ARRAY: u32 = 1 << 16;
/// Most entries of a ring.
const MOST: u32 = 1 << 16;

const ENTRY_FIXED_FILE: u8 = 1;
const DATA_ONLY: u32 = 1;

/// A ring's layout, as the kernel reports it.
#[derive(Debug, Default)]
struct Layout {
    flags: u32,
    /// Offsets in the submission ring: head, tail, mask, array.
    submission: [u64; 4],
    /// Offsets in the completion ring: tail, mask, completions.
    completion: [u64; 3],
    /// Where the pieces are mapped: submission ring, completion ring, entries.
    at: [Option<u64>; 3],
}

/// A ring of a program.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    layout: Layout,
    pending: HashMap<u64, VecDeque<Operation>>,
    last_tail: Option<u32>,
    /// Registered files by their number.
    pub(crate) files: Vec<Option<SharedOpen>>,
}

pub(crate) type SharedRing = Rc<RefCell<Ring>>;

/// An entry that is handed over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) call: Option<Call>,
    /// A descriptor, or the number of a registered file.
    pub(crate) fd: i32,
    pub(crate) is_registered: bool,
    /// `u64::MAX` for the position of the descriptor.
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) flags: Flags,
    pub(crate) user_data: u64,
}

impl Ring {
    /// The ring that `io_uring_setup` made, by its parameters.
    pub(crate) fn made(thread: i32, parameters: u64) -> Option<Ring> {
        let bytes: [u8; 120] = memory::bytes(thread, parameters)?;
        let at = |index: usize| u64::from(half(&bytes, index));
        let flags = half(&bytes, 8);
        let mut layout = Layout {
            flags,
            submission: [at(40), at(44), at(48), at(64)],
            completion: [at(84), at(88), at(100)],
            at: [None; 3],
        };
        if flags & SETUP_NO_MAP != 0 {
            let (entries, rings) = (number(&bytes, 72), number(&bytes, 112));
            layout.at = [Some(rings), Some(rings), Some(entries)];
        }
        Some(Ring { layout, ..Ring::default() })
    }

    /// Whether a kernel thread takes entries without a call.
    pub(crate) fn kernel_polls(&self) -> bool {
        self.layout.flags & SETUP_KERNEL_POLLS != 0
    }

    /// A piece was mapped. If a kernel maps both rings together, they are at the first offset.
    pub(crate) fn mapped(&mut self, offset: u64, address: u64) {
        match offset {
            MAP_SUBMISSION => {
                self.layout.at[0] = Some(address);
                self.layout.at[1] = self.layout.at[1].or(Some(address));
            }
            MAP_COMPLETION => self.layout.at[1] = Some(address),
            MAP_ENTRIES => self.layout.at[2] = Some(address),
            _ => {}
        }
    }

    /// The entries that the next call will take, at most `wanted`.
    pub(crate) fn entries(&self, thread: i32, wanted: u32) -> Vec<Entry> {
        let layout = &self.layout;
        let (Some(ring), Some(entries)) = (layout.at[0], layout.at[2]) else { return Vec::new() };
        let [head, tail, mask, array] = layout.submission.map(|offset| ring + offset);
        let words = [head, tail, mask].map(|address| memory::word(thread, address));
        let [Some(head), Some(tail), Some(mask)] = words else { return Vec::new() };
        let entry_bytes = if layout.flags & SETUP_LARGE_ENTRIES != 0 { 128 } else { 64 };
        let count = tail.wrapping_sub(head).min(wanted).min(MOST);
        let entry = |number: u32| {
            let slot = head.wrapping_add(number) & mask;
            let indirect = layout.flags & SETUP_NO_ARRAY == 0;
            let index = if indirect { memory::word(thread, array + 4 * u64::from(slot))? } else { slot };
            Entry::read(thread, entries + u64::from(index & mask) * entry_bytes)
        };
        (0..count).map_while(entry).collect()
    }

    /// Remembers what was handed over.
    pub(crate) fn submitted(&mut self, user_data: u64, operation: Operation) {
        self.pending.entry(user_data).or_default().push_back(operation);
    }

    /// Operations that completed until `now_ns`; `late` if the program may have known before.
    pub(crate) fn completed(&mut self, thread: i32, now_ns: u64, late: bool) -> Vec<Operation> {
        let mut done = Vec::new();
        let Some(ring) = self.layout.at[1] else { return done };
        let [tail, mask, completions] = self.layout.completion.map(|offset| ring + offset);
        let (Some(tail), Some(mask)) = (memory::word(thread, tail), memory::word(thread, mask)) else { return done };
        let bytes = if self.layout.flags & SETUP_LARGE_COMPLETIONS != 0 { 32 } else { 16 };
        let mut at = self.last_tail.replace(tail).unwrap_or(0);
        // Entries overwritten since the last look are lost.
        if tail.wrapping_sub(at) > mask.min(MOST) + 1 {
            at = tail.wrapping_sub(mask.min(MOST) + 1);
        }
        while at != tail {
            let completion: Option<[u8; 16]> = memory::bytes(thread, completions + u64::from(at & mask) * bytes);
            if let Some(completion) = completion
                && let Some(operation) = self.take(number(&completion, 0))
            {
                let result = i64::from(half(&completion, 8) as i32);
                let duration_ns = now_ns.saturating_sub(operation.time_ns);
                let flags = operation.flags.and_if(late, Flags::END_LATE);
                done.push(Operation { result, duration_ns, flags, ..operation });
            }
            at = at.wrapping_add(1);
        }
        done
    }

    fn take(&mut self, user_data: u64) -> Option<Operation> {
        let waiting = self.pending.get_mut(&user_data)?;
        let operation = waiting.pop_front();
        if waiting.is_empty() {
            self.pending.remove(&user_data);
        }
        operation
    }

    /// Gives up what is in flight.
    pub(crate) fn give_up(&mut self) -> Vec<Operation> {
        self.pending.drain().flat_map(|(_, waiting)| waiting).collect()
    }
}

impl Entry {
    fn read(thread: i32, address: u64) -> Option<Entry> {
        let bytes: [u8; 64] = memory::bytes(thread, address)?;
        let (buffer, count, how) = (number(&bytes, 16), u64::from(half(&bytes, 24)), half(&bytes, 28));
        let transfer = crate::calls::flags_of_transfer(u64::from(how));
        let vector = || memory::vector_length(thread, buffer, count);
        let (call, length, flags) = match bytes[0] {
            1 => (Some(Call::UringRead), vector(), transfer),
            2 => (Some(Call::UringWrite), vector(), transfer),
            4 | 22 => (Some(Call::UringRead), count, transfer),
            5 | 23 => (Some(Call::UringWrite), count, transfer),
            3 if how & DATA_ONLY != 0 => (Some(Call::UringFdatasync), 0, Flags::default()),
            3 => (Some(Call::UringFsync), 0, Flags::default()),
            8 => (Some(Call::UringSyncFileRange), count, Flags::default()),
            17 => (Some(Call::UringFallocate), buffer, Flags::default().and_if(count > 1, Flags::CHANGES_RANGE)),
            55 => (Some(Call::UringFtruncate), number(&bytes, 8), Flags::default()),
            _ => (None, 0, Flags::default()),
        };
        Some(Entry {
            call,
            fd: half(&bytes, 4) as i32,
            is_registered: bytes[1] & ENTRY_FIXED_FILE != 0,
            offset: number(&bytes, 8),
            length,
            flags,
            user_data: number(&bytes, 32),
        })
    }
}
