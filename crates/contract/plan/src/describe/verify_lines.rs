//! How a worker verifies, as lines; none for a worker that does not.

use super::Line;
use super::amounts::{bytes, or, yes};
use iolab_text::every;

use crate::describe::add;
use crate::{VerifyPlan, WorkerPlan};

pub(super) fn of(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    let Some(verify) = &worker.verify else { return };
    let backlog = verify.backlog.map(|backlog| format!("{} after {}", backlog.batch, every(backlog.writes, "write")));
    let trim = verify.trim.map(|trim| {
        let then = if trim.zeroes { ", then read as zeroes" } else { "" };
        format!("{} % of writes, up to {} after each {}{then}", trim.percent, trim.batch, trim.writes)
    });
    let pattern = verify.pattern.as_ref().map(|pattern| {
        let hex: String = pattern.bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let more = if pattern.bytes.len() > 16 { "…" } else { "" };
        format!("{hex}{more}, {} bytes, {} of them offsets", pattern.bytes.len(), 8 * pattern.offsets_at.len())
    });
    add(
        lines,
        "verification",
        vec![
            ("verify", verify.kind.name().to_owned(), &["verify"]),
            ("do_verify", yes(verify.after), &["do_verify"]),
            ("verify_only", yes(verify.only), &["verify_only"]),
            ("verify_interval", bytes(verify.interval_bytes), &["verify_interval"]),
            ("verify_offset", bytes(verify.header_offset_bytes), &["verify_offset"]),
            ("last one is shorter", yes(verify.partial), &[]),
            ("verify_pattern", or(pattern, "none"), &["verify_pattern"]),
            ("verify_pattern_interval", bytes(verify.pattern_interval_bytes), &["verify_pattern_interval"]),
            ("verify_backlog", or(backlog, "none"), &["verify_backlog", "verify_backlog_batch"]),
            ("trim_percentage", or(trim, "none"), &["trim_percentage", "trim_backlog", "trim_verify_zero"]),
            ("verify_header_seed", yes(verify.checks_seed), &["verify_header_seed"]),
            ("verify_write_sequence", yes(verify.checks_sequence), &["verify_write_sequence"]),
            ("verify_fatal", yes(verify.fatal), &["verify_fatal"]),
            ("verify_dump", yes(verify.dump), &["verify_dump"]),
            ("verify_state_save", yes(verify.state_save), &["verify_state_save"]),
            ("verify_state_load", yes(verify.state_load), &["verify_state_load"]),
            ("verify_state_file", or(verify.state_file.clone(), "none"), &["verify_state_file"]),
            ("verify_policy", verify.policy.name().to_owned(), &["verify_policy"]),
            ("verify_async", threads(verify), &["verify_async", "verify_async_cpus"]),
            ("verify seed", format!("{:#018x}", verify.seed), &["randseed"]),
        ],
    );
}

fn threads(verify: &VerifyPlan) -> String {
    match (verify.threads, &verify.thread_cpus) {
        (0, _) => "by the worker itself".to_owned(),
        (threads, None) => iolab_text::counted(threads.into(), "thread"),
        (threads, Some(cpus)) => {
            let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
            format!("{} on CPUs {}", iolab_text::counted(threads.into(), "thread"), cpus.join(","))
        }
    }
}
