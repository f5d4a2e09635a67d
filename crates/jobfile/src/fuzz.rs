//! One function for fuzzers and property tests: arbitrary bytes through everything that reads the user's text.

use crate::command_line;
use crate::{Input, Request, Surroundings, parse, render};

/// Parses `bytes` as a job file and, cut at NUL bytes, as a command line; renders whatever is wrong. Must not panic.
pub fn fuzz_entry(bytes: &[u8], surroundings: &dyn Surroundings) {
    let files = [Input { name: "fuzzed".to_owned(), bytes: bytes.to_vec() }];
    if let Err(failure) = parse(&Request { command_line: None, files: &files }, surroundings) {
        let _ = render(&failure.diagnostics, &failure.sources, bytes.len().is_multiple_of(2));
    }
    let text = String::from_utf8_lossy(bytes);
    let arguments: Vec<String> = text.split('\0').map(str::to_owned).collect();
    match command_line::parse(&arguments, surroundings) {
        Ok(parsed) => {
            let request = Request { command_line: Some(&parsed), files: &files };
            if let Err(failure) = parse(&request, surroundings) {
                let _ = render(&failure.diagnostics, &failure.sources, false);
            }
        }
        Err(failure) => {
            let _ = render(&failure.diagnostics, &failure.sources, false);
        }
    }
}
