//! `merge_blktrace_file`: traces are merged before the plan is made, because the plan says what the
//! merged one has.

use std::collections::BTreeSet;
use std::path::PathBuf;

use iolab_jobfile::{Diagnostic, DiagnosticSeverity, JobSet};
use iolab_options::{Settings, Value};
use iolab_replay::MergeOfTraces;

/// Merges what the jobs ask for, and lets them replay the merged files. Returns how many files were
/// written. Without `writes`, files that are there are taken as they are.
///
/// # Errors
/// Whatever prevents merging, at the places of the options.
pub(crate) fn merge(jobs: &mut JobSet, writes: bool) -> Result<usize, Vec<Diagnostic>> {
    let (mut written, mut errors) = (BTreeSet::new(), Vec::new());
    for job in &mut jobs.jobs {
        let Some(output) = job.settings.get("merge_blktrace_file").cloned() else { continue };
        let Some(traces) = job.settings.get("read_iolog").cloned() else { continue };
        let merge = MergeOfTraces {
            paths: iolab_resolve::split_names(&traces.text),
            percents: floats(&job.settings, "merge_blktrace_scalars"),
            passes: floats(&job.settings, "merge_blktrace_iters"),
            output: PathBuf::from(&output.text),
        };
        let merged = match () {
            () if written.contains(&merge.output) => Ok(()),
            () if writes => merge.write(),
            () if merge.output.exists() => Ok(()),
            () => Err(format!("{} is not there yet: write it with --merge-blktrace-only", output.text)),
        };
        match merged {
            Ok(()) => {
                written.insert(merge.output);
                job.settings.set("read_iolog", output);
            }
            Err(reason) => errors.push(Diagnostic {
                severity: DiagnosticSeverity::Error,
                source: output.source,
                span: output.span,
                reason: format!("merge_blktrace_file: {reason}"),
                suggestion: None,
            }),
        }
    }
    if errors.is_empty() { Ok(written.len()) } else { Err(errors) }
}

fn floats(settings: &Settings, name: &str) -> Vec<f64> {
    match settings.get(name).map(|setting| &setting.value) {
        Some(Value::Floats(numbers)) => numbers.clone(),
        _ => Vec::new(),
    }
}
