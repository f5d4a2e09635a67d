//! Queue depth and batching.
//!
//! By default, a quarter of the queue (at most 16) is submitted with one system call, and all
//! completions are collected at once. The kernel holds a batch back until it is whole: with the
//! full depth, the device would idle while the batch is assembled. Once the device has a quarter to
//! work on, all free slots are submitted with one call.
//!
//! fio's default is to submit one by one, which is a different load for sequential operations:
//! within a batch, the kernel merges neighbours (`docs/beside-fio.md` has the figures). In fio
//! mode, sequential jobs therefore keep fio's default, so that their figures are comparable.

use iolab_plan::QueuePlan;

use crate::job::Job;
use crate::readings;
use crate::request::Mode;

/// Largest queue depth: the capacity of io_uring's submission ring.
const MAX_DEPTH: i64 = 32_768;

/// Resolves depth and batches of a job whose offsets are `random` or sequential.
pub(crate) fn resolve(job: &Job<'_>, random: bool) -> QueuePlan {
    let asked_depth = asked(job);
    let synchronous = job.engine.capabilities.synchronous;
    let offload = job.word("io_submit_mode") == "offload";
    let depth = if synchronous && !offload { 1 } else { asked_depth };
    if offload && (job.has("verify") && job.word("verify") != "none" || job.has("read_iolog")) {
        let reason = "io_submit_mode=offload does not work together with verify or read_iolog";
        job.error("io_submit_mode", reason, "use an asynchronous engine");
    }
    if depth < asked_depth {
        job.warn(
            "iodepth",
            format!(
                "iodepth={asked_depth} has no effect: engine {} is synchronous and keeps one operation in flight",
                job.engine.name
            ),
            "use an asynchronous engine such as io_uring, or numjobs for more operations at once",
        );
    }
    let min = job.count("iodepth_batch_complete_min").min(depth);
    let max = Some(job.count("iodepth_batch_complete_max"))
        .filter(|max| *max > 0)
        .map(|max| max.max(min).min(depth.max(min)));
    let asked_batch = job.given("iodepth_batch", readings::count);
    let as_fio = job.request.mode == Mode::Fio && !random;
    QueuePlan {
        depth,
        asked_depth,
        batch_grows: asked_batch.is_none() && !as_fio && depth > 1,
        batch_submit: match asked_batch {
            None if as_fio => Some(1),
            None => Some((depth / 4).clamp(1, 16)),
            Some(0) => Some(depth),
            Some(batch) => Some(batch.min(depth)),
        },
        offload,
        serialize_overlap: job.on("serialize_overlap"),
        batch_complete_min: min,
        batch_complete_max: max,
        low_watermark: Some(job.count("iodepth_low")).filter(|low| (1..depth).contains(low)),
    }
}

fn asked(job: &Job<'_>) -> u32 {
    let depth = job.integer("iodepth");
    if depth > MAX_DEPTH {
        job.error(
            "iodepth",
            format!("iodepth={depth} is more than {MAX_DEPTH}, the largest queue depth on Linux"),
            "use numjobs for more",
        );
    }
    depth.clamp(1, MAX_DEPTH) as u32
}
