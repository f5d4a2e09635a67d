//! The slots of a worker: who owns each, and what operation it carries.
//!
//! A slot is the loop's (on the free stack) or the lane's (accepted, not yet reaped). Both hand-overs are
//! asserted.

use iolab_engine::Op;

/// One slot's operation and stamps, ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) op: Op,
    /// The result that means plain success: the length, or 0 for trims. Flushes never match, so that they leave
    /// the short way.
    pub(crate) expected: u32,
    pub(crate) lanes: bool,
    pub(crate) intended_ns: u64,
    pub(crate) begun_ns: u64,
    pub(crate) submitted_ns: u64,
}

/// All slots of one worker.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u16>,
}

impl Slots {
    pub(crate) fn new(depth: usize) -> Slots {
        let op = Op {
            offset: 0,
            length: 0,
            buffer_offset: 0,
            file: 0,
            slot: 0,
            kind: iolab_engine::OpKind::Read,
            priority: 0,
        };
        let slot = Slot { op, expected: 0, lanes: false, intended_ns: 0, begun_ns: 0, submitted_ns: 0 };
        Slots { slots: vec![slot; depth], free: (0..depth as u16).rev().collect() }
    }

    /// The next free slot, still the loop's.
    #[inline(always)]
    pub(crate) fn peek_free(&self) -> Option<u16> {
        self.free.last().copied()
    }

    /// The lane accepted the operation of the slot that `peek_free` named.
    #[inline(always)]
    pub(crate) fn hand_over(&mut self, op: &Op, intended_ns: u64, begun_ns: u64) {
        self.free.pop();
        let expected = match op.kind {
            iolab_engine::OpKind::Read | iolab_engine::OpKind::Write => op.length,
            iolab_engine::OpKind::Trim => 0,
            _ => u32::MAX,
        };
        let slot = &mut self.slots[usize::from(op.slot)];
        debug_assert!(!slot.lanes, "slot {} handed over twice", op.slot);
        *slot = Slot { op: *op, expected, lanes: true, intended_ns, begun_ns, submitted_ns: begun_ns };
    }

    /// The slot of a completion.
    #[inline(always)]
    pub(crate) fn get(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    /// The slot is the loop's again.
    #[inline(always)]
    pub(crate) fn take_back(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        debug_assert!(entry.lanes, "slot {slot} came back twice");
        entry.lanes = false;
        self.free.push(slot as u16);
    }
}
