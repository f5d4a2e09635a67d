//! `iolab capture`: traces commands, converts the output of other programs to traces, and shows
//! traces.

mod exchange;
pub(crate) mod trace_file;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use iolab_capture::{AttachError, AttachRequest, CaptureError, CaptureRequest, Captured};
use iolab_html::{TraceReport, trace_page};
use iolab_outputs::OutputKind;
use iolab_text::counted;
use iolab_trace::Reader;
use iolab_trace_summary::{Picture, Summary};

use self::trace_file::{next, open, unreadable, warn_of_damage};
use crate::durations::duration_ns;
use crate::exit::{ExitFailure, FAILED};
use crate::printing::{complain_for_people, print, print_for_people, print_to_reader};
use crate::{output, outputs};

/// What to capture, or which trace to show.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct CaptureArguments {
    #[command(subcommand)]
    action: Option<CaptureAction>,
    /// Write the trace to this file
    #[arg(short, long, default_value = "capture.trace")]
    output: PathBuf,
    /// Hide paths, thread names and the command in the trace
    #[arg(long)]
    anonymize: bool,
    /// Allow the trace to replace a file that iolab did not write
    #[arg(long)]
    force: bool,
    /// Convert another program's output to a trace: strace text, a fio iolog, or blktrace's binary
    /// files
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "command")]
    from: Vec<PathBuf>,
    /// Capture a running process through kernel tracepoints; it continues when the capture ends
    /// (needs root or CAP_PERFMON)
    #[arg(short, long, value_name = "PID", conflicts_with_all = ["command", "from"])]
    pid: Option<i32>,
    /// With --pid: also capture its child processes, present and future
    #[arg(long, requires = "pid")]
    children: bool,
    /// With --pid: end after this time (30s, 5m)
    #[arg(long = "for", value_name = "TIME", requires = "pid", value_parser = duration_ns)]
    for_ns: Option<u64>,
    /// The command and its arguments; iolab exits with the command's exit code
    #[arg(last = true, required_unless_present_any = ["from", "pid"], value_name = "COMMAND")]
    command: Vec<String>,
}

/// What to do with a trace.
#[derive(Debug, clap::Subcommand)]
enum CaptureAction {
    /// Print the operations of a trace, one per line
    Show {
        /// Trace file
        trace: PathBuf,
        /// Print only the first COUNT operations
        #[arg(short = 'n', long, value_name = "COUNT")]
        first: Option<u64>,
        /// Draw it instead, as a page in this file
        #[arg(short, long, value_name = "FILE.html", conflicts_with = "first")]
        output: Option<PathBuf>,
        /// Let the page replace a file that iolab did not write
        #[arg(long, requires = "output")]
        force: bool,
    },
    /// Export the reads, writes and syncs of a trace as an iolog for fio's read_iolog=
    Export {
        /// Trace file
        trace: PathBuf,
        /// Write the iolog to this file
        #[arg(short, long)]
        output: PathBuf,
        /// Version of the iolog: 2 (waits between operations) or 3 (a time stamp for each
        /// operation)
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=3))]
        iolog: u8,
        /// Allow the iolog to replace a file that iolab did not write
        #[arg(long)]
        force: bool,
    },
    /// Summarize a trace: what it is missing, then calls, files and threads
    Stat {
        /// Trace file
        trace: PathBuf,
    },
}

pub(crate) fn main(arguments: &CaptureArguments) -> Result<u8, ExitFailure> {
    match &arguments.action {
        Some(CaptureAction::Show { trace, output: Some(page), force, .. }) => write_page(trace, page, *force),
        Some(CaptureAction::Show { trace, first, .. }) => show(trace, first.unwrap_or(u64::MAX)),
        Some(CaptureAction::Stat { trace }) => stat(trace),
        Some(CaptureAction::Export { trace, output, iolog, force }) => exchange::export(trace, output, *iolog, *force),
        None if !arguments.from.is_empty() => exchange::import(arguments),
        None => match arguments.pid {
            Some(pid) => attach(arguments, pid),
            None => capture(arguments),
        },
    }
}

fn capture(arguments: &CaptureArguments) -> Result<u8, ExitFailure> {
    let mut outputs = outputs::beside(arguments.force, []);
    let mut output = outputs.place(&arguments.output, OutputKind::Trace, "the trace (-o)")?.begin()?;
    // If this program is killed, the trace holds everything captured until then.
    output.publish()?;
    iolab_process::count_signals();
    let request =
        CaptureRequest { command: &arguments.command, output: Box::new(&mut output), anonymous: arguments.anonymize };
    let captured = match iolab_capture::capture(request) {
        Ok(captured) => captured,
        Err(error) => {
            if !matches!(error, CaptureError::Output(_)) {
                output.remove();
            }
            let message = format!("iolab: capture: {error}");
            let is_mistake = matches!(error, CaptureError::Command { .. } | CaptureError::ZeroByte);
            return Err(if is_mistake { ExitFailure::mistake(message) } else { ExitFailure::failed(message) });
        }
    };
    output.finish()?;
    let reader = read_to_end(&arguments.output)?;
    complain_for_people(&told(&captured, &reader, &arguments.output));
    Ok(code(&captured))
}

fn attach(arguments: &CaptureArguments, process: i32) -> Result<u8, ExitFailure> {
    let mut outputs = outputs::beside(arguments.force, []);
    let mut output = outputs.place(&arguments.output, OutputKind::Trace, "the trace (-o)")?.begin()?;
    output.publish()?;
    iolab_process::count_signals();
    let (children, for_ns, anonymous) = (arguments.children, arguments.for_ns, arguments.anonymize);
    let request = AttachRequest { process, children, for_ns, output: Box::new(&mut output), anonymous };
    let attached = match iolab_capture::attach(request) {
        Ok(attached) => attached,
        Err(error) => {
            if !matches!(error, AttachError::Output(_)) {
                output.remove();
            }
            let message = format!("iolab: capture: {error}");
            let is_mistake = matches!(error, AttachError::NoProcess(_));
            return Err(if is_mistake { ExitFailure::mistake(message) } else { ExitFailure::failed(message) });
        }
    };
    output.finish()?;
    let reader = read_to_end(&arguments.output)?;
    let operations = attached.end.operations;
    eprint!("{}", iolab_trace_summary::coverage(&reader, operations));
    eprintln!(
        "process {process} {}; {} by {} on {}",
        attached.end.outcome,
        counted(operations, "operation"),
        counted(reader.threads().len() as u64, "thread"),
        counted(reader.files().len() as u64, "file")
    );
    let path = arguments.output.display();
    eprintln!("{path}: `iolab capture stat {path}` sums it up");
    Ok(0)
}

/// The exit code of the command, as a shell would report it.
fn code(captured: &Captured) -> u8 {
    let code = match (captured.status, captured.signal) {
        (_, Some(signal)) => 128 + signal,
        (Some(status), None) => status,
        (None, None) => i32::from(FAILED),
    };
    u8::try_from(code).unwrap_or(FAILED)
}

fn read_to_end(path: &Path) -> Result<Reader<BufReader<File>>, ExitFailure> {
    let mut reader = open(path)?;
    while next(&mut reader, path)?.is_some() {}
    Ok(reader)
}

/// The summary of a capture for standard error; what the trace lacks comes first.
fn told(captured: &Captured, reader: &Reader<BufReader<File>>, path: &Path) -> String {
    let operations = captured.end.operations;
    let each = captured.bytes as f64 / operations.max(1) as f64;
    let mut text = iolab_trace_summary::coverage(reader, operations);
    text += &format!(
        "the command {}: {} by {} on {}\n",
        captured.end.outcome,
        counted(operations, "operation"),
        counted(reader.threads().len() as u64, "thread"),
        counted(reader.files().len() as u64, "file")
    );
    let path = path.display();
    text += &format!("{path}: {each:.1} bytes per operation; `iolab capture stat {path}` prints a summary\n");
    text
}

fn show(path: &Path, first: u64) -> Result<u8, ExitFailure> {
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

fn stat(path: &Path) -> Result<u8, ExitFailure> {
    let mut reader = open(path)?;
    let summary = Summary::of(&mut reader).map_err(|error| unreadable(path, error))?;
    print_for_people(&summary.text(&reader))?;
    warn_of_damage(&reader, path);
    Ok(0)
}

/// Writes the page of a trace.
fn write_page(trace: &Path, page: &Path, force: bool) -> Result<u8, ExitFailure> {
    let mut outputs = outputs::beside(force, [(trace, "the trace")]);
    let place = outputs.place(page, OutputKind::Report, "the page (-o)")?;
    let mut reader = open(trace)?;
    let (mut summary, mut picture) = (Summary::default(), Picture::default());
    while let Some(operation) = next(&mut reader, trace)? {
        summary.add(&operation, &reader);
        picture.add(&operation, &reader);
    }
    let name = trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let paths: Vec<String> = reader.files().iter().map(|file| file.path.clone()).collect();
    let report = TraceReport {
        title: &format!("Trace {name}"),
        text: &summary.text(&reader),
        picture: &picture,
        paths: &paths,
        again: &output::command_line(),
        version: env!("CARGO_PKG_VERSION"),
    };
    place.write(trace_page(&report).html.as_bytes())?;
    warn_of_damage(&reader, trace);
    Ok(0)
}
