//! Separates changes of the same blocks when one of them has to read before it writes.
//!
//! A write of partial blocks reads them first and writes them back whole. No other request may
//! change them in between, or that change would be lost. Whole-block changes do not exclude each
//! other: the result of overlapping writes in flight is the device's choice, as with any block
//! device. Later requests wait for earlier ones, so that none starves. As long as all changes are
//! of whole blocks, entering and leaving only update counters.

/// One change, in flight or waiting.
#[derive(Debug, Clone, Copy)]
struct Hold {
    start: u64,
    end: u64,
    order: u64,
    partial: bool,
    waits: bool,
}

impl Hold {
    fn blocks(&self, later: &Hold) -> bool {
        let overlap = self.start < later.end && later.start < self.end;
        overlap && self.order < later.order && (self.partial || later.partial)
    }
}

/// The ranges being changed, by slot.
#[derive(Debug)]
pub(crate) struct RangeLock {
    holds: Box<[Option<Hold>]>,
    next_order: u64,
    partial: usize,
    waiting: usize,
}

impl RangeLock {
    pub(crate) fn new(slots: usize) -> RangeLock {
        RangeLock { holds: vec![None; slots].into(), next_order: 0, partial: 0, waiting: 0 }
    }

    /// Announces that `slot` changes the whole blocks `start..end`; `partial` if it has to read
    /// some of them first. Returns whether it may begin now; otherwise [`RangeLock::leave`] of
    /// another slot will release it.
    #[inline]
    pub(crate) fn enter(&mut self, slot: u16, (start, end): (u64, u64), partial: bool) -> bool {
        let mut hold = Hold { start, end, order: self.next_order, partial, waits: false };
        self.next_order += 1;
        self.partial += usize::from(partial);
        if self.partial > 0 && self.is_blocked(&hold) {
            hold.waits = true;
            self.waiting += 1;
        }
        self.holds[usize::from(slot)] = Some(hold);
        !hold.waits
    }

    /// Ends the change of `slot`, and adds to `freed` the slots that may begin now.
    #[inline]
    pub(crate) fn leave(&mut self, slot: u16, freed: &mut Vec<u16>) {
        if let Some(hold) = self.holds[usize::from(slot)].take() {
            self.partial -= usize::from(hold.partial);
            if self.waiting > 0 {
                self.wake(freed);
            }
        }
    }

    fn is_blocked(&self, hold: &Hold) -> bool {
        self.holds.iter().flatten().any(|other| other.blocks(hold))
    }

    #[cold]
    fn wake(&mut self, freed: &mut Vec<u16>) {
        for slot in 0..self.holds.len() {
            let Some(hold) = self.holds[slot].filter(|hold| hold.waits) else { continue };
            if !self.is_blocked(&hold) {
                self.holds[slot] = Some(Hold { waits: false, ..hold });
                self.waiting -= 1;
                freed.push(slot as u16);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn freed(lock: &mut RangeLock, slot: u16) -> Vec<u16> {
        let mut freed = Vec::new();
        lock.leave(slot, &mut freed);
        freed
    }

    #[test]
    fn whole_block_changes_do_not_wait_for_each_other() {
        let mut lock = RangeLock::new(3);
        assert!(lock.enter(0, (0, 4096), false));
        assert!(lock.enter(1, (0, 4096), false));
        assert!(freed(&mut lock, 0).is_empty());
        assert!(lock.enter(0, (512, 1024), false));
    }

    #[test]
    fn partial_changes_wait_and_are_waited_for() {
        let mut lock = RangeLock::new(5);
        assert!(lock.enter(0, (0, 1024), false));
        assert!(!lock.enter(1, (512, 1536), true), "a whole-block write of the same block is in flight");
        assert!(!lock.enter(2, (1024, 2048), false), "a partial write came first");
        assert!(lock.enter(3, (2048, 4096), true), "these blocks are nobody else's");
        assert!(lock.enter(4, (0, 512), false), "the partial write does not touch this block");
        assert_eq!(freed(&mut lock, 0), [1]);
        assert!(freed(&mut lock, 4).is_empty());
        assert_eq!(freed(&mut lock, 1), [2]);
        assert!(freed(&mut lock, 2).is_empty());
        assert_eq!((lock.partial, lock.waiting), (1, 0));
    }

    #[test]
    fn who_waits_is_served_in_the_order_of_arrival() {
        let mut lock = RangeLock::new(4);
        assert!(lock.enter(3, (0, 512), true));
        assert!(!lock.enter(2, (0, 512), true));
        assert!(!lock.enter(0, (0, 512), true));
        assert!(!lock.enter(1, (0, 512), false));
        assert_eq!(freed(&mut lock, 3), [2]);
        assert_eq!(freed(&mut lock, 2), [0]);
        assert_eq!(freed(&mut lock, 0), [1]);
        assert!(freed(&mut lock, 1).is_empty());
    }
}
