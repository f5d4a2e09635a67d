//! How steady a job was, as judged by one of its workers.

use iolab_plan::SteadyPlan;
use iolab_recording::SteadyRecording;

use crate::members::Member;

/// What `steadystate` asked for, and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct SteadyFigures {
    /// Criterion, limit and window.
    pub plan: SteadyPlan,
    /// The result; `None` if the judging worker left no recording.
    pub seen: SteadyRecording,
}

impl SteadyFigures {
    /// The criterion as fio names it: `iops`, `bw_slope`.
    pub fn name(&self) -> String {
        format!("{}{}", self.plan.measure.name(), if self.plan.slope { "_slope" } else { "" })
    }

    /// The criterion with its unit; 0 before the window was full.
    pub fn criterion(&self) -> f64 {
        self.seen.criterion.unwrap_or(0.0)
    }

    /// Mean of the existing samples, operations per second.
    pub fn mean_iops(&self) -> f64 {
        mean(&self.seen.iops)
    }

    /// Mean of the existing samples, bytes per second.
    pub fn mean_bytes_per_s(&self) -> f64 {
        mean(&self.seen.bytes_per_s)
    }
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The steady state of members that are reported as one; `None` if none was asked for.
pub(crate) fn steady(members: &[Member<'_>]) -> Option<SteadyFigures> {
    let plan = members.first()?.0.limits.steady?;
    let seen = members.iter().find_map(|(_, worker)| worker.steady.clone()).unwrap_or_default();
    Some(SteadyFigures { plan, seen })
}
