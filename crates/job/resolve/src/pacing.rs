//! Rates, recorded arrivals and think time.

use std::path::Path;

use iolab_options::RateProcess;
use iolab_plan::{
    ArrivalsPlan, Direction, FlowPlan, FollowPlan, LatencyTargetPlan, PacingPlan, PerDirection, ThinkPlan,
    ThinkTrigger, WorkloadPlan, arrivals_checksum, arrivals_period_ns, parse_arrivals,
};

use crate::groups::job_name;
use crate::job::Job;
use crate::ranks::share_of_rates;
use crate::readings;
use crate::seeds::{Purpose, derive};

/// Resolves rates, floors and pauses.
pub(crate) fn resolve(job: &Job<'_>, workload: &WorkloadPlan) -> PacingPlan {
    let rates = ["rate", "rate_iops", "rate_min", "rate_iops_min"].map(|name| (name, job.triple(name)));
    let [bytes, iops, min_bytes, min_iops] = share_of_rates(job, rates);
    for (one, other, a, b) in [("rate", "rate_iops", bytes, iops), ("rate_min", "rate_iops_min", min_bytes, min_iops)] {
        if a.iter().any(|rate| *rate > 0) && b.iter().any(|rate| *rate > 0) {
            job.error(other, format!("{one} and {other} cannot be combined"), "use only one of them");
        }
    }
    for (rate, floor, most, least) in
        [("rate", "rate_min", bytes, min_bytes), ("rate_iops", "rate_iops_min", iops, min_iops)]
    {
        for direction in &workload.pattern.directions {
            let (most, least) = (most[direction.index()], least[direction.index()]);
            if most > 0 && least > most {
                let reason = format!("{floor}={least} is more than {rate}={most} for {}s", direction.name());
                job.error(floor, reason, "the minimum must not be above the rate");
            }
        }
    }
    warn_of_held_back(job, workload, bytes, iops);
    let process = process(job);
    let rated = bytes.iter().chain(&iops).any(|rate| *rate > 0);
    if process == RateProcess::Poisson && !rated {
        job.warn("rate_process", "rate_process has no effect without rate or rate_iops", "");
    }
    if rated && job.has("arrivals") {
        job.error("arrivals", "arrivals and a rate cannot be combined", "use only one of them");
    }
    PacingPlan {
        rate_bytes: bytes,
        rate_iops: iops,
        rate_min_bytes: min_bytes,
        rate_min_iops: min_iops,
        arrivals: arrivals(job),
        by_trace: false,
        process,
        cycle_ms: (job.time_ns("rate_cycle") / 1_000_000).max(1),
        ignore_think_time: job.on("rate_ignore_thinktime"),
        think: think(job),
        follow: follow(job),
        flow: flow(job),
        latency_target: latency_target(job),
        seed: derive(job, Purpose::Pacing),
    }
}

/// Warns if only some directions of a mix have a rate. They share one stream: in fio, the direction
/// without a rate runs free in between; iolab keeps the mix, at the pace of the limited direction.
fn warn_of_held_back(job: &Job<'_>, workload: &WorkloadPlan, bytes: PerDirection<u64>, iops: PerDirection<u64>) {
    for (name, rates) in [("rate", bytes), ("rate_iops", iops)] {
        let limited = |direction: &&Direction| rates[direction.index()] > 0;
        let used = &workload.pattern.directions;
        if let (Some(held), Some(free)) =
            (used.iter().find(limited), used.iter().find(|direction| rates[direction.index()] == 0))
        {
            let reason = format!(
                "{name} limits only {}s, but {}s keep their share of the mix, so they are slowed down too",
                held.name(),
                free.name()
            );
            job.warn(name, reason, "use two jobs, or set a rate for each direction");
        }
    }
}

/// `rate_process`.
pub(crate) fn process(job: &Job<'_>) -> RateProcess {
    match job.word("rate_process").as_str() {
        "poisson" => RateProcess::Poisson,
        _ => RateProcess::Linear,
    }
}

/// `arrivals` and `arrivals_repeat`.
fn arrivals(job: &Job<'_>) -> Option<ArrivalsPlan> {
    let repeat = job.on("arrivals_repeat");
    let Some(path) = job.text("arrivals") else {
        if repeat {
            job.warn("arrivals_repeat", "arrivals_repeat has no effect without arrivals", "");
        }
        return None;
    };
    let wanted = "use a file with one time per line, in microseconds from the start, ascending";
    let text =
        job.request.machine.text(Path::new(&path)).map_err(|reason| job.error("arrivals", reason, wanted)).ok()?;
    let times = parse_arrivals(&text)
        .map_err(|error| job.error("arrivals", format!("arrivals={path}: {error}"), wanted))
        .ok()?;
    if repeat && arrivals_period_ns(&times).is_none() {
        let reason = format!("arrivals={path}: all operations arrive at time 0, so arrivals_repeat would never end");
        job.error("arrivals_repeat", reason, "remove arrivals_repeat, or use later times");
        return None;
    }
    let last_ns = times.last().copied().unwrap_or(0);
    Some(ArrivalsPlan { path, count: times.len() as u64, last_ns, checksum: arrivals_checksum(&text), repeat })
}

/// `follow`.
fn follow(job: &Job<'_>) -> Option<FollowPlan> {
    let text = job.text("follow")?;
    let wanted = "write the name of another job of this run and a number above 0, as in follow=log:12";
    let parts = text.rsplit_once(':').map(|(name, every)| (name.trim(), every.trim().parse::<f64>()));
    let Some((name, Ok(every))) = parts.filter(|(_, every)| matches!(every, Ok(n) if n.is_finite() && *n > 0.0)) else {
        job.error("follow", format!("follow={text} is not a job and a number"), wanted);
        return None;
    };
    let own = job_name(job.section);
    let is_there = job.request.jobs.jobs.iter().any(|other| job_name(other) == name);
    if name == own || !is_there {
        let reason =
            if name == own { "a job cannot follow itself".to_owned() } else { format!("there is no job {name}") };
        job.error("follow", reason, wanted);
        return None;
    }
    Some(FollowPlan { job: name.to_owned(), every })
}

/// `flow`, `flow_id` and `flow_sleep`.
fn flow(job: &Job<'_>) -> Option<FlowPlan> {
    let (weight, id) = (job.integer("flow"), job.count("flow_id"));
    let sleep_us = job.integer("flow_sleep");
    if weight < 0 {
        let reason = format!("flow={weight} is no weight: fio, too, has only weights above 0 since 3.20");
        job.error("flow", reason, "give the jobs of a flow weights such as 1 and 8");
    }
    if weight == 0 {
        for name in ["flow_id", "flow_sleep"].into_iter().filter(|name| job.has(name)) {
            job.warn(name, format!("{name} has no effect without flow"), "");
        }
        return None;
    }
    Some(FlowPlan { id, weight: u32::try_from(weight).unwrap_or(1), sleep_ns: sleep_us.max(0) as u64 * 1000 })
}

/// `latency_target` and related options.
fn latency_target(job: &Job<'_>) -> Option<LatencyTargetPlan> {
    let (target_ns, window_ns) = (job.time_ns("latency_target"), job.time_ns("latency_window"));
    let percentile = job.value("latency_percentile", readings::floats).first().copied().unwrap_or(100.0);
    let goes_on = job.on("latency_run");
    if target_ns == 0 {
        for name in ["latency_window", "latency_percentile", "latency_run"].into_iter().filter(|name| job.has(name)) {
            job.warn(name, format!("{name} has no effect without latency_target"), "");
        }
        return None;
    }
    if window_ns == 0 {
        let reason = "latency_window is how long each queue depth is tried: it cannot be 0";
        job.error("latency_window", reason, "for example latency_window=1s");
        return None;
    }
    Some(LatencyTargetPlan { target_ns, window_ns, percentile, goes_on })
}

fn think(job: &Job<'_>) -> Option<ThinkPlan> {
    let pause_ns = job.time_ns("thinktime");
    let spin_ns = job.time_ns("thinktime_spin");
    let work_ns = job.time_ns("thinktime_work");
    let blocks = job.count("thinktime_blocks").max(1);
    let issue = job.word("thinktime_blocks_type") == "issue";
    let io_time_ns = job.time_ns("thinktime_iotime");
    let spin_cycles = job.integer("thinkcycles").max(0) as u64;
    if pause_ns == 0 && spin_cycles == 0 {
        for name in
            ["thinktime_spin", "thinktime_work", "thinktime_blocks", "thinktime_blocks_type", "thinktime_iotime"]
        {
            if job.has(name) {
                job.warn(name, format!("{name} has no effect without thinktime"), "");
            }
        }
        return None;
    }
    if spin_ns > pause_ns {
        job.warn("thinktime_spin", "thinktime_spin is longer than thinktime, so thinktime is used", "");
    }
    if work_ns > 0 && spin_ns == 0 {
        job.warn("thinktime_work", "thinktime_work has no effect without thinktime_spin", "");
    }
    let work_ns = if spin_ns == 0 { 0 } else { work_ns };
    let trigger = if issue { ThinkTrigger::Issue } else { ThinkTrigger::Complete };
    Some(ThinkPlan { pause_ns, spin_ns: spin_ns.min(pause_ns), work_ns, spin_cycles, blocks, trigger, io_time_ns })
}
