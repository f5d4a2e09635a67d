//! Which errors end a worker, and whom it takes along.

use iolab_plan::{ErrorKind, ErrorPlan, ExitScope};

use crate::errno;
use crate::job::Job;

/// Resolves what happens on errors.
pub(crate) fn resolve(job: &Job<'_>) -> ErrorPlan {
    let exit_scope = match job.word("exit_what").as_deref() {
        Some("all") => ExitScope::All,
        Some("stonewall") => ExitScope::Stonewall,
        _ => ExitScope::Group,
    };
    ErrorPlan {
        continue_on: continue_on(job),
        ignore: ignore(job),
        dump: job.on("error_dump"),
        exit_all: job.on("exitall"),
        exit_all_on_error: job.on("exitall_on_error"),
        exit_scope,
        max_latency_ns: job.triple_ns("max_latency", 1_000).map(|limit| limit.unwrap_or(0)),
    }
}

fn continue_on(job: &Job<'_>) -> Vec<ErrorKind> {
    use ErrorKind::{Read, Verify, Write};
    match job.word("continue_on_error").as_deref() {
        Some("read") => vec![Read],
        Some("write") => vec![Write],
        Some("io") => vec![Read, Write],
        Some("verify") => vec![Verify],
        Some("all" | "1") => vec![Read, Write, Verify],
        _ => Vec::new(),
    }
}

/// `READS[,WRITES[,VERIFY]]`, each a `:`-separated list of names or numbers.
fn ignore(job: &Job<'_>) -> [Vec<i32>; 3] {
    let mut lists = [Vec::new(), Vec::new(), Vec::new()];
    let Some(text) = job.text("ignore_error") else { return lists };
    for (index, part) in text.split(',').enumerate() {
        let Some(list) = lists.get_mut(index) else {
            job.error(
                "ignore_error",
                "ignore_error has lists for reads, writes and verification only",
                "for example EIO,ENOSPC:EIO",
            );
            break;
        };
        for word in part.split(':').map(str::trim).filter(|word| !word.is_empty()) {
            match errno::number(word) {
                Some(number) => list.push(number),
                None => {
                    job.error("ignore_error", format!("{word} is not an error number or name"), "for example EIO or 5")
                }
            }
        }
    }
    lists
}
