//! Whether the run was long enough, and had enough samples for the percentiles shown.

use iolab_order::Arrange;
use iolab_plan::Direction;
use iolab_recording::Severity;
use iolab_statistics::samples_needed;
use iolab_text::counted;
use iolab_units::rounded_ns;

use super::{RuleMatch, of_jobs, together};
use crate::facts::{Facts, Job, Member};
use crate::wording::count;

/// A measured part shorter than this is mostly beginning and end.
const SHORT_NS: u64 = 1_000_000_000;

/// The most commonly used percentile.
const P99: f64 = 99.0;

/// A measured part that ends before anything has settled.
pub(crate) fn too_short(facts: &Facts<'_>) -> Vec<RuleMatch> {
    of_jobs(facts, Severity::Warning, |job| {
        let ios = counted(job.sum(Member::ios), "operation");
        is_too_short(job).then(|| format!("measured for {}, {ios}", rounded_ns(longest_ns(job) as f64)))
    })
}

fn is_too_short(job: &Job<'_>) -> bool {
    longest_ns(job) < SHORT_NS
}

fn longest_ns(job: &Job<'_>) -> u64 {
    job.members.iter().map(|member| member.worker.runtime_ns).max().unwrap_or(0)
}

/// Percentiles with too few samples. For a job that was too short for any figure, that is reported
/// instead.
pub(crate) fn too_few_samples(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let (mut grave, mut minor) = (Vec::new(), Vec::new());
    for job in facts.shown().filter(|job| !is_too_short(job)) {
        let weak = Direction::ALL.into_iter().filter_map(|direction| weak_percentiles(job, direction));
        // Report only the direction with the fewest samples.
        let Some(weakest) = weak.min_by_key(|weak| weak.samples) else { continue };
        if weakest.is_grave { &mut grave } else { &mut minor }.push((job.name, weakest.words));
    }
    [together(Severity::Warning, grave), together(Severity::Note, minor)].concat()
}

/// The percentiles of one direction that have too few samples.
struct Weak {
    samples: u64,
    /// Whether p99 is among them.
    is_grave: bool,
    words: String,
}

/// The printed percentiles that have fewer than ten samples beyond them.
fn weak_percentiles(job: &Job<'_>, direction: Direction) -> Option<Weak> {
    let percentiles = &job.first().plan.measurement.percentiles;
    if !percentiles.clat && !percentiles.lat {
        return None;
    }
    let samples = job.sum(|member| {
        let direction = &member.worker.directions[direction as usize];
        direction.clat.count.max(direction.lat.count)
    });
    // Low percentiles need as many samples below them as high ones above.
    let mut weak: Vec<f64> = percentiles
        .list
        .iter()
        .copied()
        .filter(|p| (50.0..100.0).contains(p) && samples_needed(*p) > samples)
        .collect();
    if samples == 0 || weak.is_empty() {
        return None;
    }
    weak.arrange_by(f64::total_cmp);
    let above = if weak.len() > 1 { " and above" } else { "" };
    let words = format!(
        "{} {} too few for p{}{above}, which needs {}",
        counted(samples, &format!("{} sample", word(direction))),
        if samples == 1 { "is" } else { "are" },
        weak[0],
        count(samples_needed(weak[0]))
    );
    Some(Weak { samples, is_grave: weak.iter().any(|percent| *percent <= P99), words })
}

fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        Direction::Write => "write",
        Direction::Trim => "trim",
    }
}
