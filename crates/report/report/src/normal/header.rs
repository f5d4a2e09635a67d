//! The lines before the run: one per job, the version, and the number of processes and threads.

use std::fmt::Write;

use iolab_plan::{BlockSizes, Plan, WorkerPlan};
use iolab_text::counted;

use crate::number::NumberStyle;

/// What fio prints before it starts the jobs of `plan`. The clones of a job are one line and one
/// `...`. Lines of a server begin with its name.
pub fn normal_header(plan: &Plan) -> String {
    let workers: Vec<&WorkerPlan> = plan.workers.iter().collect();
    if workers.is_empty() {
        return header(&workers);
    }
    let of_host = |workers: &[&WorkerPlan]| -> String {
        match host(&workers[0]) {
            Some(name) => header(workers).lines().map(|line| format!("<{name}> {line}\n")).collect(),
            None => header(workers),
        }
    };
    workers.chunk_by(|one, next| host(one) == host(next)).map(of_host).collect()
}

/// The server that it runs on, for a client.
fn host<'a>(worker: &&'a WorkerPlan) -> Option<&'a str> {
    worker.logs.client.as_ref().map(|client| client.host.as_str())
}

fn header(workers: &[&WorkerPlan]) -> String {
    let mut text = String::new();
    let mut lines: Vec<(u32, String)> = Vec::new();
    for worker in workers {
        let clones = lines.iter().filter(|line| line.0 == worker.section).count();
        match clones {
            0 => lines.push((worker.section, job_line(worker))),
            1 => lines.push((worker.section, "...".to_owned())),
            _ => {}
        }
    }
    for (_, line) in &lines {
        text.push_str(line);
        text.push('\n');
    }
    let _ = writeln!(text, "{} (iolab {})", crate::FIO_VERSION, env!("CARGO_PKG_VERSION"));
    let _ = writeln!(text, "Starting {}", workers_text(workers));
    text
}

fn job_line(worker: &WorkerPlan) -> String {
    let style = NumberStyle::of(&worker.measurement);
    let workload = &worker.workload;
    let range = |sizes: &BlockSizes| format!("{}-{}", style.bytes(sizes.min()), style.bytes(sizes.max()));
    let [read, write, trim] = workload.block_sizes.each_ref().map(range);
    // With bs_is_seq_rand, the first two sizes are those of sequential and random operations.
    let last = if workload.sizes_by_randomness { "bs_is_seq_rand".to_owned() } else { format!("(T) {trim}") };
    format!(
        "{}: (g={}): rw={}, bs=(R) {read}, (W) {write}, {last}, ioengine={}, iodepth={}",
        worker.job, worker.group, workload.pattern.word, worker.engine.name, worker.queue.asked_depth
    )
}

fn workers_text(workers: &[&WorkerPlan]) -> String {
    let threads = workers.iter().filter(|worker| worker.process.thread).count();
    let processes = workers.len() - threads;
    let mut parts = Vec::new();
    if threads > 0 {
        parts.push(counted(threads as u64, "thread"));
    }
    if processes > 0 || threads == 0 {
        parts.push(counted(processes as u64, "process"));
    }
    parts.join(" and ")
}
