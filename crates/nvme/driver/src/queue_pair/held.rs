//! Commands that a path refuses for now (Asymmetric Namespace Access). They were not executed, so
//! they are resent until the path accepts them or the caller's patience ends.
//!
//! ```text
//! completion: inaccessible, or in transition ─▶ held, with a new identifier ─▶ sent again after a pause ─▶ …
//!                                                └ patience at its end ─▶ the completion is the command's
//! ```

use iolab_nvme_spec::Status;

use super::slot::Slot;
use super::{ColdQueue, QueuePair};
use crate::transport::Transport;

/// Pause between two attempts, ns.
const PAUSE_NS: u64 = 50_000_000;

/// A command that waits for its path, or that was resent and may have to wait again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    index: u16,
    /// Its current identifier.
    cid: u16,
    /// When the path first refused it.
    since_ns: u64,
    /// When it will be resent; `u64::MAX` if it was resent.
    due_ns: u64,
}

impl ColdQueue {
    /// Decides whether the command of a slot, which failed with this status, is kept to be resent.
    /// A kept command has a new identifier.
    #[cold]
    #[inline(never)]
    pub(super) fn hold(&mut self, (index, slot): (u16, &mut Slot), cid_step: u16, status: Status, now_ns: u64) -> bool {
        if status.dnr() || !matches!(status.code(), Status::ANA_INACCESSIBLE | Status::ANA_TRANSITION) {
            return false;
        }
        let cid = slot.cid();
        let before = self.held.iter().position(|held| held.index == index).map(|place| self.held.swap_remove(place));
        let since_ns = before.filter(|held| held.cid == cid).map_or(now_ns, |held| held.since_ns);
        if now_ns.saturating_sub(since_ns) >= self.options.path_patience_ns.unwrap_or(0) {
            return false;
        }
        let mut words = slot.entry;
        words[0] &= !0xffff_0000;
        slot.finish(cid_step);
        slot.start(words);
        self.held.push(Held { index, cid: slot.cid(), since_ns, due_ns: now_ns.saturating_add(PAUSE_NS) });
        true
    }
}

impl<T: Transport> QueuePair<T> {
    /// Looks for asynchronous events. When the paths have changed, the commands that wait for them
    /// are due.
    pub(super) fn watch_events(&mut self) {
        if (self.shared.notice_events)(&self.shared) {
            let waiting = self.cold.held.iter_mut().filter(|held| held.due_ns != u64::MAX);
            waiting.for_each(|held| held.due_ns = 0);
        }
    }

    /// Resends the commands whose pause is over.
    pub(super) fn send_held(&mut self) {
        let now_ns = self.shared.clock.now_ns();
        let (slots, unsent) = (&mut self.slots, &mut self.cold.unsent);
        self.cold.held.retain_mut(|held| {
            let slot = &mut slots[usize::from(held.index)];
            let is_here = slot.expects(held.cid);
            if is_here && held.due_ns != u64::MAX {
                // The device did not have the command, so the command is not late.
                slot.seen_ns = 0;
                if held.due_ns <= now_ns {
                    held.due_ns = u64::MAX;
                    unsent.push((held.index, held.cid));
                }
            }
            is_here
        });
    }
}
