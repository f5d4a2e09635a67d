//! Whether there was enough of everything: time, and samples for the percentiles shown.

use iolab_plan::Direction;
use iolab_recording::Severity;
use iolab_statistics::samples_needed;
use iolab_units::rounded_ns;

use super::{Seen, of_jobs, together};
use crate::facts::{Facts, Job, Member};
use crate::wording::count;

/// A measured part shorter than this is mostly beginning and end.
const SHORT_NS: u64 = 1_000_000_000;

/// A percentile that everybody looks at.
const P99: f64 = 99.0;

/// A measured part that is over before anything has settled.
pub(crate) fn too_short(facts: &Facts<'_>) -> Vec<Seen> {
    of_jobs(facts, Severity::Warning, |job| {
        let longest_ns = job.members.iter().map(|member| member.worker.runtime_ns).max()?;
        let ios = count(job.sum(Member::ios));
        (longest_ns < SHORT_NS).then(|| format!("measured for {}, {ios} operations", rounded_ns(longest_ns as f64)))
    })
}

/// Percentiles that rest on too few samples.
pub(crate) fn too_few_samples(facts: &Facts<'_>) -> Vec<Seen> {
    let (mut grave, mut minor) = (Vec::new(), Vec::new());
    for job in facts.shown() {
        let weak: Vec<(bool, String)> =
            Direction::ALL.into_iter().filter_map(|direction| weak_percentiles(job, direction)).collect();
        if weak.is_empty() {
            continue;
        }
        let is_grave = weak.iter().any(|(grave, _)| *grave);
        let words: Vec<String> = weak.into_iter().map(|(_, words)| words).collect();
        if is_grave { &mut grave } else { &mut minor }.push((job.name, words.join(", ")));
    }
    [together(Severity::Warning, grave), together(Severity::Note, minor)].concat()
}

/// Which of the percentiles that are printed have fewer than ten samples beyond them, and whether p99 is among them.
fn weak_percentiles(job: &Job<'_>, direction: Direction) -> Option<(bool, String)> {
    let percentiles = &job.first().plan.measurement.percentiles;
    if !percentiles.clat && !percentiles.lat {
        return None;
    }
    let samples = job.sum(|member| {
        let direction = &member.worker.directions[direction as usize];
        direction.clat.count.max(direction.lat.count)
    });
    // Low percentiles have as many samples below them as high ones above.
    let mut weak: Vec<f64> = percentiles
        .list
        .iter()
        .copied()
        .filter(|p| (50.0..100.0).contains(p) && samples_needed(*p) > samples)
        .collect();
    if samples == 0 || weak.is_empty() {
        return None;
    }
    weak.sort_by(f64::total_cmp);
    let above = if weak.len() > 1 { " and above" } else { "" };
    let words = format!(
        "{} {} samples are too few for p{}{above}, which needs {}",
        count(samples),
        word(direction),
        weak[0],
        count(samples_needed(weak[0]))
    );
    Some((weak.iter().any(|percent| *percent <= P99), words))
}

fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        Direction::Write => "write",
        Direction::Trim => "trim",
    }
}
