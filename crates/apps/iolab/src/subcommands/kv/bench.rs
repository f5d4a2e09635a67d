//! `iolab kv bench`: loads a key-value store as db_bench does.
//!
//! `iolab-kv-bench` does the loading and measuring; this file handles the arguments, the output,
//! the recording and its page.

use std::path::Path;
use std::process::Command;

use iolab_html::recording_page;
use iolab_kv_bench::{BenchmarkResult, Ended, Session, Settings, TellError};
use iolab_observe::System;
use iolab_outputs::{OutputKind, Outputs};
use iolab_recording::Recording;

use crate::exit::{ExitFailure, INTERRUPTED};
use crate::{console, output, outputs, pipeline};

/// Flags, read by their own table.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchWords {
    /// `--benchmarks=fillseq,readrandom --num=1000000 …`; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "--FLAG=VALUE")]
    pub(crate) words: Vec<String>,
}

pub(crate) fn main(words: &BenchWords) -> Result<u8, ExitFailure> {
    if words.words.iter().any(|word| matches!(word.as_str(), "--help" | "-h" | "help")) {
        output::print(&iolab_kv_bench::help())?;
        return Ok(0);
    }
    let settings =
        Settings::read(&words.words).map_err(|error| ExitFailure::mistake(format!("iolab kv bench: {error}")))?;
    match settings.text("via") {
        "" => bench(&settings),
        "db_bench" => via_db_bench(&settings),
        other => Err(ExitFailure::mistake(format!("iolab kv bench: --via={other}: must be db_bench"))),
    }
}

/// Converts an error of a session to an exit code: refusals and mistakes of the user differ from
/// failures. Cases that only the user can decide, such as a damaged store or a full disk, count as
/// refusals; nothing is changed.
fn failure(error: TellError) -> ExitFailure {
    match error {
        TellError::Refused(message) => ExitFailure::refused(format!("iolab kv bench: refused: {message}")),
        TellError::Mistake(message) => ExitFailure::mistake(format!("iolab kv bench: {message}")),
        TellError::Store(error) => {
            let message = format!("iolab kv bench: {error}");
            match error.kind {
                iolab_kv::ErrorKind::Folder | iolab_kv::ErrorKind::Corrupt | iolab_kv::ErrorKind::Full => {
                    ExitFailure::refused(message)
                }
                kind if kind.is_mistake() => ExitFailure::mistake(message),
                _ => ExitFailure::failed(message),
            }
        }
    }
}

fn bench(settings: &Settings) -> Result<u8, ExitFailure> {
    iolab_process::count_signals();
    let (json, record, page) = (settings.is_on("json"), settings.text("record"), settings.text("page"));
    let mut outputs = outputs::beside(settings.is_on("force"), []);
    place_outputs(&mut outputs, record, page)?;
    let mut session = Session::new(settings).map_err(failure)?;
    if !json {
        output::print(&iolab_kv_bench::header(settings, &session))?;
    }
    let mut results = Vec::new();
    let mut interrupted = false;
    for benchmark in &settings.benchmarks {
        match session.run(benchmark).map_err(failure)? {
            Ended::Skipped if json => {}
            Ended::Skipped => {
                output::print(&format!("{:<12} : skipped (--use_existing_db is true)\n", benchmark.name))?;
            }
            Ended::Measured(result) => results.push(*result),
            Ended::Interrupted(result) => {
                results.push(*result);
                interrupted = true;
            }
        }
        if let Some(result) = results.last().filter(|result| !json && result.name == benchmark.name) {
            output::print(&iolab_kv_bench::line(settings, result))?;
        }
        if interrupted {
            break;
        }
    }
    let names = Names { kind: session.kind().description().name, folder: session.path().display().to_string() };
    let version = session.kind().version().unwrap_or_default();
    let clock = session.clock();
    session.finish().map_err(failure)?;
    let memory_bytes = System::live().memory_bytes();
    if json {
        output::print(&iolab_kv_bench::json(names.kind, &version, &results, memory_bytes))?;
    } else {
        tell_findings(&results, memory_bytes)?;
    }
    if !record.is_empty() || !page.is_empty() {
        let recording = recording(settings, &results, &names, clock)?;
        save(&mut outputs, &recording, record, page)?;
    }
    Ok(if interrupted { INTERRUPTED } else { 0 })
}

struct Names {
    kind: &'static str,
    folder: String,
}

/// Prints each finding once, with the benchmarks that it is about.
fn tell_findings(results: &[BenchmarkResult], memory_bytes: u64) -> Result<(), ExitFailure> {
    for finding in iolab_kv_bench::all_findings(results, memory_bytes) {
        let text = format!("{} {} {}", finding.evidence, finding.consequence, finding.advice);
        let named = format!("  finding ({}): ", finding.jobs.join(", "));
        output::print_for_people(&iolab_text::paragraph(&named, &text, console::columns()))?;
    }
    Ok(())
}

fn place_outputs(outputs: &mut Outputs, record: &str, page: &str) -> Result<(), ExitFailure> {
    if !record.is_empty() {
        outputs.place(Path::new(record), OutputKind::Recording, "the recording (--record)")?;
    }
    if !page.is_empty() {
        outputs.place(Path::new(page), OutputKind::Report, "the page (--page)")?;
    }
    Ok(())
}

fn recording(
    settings: &Settings,
    results: &[BenchmarkResult],
    names: &Names,
    clock: &str,
) -> Result<Recording, ExitFailure> {
    let words = iolab_kv_bench::job_words(settings, results, names.kind, &names.folder);
    if words.is_empty() {
        return Err(ExitFailure::mistake("iolab kv bench: nothing was measured, so there is no recording to save"));
    }
    let plan = pipeline::pipeline().plan_words(&words)?.plan;
    let host = System::live().host_facts(clock, std::env::args().collect());
    Ok(iolab_kv_bench::recording(plan, host, env!("CARGO_PKG_VERSION"), results))
}

fn save(outputs: &mut Outputs, recording: &Recording, record: &str, page: &str) -> Result<(), ExitFailure> {
    if !record.is_empty() {
        let place = outputs.place(Path::new(record), OutputKind::Recording, "the recording (--record)")?;
        place.write(recording.to_json().as_bytes())?;
    }
    if !page.is_empty() {
        let name = if record.is_empty() { "iolab kv bench" } else { record };
        let made = recording_page(recording, name, &[], env!("CARGO_PKG_VERSION"));
        outputs.place(Path::new(page), OutputKind::Report, "the page (--page)")?.write(made.html.as_bytes())?;
    }
    Ok(())
}

/// Runs the installed db_bench with the flags that it knows, and reads what it prints.
fn via_db_bench(settings: &Settings) -> Result<u8, ExitFailure> {
    let Some(folder) = &settings.db else {
        return Err(ExitFailure::mistake("iolab kv bench: --via=db_bench needs --db=FOLDER"));
    };
    iolab_kv_bench::may_replace(settings, folder).map_err(failure)?;
    let mut program = Command::new("db_bench");
    program.args(iolab_kv_bench::their_words(settings));
    let answer = program.output().map_err(|error| {
        let mend = "install it with: apt-get install rocksdb-tools";
        ExitFailure::mistake(format!("iolab kv bench: cannot run db_bench ({error}); {mend}"))
    })?;
    let text = String::from_utf8_lossy(&answer.stdout);
    let lines = iolab_kv_bench::their_lines(&text);
    if !answer.status.success() || lines.is_empty() {
        let words = String::from_utf8_lossy(&answer.stderr);
        let last = words.trim().lines().last().unwrap_or("no reason given").to_owned();
        return Err(ExitFailure::failed(format!("iolab kv bench: db_bench failed ({}): {last}", answer.status)));
    }
    if settings.is_on("json") {
        output::print(&iolab_kv_bench::json_of_theirs(&lines, "installed"))?;
    } else {
        output::print(&text)?;
    }
    Ok(0)
}
