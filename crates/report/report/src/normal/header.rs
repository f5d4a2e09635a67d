//! The lines before the run: one per job, the version, and the number of processes and threads.

use std::fmt::Write;

use iolab_plan::{BlockSizes, Plan, WorkerPlan};
use iolab_text::counted;

use crate::number::NumberStyle;

/// What fio prints before it starts the jobs of `plan`. The clones of a job are one line and one
/// `...`.
pub fn normal_header(plan: &Plan) -> String {
    let mut text = String::new();
    let mut lines: Vec<(u32, String)> = Vec::new();
    for worker in &plan.workers {
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
    let _ = writeln!(text, "Starting {}", workers_text(plan));
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

fn workers_text(plan: &Plan) -> String {
    let threads = plan.workers.iter().filter(|worker| worker.process.thread).count();
    let processes = plan.workers.len() - threads;
    let mut parts = Vec::new();
    if threads > 0 {
        parts.push(counted(threads as u64, "thread"));
    }
    if processes > 0 || threads == 0 {
        parts.push(counted(processes as u64, "process"));
    }
    parts.join(" and ")
}
