//! Time-outs, and what happens to commands when the controller is reset or given up.
//!
//! ```text
//! too long in flight ─▶ Abort ─▶ still too long ─▶ reset ─▶ queues made anew ─▶ sent again, or lost if that could do harm
//! nonsense in the ring ────────────────────────────▲
//! device gone, reset failed ─▶ everything in flight is lost, then errors
//! ```
//!
//! No command is handed back twice: a slot takes part only while a command is in flight in it, and the identifiers of the
//! old life are dead in the new one. None is forgotten: what is in flight is sent again or becomes a loss, at once.

use std::sync::atomic::Ordering;

use iolab_nvme_spec::command::AbortDword10;
use iolab_nvme_spec::{AdminOpcode, IoOpcode, SubmissionEntry};

use super::slot::Pursuit;
use super::{Completion, Loss, Outcome, QueuePair};
use crate::controller::{AdminCommand, Payload};
use crate::error::{DriverError, Fault};

/// Checks come at most this far apart.
const SLOWEST_CHECK_NS: u64 = 100_000_000;

/// How often the queues are made anew when resets follow each other.
const ATTEMPTS: usize = 8;

impl QueuePair {
    /// What a reap does now and then: notice resets, look at the clock.
    #[cold]
    pub(super) fn attend(&mut self) -> Result<(), DriverError> {
        self.rejoin_if_reset();
        if self.countdown == 0 {
            self.countdown = self.cold.options.reaps_per_check.max(1);
            self.check_time();
        }
        if !self.cold.unsent.is_empty() {
            self.send_unsent();
        }
        if self.cold.dead {
            self.countdown = 1;
            if self.pending.is_empty() {
                self.shared.lock().alive()?;
            }
        }
        Ok(())
    }

    /// Looks for commands that take too long, and whether the device is still there.
    pub(super) fn check_time(&mut self) {
        let now_ns = self.shared.clock.now_ns();
        if now_ns < self.cold.next_check_ns || self.in_flight == 0 {
            return;
        }
        let timeout_ns = self.cold.options.timeout_ns;
        self.cold.next_check_ns = now_ns.saturating_add((timeout_ns / 8).min(SLOWEST_CHECK_NS));
        // A ring that has gone round exactly looks as if it stood still: then the device is looked at once too often.
        if std::mem::replace(&mut self.cold.checked_head, self.cq.head()) == self.cq.head() {
            self.watch();
        }
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            if slot.is_idle() {
                continue;
            }
            if slot.seen_ns == 0 {
                // Time counts from here: a command is never said to have taken longer than it has.
                slot.seen_ns = now_ns.max(1);
            } else if now_ns.saturating_sub(slot.seen_ns) >= timeout_ns {
                slot.seen_ns = now_ns.max(1);
                self.pursue(index as u16);
            }
            if self.current_epoch.load(Ordering::Acquire) != self.epoch {
                self.rejoin();
                return;
            }
        }
    }

    /// Whether the device is there and well; resets or gives up the controller if not.
    fn watch(&mut self) {
        let mut cold = self.shared.lock();
        if cold.dead.is_some() || self.current_epoch.load(Ordering::Acquire) != self.epoch {
            return;
        }
        match cold.watch() {
            Ok(()) => {}
            // If the reset fails, the epoch has changed and `rejoin` finds the controller dead.
            Err(DriverError::Fatal) => {
                let _ = cold.recover(Fault::FatalStatus);
            }
            Err(error) => cold.give_up(Fault::FatalStatus, error),
        }
    }

    /// A command took too long: abort it, and if that was done before, reset the controller.
    fn pursue(&mut self, index: u16) {
        let slot = &mut self.slots[usize::from(index)];
        let (cid, opcode) = (slot.cid(), slot.entry[0] as u8);
        let fault = Fault::NoAnswer { queue: self.qid, cid, opcode };
        if slot.pursuit == Pursuit::None {
            slot.pursuit = Pursuit::Aborted;
            if self.send_abort(cid).is_ok() {
                return;
            }
        }
        let _ = self.shared.recover(self.epoch, fault);
    }

    /// Asks the device to abort the command in a slot; `false` if it says that it did not. The command's own completion
    /// comes in either case.
    pub fn abort(&mut self, slot: u16) -> Result<bool, DriverError> {
        match self.slots.get(usize::from(slot)) {
            Some(state) if !state.is_idle() => self.send_abort(state.cid()),
            _ => Ok(false),
        }
    }

    fn send_abort(&self, cid: u16) -> Result<bool, DriverError> {
        let target = AbortDword10(0).with_sqid(self.qid).with_cid(cid);
        let entry = SubmissionEntry::new(AdminOpcode::ABORT.0, 0).with_cdw(10, target.0);
        let answer = self.shared.command(AdminCommand::new(entry, Payload::None));
        match answer {
            Ok(entry) => Ok(entry.dw0() & 1 == 0),
            // Refused, for instance because of too many aborts at once: the command may still end by itself.
            Err(DriverError::Admin { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The ring holds something that cannot be: nothing after it is believed, and the controller is reset.
    #[cold]
    pub(super) fn distrust(&mut self, fault: Fault) {
        self.cold.distrust = true;
        // Whether that worked is found in `rejoin`.
        let _ = self.shared.recover(self.epoch, fault);
        self.rejoin();
    }

    /// Follows the controller if it was reset.
    pub(super) fn rejoin_if_reset(&mut self) {
        if self.current_epoch.load(Ordering::Acquire) != self.epoch {
            self.rejoin();
        }
    }

    /// Follows the controller into its new life: makes the queues anew and sends again what was in flight; or, if the
    /// controller is dead, declares everything lost.
    #[cold]
    pub(super) fn rejoin(&mut self) {
        self.follow();
        if !self.pending.is_empty() {
            self.countdown = 1;
        }
    }

    fn follow(&mut self) {
        for _ in 0..ATTEMPTS {
            // With the lock held no reset is going on: the controller works, or is dead, in this epoch.
            let alive = {
                let cold = self.shared.lock();
                self.epoch = self.current_epoch.load(Ordering::Acquire);
                cold.alive().is_ok()
            };
            self.drain_old_ring();
            if !alive {
                return self.lose_everything();
            }
            self.cold.dead = false;
            self.cold.unsent.clear();
            self.sq.restart();
            self.cq.restart();
            self.sq_doorbell.restart();
            self.cq_doorbell.restart();
            let mut made = self.shared.create_queues(&self.cold.addresses);
            if made.is_err() && self.current_epoch.load(Ordering::Acquire) == self.epoch {
                // An attempt that began before the last reset may have taken effect after it: then they are there already.
                self.shared.forget_queues(self.qid);
                made = self.shared.create_queues(&self.cold.addresses);
            }
            if self.current_epoch.load(Ordering::Acquire) != self.epoch {
                continue;
            }
            if made.is_ok() {
                self.send_again();
                if self.current_epoch.load(Ordering::Acquire) == self.epoch {
                    return;
                }
            } else {
                // The controller works and refuses the queues that it had before.
                let reason = DriverError::BadDescription("it refuses to create its queues again after a reset".into());
                self.shared.lock().give_up(Fault::Requested, reason);
            }
        }
        let reason = DriverError::BadDescription("it has to be reset again and again".into());
        self.shared.lock().give_up(Fault::Requested, reason);
        self.epoch = self.current_epoch.load(Ordering::Acquire);
        self.lose_everything();
    }

    /// What the device had answered before the reset counts: these commands have been done. The controller is disabled or
    /// was, so nothing new comes.
    fn drain_old_ring(&mut self) {
        if std::mem::replace(&mut self.cold.distrust, false) {
            return;
        }
        while let Some(entry) = self.cq.peek() {
            let Ok(completion) = self.check(&entry) else { return };
            self.cq.pop();
            self.pending.push(completion);
        }
    }

    /// Sends everything in flight again, under new identifiers, but for what could do harm if it was done before.
    fn send_again(&mut self) {
        for index in (0..self.slots.len() as u16).rev() {
            let slot = &mut self.slots[usize::from(index)];
            if slot.is_idle() {
                continue;
            }
            let mut words = slot.entry;
            let loss = if slot.replays >= self.cold.options.replays {
                Some(Loss::TimedOut)
            } else if !can_be_repeated(words[0] as u8) {
                Some(Loss::Reset)
            } else {
                None
            };
            slot.finish(self.cid_step);
            slot.pursuit = Pursuit::None;
            if let Some(loss) = loss {
                slot.replays = 0;
                self.in_flight -= 1;
                self.pending.push(Completion { slot: index, outcome: Outcome::Lost(loss), result: 0 });
                continue;
            }
            slot.replays += 1;
            words[0] &= !0xffff_0000;
            slot.start(words);
            let cid = slot.cid();
            self.cold.unsent.push((index, cid));
        }
        self.send_unsent();
    }

    /// Puts commands that are to be sent again into the ring, as many as fit: more may be in flight than the ring holds.
    fn send_unsent(&mut self) {
        while let Some((index, cid)) = self.cold.unsent.last().copied() {
            let slot = &self.slots[usize::from(index)];
            if slot.expects(cid) {
                let Some(room) = self.sq.room() else {
                    // Looked after by the next reap.
                    self.countdown = 1;
                    break;
                };
                self.sq.push(room, slot.entry);
            }
            self.cold.unsent.pop();
        }
        self.ring_tail();
    }

    fn lose_everything(&mut self) {
        self.cold.dead = true;
        self.cold.unsent.clear();
        self.countdown = 1;
        self.sq.close();
        for index in 0..self.slots.len() as u16 {
            let slot = &mut self.slots[usize::from(index)];
            if slot.is_idle() {
                continue;
            }
            slot.finish(self.cid_step);
            (slot.pursuit, slot.replays) = (Pursuit::None, 0);
            self.in_flight -= 1;
            self.pending.push(Completion { slot: index, outcome: Outcome::Lost(Loss::Dead), result: 0 });
        }
    }
}

/// Whether doing a command twice is the same as doing it once. Appends are not, and zone management and commands of
/// unknown meaning may not be.
fn can_be_repeated(opcode: u8) -> bool {
    matches!(
        IoOpcode(opcode),
        IoOpcode::FLUSH
            | IoOpcode::READ
            | IoOpcode::WRITE
            | IoOpcode::COMPARE
            | IoOpcode::WRITE_ZEROES
            | IoOpcode::DATASET_MANAGEMENT
            | IoOpcode::VERIFY
            | IoOpcode::ZONE_MANAGEMENT_RECEIVE
    )
}
