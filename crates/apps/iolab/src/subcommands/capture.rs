//! `iolab capture`: a command traced, what other programs wrote made traces, and traces as text.

mod exchange;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use iolab_capture::{CaptureError, Captured, Request};
use iolab_outputs::Kind;
use iolab_text::grouped;
use iolab_trace::Reader;
use iolab_trace_summary::Summary;

use crate::exit::{FAILED, Failure};
use crate::outputs;
use crate::printing::{print, print_to_reader};

/// What to capture, or which trace to show.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct CaptureArguments {
    #[command(subcommand)]
    action: Option<CaptureAction>,
    /// File for the trace
    #[arg(short, long, default_value = "capture.trace")]
    output: PathBuf,
    /// Hide paths, names of threads and the command in the trace
    #[arg(long)]
    anonymize: bool,
    /// Let the trace replace a file that iolab did not write
    #[arg(long)]
    force: bool,
    /// Make the trace of what another program wrote: text of strace, an iolog of fio, the binary files
    /// of blktrace
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "command")]
    from: Vec<PathBuf>,
    /// The command and its arguments; iolab ends with its exit code
    #[arg(last = true, required_unless_present = "from", value_name = "COMMAND")]
    command: Vec<String>,
}

/// What to do with a trace.
#[derive(Debug, clap::Subcommand)]
enum CaptureAction {
    /// Print the operations of a trace, one on a line
    Show {
        /// Trace
        trace: PathBuf,
        /// So many operations from the beginning
        #[arg(short = 'n', long, value_name = "COUNT")]
        first: Option<u64>,
    },
    /// Write the reads, writes and syncs of a trace as an iolog, which fio's read_iolog= takes
    Export {
        /// Trace
        trace: PathBuf,
        /// File for the iolog
        #[arg(short, long)]
        output: PathBuf,
        /// Version of the iolog: 2 (waits between operations) or 3 (the time of each)
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=3))]
        iolog: u8,
        /// Let the iolog replace a file that iolab did not write
        #[arg(long)]
        force: bool,
    },
    /// Sum up a trace: what is not in it, then calls, files and threads
    Stat {
        /// Trace
        trace: PathBuf,
    },
}

pub(crate) fn main(arguments: &CaptureArguments) -> Result<u8, Failure> {
    match &arguments.action {
        Some(CaptureAction::Show { trace, first }) => show(trace, first.unwrap_or(u64::MAX)),
        Some(CaptureAction::Stat { trace }) => stat(trace),
        Some(CaptureAction::Export { trace, output, iolog, force }) => exchange::export(trace, output, *iolog, *force),
        None if !arguments.from.is_empty() => exchange::import(arguments),
        None => capture(arguments),
    }
}

fn capture(arguments: &CaptureArguments) -> Result<u8, Failure> {
    let mut outputs = outputs::beside(arguments.force, []);
    let mut output = outputs.place(&arguments.output, Kind::Trace, "the trace (-o)")?.begin()?;
    // Whoever kills this program finds what was captured until then.
    output.publish()?;
    iolab_process::count_signals();
    let request =
        Request { command: &arguments.command, output: Box::new(&mut output), anonymous: arguments.anonymize };
    let captured = match iolab_capture::capture(request) {
        Ok(captured) => captured,
        Err(error) => {
            if !matches!(error, CaptureError::Output(_)) {
                output.remove();
            }
            let message = format!("iolab: capture: {error}");
            let is_mistake = matches!(error, CaptureError::Command { .. } | CaptureError::ZeroByte);
            return Err(if is_mistake { Failure::mistake(message) } else { Failure::failed(message) });
        }
    };
    output.finish()?;
    let reader = read_to_end(&arguments.output)?;
    eprint!("{}", told(&captured, &reader, &arguments.output));
    Ok(code(&captured))
}

/// The exit code of the command, as a shell gives it.
fn code(captured: &Captured) -> u8 {
    let code = match (captured.status, captured.signal) {
        (_, Some(signal)) => 128 + signal,
        (Some(status), None) => status,
        (None, None) => i32::from(FAILED),
    };
    u8::try_from(code).unwrap_or(FAILED)
}

fn read_to_end(path: &Path) -> Result<Reader<BufReader<File>>, Failure> {
    let mut reader = open(path)?;
    while next(&mut reader, path)?.is_some() {}
    Ok(reader)
}

/// What a capture says of itself on standard error: first what it does not have.
fn told(captured: &Captured, reader: &Reader<BufReader<File>>, path: &Path) -> String {
    let operations = captured.end.operations;
    let each = captured.bytes as f64 / operations.max(1) as f64;
    let mut text = iolab_trace_summary::coverage(reader, operations);
    text += &format!(
        "the command {}; {} operations by {} threads on {} files\n",
        captured.end.outcome,
        grouped(operations),
        reader.threads().len(),
        reader.files().len()
    );
    let path = path.display();
    text += &format!("{path}: {each:.1} bytes an operation; `iolab capture stat {path}` sums it up\n");
    text
}

fn show(path: &Path, first: u64) -> Result<u8, Failure> {
    /// Lines are printed in pieces of this many bytes.
    const PIECE: usize = 64 << 10;
    let mut reader = open(path)?;
    let mut text = format!("{}\n", iolab_trace_summary::line_titles());
    let mut left = first;
    while left > 0
        && let Some(operation) = next(&mut reader, path)?
    {
        text += &iolab_trace_summary::line(&operation, &reader);
        text.push('\n');
        left -= 1;
        if text.len() >= PIECE && !print_to_reader(&std::mem::take(&mut text))? {
            return Ok(0);
        }
    }
    print(&text)?;
    warn_of_damage(&reader, path);
    Ok(0)
}

fn stat(path: &Path) -> Result<u8, Failure> {
    let mut reader = open(path)?;
    let summary = Summary::of(&mut reader).map_err(|error| unreadable(path, error))?;
    print(&summary.text(&reader))?;
    warn_of_damage(&reader, path);
    Ok(0)
}

fn warn_of_damage(reader: &Reader<BufReader<File>>, path: &Path) {
    if let Some(damage) = reader.damage() {
        let (path, at) = (path.display(), grouped(damage.at_byte));
        eprintln!("iolab: warning: {path}: {} at byte {at}: what is shown is what comes before", damage.what);
    }
}

fn open(path: &Path) -> Result<Reader<BufReader<File>>, Failure> {
    let file = iolab_bounded_read::open(path).map_err(|error| unreadable(path, error))?;
    Reader::new(BufReader::with_capacity(1 << 16, file)).map_err(|error| unreadable(path, error))
}

fn next(reader: &mut Reader<BufReader<File>>, path: &Path) -> Result<Option<iolab_trace::Operation>, Failure> {
    reader.next_operation().map_err(|error| unreadable(path, error))
}

fn unreadable(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::mistake(format!("iolab: {}: {error}", path.display()))
}
