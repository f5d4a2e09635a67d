//! The capture of a command: its child, its trace, and how it ended.

mod recorder;

use std::ffi::CString;
use std::io::{self, Read, Write};

use iolab_clock::Clock;
use iolab_trace::{End, Facts, Writer};

use crate::overhead::{self, Overhead};
use crate::stop_loop::StopLoop;
use crate::tracee::{Body, Child};
pub(crate) use recorder::Recorder;

/// What to capture, and where to write the trace.
pub struct CaptureRequest<'a> {
    /// The command and its arguments.
    pub command: &'a [String],
    /// The trace.
    pub output: Box<dyn Write + 'a>,
    /// Whether paths, names and the command are hidden.
    pub anonymous: bool,
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The command cannot be run.
    #[error("{program}: {source}")]
    Command {
        /// Its first word.
        program: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A word of the command cannot be passed on.
    #[error("an argument of the command contains a zero byte")]
    ZeroByte,
    /// Nothing can be traced here.
    #[error("tracing is not possible ({0}): a container may forbid ptrace(2) or seccomp(2)")]
    NotHere(io::Error),
    /// The trace cannot be written.
    #[error("the trace cannot be written: {0}")]
    Output(io::Error),
}

/// The result of a capture.
#[derive(Debug)]
pub struct Captured {
    /// How the command ended: an exit status.
    pub status: Option<i32>,
    /// Or the signal that killed it.
    pub signal: Option<i32>,
    /// Whether the capture ended before the program did.
    pub gave_up: bool,
    /// The end of the trace.
    pub end: End,
    /// Bytes of the trace.
    pub bytes: u64,
    /// What tracing costs the program.
    pub overhead: Overhead,
}

/// Runs a command to its end, and traces it with everything that it starts.
///
/// A signal that asks this process to end is forwarded to the command, unless the command got it
/// too, as from a terminal. The capture then continues until the command has ended. Signals must be
/// counted ([`iolab_process::count_signals`]). The calling thread must have no other traced
/// children.
///
/// # Errors
/// The command cannot be run or traced, or the trace cannot be written; then the command still runs
/// to its end.
pub fn capture(request: CaptureRequest<'_>) -> Result<Captured, CaptureError> {
    let words: Result<Vec<CString>, _> = request.command.iter().map(|word| CString::new(word.as_bytes())).collect();
    let words = words.map_err(|_| CaptureError::ZeroByte)?;
    let program = request.command.first().cloned().unwrap_or_default();
    let clock = Clock::best().0;
    let overhead = overhead::measure(&clock).map_err(CaptureError::NotHere)?;
    let facts = Facts {
        source: "ptrace".to_owned(),
        command: request.command.to_vec(),
        started_unix_ns: clock.unix_ns(),
        anonymous: request.anonymous,
        traced_call_ns: Some(overhead.traced_call_ns),
        other_call_ns: Some(overhead.other_call_ns),
        has_durations: true,
    };
    let begin = if request.anonymous { Writer::anonymous } else { Writer::new };
    let writer = begin(request.output, &facts).map_err(CaptureError::Output)?;
    let child = Child::make(&Body::Command(&words)).map_err(CaptureError::NotHere)?;
    let mut recorder = Recorder::new(writer).with_devices();
    let ended = StopLoop::run(&child, &clock, &mut recorder);
    if let Some(source) = refusal(&child, ended.ran) {
        return Err(CaptureError::Command { program, source });
    }
    let end = End {
        elapsed_ns: ended.elapsed_ns,
        operations: 0,
        read_bytes: Some((ended.counts.read, recorder.seen.read)),
        written_bytes: Some((ended.counts.written, recorder.seen.written)),
        devices: Vec::new(),
        // The tracer keeps them busy itself.
        processors: Vec::new(),
        beside: Vec::new(),
        unseen: ended.unseen,
        outcome: outcome(ended.status, ended.signal, ended.gave_up),
    };
    let (end, bytes) = recorder.finish(end).map_err(CaptureError::Output)?;
    Ok(Captured { status: ended.status, signal: ended.signal, gave_up: ended.gave_up, end, bytes, overhead })
}

/// The error of exec, if the child never ran the command.
fn refusal(child: &Child, ran: bool) -> Option<io::Error> {
    if ran {
        return None;
    }
    let mut errno = [0; 4];
    let says = child.says.try_clone().map(std::fs::File::from);
    let read = says.and_then(|mut says| says.read_exact(&mut errno));
    Some(match read {
        Ok(()) => io::Error::from_raw_os_error(i32::from_le_bytes(errno)),
        Err(_) => io::Error::other("it ended before it started"),
    })
}

fn outcome(status: Option<i32>, signal: Option<i32>, gave_up: bool) -> String {
    match (status, signal) {
        _ if gave_up => "was killed at the end of the capture".to_owned(),
        (_, Some(signal)) => format!("was killed by signal {signal}"),
        (Some(status), None) => format!("exited with {status}"),
        (None, None) => "ended unseen".to_owned(),
    }
}
