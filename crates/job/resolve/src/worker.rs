//! Turns a section into its workers: every topic is resolved once for each clone.

use std::collections::BTreeMap;

use iolab_plan::{WorkerPlan, WorkloadPlan};

use crate::groups::{Placement, job_name};
use crate::job::Job;
use crate::job::texts;
use crate::request::{ResolveRequest, Resolving};
use crate::{
    blocks, buffers, engine, errors, files, limits, logs, measurement, pacing, pattern, process, queue, replay, sizes,
    sprandom, status, verify, workload, zones,
};

/// Resolves all clones of a section and adds them.
pub(crate) fn resolve_section(
    request: &ResolveRequest<'_>,
    resolving: &Resolving<'_>,
    placement: &Placement<'_>,
    workers: &mut Vec<WorkerPlan>,
) {
    let section = placement.section;
    let Some(engine) = engine::find(request, resolving, section) else { return };
    let mut planned: usize = workers.iter().map(|worker: &WorkerPlan| worker.files.len()).sum();
    for clone in 0..placement.clones {
        let number = placement.first + clone;
        let job = Job { request, resolving, section, engine, number, clone, zone_bytes: Default::default() };
        if clone == 0 {
            status::check(&job);
        }
        let worker = resolve(&job, placement);
        // The clones that are left have as many each, so too many are known after the first.
        let left = (placement.clones - clone) as usize;
        if planned.saturating_add(worker.files.len().saturating_mul(left)) > files::MOST_FILES as usize {
            let reason = format!("the workers of this run have more than {} files in total", files::MOST_FILES);
            job.error("nrfiles", reason, "reduce nrfiles or numjobs");
            return;
        }
        planned += worker.files.len();
        workers.push(worker);
    }
}

fn resolve(job: &Job<'_>, placement: &Placement<'_>) -> WorkerPlan {
    let name = job_name(job.section).to_owned();
    job.setting("name");
    let mut pattern = pattern::resolve(job);
    let trace = placement.trace.as_deref();
    let blocks = blocks::resolve(job, &pattern);
    if let Some(trace) = trace {
        pattern = replay::pattern(job, trace, pattern);
    }
    let mut layout = files::layout(job, &pattern);
    if let Some(trace) = trace {
        layout = replay::layout(job, trace, layout);
    }
    engine::check(job, &pattern.directions, layout.direct);
    let mut zoned = None;
    let mut extents = match trace {
        Some(trace) => {
            zones::refuse_trace(job);
            replay::extents(job, trace)
        }
        None => {
            let targets = files::targets(job, &name, &layout);
            zoned = zones::resolve(job, &pattern, &blocks, &layout, &targets);
            // Sizes may count zones.
            job.zone_bytes.set(zoned.map_or(0, |zones| zones.zone_bytes));
            sizes::resolve(job, &pattern, &blocks, &layout, targets)
        }
    };
    let fill = sprandom::resolve(job, &pattern, &blocks, &mut extents);
    let workload = WorkloadPlan { sprandom: fill, ..workload::resolve(job, pattern, blocks, &extents.files, zoned) };
    let limits = limits::resolve(job, &extents);
    let verify = verify::resolve(job, &workload, &extents.files);
    zones::check_verify(job, &workload, verify.as_ref());
    zones::check_ranges(job, &workload, &extents.files);
    let mut worker = WorkerPlan {
        replay: None,
        number: job.number,
        section: placement.index,
        clone: job.clone,
        description: job.text("description"),
        job_options: written(job),
        group: placement.group,
        group_reporting: job.on("group_reporting"),
        stage: placement.stage,
        host: 0,
        wait_for: job.text("wait_for"),
        engine: engine::resolve(job),
        queue: queue::resolve(job, workload.pattern.random),
        pacing: pacing::resolve(job, &workload),
        measurement: measurement::resolve(job, &limits, &workload, &extents.files),
        limits,
        buffers: buffers::resolve(job, &workload),
        logs: logs::resolve(job, &name),
        process: process::resolve(job),
        errors: errors::resolve(job),
        verify,
        files: extents.files,
        job: name,
        layout,
        workload,
    };
    if let Some(trace) = trace {
        replay::apply(job, placement.first, trace, &mut worker);
    }
    worker
}

/// The job's own options as the user wrote them, and those of its engine, wherever they stand.
fn written(job: &Job<'_>) -> BTreeMap<String, String> {
    let mut options = texts(&job.section.engine_settings);
    options.append(&mut texts(&job.section.own));
    options
}
