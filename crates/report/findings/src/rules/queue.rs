//! Checks whether as many operations were in flight as the job requested.

use iolab_plan::Reach;
use iolab_recording::Severity;

use super::{RuleMatch, of_jobs};
use crate::facts::{Facts, Job, Member};
use crate::wording::percent;

/// Below this share of the requested depth, latencies and rates are those of a different load.
const REACHED: f64 = 0.5;

/// Operations per queue slot needed before the fill level means anything.
const ROUNDS: u64 = 10;

/// From this share of its time on, a worker does little but submit operations.
const MOSTLY: f64 = 0.8;

/// `iodepth` with an engine that does one thing at a time.
pub(crate) fn synchronous_engine(facts: &Facts<'_>) -> Vec<RuleMatch> {
    of_jobs(facts, Severity::Warning, |job| {
        let plan = job.first().plan;
        let (asked, depth) = (plan.queue.asked_depth, plan.queue.depth);
        (asked > depth && asked > 1).then(|| {
            format!("iodepth={asked} was requested, but engine {} keeps {depth} operation in flight", plan.engine.name)
        })
    })
}

/// A queue that was never as full as requested.
pub(crate) fn depth_not_reached(facts: &Facts<'_>) -> Vec<RuleMatch> {
    of_jobs(facts, Severity::Warning, |job| {
        if !keeps_queue_full(job) {
            return None;
        }
        let depth = f64::from(job.first().plan.queue.depth);
        let depths: Option<Vec<f64>> = job.members.iter().map(Member::mean_depth).collect();
        let depths = depths?;
        let mean = depths.iter().sum::<f64>() / depths.len() as f64;
        (mean < REACHED * depth)
            .then(|| format!("{mean:.1} operations were in flight on average; iodepth={depth} was requested"))
    })
}

/// An asynchronous engine whose submissions do the I/O themselves.
pub(crate) fn submission_blocks(facts: &Facts<'_>) -> Vec<RuleMatch> {
    of_jobs(facts, Severity::Warning, |job| {
        if !keeps_queue_full(job) || !job.is_kernel() {
            return None;
        }
        let share = job.members.iter().map(|member| submission_share(*member)).fold(f64::INFINITY, f64::min);
        (share.is_finite() && share >= MOSTLY).then(|| {
            format!("{} of the time was spent submitting operations, not waiting for them", percent(share.min(1.0)))
        })
    })
}

/// The share of its measured part that a worker spent in submissions. Operations of one batch are
/// submitted by one call, and each of them counts the time of that call.
pub(crate) fn submission_share(member: Member<'_>) -> f64 {
    let batches = &member.worker.depth.submit_batches;
    let calls: u64 = batches.iter().map(|batch| batch.1).fold(0, u64::saturating_add);
    let sent: u64 = batches.iter().map(|batch| u64::from(batch.0).saturating_mul(batch.1)).fold(0, u64::saturating_add);
    let submitting_ns: f64 = member.worker.directions.iter().map(|direction| direction.slat.sum as f64).sum();
    if calls == 0 || sent == 0 {
        return 0.0;
    }
    submitting_ns * (calls as f64 / sent as f64) / member.worker.runtime_ns.max(1) as f64
}

/// Whether the job always tries to keep the queue full, and ran long enough to do so.
fn keeps_queue_full(job: &Job<'_>) -> bool {
    let member = job.first();
    let queue = &member.plan.queue;
    queue.depth >= 2
        && queue.depth == queue.asked_depth
        && !queue.serialize_overlap
        && queue.low_watermark.is_none_or(|mark| mark + 1 >= queue.depth)
        && !member.waits()
        && member.reach() != Reach::Nothing
        && !member.flushes()
        && job.members.iter().all(|member| member.ios() >= ROUNDS * u64::from(queue.depth))
}
