//! Which operations of a file system are asynchronous, as text and as JSON.

use std::fmt::Write;
use std::path::Path;

use iolab_logfs_bench::{QualifyCase, QualifyOptions, QualifyResult, SubmissionWay};
use serde_json::{Value, json};

use crate::FsError;

/// Tests the file system of a folder.
///
/// # Errors
/// No file can be created there.
pub fn qualify_folder(folder: &Path, options: &QualifyOptions) -> Result<QualifyResult, FsError> {
    Ok(iolab_logfs_bench::qualify(folder, options)?)
}

fn way_word(way: SubmissionWay) -> &'static str {
    match way {
        SubmissionWay::Asynchronous => "asynchronous",
        SubmissionWay::ByWorkers => "worker threads",
        SubmissionWay::Blocks => "blocks",
    }
}

/// The result as a table.
pub fn qualify_text(found: &QualifyResult) -> String {
    let mut text = String::new();
    if !found.direct {
        text.push_str("no O_DIRECT here: the page cache takes part\n");
    }
    let _ = writeln!(
        text,
        "{:<24} {:<10} {:<15} {:>8} {:>8}",
        "operation", "interface", "submitting", "blocked", "workers"
    );
    for QualifyCase { name, interface, outcome } in &found.cases {
        let _ = match outcome {
            Ok(counts) => writeln!(
                text,
                "{name:<24} {interface:<10} {:<15} {:>8} {:>8}",
                way_word(counts.way()),
                format!("{}/{}", counts.blocked, counts.submissions),
                counts.worker_switches
            ),
            Err(error) => writeln!(text, "{name:<24} {interface:<10} not possible: {error}"),
        };
    }
    text
}

/// The result as JSON.
pub fn qualify_json(found: &QualifyResult) -> Value {
    let case = |case: &QualifyCase| match &case.outcome {
        Ok(counts) => json!({
            "operation": case.name, "interface": case.interface, "submitting": way_word(counts.way()),
            "submissions": counts.submissions, "blocked": counts.blocked, "worker_switches": counts.worker_switches,
        }),
        Err(error) => json!({ "operation": case.name, "interface": case.interface, "error": error }),
    };
    json!({ "direct": found.direct, "cases": found.cases.iter().map(case).collect::<Vec<_>>() })
}
