//! What matters for one job: its plan, its targets, its engines, and the settings it asks of
//! devices.

use std::path::Path;

use iolab_engine::Need;
use iolab_observe::{DirectIo, System, direct_io_at, free_bytes};
use iolab_order::Arrange;
use iolab_pipeline::{Pipeline, PlanRequest, changes_device_settings, check_device_settings};
use iolab_plan::{Plan, Reach, WorkerPlan};
use iolab_text::counted;
use iolab_units::format_bytes;

use crate::check::{Check, CheckStatus};
use crate::{engines, machine};

/// Targets that are shown one by one.
const SHOWN: usize = 8;

pub(crate) fn checks(pipeline: &Pipeline<'_>, request: &PlanRequest<'_>) -> Vec<Check> {
    let planned = match pipeline.plan(request) {
        Ok(planned) => planned,
        Err(failure) => {
            let said = failure.message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            return vec![Check::new(
                CheckStatus::No,
                "plan",
                said,
                "the job has errors",
                "`iolab plan JOB` shows them",
            )];
        }
    };
    let plan = &planned.plan;
    let mut checks = vec![Check::ok("plan", counted(plan.workers.len() as u64, "worker"))];
    checks.extend(safety(pipeline, plan, request));
    checks.extend(targets(plan));
    checks.extend(space(plan));
    let mut names: Vec<&str> = plan.workers.iter().map(|worker| worker.engine.name.as_str()).collect();
    names.arrange();
    names.dedup();
    checks.extend(engines::of(pipeline.engines, &names));
    let needs = |need: Need| {
        names
            .iter()
            .filter_map(|name| pipeline.engines.description(name))
            .any(|engine| engine.capabilities.needs.contains(&need))
    };
    if needs(Need::LockedMemory) {
        checks.push(machine::locked_memory());
    }
    if needs(Need::AioRequests) {
        checks.push(machine::aio());
    }
    checks.push(processors(plan));
    checks.extend([machine::steal(), machine::quota(), machine::load()]);
    checks.extend(settings(plan));
    checks
}

fn safety(pipeline: &Pipeline<'_>, plan: &Plan, request: &PlanRequest<'_>) -> Vec<Check> {
    match pipeline.judge(plan, request.mode, request.allowed) {
        Ok(_) => vec![Check::ok("safety", "it would not overwrite anything of yours")],
        Err(failure) => {
            let said: Vec<&str> = failure.message.lines().skip(1).map(str::trim).collect();
            vec![Check::new(
                CheckStatus::No,
                "safety",
                said.join("; "),
                "the run is refused",
                "name another target; use --allow-destroy only if you can lose its contents",
            )]
        }
    }
}

/// Each file or device of the job, with what lies beneath it.
fn targets(plan: &Plan) -> Vec<Check> {
    let mut seen: Vec<&Path> = Vec::new();
    let mut checks = Vec::new();
    for worker in &plan.workers {
        for file in &worker.files {
            if seen.contains(&file.path.as_path()) || seen.len() == SHOWN {
                continue;
            }
            seen.push(&file.path);
            checks.push(target(worker, &file.path));
        }
    }
    checks
}

fn target(worker: &WorkerPlan, path: &Path) -> Check {
    let topic = format!("target {}", path.display());
    let devices = System::live().devices_under(&[path.to_owned()]);
    let names: Vec<String> = devices.into_iter().map(|device| device.name).collect();
    let beneath = if names.is_empty() { "no block device".to_owned() } else { names.join(" on ") };
    if worker.layout.direct && direct_io_at(path) == DirectIo::Refused {
        let found = format!("on {beneath}; direct I/O is not supported");
        let consequence = "direct=1 does not work there";
        return Check::new(
            CheckStatus::No,
            &topic,
            found,
            consequence,
            "use another file system, or the device itself",
        );
    }
    if names.is_empty() && is_of_kernel(worker) {
        let consequence = "there are no device counters to check the results against";
        let mend = "use a file system on a disk, or a device";
        return Check::new(CheckStatus::Limited, &topic, format!("on {beneath}"), consequence, mend);
    }
    if !worker.layout.direct && is_of_kernel(worker) {
        let found = format!("on {beneath}; through the page cache");
        let consequence = "files that fit in RAM are measured in RAM";
        return Check::new(CheckStatus::Limited, &topic, found, consequence, "direct=1");
    }
    Check::ok(&topic, format!("on {beneath}"))
}

fn is_of_kernel(worker: &WorkerPlan) -> bool {
    matches!(worker.engine.traits().reach, Reach::BlockLayer | Reach::Names)
}

/// Whether the files to be laid out fit.
fn space(plan: &Plan) -> Option<Check> {
    let mut seen: Vec<&Path> = Vec::new();
    let (mut missing, mut place) = (0_u64, None);
    for file in plan.workers.iter().flat_map(|worker| &worker.files).filter(|file| file.layout_bytes > 0) {
        if seen.contains(&file.path.as_path()) {
            continue;
        }
        seen.push(&file.path);
        let there = std::fs::metadata(&file.path).map_or(0, |metadata| metadata.len());
        missing = missing.saturating_add(file.layout_bytes.saturating_sub(there));
        place = place.or(Some(&file.path));
    }
    let place = place.filter(|_| missing > 0)?;
    let free = free_bytes(place).unwrap_or(u64::MAX);
    let found = format!("{} to create, {:.1} GiB free", format_bytes(missing), free as f64 / (1_u64 << 30) as f64);
    if missing <= free {
        return Some(Check::ok("space", found));
    }
    Some(Check::new(
        CheckStatus::No,
        "space",
        found,
        "there is not enough space to create the files (ENOSPC)",
        "a smaller size, or another directory",
    ))
}

fn processors(plan: &Plan) -> Check {
    let cpus = iolab_process::cpus_allowed();
    let wanted = plan.workers.iter().filter_map(|worker| worker.process.cpus.as_ref()).flatten();
    let absent: Vec<String> = wanted.filter(|cpu| !cpus.contains(cpu)).map(usize::to_string).collect();
    if !absent.is_empty() {
        let found = format!("CPU {} cannot be used here", absent.join(", "));
        return Check::new(CheckStatus::No, "CPUs", found, "the workers cannot be pinned", "another cpus_allowed");
    }
    let found = format!("{} for {}", cpus.len(), counted(plan.workers.len() as u64, "worker"));
    if plan.workers.len() <= cpus.len() {
        return Check::ok("CPUs", found);
    }
    let consequence = "workers may wait for CPUs, not only for the device";
    Check::new(CheckStatus::Limited, "CPUs", found, consequence, "fewer jobs with more iodepth each")
}

fn settings(plan: &Plan) -> Vec<Check> {
    let mut checks = vec![machine::left()];
    if changes_device_settings(plan) {
        checks.push(match check_device_settings(plan) {
            Ok(()) => Check::ok("device settings", "writable; the values are tried when the run starts"),
            Err(failure) => Check::new(
                CheckStatus::No,
                "device settings",
                failure.message,
                "the run is refused",
                "see docs/guide/device-settings.md",
            ),
        });
    }
    checks
}
