//! When a worker sends its operations, when it starts and stops, as lines.

use iolab_text::{counted, exact_ns as time_ns};

use super::Line;
use super::amounts::{bytes, or, triple, variant, yes};
use crate::describe::add;
use crate::{SteadyPlan, WorkerPlan};

pub(super) fn pacing(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    let pacing = &worker.pacing;
    let rate = |unit: &'static str| {
        move |rate: &u64| if *rate == 0 { "no limit".to_owned() } else { format!("{rate} {unit}") }
    };
    let arrivals = pacing.arrivals.as_ref().map(|arrivals| {
        let then = if arrivals.repeat { "then again" } else { "then the job ends" };
        format!("{} from {} in {}, {then}", arrivals.count, arrivals.path, time_ns(arrivals.last_ns))
    });
    let follow = pacing.follow.as_ref().map(|follow| format!("one for each {} of {}", follow.every, follow.job));
    let think = pacing.think.as_ref().map(|think| {
        let after = match think.io_time_ns {
            0 => format!("{} ({})", counted(think.blocks.into(), "operation"), variant(think.trigger)),
            ns => format!("{} of I/O", time_ns(ns)),
        };
        let turns = match think.spin_cycles {
            0 => String::new(),
            cycles => format!(", {cycles} cycles before it"),
        };
        let work = match think.work_ns {
            0 => String::new(),
            ns => format!(", until {} of processor time are used", time_ns(ns)),
        };
        format!("{} ({} spinning{work}{turns}) after {after}", time_ns(think.pause_ns), time_ns(think.spin_ns))
    });
    let flow =
        pacing.flow.map(|flow| format!("{} in flow {}, sleeps {}", flow.weight, flow.id, time_ns(flow.sleep_ns)));
    let target = pacing.latency_target.map(|target| {
        let then = if target.goes_on { "goes on" } else { "ends" };
        let (limit, window) = (time_ns(target.target_ns), time_ns(target.window_ns));
        format!("{} % below {limit} over {window}, then {then}", target.percentile)
    });
    add(
        lines,
        "pace",
        vec![
            ("rate", triple(&pacing.rate_bytes, rate("B/s")), &["rate"]),
            ("rate_iops", triple(&pacing.rate_iops, rate("/s")), &["rate_iops"]),
            ("arrivals", or(arrivals, "by rate"), &["arrivals", "arrivals_repeat"]),
            ("rate_min", triple(&pacing.rate_min_bytes, rate("B/s")), &["rate_min"]),
            ("rate_iops_min", triple(&pacing.rate_min_iops, rate("/s")), &["rate_iops_min"]),
            ("rate_process", variant(pacing.process), &["rate_process"]),
            ("rate_cycle", format!("{} ms", pacing.cycle_ms), &["rate_cycle"]),
            ("rate_ignore_thinktime", yes(pacing.ignore_think_time), &["rate_ignore_thinktime"]),
            ("thinktime", or(think, "none"), &["thinktime", "thinkcycles"]),
            ("flow", or(flow, "none"), &["flow", "flow_id", "flow_sleep"]),
            (
                "latency_target",
                or(target, "none"),
                &["latency_target", "latency_window", "latency_percentile", "latency_run"],
            ),
            ("follow", or(follow, "nobody"), &["follow"]),
            ("pace seed", format!("{:#018x}", pacing.seed), &["randseed", "randrepeat"]),
        ],
    );
}

pub(super) fn limits(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    let limits = &worker.limits;
    add(
        lines,
        "start and end",
        vec![
            ("startdelay", time_ns(limits.start_delay_ns), &["startdelay"]),
            ("ramp_time", time_ns(limits.ramp_ns), &["ramp_time"]),
            ("ramp_size", bytes(limits.ramp_bytes), &["ramp_size"]),
            ("runtime", or(limits.runtime_ns.map(time_ns), "no limit"), &["runtime"]),
            ("wear_out", yes(limits.wear_out), &["wear_out"]),
            ("time_based", yes(limits.time_based), &["time_based"]),
            ("loops", limits.loops.to_string(), &["loops"]),
            ("bytes per pass", bytes(limits.io_bytes), &["size", "io_size", "filesize"]),
            ("number_ios", or(limits.io_count, "no limit"), &["number_ios"]),
            (
                "steadystate",
                or(limits.steady.map(|steady| steady_text(&steady)), "no"),
                &["steadystate", "steadystate_duration", "steadystate_ramp_time", "steadystate_check_interval"],
            ),
        ],
    );
}

fn steady_text(steady: &SteadyPlan) -> String {
    let what = if steady.slope { "slope" } else { "deviation from the mean" };
    let (name, limit, unit) = (steady.measure.name(), steady.limit, steady.unit());
    let [window, interval, ramp] = [steady.window_ns(), steady.interval_ns, steady.ramp_ns].map(time_ns);
    format!("{what} of {name} below {limit}{unit} over {window}, sampled every {interval}, after {ramp}")
}
