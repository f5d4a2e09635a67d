//! Which errors end a worker, and which other workers end with it.

use iolab_plan::{ContinuableError, ErrorPlan, ExitScope};
use iolab_text::errno_by_name;

use crate::job::Job;

/// Resolves the behaviour on errors.
pub(crate) fn resolve(job: &Job<'_>) -> ErrorPlan {
    let exit_scope = match job.word("exit_what").as_str() {
        "all" => ExitScope::All,
        "stonewall" => ExitScope::Stonewall,
        _ => ExitScope::Group,
    };
    ErrorPlan {
        continue_on: continue_on(job),
        ignore: ignore(job),
        dump: job.on("error_dump"),
        exit_all: job.on("exitall"),
        exit_all_on_error: job.on("exitall_on_error"),
        exit_scope,
        max_latency_ns: job.triple_ns("max_latency"),
    }
}

fn continue_on(job: &Job<'_>) -> Vec<ContinuableError> {
    use ContinuableError::{Read, Verify, Write};
    match job.word("continue_on_error").as_str() {
        "read" => vec![Read],
        "write" => vec![Write],
        "io" => vec![Read, Write],
        "verify" => vec![Verify],
        "all" => vec![Read, Write, Verify],
        _ => Vec::new(),
    }
}

/// `READS[,WRITES[,VERIFY]]`, each a `:`-separated list of names or numbers, checked by the parser.
fn ignore(job: &Job<'_>) -> [Vec<i32>; 3] {
    let text = job.text("ignore_error").unwrap_or_default();
    let mut parts = text.split(',');
    std::array::from_fn(|_| {
        let words = parts.next().unwrap_or_default().split(':').map(str::trim);
        words.filter_map(|word| word.parse().ok().or_else(|| errno_by_name(word))).collect()
    })
}
