//! `steadystate` and its window: when a job ends because its rate has become steady.

use iolab_jobfile::DiagnosticSeverity;
use iolab_plan::{SteadyMeasure, SteadyPlan, WorkerPlan};

use crate::findings::Findings;
use crate::groups::Placement;
use crate::job::Job;

/// Workers check their clocks about this often.
const SHORTEST_INTERVAL_NS: u64 = 10_000_000;
/// Largest number of samples in a window.
const MOST_SAMPLES: u64 = 100_000;
const OPTIONS: [&str; 4] =
    ["steadystate", "steadystate_duration", "steadystate_ramp_time", "steadystate_check_interval"];

/// The criterion that ends the job when it is steady; `None` without a window.
pub(crate) fn resolve(job: &Job<'_>) -> Option<SteadyPlan> {
    let (measure, slope, limit, percent) = criterion(&job.text_or_default("steadystate"))?;
    let window_ns = job.time_ns("steadystate_duration");
    let ramp_ns = job.time_ns("steadystate_ramp_time");
    let interval_ns = job.time_ns("steadystate_check_interval");
    if window_ns == 0 {
        if let Some(name) = OPTIONS.into_iter().find(|name| *name != "steadystate_duration" && job.has(name)) {
            let reason = format!("{name} has no effect without steadystate_duration");
            job.refuse_unless_fio(name, reason, "for example steadystate_duration=30");
        }
        return None;
    }
    if interval_ns < SHORTEST_INTERVAL_NS {
        job.error("steadystate_check_interval", "the shortest interval is 10ms", "steadystate_check_interval=1");
        return None;
    }
    let samples = window_ns / interval_ns;
    check_window(job, window_ns, interval_ns, samples, slope).then(|| {
        // Bounded by `MOST_SAMPLES`.
        let samples = samples as u32;
        SteadyPlan { measure, slope, limit, percent, samples, interval_ns, ramp_ns }
    })
}

/// `bw_slope:5%` as measure, slope or deviation, limit, and whether the limit is a percentage.
fn criterion(text: &str) -> Option<(SteadyMeasure, bool, f64, bool)> {
    let (word, limit) = text.split_once(':')?;
    let (name, slope) = word.strip_suffix("_slope").map_or((word, false), |name| (name, true));
    let measure = if name == "bw" { SteadyMeasure::Bandwidth } else { SteadyMeasure::Iops };
    let (digits, percent) = limit.strip_suffix('%').map_or((limit, false), |digits| (digits, true));
    Some((measure, slope, digits.parse().ok()?, percent))
}

/// Whether this many samples can be judged.
fn check_window(job: &Job<'_>, window_ns: u64, interval_ns: u64, samples: u64, slope: bool) -> bool {
    const NAME: &str = "steadystate_duration";
    if samples == 0 {
        let reason = "the window ends before its first sample: one is taken every second, or as often as \
            steadystate_check_interval says";
        job.refuse_unless_fio(NAME, reason, "for example steadystate_duration=10");
        return false;
    }
    if samples > MOST_SAMPLES {
        let reason = format!("the window would hold {samples} samples; the limit is {MOST_SAMPLES}");
        job.error(NAME, reason, "use a longer steadystate_check_interval or a shorter window");
        return false;
    }
    if samples == 1 {
        let what = if slope { "has no slope" } else { "never deviates from its mean" };
        let reason = format!("the window holds one sample, which {what}: the job would end at the first check");
        job.refuse_unless_fio(NAME, reason, "use a window of several samples, for example steadystate_duration=10");
        return job.request.mode == crate::request::Mode::Fio;
    }
    if !window_ns.is_multiple_of(interval_ns) {
        let reason = format!("the window is not a whole number of check intervals, so it holds {samples} samples");
        job.warn(NAME, reason, "");
    }
    true
}

/// As in fio, the jobs of a reporting group have one criterion: if they are reported as one, their
/// sums are judged.
pub(crate) fn check_groups(placements: &[Placement<'_>], workers: &[WorkerPlan], findings: &Findings) {
    let planned = |placement: &Placement<'_>| workers.iter().find(|worker| worker.number == placement.first);
    for placement in placements {
        let first = placements.iter().find(|other| other.group == placement.group);
        let (Some(own), Some(first)) = (planned(placement), first.and_then(planned)) else { continue };
        if own.limits.steady == first.limits.steady {
            continue;
        }
        let section = placement.section;
        let setting = OPTIONS.into_iter().find_map(|name| section.settings.get(name));
        let place = setting.map_or((section.source, section.span), |setting| (setting.source, setting.span));
        let reason = format!(
            "jobs {} and {} are in one reporting group but have different steadystate options",
            first.job, own.job
        );
        let suggestion = "use the same steadystate options for all jobs of a group, or add new_group to this job";
        findings.add(DiagnosticSeverity::Error, place, reason, suggestion);
    }
}
