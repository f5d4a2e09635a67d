//! One function for fuzzers and property tests: passes arbitrary bytes through all code that reads
//! the user's text.

use crate::command_line::{self, Argument, ProgramOption};
use crate::{Input, ParseRequest, Surroundings, parse, render};

/// Options of a made-up program, one of each shape.
const PROGRAM: &[ProgramOption] = &[
    ProgramOption { name: "output", letter: Some('o'), argument: Argument::Required },
    ProgramOption { name: "help", letter: Some('h'), argument: Argument::None },
    ProgramOption { name: "cmdhelp", letter: Some('c'), argument: Argument::Optional },
];

/// Parses `bytes` as a job file and, cut at NUL bytes, as a command line, and renders all findings.
/// Must not panic.
pub fn fuzz_entry(bytes: &[u8], surroundings: &dyn Surroundings) {
    let files = [Input { name: "fuzzed".to_owned(), bytes: bytes.to_vec() }];
    if let Err(failure) = parse(&ParseRequest { files: &files, ..ParseRequest::default() }, surroundings) {
        let _ = render(&failure.diagnostics, &failure.sources, bytes.len().is_multiple_of(2));
    }
    let text = String::from_utf8_lossy(bytes);
    let arguments: Vec<String> = text.split('\0').map(str::to_owned).collect();
    match command_line::parse(&arguments, PROGRAM, surroundings) {
        Ok(parsed) => {
            let request = ParseRequest { command_line: Some(&parsed), files: &files, sections: &[] };
            if let Err(failure) = parse(&request, surroundings) {
                let _ = render(&failure.diagnostics, &failure.sources, false);
            }
        }
        Err(failure) => {
            let _ = render(&failure.diagnostics, &failure.sources, false);
        }
    }
}
