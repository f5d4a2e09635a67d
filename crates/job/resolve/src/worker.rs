//! One section becomes its workers: every topic is resolved once for each clone.

use iolab_plan::WorkerPlan;

use crate::groups::{Placement, job_name};
use crate::job::Job;
use crate::{
    Request, Resolving, blocks, buffers, engine, errors, files, limits, logs, measurement, pacing, pattern, process,
    queue, sizes, status, texts, workload,
};

/// Resolves all clones of a section and adds them.
pub(crate) fn resolve_section(
    request: &Request<'_>,
    resolving: &Resolving,
    placement: &Placement<'_>,
    workers: &mut Vec<WorkerPlan>,
) {
    let section = placement.section;
    let Some(engine) = engine::find(request, resolving, section) else { return };
    let mut planned: usize = workers.iter().map(|worker: &WorkerPlan| worker.files.len()).sum();
    for clone in 0..placement.clones {
        let job = Job { request, resolving, section, engine, number: placement.first + clone, clone };
        if clone == 0 {
            status::check(&job);
        }
        let worker = resolve(&job, placement);
        planned += worker.files.len();
        if planned > files::MOST_FILES as usize {
            let reason = format!("the workers of this run have more than {} files in total", files::MOST_FILES);
            job.error("nrfiles", reason, "reduce nrfiles or numjobs");
            return;
        }
        workers.push(worker);
    }
}

fn resolve(job: &Job<'_>, placement: &Placement<'_>) -> WorkerPlan {
    let name = job_name(job.section).to_owned();
    job.setting("name");
    let pattern = pattern::resolve(job);
    let blocks = blocks::resolve(job, &pattern);
    let layout = files::layout(job, &pattern);
    engine::check(job, &pattern.directions, layout.direct);
    let targets = files::targets(job, &name, &layout);
    let extents = sizes::resolve(job, &pattern, &blocks, &layout, targets);
    let workload = workload::resolve(job, pattern, blocks, &extents.files);
    let limits = limits::resolve(job, &extents);
    WorkerPlan {
        number: job.number,
        section: placement.index,
        clone: job.clone,
        description: job.text("description"),
        job_options: texts(&job.section.own),
        group: placement.group,
        group_reporting: job.on("group_reporting"),
        stage: placement.stage,
        host: 0,
        wait_for: job.text("wait_for"),
        engine: engine::resolve(job),
        queue: queue::resolve(job, workload.pattern.random),
        pacing: pacing::resolve(job, &workload),
        measurement: measurement::resolve(job, &limits),
        limits,
        buffers: buffers::resolve(job, &workload),
        logs: logs::resolve(job, &name),
        process: process::resolve(job),
        errors: errors::resolve(job),
        files: extents.files,
        job: name,
        layout,
        workload,
    }
}
