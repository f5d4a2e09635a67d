//! Ends jobs whose rate has become steady: `steadystate` of fio(1).
//!
//! Each worker judges for itself. In a group that is reported as one, the last worker judges for
//! the whole group. It takes a sample at `ramp + k × interval` of its measured time, from the
//! figures that workers have published with their own times, so that every sample is divided by its
//! exact length. A missed time is skipped: its operations belong to the longer sample that follows.
//! As in fio, a worker that has ended contributes nothing more, and when the judging worker has
//! ended, the judgement stops. Sampling allocates nothing.

use iolab_plan::{SteadyMeasure, SteadyPlan, WorkerPlan};
use iolab_recording::SteadyRecording;
use iolab_statistics::{Line, fio_deviation, fio_slope};

use crate::control::{Control, Order};
use crate::telling::{Teller, ToldKind};

/// The workers that one worker judges; that worker is the last.
#[derive(Debug)]
pub(crate) struct Peers<'a> {
    control: &'a Control,
    plan: SteadyPlan,
    places: Vec<usize>,
}

impl<'a> Peers<'a> {
    /// The workers that the worker at `place` judges; `None` if it judges none.
    pub(crate) fn of(control: &'a Control, workers: &[WorkerPlan], place: usize) -> Option<Peers<'a>> {
        let own = &workers[place];
        let plan = own.limits.steady?;
        let together = |other: &WorkerPlan| own.group_reporting && other.group_reporting && other.group == own.group;
        let is_peer = |other: usize| other == place || together(&workers[other]);
        let places: Vec<usize> = (0..workers.len()).filter(|other| is_peer(*other)).collect();
        (places.last() == Some(&place)).then_some(Peers { control, plan, places })
    }
}

/// One worker's share of a sample.
#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    ios: u64,
    bytes: u64,
    measured_ns: u64,
}

/// The judge.
#[derive(Debug)]
pub(crate) struct Steady<'a> {
    control: &'a Control,
    plan: SteadyPlan,
    /// Each worker with its figures at the last sample; this one is the last.
    before: Vec<(usize, Standing)>,
    /// When the window may begin, and whether it has.
    from_ns: u64,
    begun: bool,
    next_ns: u64,
    seen: SteadyRecording,
    teller: Option<Teller<'a>>,
}

impl<'a> Steady<'a> {
    /// A judge that does nothing before [`Steady::begin`].
    pub(crate) fn new(peers: &Peers<'a>) -> Steady<'a> {
        let room = || Vec::with_capacity(peers.plan.samples as usize);
        Steady {
            control: peers.control,
            plan: peers.plan,
            before: peers.places.iter().map(|place| (*place, Standing::default())).collect(),
            from_ns: u64::MAX,
            begun: false,
            next_ns: u64::MAX,
            seen: SteadyRecording { iops: room(), bytes_per_s: room(), ..SteadyRecording::default() },
            teller: None,
        }
    }

    /// Tells of each sample and each judgement.
    pub(crate) fn telling(self, teller: Option<Teller<'a>>) -> Steady<'a> {
        Steady { teller, ..self }
    }

    /// Measuring begins.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.from_ns = now_ns.saturating_add(self.plan.ramp_ns);
        self.next_ns = self.from_ns;
    }

    /// When the next sample is due.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// The samples so far.
    pub(crate) fn recording(&self) -> SteadyRecording {
        self.seen.clone()
    }

    /// Takes a sample if it is time. True when the rate is steady; the other workers have then been
    /// ordered to finish.
    pub(crate) fn look(&mut self, now_ns: u64) -> bool {
        if now_ns < self.next_ns {
            return false;
        }
        let lines = (now_ns - self.from_ns) / self.plan.interval_ns + 1;
        self.next_ns = self.from_ns.saturating_add(lines.saturating_mul(self.plan.interval_ns));
        let (iops, bytes_per_s) = self.sample();
        if !std::mem::replace(&mut self.begun, true) {
            // Operations before the window count towards no rate.
            return false;
        }
        for (window, value) in [(&mut self.seen.iops, iops), (&mut self.seen.bytes_per_s, bytes_per_s)] {
            if window.len() == self.plan.samples as usize {
                window.remove(0);
            }
            window.push(value);
        }
        if self.teller.is_some() {
            self.tell(&format!("iops: {iops:.0}, bw: {bytes_per_s:.0}, samples: {}", self.seen.iops.len()));
        }
        self.seen.attained = self.seen.iops.len() == self.plan.samples as usize && self.is_steady();
        if self.seen.attained {
            let others = self.before.iter().rev().skip(1);
            others.for_each(|(place, _)| self.control.order(*place, Order::Finish));
        }
        self.seen.attained
    }

    /// Rates of all workers together since the last sample, each over its own time.
    fn sample(&mut self) -> (f64, f64) {
        let (mut iops, mut bytes_per_s) = (0.0, 0.0);
        for (place, before) in &mut self.before {
            let (ios, bytes, measured_ns) = self.control.progress(*place);
            let now = Standing { ios: ios.iter().sum(), bytes: bytes.iter().sum(), measured_ns };
            let passed_ns = now.measured_ns.saturating_sub(before.measured_ns);
            if passed_ns > 0 {
                let per_second = |count: u64| count as f64 * 1e9 / passed_ns as f64;
                iops += per_second(now.ios.saturating_sub(before.ios));
                bytes_per_s += per_second(now.bytes.saturating_sub(before.bytes));
            }
            *before = now;
        }
        (iops, bytes_per_s)
    }

    fn tell(&self, text: &str) {
        if let Some(teller) = &self.teller {
            teller.tell(ToldKind::SteadyState, text);
        }
    }

    /// Compares the full window with the limit. A rate of 0 is not steady, because a share of it is
    /// undefined.
    fn is_steady(&mut self) -> bool {
        let plan = &self.plan;
        let window = match plan.measure {
            SteadyMeasure::Iops => &self.seen.iops,
            SteadyMeasure::Bandwidth => &self.seen.bytes_per_s,
        };
        let share = if plan.slope { fio_slope(window) } else { fio_deviation(window) };
        let Some(share) = share else {
            (self.seen.criterion, self.seen.excursion) = (None, None);
            return false;
        };
        let excursion = share * (window.iter().sum::<f64>() / window.len() as f64);
        let falls = plan.slope && Line::through(window).is_some_and(|line| line.slope < 0.0);
        let criterion = if plan.percent { share * 100.0 } else { excursion };
        let sign = if falls { -1.0 } else { 1.0 };
        self.seen.criterion = Some(sign * criterion);
        self.seen.excursion = Some(sign * excursion);
        if self.teller.is_some() {
            let (sum, limit) = (window.iter().sum::<f64>(), plan.limit);
            let (mean, what) = (sum / window.len() as f64, if plan.slope { "slope" } else { "max diff" });
            let (deviation, objective) = (sign * excursion, sign * criterion);
            let text = format!(
                "sum_y: {sum:.0}, mean: {mean:.6}, {what}: {deviation:.6}, objective: {objective:.6}, limit: {limit:.6}"
            );
            self.tell(&text);
        }
        criterion < plan.limit
    }
}

#[cfg(test)]
mod tests;
