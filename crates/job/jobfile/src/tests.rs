//! Whole job files and command lines: what is accepted, what is refused, and where the caret
//! points.

mod documents;
mod engines;
mod files;
mod help;
mod refusals;
mod robustness;

use crate::test_surroundings::Fixed;
use crate::{Input, JobSet, ParseFailure, ParseRequest, parse};

/// Parses job files given as texts.
fn parse_texts(texts: &[&str]) -> Result<JobSet, ParseFailure> {
    let files: Vec<Input> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| Input { name: format!("job{number}.fio"), bytes: text.as_bytes().to_vec() })
        .collect();
    parse(&ParseRequest { files: &files, ..ParseRequest::default() }, &Fixed)
}

/// Parses one job file that must be valid.
fn good(text: &str) -> JobSet {
    match parse_texts(&[text]) {
        Ok(set) => set,
        Err(failure) => panic!("{}", crate::render(&failure.diagnostics, &failure.sources, false)),
    }
}

/// Parses one job file that must be invalid. Returns `(marked text, reason, suggestion)` of each
/// finding.
fn bad(text: &str) -> Vec<(String, String, String)> {
    let failure = parse_texts(&[text]).expect_err(text);
    let found = failure.diagnostics.iter().map(|finding| {
        let (begin, end) = finding.span;
        let marked = failure.sources[finding.source].1[begin..end].to_owned();
        (marked, finding.reason.clone(), finding.suggestion.clone().unwrap_or_default())
    });
    found.collect()
}
