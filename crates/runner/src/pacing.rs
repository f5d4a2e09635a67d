//! When operations may be sent: not at all held back, or by rates and think time.
//!
//! Rates are an open-loop schedule: operation n of a direction is intended at the sum of n gaps from the start,
//! whatever the device does. When the device falls behind, operations are sent as soon as there is room, and
//! their response time counts from the intended moment, so that a stall is seen in full (no coordinated
//! omission: Tene, wrk2). Poisson gaps are exponential with the same mean.

use iolab_engine::Op;
use iolab_plan::{PacingPlan, PerDirection, RateProcess, ThinkPlan, ThinkTrigger};

/// The pacer's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    /// Send it; there is no schedule.
    Now,
    /// Send it; the schedule wanted it then.
    Intended(u64),
    /// Not before this time.
    Wait(u64),
}

/// Decides when the next operation is sent. `release` may be asked again for the same operation.
pub(crate) trait Pacer {
    /// Whether there is a schedule at all.
    const PACED: bool;
    fn start(&mut self, now_ns: u64);
    fn release(&mut self, op: &Op, now_ns: u64) -> Release;
    fn released(&mut self, op: &Op, now_ns: u64);
    fn completed(&mut self, now_ns: u64);
    /// Until when a wait is spent computing, not asleep (`thinktime_spin`).
    fn busy_until_ns(&self) -> u64 {
        0
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
    fn released(&mut self, _op: &Op, _now_ns: u64) {}

    #[inline(always)]
    fn completed(&mut self, _now_ns: u64) {}
}

/// Rates, think time, or both.
#[derive(Debug)]
pub(crate) struct Paced {
    schedules: PerDirection<Option<Schedule>>,
    think: Option<Think>,
    ignore_think_time: bool,
}

/// The arrivals of one direction.
#[derive(Debug)]
struct Schedule {
    ns_per_byte: f64,
    ns_per_op: f64,
    poisson: bool,
    random: u64,
    start_ns: u64,
    due: f64,
    started: bool,
}

/// Think time: counts operations, then holds everything back for a while.
#[derive(Debug)]
struct Think {
    plan: ThinkPlan,
    counted: u32,
    burst_begun_ns: u64,
    busy_until_ns: u64,
    until_ns: u64,
}

impl Paced {
    pub(crate) fn new(plan: &PacingPlan) -> Paced {
        let schedule = |index: usize| {
            let (bytes, ops) = (plan.rate_bytes[index], plan.rate_iops[index]);
            (bytes > 0 || ops > 0).then(|| Schedule {
                ns_per_byte: if bytes > 0 { 1e9 / bytes as f64 } else { 0.0 },
                ns_per_op: if ops > 0 { 1e9 / ops as f64 } else { 0.0 },
                poisson: plan.process == RateProcess::Poisson,
                random: plan.seed ^ (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
                start_ns: 0,
                due: 0.0,
                started: false,
            })
        };
        Paced {
            schedules: [schedule(0), schedule(1), schedule(2)],
            think: plan.think.clone().map(|plan| Think {
                plan,
                counted: 0,
                burst_begun_ns: 0,
                busy_until_ns: 0,
                until_ns: 0,
            }),
            ignore_think_time: plan.ignore_think_time,
        }
    }

    fn schedule_of(&mut self, op: &Op) -> Option<&mut Schedule> {
        self.schedules[op.kind.direction()?.index()].as_mut()
    }
}

impl Pacer for Paced {
    const PACED: bool = true;

    fn start(&mut self, now_ns: u64) {
        for schedule in self.schedules.iter_mut().flatten() {
            schedule.start_ns = now_ns;
            schedule.due = 0.0;
            schedule.started = true;
        }
        if let Some(think) = &mut self.think {
            think.burst_begun_ns = now_ns;
            (think.counted, think.busy_until_ns, think.until_ns) = (0, 0, 0);
        }
    }

    fn release(&mut self, op: &Op, now_ns: u64) -> Release {
        if let Some(think) = &self.think
            && now_ns < think.until_ns
        {
            return Release::Wait(think.until_ns);
        }
        match self.schedule_of(op) {
            None => Release::Now,
            Some(schedule) => match schedule.start_ns + schedule.due as u64 {
                due_ns if due_ns > now_ns => Release::Wait(due_ns),
                due_ns => Release::Intended(due_ns),
            },
        }
    }

    fn released(&mut self, op: &Op, now_ns: u64) {
        let length = f64::from(op.length);
        if let Some(schedule) = self.schedule_of(op) {
            schedule.advance(length);
        }
        self.think_after(ThinkTrigger::Issue, now_ns);
    }

    fn completed(&mut self, now_ns: u64) {
        self.think_after(ThinkTrigger::Complete, now_ns);
    }

    fn busy_until_ns(&self) -> u64 {
        self.think.as_ref().map_or(0, |think| think.busy_until_ns)
    }
}

impl Paced {
    fn think_after(&mut self, trigger: ThinkTrigger, now_ns: u64) {
        let Some(think) = self.think.as_mut().filter(|think| think.plan.trigger == trigger) else { return };
        think.counted += 1;
        let io_time_ns = think.plan.io_time_ns;
        let by_time = io_time_ns > 0 && now_ns.saturating_sub(think.burst_begun_ns) >= io_time_ns;
        let by_count = io_time_ns == 0 && think.counted >= think.plan.blocks.max(1);
        if !by_time && !by_count {
            return;
        }
        think.counted = 0;
        think.busy_until_ns = now_ns + think.plan.spin_ns;
        think.until_ns = now_ns + think.plan.pause_ns;
        think.burst_begun_ns = think.until_ns;
        if self.ignore_think_time {
            for schedule in self.schedules.iter_mut().flatten() {
                schedule.start_ns += think.plan.pause_ns;
            }
        }
    }
}

impl Schedule {
    /// Moves on by one gap: by bytes, by operations, or by the slower of both.
    fn advance(&mut self, length: f64) {
        let gap = (self.ns_per_byte * length).max(self.ns_per_op);
        self.due += if self.poisson { gap * self.exponential() } else { gap };
    }

    /// An exponential variate of mean 1, by inversion, from a splitmix64 step (Steele, Lea, Flood 2014).
    fn exponential(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let uniform = ((mixed >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        -uniform.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_engine::OpKind;

    fn plan() -> PacingPlan {
        PacingPlan {
            rate_bytes: [0; 3],
            rate_iops: [0; 3],
            rate_min_bytes: [0; 3],
            rate_min_iops: [0; 3],
            process: RateProcess::Linear,
            cycle_ms: 1000,
            ignore_think_time: false,
            think: None,
            seed: 7,
        }
    }

    fn read() -> Op {
        Op { offset: 0, length: 4096, buffer_offset: 0, file: 0, slot: 0, kind: OpKind::Read, priority: 0 }
    }

    /// Intended times of `count` operations when the loop always waits as told.
    fn intended(plan: &PacingPlan, count: usize) -> Vec<u64> {
        let mut pacer = Paced::new(plan);
        pacer.start(1_000);
        let mut now = 1_000;
        let mut times = Vec::new();
        while times.len() < count {
            match pacer.release(&read(), now) {
                Release::Wait(until) => now = until,
                Release::Intended(at) => {
                    times.push(at);
                    pacer.released(&read(), now);
                }
                Release::Now => unreachable!("this load is paced"),
            }
        }
        times
    }

    #[test]
    fn a_linear_rate_is_evenly_spaced() {
        assert_eq!(intended(&PacingPlan { rate_iops: [1000, 0, 0], ..plan() }, 3), [1_000, 1_001_000, 2_001_000]);
        let bytes = PacingPlan { rate_bytes: [4_096_000, 0, 0], ..plan() };
        assert_eq!(intended(&bytes, 3), [1_000, 1_001_000, 2_001_000]);
    }

    #[test]
    fn poisson_gaps_have_the_right_mean_and_spread() {
        let times = intended(&PacingPlan { rate_iops: [1000, 0, 0], process: RateProcess::Poisson, ..plan() }, 20_001);
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!((mean / 1e6 - 1.0).abs() < 0.03, "mean {mean}");
        assert!((deviation / mean - 1.0).abs() < 0.05, "an exponential's deviation is its mean: {deviation}");
    }

    #[test]
    fn a_late_operation_keeps_its_intended_time() {
        let mut pacer = Paced::new(&PacingPlan { rate_iops: [1000, 0, 0], ..plan() });
        pacer.start(0);
        pacer.release(&read(), 0);
        pacer.released(&read(), 0);
        assert_eq!(pacer.release(&read(), 500_000_000), Release::Intended(1_000_000));
    }

    #[test]
    fn think_time_follows_every_block_of_completions() {
        let think = ThinkPlan { pause_ns: 50, spin_ns: 30, blocks: 2, trigger: ThinkTrigger::Complete, io_time_ns: 0 };
        let mut pacer = Paced::new(&PacingPlan { think: Some(think), ..plan() });
        pacer.start(0);
        pacer.completed(10);
        assert_eq!(pacer.release(&read(), 10), Release::Now);
        pacer.completed(20);
        assert_eq!(pacer.release(&read(), 20), Release::Wait(70));
        assert_eq!(pacer.release(&read(), 70), Release::Now);
        assert_eq!(pacer.busy_until_ns(), 50, "30 of the 50 ns are spent computing");
    }
}
