//! The progress of a run, and its remaining time.

use iolab_plan::{Plan, WorkerPlan};
use iolab_runner::{Progress, State, WorkerProgress};

/// A forecast; `None` if there is no reliable basis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Forecast {
    pub(crate) percent: Option<f64>,
    pub(crate) seconds_left: Option<u64>,
}

/// Adds up the stages: those that have ended, the rest of the running one, and those that follow.
pub(crate) fn forecast(plan: &Plan, progress: &Progress) -> Forecast {
    let elapsed = progress.elapsed_ns as f64 / 1e9;
    let stages = plan.workers.iter().map(|worker| worker.stage).max().map_or(0, |stage| stage + 1);
    let mut left = Some(0.0);
    for stage in 0..stages {
        let members = plan.workers.iter().zip(&progress.workers).filter(|(worker, _)| worker.stage == stage);
        let longest = members.map(|(worker, now)| seconds_left(worker, now)).reduce(|a, b| Some(a?.max(b?)));
        left = left.and_then(|left| Some(left + longest.flatten()?));
    }
    let percent = left.map(|left| if elapsed + left > 0.0 { 100.0 * elapsed / (elapsed + left) } else { 0.0 });
    Forecast { percent, seconds_left: left.map(|left| left.round() as u64) }
}

fn seconds_left(plan: &WorkerPlan, now: &WorkerProgress) -> Option<f64> {
    let limits = &plan.limits;
    let measured = now.measured_ns as f64 / 1e9;
    let lead = match now.state {
        State::Done => return Some(0.0),
        State::Waiting | State::SettingUp | State::Ready => (limits.start_delay_ns + limits.ramp_ns) as f64 / 1e9,
        State::Ramping => limits.ramp_ns as f64 / 1e9,
        State::Running | State::Finishing => 0.0,
    };
    let by_time = limits.runtime_ns.map(|runtime_ns| (runtime_ns as f64 / 1e9 - measured).max(0.0));
    let total = limits.io_bytes.saturating_mul(limits.loops) as f64;
    let done = now.bytes.iter().sum::<u64>() as f64;
    let by_size =
        (!limits.time_based && done > 0.0 && measured > 0.5).then(|| (total - done).max(0.0) * measured / done);
    let own = match (by_time, by_size) {
        (Some(time), Some(size)) => time.min(size),
        (time, size) => time.or(size)?,
    };
    Some(lead + own)
}
