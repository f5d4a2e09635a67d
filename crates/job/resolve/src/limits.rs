//! When the worker starts, when counting starts, and when it stops.

use iolab_options::SizeSpec;
use iolab_plan::LimitPlan;

use crate::job::Job;
use crate::readings;
use crate::seeds::{Purpose, between, derive};
use crate::sizes::Extents;

/// Resolves times, loops and amounts.
pub(crate) fn resolve(job: &Job<'_>, extents: &Extents) -> LimitPlan {
    let runtime = job.runtime_ns();
    let mut time_based = job.on("time_based");
    if time_based && runtime.is_none() {
        job.refuse_unless_fio(
            "time_based",
            "time_based needs a runtime, or the job would never end",
            "for example runtime=60",
        );
        time_based = false;
    }
    let loops = job.integer("loops").max(1) as u64;
    if time_based && loops > 1 {
        job.warn("loops", "loops has no effect with time_based: the job repeats until the runtime is over", "");
    }
    let io_count = u64::try_from(job.integer("number_ios")).ok().filter(|count| *count > 0);
    LimitPlan {
        start_delay_ns: start_delay(job),
        ramp_ns: job.time_ns("ramp_time"),
        ramp_bytes: ramp_bytes(job, extents),
        runtime_ns: runtime,
        wear_out: wear_out(job),
        time_based,
        loops,
        io_bytes: extents.io_bytes,
        io_count,
        steady: crate::steady::resolve(job),
    }
}

/// `wear_out`.
fn wear_out(job: &Job<'_>) -> bool {
    if !job.on("wear_out") {
        return false;
    }
    if job.runtime_ns().is_none() {
        job.error("wear_out", "wear_out begins when the runtime is over, and there is none", "for example runtime=300");
    }
    let is_deep = !job.engine.capabilities.synchronous && job.count("iodepth") > 1;
    if is_deep || job.has("ramp_time") || job.has("ramp_size") {
        let reason =
            "wear_out counts operations one by one, from the first: neither more than one at a time nor a ramp";
        job.error("wear_out", reason, "use iodepth=1 and numjobs, and remove ramp_time and ramp_size");
    }
    true
}

/// `ramp_size`; a percentage refers to the bytes of a pass.
fn ramp_bytes(job: &Job<'_>, extents: &Extents) -> u64 {
    let bytes = match job.given_size("ramp_size") {
        Some(SizeSpec::Bytes(bytes)) => bytes,
        Some(SizeSpec::Percent(percent)) => {
            (u128::from(extents.io_bytes) * u128::from(percent) / 100).min(u64::MAX.into()) as u64
        }
        _ => 0,
    };
    if bytes > 0 && job.time_ns("ramp_time") > 0 {
        job.error("ramp_size", "ramp_size and ramp_time cannot be combined", "use only one of them");
    }
    bytes
}

/// `startdelay`; each worker draws its own from a range.
fn start_delay(job: &Job<'_>) -> u64 {
    match job.value("startdelay", readings::time_range_ns) {
        (low, high) if low > high => {
            job.error(
                "startdelay",
                "the first value of the range is larger than the second",
                "give the shorter delay first",
            );
            0
        }
        (low, high) if low < high => between(derive(job, Purpose::StartDelay), 0, low, high),
        (delay, _) => delay,
    }
}
