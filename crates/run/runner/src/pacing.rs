//! When operations may be sent: at once, or by a schedule and think time.
//!
//! Schedules are open-loop. When the device falls behind, operations are sent as soon as there is
//! room, and their response time counts from the intended time, so that a stall is fully visible
//! (no coordinated omission: Tene, wrk2). An operation is not intended before the one that precedes
//! it in the stream, nor during think time: waiting for those is what the job asks for.

pub(crate) mod flow;
pub(crate) mod following;
pub(crate) mod ideal;
pub(crate) mod keeping;
pub(crate) mod latency_target;
pub(crate) mod schedule;
pub(crate) mod serialize;
mod think;

use iolab_engine::Op;
use iolab_plan::{PacingPlan, ThinkTrigger};
use iolab_recording::ScheduleRecording;

use crate::hot_loop::slots::Slot;
use crate::pacing::following::{Following, Held};
use crate::pacing::ideal::IdealGenerator;
use crate::pacing::keeping::{Keeping, Standing};
use crate::pacing::schedule::Schedule;
use crate::pacing::think::Think;

/// The pacer's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    /// Send it; there is no schedule.
    Now,
    /// Send it; the schedule intended it at this time.
    Intended(u64),
    /// Do not send it before this time.
    Wait(u64),
    /// Never send it: the schedule is over.
    Over,
}

/// Decides when the next operation is sent. `release` may be asked again for the same operation.
pub(crate) trait Pacer {
    /// Whether there is a schedule at all.
    const PACED: bool;
    fn start(&mut self, now_ns: u64);
    fn release(&mut self, op: &Op, now_ns: u64) -> Release;
    /// The lane has accepted the operation released last, in the slot that it names.
    fn released(&mut self, op: &Op, intended_ns: u64, begun_ns: u64);
    /// Submitting the operations released since the last call took this time.
    fn handed_over(&mut self, took_ns: u64);
    /// The operation of a slot has completed. Returns the earliest time at which it could have
    /// begun.
    fn completed(&mut self, slot: &Slot, now_ns: u64) -> u64;
    /// Until when to spend a wait computing instead of sleeping (`thinktime_spin`).
    fn busy_until_ns(&self) -> u64 {
        0
    }
    /// The pacer itself, for work that is not done per operation; `None` if it keeps no account.
    fn paced(&mut self) -> Option<&mut Paced>;
    /// The queue depth that `latency_target` uses now.
    fn latency_depth(&self) -> Option<usize> {
        None
    }
}

/// No schedule: as fast as the queue allows.
#[derive(Debug)]
pub(crate) struct Unpaced;

impl Pacer for Unpaced {
    const PACED: bool = false;

    fn start(&mut self, _now_ns: u64) {}

    #[inline(always)]
    fn release(&mut self, _op: &Op, _now_ns: u64) -> Release {
        Release::Now
    }

    #[inline(always)]
    fn released(&mut self, _op: &Op, _intended_ns: u64, _begun_ns: u64) {}

    #[inline(always)]
    fn handed_over(&mut self, _took_ns: u64) {}

    #[inline(always)]
    fn completed(&mut self, slot: &Slot, _now_ns: u64) -> u64 {
        slot.begun_ns
    }

    fn paced(&mut self) -> Option<&mut Paced> {
        None
    }
}

/// A schedule, think time, or both.
#[derive(Debug)]
pub(crate) struct Paced {
    /// By direction. Recorded arrivals are the first entry and apply to all directions.
    schedules: [Option<Schedule>; 3],
    common: bool,
    /// When the latest operation of a schedule was intended.
    latest_ns: u64,
    ideal: IdealGenerator,
    /// By slot: when the operation in it could have been begun.
    sendable_ns: Box<[u64]>,
    keeping: Keeping,
    think: Option<Think>,
    ignore_think_time: bool,
    /// A trace that is replayed, in place of schedules.
    following: Option<Following>,
}

impl Paced {
    /// A pacer for a queue of `depth`; `arrivals` replace the plan's rates.
    pub(crate) fn new(plan: &PacingPlan, arrivals: Option<Schedule>, depth: usize) -> Paced {
        let common = arrivals.is_some();
        let rate = |direction| Schedule::of_rate(plan, direction);
        Paced {
            schedules: if common { [arrivals, None, None] } else { [rate(0), rate(1), rate(2)] },
            common,
            latest_ns: 0,
            ideal: IdealGenerator::new(depth),
            sendable_ns: vec![0; depth].into_boxed_slice(),
            keeping: Keeping::default(),
            think: plan.think.clone().map(Think::of),
            ignore_think_time: plan.ignore_think_time,
            following: None,
        }
    }

    #[inline]
    fn schedule_of(&mut self, op: &Op) -> Option<&mut Schedule> {
        let direction = op.kind.direction()?.index();
        self.schedules[if self.common { 0 } else { direction }].as_mut()
    }

    fn used(&self) -> impl Iterator<Item = &Schedule> {
        self.schedules.iter().flatten().filter(|schedule| schedule.is_used())
    }

    /// No operation is intended before this: the time of the latest operation, and the end of the
    /// think time.
    #[inline]
    fn held_until_ns(&self) -> u64 {
        self.latest_ns.max(self.think.as_ref().map_or(0, Think::until_ns))
    }

    #[inline]
    fn backlog(&self, now_ns: u64) -> u64 {
        let held_ns = self.held_until_ns();
        if held_ns > now_ns {
            return 0;
        }
        if let Some(following) = &self.following {
            return following.backlog(now_ns);
        }
        self.used().map(|schedule| schedule.count_due(self.latest_ns, held_ns, now_ns)).sum()
    }

    fn standing(&self, now_ns: u64) -> Standing {
        let next_ns = match &self.following {
            Some(following) => following.due_ns(),
            None => self.used().filter_map(Schedule::due_ns).min(),
        };
        let due_ns = next_ns.map(|due_ns| due_ns.max(self.held_until_ns()));
        let lag_ns = due_ns.map_or(0, |due_ns| now_ns.saturating_sub(due_ns));
        Standing { backlog: self.backlog(now_ns), lag_ns, due_ns }
    }

    /// The measured part begins.
    pub(crate) fn start_measuring(&mut self, now_ns: u64) {
        let standing = self.standing(now_ns);
        self.keeping.start(now_ns, standing);
        if let Some(following) = &mut self.following {
            following.start_measuring();
        }
    }

    /// Nothing more is sent; `over` if the stream has ended.
    pub(crate) fn stop(&mut self, now_ns: u64, over: bool) {
        // An operation that is due exactly now is not late.
        let standing = self.standing(now_ns.saturating_sub(1));
        self.keeping.stop(now_ns, standing, over);
    }

    /// How the schedule was kept so far; `None` if there is only think time.
    pub(crate) fn recording(&self, now_ns: u64) -> Option<ScheduleRecording> {
        let follows = self.following.as_ref().is_some_and(Following::is_timed);
        let scheduled = follows || self.schedules.iter().any(Option::is_some);
        scheduled.then(|| self.keeping.recording(now_ns, self.standing(now_ns)))
    }
}

impl Pacer for Paced {
    const PACED: bool = true;

    fn start(&mut self, now_ns: u64) {
        for schedule in self.schedules.iter_mut().flatten() {
            schedule.start(now_ns);
        }
        if let Some(following) = &mut self.following {
            following.start(now_ns);
        }
        self.latest_ns = now_ns;
        if let Some(think) = &mut self.think {
            think.start(now_ns);
        }
        self.keeping.start(now_ns, Standing::default());
    }

    fn release(&mut self, op: &Op, now_ns: u64) -> Release {
        if let Some(think) = &mut self.think {
            let until_ns = think.held_until_ns(now_ns);
            if now_ns < until_ns {
                return Release::Wait(until_ns);
            }
        }
        let held_ns = self.held_until_ns();
        if let Some(following) = &mut self.following {
            return match following.holds(now_ns) {
                Held::No(None) => Release::Now,
                Held::No(Some(due_ns)) => Release::Intended(due_ns.max(held_ns).min(now_ns)),
                Held::Until(due_ns) => Release::Wait(due_ns),
                // Until a completion: the loop collects completions meanwhile and asks again.
                Held::ByOwn => Release::Wait(u64::MAX),
                Held::ByOther => Release::Wait(Following::look_again_ns(now_ns)),
            };
        }
        match self.schedule_of(op).map(|schedule| schedule.due_ns()) {
            None => Release::Now,
            Some(None) => Release::Over,
            Some(Some(due_ns)) if due_ns > now_ns => Release::Wait(due_ns),
            Some(Some(due_ns)) => Release::Intended(due_ns.max(held_ns).min(now_ns)),
        }
    }

    fn released(&mut self, op: &Op, intended_ns: u64, begun_ns: u64) {
        self.sendable_ns[usize::from(op.slot)] = if self.following.is_some() {
            self.follow_up(op, intended_ns, begun_ns)
        } else if let Some(schedule) = self.schedule_of(op) {
            schedule.advance(op.length);
            self.latest_ns = intended_ns;
            let after = self.backlog(begun_ns);
            self.keeping.sent(intended_ns, begun_ns, after);
            self.ideal.begin(intended_ns, begun_ns)
        } else if op.kind.is_sync() {
            // It belongs to the operation sent before it.
            self.ideal.begin(self.latest_ns, begun_ns)
        } else {
            self.ideal.begin(begun_ns, begun_ns)
        };
        // As in fio, think time counts transfers: a sync belongs to the write before it.
        if !op.kind.is_sync() {
            self.think_after(ThinkTrigger::Issue, begun_ns);
        }
    }

    fn handed_over(&mut self, took_ns: u64) {
        self.ideal.handed_over(took_ns);
    }

    fn completed(&mut self, slot: &Slot, now_ns: u64) -> u64 {
        let sendable_ns = self.sendable_ns[usize::from(slot.op.slot)];
        self.ideal.completed(sendable_ns, now_ns.saturating_sub(slot.begun_ns));
        if let Some(following) = &mut self.following {
            following.completed(slot.op.slot);
        }
        if !slot.op.kind.is_sync() {
            self.think_after(ThinkTrigger::Complete, now_ns);
        }
        sendable_ns
    }

    fn busy_until_ns(&self) -> u64 {
        self.think.as_ref().map_or(0, Think::busy_until_ns)
    }

    fn paced(&mut self) -> Option<&mut Paced> {
        Some(self)
    }
}

impl Paced {
    fn think_after(&mut self, trigger: ThinkTrigger, now_ns: u64) {
        let Some(pause_ns) = self.think.as_mut().and_then(|think| think.after(trigger, now_ns)) else { return };
        if self.ignore_think_time {
            for schedule in self.schedules.iter_mut().flatten() {
                schedule.postpone(pause_ns);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
