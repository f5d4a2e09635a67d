//! The plan inside a recording: values that reports use as divisors, counts or names.

use iolab_plan::{MeasurementPlan, Plan, WorkerPlan};

use super::{LONGEST_NS, Verdict, must, name, within};

/// The shortest grid of intervals, ns. Jobs can have no shorter one than 10 ms; tests do.
const SHORTEST_GRID_NS: u64 = 100_000;
/// The most percentiles of a list. Jobs can ask for 20.
const MOST_PERCENTILES: usize = 100;

pub(super) fn check(plan: &Plan) -> Verdict {
    for (at, worker) in plan.workers.iter().enumerate() {
        let place = || format!("plan.workers[{at}]");
        must(worker.number as usize == at, place, "its number is not its place")?;
        check_worker(worker, &place())?;
    }
    Ok(())
}

fn check_worker(plan: &WorkerPlan, place: &str) -> Verdict {
    name(&plan.job, || format!("{place}.job"))?;
    name(&plan.engine.name, || format!("{place}.engine.name"))?;
    check_measurement(&plan.measurement, &format!("{place}.measurement"))?;
    let limits = &plan.limits;
    let times = [limits.start_delay_ns, limits.ramp_ns, limits.runtime_ns.unwrap_or(0)];
    within(&times, u64::MAX >> 1, || format!("{place}.limits"))?;
    let logs = &plan.logs;
    within(&[logs.window_ns], LONGEST_NS, || format!("{place}.logs"))
}

fn check_measurement(plan: &MeasurementPlan, place: &str) -> Verdict {
    for (grid_ns, what) in [
        (plan.interval_ns, "interval_ns"),
        (plan.histogram_interval_ns, "histogram_interval_ns"),
        (plan.sample_interval_ns, "sample_interval_ns"),
    ] {
        let fits = grid_ns == 0 || (SHORTEST_GRID_NS..=LONGEST_NS).contains(&grid_ns);
        must(fits, || format!("{place}.{what}"), "the interval is too short or too long")?;
    }
    within(&[plan.bandwidth_window_ms, plan.iops_window_ms], LONGEST_NS / 1_000_000, || place.to_owned())?;
    let list = &plan.percentiles.list;
    let fits = list.len() <= MOST_PERCENTILES && list.iter().all(|percent| (0.0..=100.0).contains(percent));
    must(fits, || format!("{place}.percentiles"), "there are too many, or one is not between 0 and 100")?;
    must(plan.kb_base == 1000 || plan.kb_base == 1024, || format!("{place}.kb_base"), "it is neither 1000 nor 1024")?;
    must([0, 1, 8].contains(&plan.unit_base), || format!("{place}.unit_base"), "it is neither 0, 1 nor 8")?;
    let figures = plan.significant_figures;
    must((1..=10).contains(&figures), || format!("{place}.significant_figures"), "it is not between 1 and 10")
}
