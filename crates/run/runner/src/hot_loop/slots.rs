//! The slots of a worker: who owns each, and what operation it carries.
//!
//! A slot is the loop's (on the free stack) or the lane's (accepted, not yet reaped). Assertions
//! check both transfers.

use std::hint::black_box;

use iolab_engine::{Completion, Op, OpKind, Submission};
use iolab_measure::Sample;
use iolab_plan::Direction;

use crate::hot_loop::bursts::Bursts;

/// One slot's operation and stamps, ns. Each slot fills a cache line, so that a shift turns its
/// number into its place.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Slot {
    pub(crate) op: Op,
    /// Its owner, for assertions; in release builds only the free stack knows it.
    pub(crate) lanes: bool,
    /// The burst that it was submitted with.
    pub(crate) burst: u32,
    /// For paced operations; for others it equals the beginning.
    pub(crate) intended_ns: u64,
    pub(crate) begun_ns: u64,
    /// Known when it is reaped; until then its burst holds it.
    pub(crate) submitted_ns: u64,
}

impl Slot {
    /// A slot of the loop's.
    pub(crate) fn new(op: Op) -> Slot {
        Slot { op, lanes: false, burst: 0, intended_ns: 0, begun_ns: 0, submitted_ns: 0 }
    }

    /// The lane accepted its operation.
    #[inline(always)]
    pub(crate) fn give(&mut self) {
        if cfg!(debug_assertions) {
            assert!(!self.lanes, "slot {} handed over twice", self.op.slot);
            self.lanes = true;
        }
    }

    /// Its operation has been reaped.
    #[inline(always)]
    pub(crate) fn take(&mut self) {
        if cfg!(debug_assertions) {
            assert!(self.lanes, "slot {} came back twice", self.op.slot);
            self.lanes = false;
        }
    }

    /// Whether this result means complete success: the whole length moved, or the range trimmed.
    /// Never true of flushes, which leave the short path.
    #[inline(always)]
    pub(crate) fn is_plain(&self, result: i32) -> bool {
        if self.op.kind as u8 <= OpKind::Write as u8 {
            result as u32 == self.op.length
        } else {
            self.op.kind == OpKind::Trim && result == 0
        }
    }
}

impl Slot {
    /// The direction of an operation that moves or discards data.
    #[inline(always)]
    pub(crate) fn direction(&self) -> Direction {
        match self.op.kind {
            OpKind::Write => Direction::Write,
            OpKind::Trim => Direction::Trim,
            _ => Direction::Read,
        }
    }

    /// Bytes of the operation, those of its earlier parts included.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.op.buffer_offset + self.op.length)
    }

    /// The report of its operation, intended at `intended_ns`, for the recorder.
    #[inline(always)]
    pub(crate) fn sample(&self, intended_ns: u64, sendable_ns: u64, reaped_ns: u64) -> Sample {
        Sample {
            direction: self.direction(),
            bytes: self.op.buffer_offset + self.op.length,
            offset: self.op.offset - u64::from(self.op.buffer_offset),
            file: self.op.file,
            priority: self.op.priority,
            intended_ns,
            sendable_ns,
            begun_ns: self.begun_ns,
            submitted_ns: self.submitted_ns,
            reaped_ns,
        }
    }
}

/// All slots of one worker.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Box<[Slot]>,
    /// A stack: the first `free_count` are free; those above were submitted most recently, the
    /// latest lowest.
    stack: Box<[u16]>,
    free_count: usize,
    bursts: Bursts,
}

impl Slots {
    pub(crate) fn new(depth: usize) -> Slots {
        let kind = OpKind::Read;
        let op = Op { offset: 0, length: 0, buffer_offset: 0, file: 0, slot: 0, kind, priority: 0 };
        Slots {
            slots: vec![Slot::new(op); depth].into_boxed_slice(),
            stack: (0..depth as u16).rev().collect(),
            free_count: depth,
            bursts: Bursts::new(depth),
        }
    }

    /// Puts an operation into the next free slot, which the loop still owns; `None` when the lane
    /// owns all slots.
    #[inline(always)]
    pub(crate) fn prepare(&mut self, op: &Op) -> Option<&mut Slot> {
        let number = *self.stack[..self.free_count].last()?;
        let slot = &mut self.slots[usize::from(number)];
        // In memory, not in registers: the lane and the completion read it there.
        slot.op = *op;
        slot.op.slot = number;
        slot.burst = self.bursts.current();
        Some(slot)
    }

    /// The lane accepted the operation of the slot last prepared.
    #[inline(always)]
    pub(crate) fn hand_over(&mut self) {
        self.free_count -= 1;
    }

    /// Offers operations to the lane, each in a free slot, until it refuses one. Returns how many
    /// it took and its last answer.
    #[inline(always)]
    pub(crate) fn hand_over_all(
        &mut self,
        ops: &[Op],
        begun_ns: u64,
        mut submit: impl FnMut(&Op) -> Submission,
    ) -> (usize, Submission) {
        // Local variables, which a store into a slot cannot change, stay in registers.
        let (slots, burst) = (&mut *self.slots, self.bursts.current());
        let count = ops.len().min(self.free_count);
        let (ops, free) = (&ops[..count], &self.stack[self.free_count - count..self.free_count]);
        let mut accepted = 0;
        while accepted < count {
            let (op, number) = (&ops[accepted], free[count - 1 - accepted]);
            let slot = &mut slots[usize::from(number)];
            slot.op = *op;
            slot.op.slot = number;
            let answer = submit(&slot.op);
            if answer != Submission::Accepted {
                self.free_count -= accepted;
                return (accepted, answer);
            }
            slot.give();
            slot.begun_ns = begun_ns;
            slot.burst = burst;
            accepted += 1;
        }
        self.free_count -= accepted;
        (accepted, Submission::Accepted)
    }

    /// The operations submitted since the last burst, this many, are a burst submitted at
    /// `submitted_ns` (0: when each began). Call it before any of them is taken back.
    #[inline(always)]
    pub(crate) fn end_burst(&mut self, operations: usize, submitted_ns: u64) {
        self.bursts.end(operations, submitted_ns);
    }

    /// The lane owns the only slot, and all its stamps are known.
    #[inline(always)]
    pub(crate) fn hand_over_only(&mut self) {
        let Slot { submitted_ns, .. } = *self.only();
        self.slots[0].burst = self.bursts.current();
        self.hand_over();
        self.end_burst(1, submitted_ns);
    }

    /// The operations that the lane holds.
    #[cold]
    pub(crate) fn held(&self) -> impl Iterator<Item = &Op> {
        let free = &self.stack[..self.free_count];
        let numbered = self.slots.iter().enumerate();
        numbered.filter(|(number, _)| !free.contains(&(*number as u16))).map(|(_, slot)| &slot.op)
    }

    /// The slot submitted last. There must be one.
    pub(crate) fn latest(&self) -> &Slot {
        &self.slots[usize::from(self.stack[self.free_count])]
    }

    /// The slot of a completion.
    #[inline(always)]
    pub(crate) fn get(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    /// The slot of a completion, with all its stamps.
    #[cold]
    pub(crate) fn stamped(&self, slot: u32) -> Slot {
        let slot = *self.get(slot);
        Slot { submitted_ns: self.bursts.submitted_ns(slot.burst, slot.begun_ns), ..slot }
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    /// Begins to take slots back.
    #[inline(always)]
    pub(crate) fn returning(&mut self) -> Returning<'_> {
        Returning {
            slots: &mut self.slots,
            stack: &mut self.stack,
            free: self.free_count,
            free_count: &mut self.free_count,
            bursts: &mut self.bursts,
        }
    }

    /// The one slot of a queue of depth 1, which is the loop's.
    #[inline(always)]
    pub(crate) fn only(&mut self) -> &mut Slot {
        debug_assert!((self.slots.len(), self.free_count) == (1, 1), "not one slot, or it is the lane's");
        &mut self.slots[0]
    }

    /// The slot is the loop's again.
    #[cold]
    pub(crate) fn take_back(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        entry.take();
        self.bursts.shrink(entry.burst, 1);
        self.stack[self.free_count] = slot as u16;
        self.free_count += 1;
    }
}

/// Slots being taken back. It keeps its counters in registers, because a store into a slot cannot
/// change them there; therefore it must be ended explicitly.
#[must_use]
pub(crate) struct Returning<'a> {
    slots: &'a mut [Slot],
    stack: &'a mut [u16],
    free: usize,
    free_count: &'a mut usize,
    bursts: &'a mut Bursts,
}

impl Returning<'_> {
    /// Takes back the slot of a plain success. Any other stays with the lane: `None`.
    #[inline(always)]
    pub(crate) fn take_plain(&mut self, completion: Completion) -> Option<&Slot> {
        let Slot { burst, .. } = *self.take(completion)?;
        self.bursts.shrink(burst, 1);
        Some(&self.slots[completion.slot as usize])
    }

    /// Takes back the slot of the first completion, if that is a plain success, and those of the
    /// following completions while they are plain successes of the same kind with the same stamps.
    /// Returns the first, their number, and their bytes.
    #[inline(always)]
    pub(crate) fn take_run(
        &mut self,
        completions: &[Completion],
        mut each: impl FnMut(&Slot),
    ) -> Option<(Slot, usize, u64)> {
        let (first, others) = completions.split_first()?;
        let head = *self.take(*first)?;
        each(&head);
        // Hidden from the compiler, which would otherwise test the kind of each operation.
        let moving = black_box(if head.op.kind == OpKind::Trim { 0 } else { u32::MAX });
        let (mut count, mut bytes) = (0, head.bytes());
        for (completion, free) in others.iter().zip(&mut self.stack[self.free..]) {
            let slot = &mut self.slots[completion.slot as usize];
            let alike = slot.op.kind == head.op.kind
                && slot.begun_ns == head.begun_ns
                && slot.burst == head.burst
                && completion.result as u32 == slot.op.length & moving;
            if !alike {
                break;
            }
            slot.take();
            *free = completion.slot as u16;
            bytes += slot.bytes();
            count += 1;
            each(slot);
        }
        self.free += count;
        self.bursts.shrink(head.burst, 1 + count);
        Some((head, 1 + count, bytes))
    }

    /// The burst of the slot still counts it.
    #[inline(always)]
    fn take(&mut self, completion: Completion) -> Option<&Slot> {
        let slot = &mut self.slots[completion.slot as usize];
        if !slot.is_plain(completion.result) {
            return None;
        }
        slot.take();
        slot.submitted_ns = self.bursts.submitted_ns(slot.burst, slot.begun_ns);
        self.stack[self.free] = completion.slot as u16;
        self.free += 1;
        Some(slot)
    }

    /// All completions are taken back.
    #[inline(always)]
    pub(crate) fn finish(self) {
        *self.free_count = self.free;
    }
}
