//! Time-outs, and what happens to commands when the controller is reset or given up.
//!
//! ```text
//! too long in flight ─▶ Abort ─▶ still too long ─▶ reset ─▶ queues created again ─▶ sent again, or lost if that could do harm
//! nonsense in the ring ────────────────────────────▲
//! device gone, reset failed ─▶ everything in flight is lost, then errors
//! ```
//!
//! No command is returned twice: only slots with a command in flight are considered, and
//! identifiers from before a reset are invalid after it. No command is forgotten: each one in
//! flight is immediately resent or reported as lost.

use std::sync::atomic::Ordering;

use iolab_nvme_spec::command::AbortDword10;
use iolab_nvme_spec::{AdminOpcode, IoOpcode, SubmissionEntry};

use super::reap::Unusual;
use super::slot::AbortState;
use super::{CommandOutcome, Completion, Loss, QueuePair};
use crate::controller::{ATTEMPTS, AdminCommand, Payload};
use crate::error::{DriverError, ResetCause};
use crate::transport::{Completions, QueueLife, Submission, Transport};

/// The longest time between two checks.
const SLOWEST_CHECK_NS: u64 = 100_000_000;

impl<T: Transport> QueuePair<T> {
    /// The periodic part of a reap: looks for resets and checks time-outs.
    #[cold]
    pub(super) fn run_checks(&mut self) -> Result<(), DriverError> {
        self.resume_if_reset();
        // This precedes the check for time-outs, because a held command is not late.
        let holds = !self.cold.held.is_empty();
        if holds {
            self.send_held();
        }
        if self.countdown == 0 {
            self.countdown = self.cold.options.reaps_per_check.max(1);
            self.check_time();
        }
        if holds {
            self.countdown = 1;
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

    /// Checks for commands that take too long, and whether the device is still there.
    pub(super) fn check_time(&mut self) {
        let now_ns = self.shared.clock.now_ns();
        if now_ns < self.cold.next_check_ns || self.in_flight == 0 {
            return;
        }
        let timeout_ns = self.cold.options.timeout_ns;
        self.cold.next_check_ns = now_ns.saturating_add((timeout_ns / 8).min(SLOWEST_CHECK_NS));
        // If the count has wrapped around exactly, the device is checked once more than necessary.
        if std::mem::replace(&mut self.cold.checked_progress, self.queue.progress()) == self.queue.progress() {
            self.check_status();
        }
        if self.cold.options.watches_events {
            self.watch_events();
        }
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            if slot.is_idle() {
                continue;
            }
            if slot.seen_ns == 0 {
                // Time is counted from here, so a command is never aborted too early.
                slot.seen_ns = now_ns.max(1);
            } else if now_ns.saturating_sub(slot.seen_ns) >= timeout_ns {
                slot.seen_ns = now_ns.max(1);
                self.escalate_timeout(index as u16);
            }
            if self.current_epoch.load(Ordering::Acquire) != self.epoch {
                self.resume_after_reset();
                return;
            }
        }
    }

    /// Checks the device's status. If it has failed or is gone, resets the controller or gives it
    /// up.
    fn check_status(&mut self) {
        let mut cold = self.shared.lock();
        if cold.dead.is_some() || self.current_epoch.load(Ordering::Acquire) != self.epoch {
            return;
        }
        // If a reset fails, the epoch has changed and `resume_after_reset` finds the controller
        // dead.
        let _ = cold.check_status();
    }

    /// Handles a command that took too long: aborts it, or resets the controller if it was aborted
    /// before.
    fn escalate_timeout(&mut self, index: u16) {
        let slot = &mut self.slots[usize::from(index)];
        let (cid, opcode) = (slot.cid(), slot.entry[0] as u8);
        let fault = ResetCause::NoAnswer { queue: self.queue.id(), cid, opcode };
        if slot.abort == AbortState::NotSent {
            slot.abort = AbortState::Sent;
            if self.send_abort(cid).is_ok() {
                return;
            }
        }
        let _ = self.shared.recover(self.epoch, fault);
    }

    /// Asks the device to abort the command in a slot; returns `false` if the device reports that
    /// it did not. In both cases the command completes by itself.
    pub fn abort(&mut self, slot: u16) -> Result<bool, DriverError> {
        match self.slots.get(usize::from(slot)) {
            Some(state) if !state.is_idle() => self.send_abort(state.cid()),
            _ => Ok(false),
        }
    }

    fn send_abort(&self, cid: u16) -> Result<bool, DriverError> {
        let target = AbortDword10(0).with_sqid(self.queue.id()).with_cid(cid);
        let entry = SubmissionEntry::new(AdminOpcode::ABORT.0, 0).with_cdw(10, target.0);
        let answer = self.shared.command(AdminCommand::new(entry, Payload::None));
        match answer {
            Ok(entry) => Ok(entry.dw0() & 1 == 0),
            // The device refused, for instance because of too many aborts. The command may still
            // complete.
            Err(DriverError::Admin { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Handles an invalid completion: ignores all later ones, and resets the controller.
    #[cold]
    pub(super) fn reject_completion(&mut self, fault: ResetCause) {
        self.cold.reject_completion = true;
        // `resume_after_reset` finds out whether that worked.
        let _ = self.shared.recover(self.epoch, fault);
        self.resume_after_reset();
    }

    /// Resumes if the controller was reset.
    pub(super) fn resume_if_reset(&mut self) {
        if self.current_epoch.load(Ordering::Acquire) != self.epoch {
            self.resume_after_reset();
        }
    }

    /// Resumes after a reset: creates the queues again and resends what was in flight. If the
    /// controller is dead, reports everything as lost.
    #[cold]
    pub(super) fn resume_after_reset(&mut self) {
        self.follow();
        if !self.pending.is_empty() {
            self.countdown = 1;
        }
    }

    fn follow(&mut self) {
        for _ in 0..ATTEMPTS {
            // No reset is in progress while the lock is held: in this epoch, the controller works
            // or is dead.
            let alive = {
                let cold = self.shared.lock();
                self.epoch = self.current_epoch.load(Ordering::Acquire);
                cold.alive().is_ok()
            };
            self.drain_old_ring();
            if !alive {
                return self.fail_everything();
            }
            self.cold.dead = false;
            self.cold.unsent.clear();
            self.cold.held.clear();
            self.queue.restart();
            let mut made = self.queue.create(&*self.shared);
            if made.is_err() && self.current_epoch.load(Ordering::Acquire) == self.epoch {
                // An attempt that began before the last reset may have taken effect after it. Then
                // the queues already exist.
                self.queue.delete_remains(&*self.shared);
                made = self.queue.create(&*self.shared);
            }
            if self.current_epoch.load(Ordering::Acquire) != self.epoch {
                continue;
            }
            if made.is_ok() {
                self.send_again();
                if self.current_epoch.load(Ordering::Acquire) == self.epoch {
                    return;
                }
            } else if let Err(DriverError::Disconnected(_)) = made {
                // The new connection broke too. The next round checks whether it could be repaired.
                let _ = self.shared.recover(self.epoch, ResetCause::Disconnected);
            } else {
                // The controller works, but refuses queues that it had before.
                let reason = DriverError::BadDescription("it rejects creating its queues after a reset".into());
                self.shared.lock().give_up(ResetCause::Requested, reason);
            }
        }
        let reason = DriverError::BadDescription("it needed too many resets".into());
        self.shared.lock().give_up(ResetCause::Requested, reason);
        self.epoch = self.current_epoch.load(Ordering::Acquire);
        self.fail_everything();
    }

    /// Takes the completions from before the reset, because their commands have been executed. The
    /// controller is or was disabled, so no more completions come.
    fn drain_old_ring(&mut self) {
        if std::mem::replace(&mut self.cold.reject_completion, false) {
            return;
        }
        while let Some(entry) = self.queue.peek() {
            match self.check(&entry) {
                Ok(completion) => self.pending.push(completion),
                // The command is in flight, and is resent with the others.
                Err(Unusual::Held) => {}
                Err(Unusual::Invalid(_)) => return,
            }
            self.queue.pop();
        }
    }

    /// Resends everything in flight with new identifiers, except commands that could do harm if
    /// they were already executed.
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
            slot.abort = AbortState::NotSent;
            if let Some(loss) = loss {
                slot.replays = 0;
                self.in_flight -= 1;
                self.pending.push(Completion { slot: index, outcome: CommandOutcome::Lost(loss), result: 0 });
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

    /// Pushes as many commands to be resent as fit. More may be in flight than the queue has
    /// entries.
    fn send_unsent(&mut self) {
        while let Some((index, cid)) = self.cold.unsent.last().copied() {
            let slot = &self.slots[usize::from(index)];
            if slot.expects(cid) {
                let Some(room) = self.queue.room() else {
                    // The next reap tries again.
                    self.countdown = 1;
                    break;
                };
                self.queue.push(room, index, slot.entry);
            }
            self.cold.unsent.pop();
        }
        self.queue.flush();
    }

    fn fail_everything(&mut self) {
        self.cold.dead = true;
        self.cold.unsent.clear();
        self.cold.held.clear();
        self.countdown = 1;
        self.queue.close();
        for index in 0..self.slots.len() as u16 {
            let slot = &mut self.slots[usize::from(index)];
            if slot.is_idle() {
                continue;
            }
            slot.finish(self.cid_step);
            (slot.abort, slot.replays) = (AbortState::NotSent, 0);
            self.in_flight -= 1;
            self.pending.push(Completion { slot: index, outcome: CommandOutcome::Lost(Loss::Dead), result: 0 });
        }
    }
}

/// Whether executing a command twice has the same effect as once. This is false for appends, and
/// may be false for zone management and unknown commands.
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
