//! Queue depth and batching.
//!
//! Operations are submitted one by one unless the job asks for batches, as fio documents it. A batch is another load:
//! the kernel merges neighbours within it, and the device idles while it is put together (`docs/beside-fio.md` has
//! the figures). What has completed is taken all at once unless `iodepth_batch_complete_max` says otherwise (`None` in
//! the plan), where fio takes one at a time: that changes nothing for the device, only how long completions wait.

use iolab_plan::QueuePlan;

use crate::job::Job;

/// Deepest queue: what io_uring's submission ring holds.
const MAX_DEPTH: i64 = 32_768;

/// Resolves depth and batches.
pub(crate) fn resolve(job: &Job<'_>) -> QueuePlan {
    let asked_depth = asked(job);
    let synchronous = job.engine.capabilities.synchronous;
    let depth = if synchronous { 1 } else { asked_depth };
    if synchronous && asked_depth > 1 {
        job.warn(
            "iodepth",
            format!(
                "iodepth={asked_depth} with the synchronous engine {}: one operation at a time is in flight",
                job.engine.name
            ),
            "use numjobs for parallel operations, or an asynchronous engine such as io_uring",
        );
    }
    let min = job.count("iodepth_batch_complete_min").unwrap_or(1).min(depth);
    let max =
        job.count("iodepth_batch_complete_max").filter(|max| *max > 0).map(|max| max.max(min).min(depth.max(min)));
    QueuePlan {
        depth,
        asked_depth,
        batch_submit: Some(match job.count("iodepth_batch") {
            None => 1,
            Some(0) => depth,
            Some(batch) => batch.min(depth),
        }),
        batch_complete_min: min,
        batch_complete_max: max,
        low_watermark: job.count("iodepth_low").filter(|low| (1..depth).contains(low)),
    }
}

fn asked(job: &Job<'_>) -> u32 {
    let depth = job.integer("iodepth").unwrap_or(1);
    if depth > MAX_DEPTH {
        job.error(
            "iodepth",
            format!("iodepth={depth} is more than {MAX_DEPTH}, the deepest queue Linux offers"),
            "use numjobs for more",
        );
    }
    depth.clamp(1, MAX_DEPTH) as u32
}
