//! The capture of a command: the loop over everything that stops, until nothing is left.

mod recorder;

use std::ffi::CString;
use std::io::{self, Read, Write};

use iolab_clock::Clock;
use iolab_process::INTERRUPTS;
use iolab_trace::{End, Facts, Unseen, Writer};

use crate::overhead::{self, Overhead};
use crate::processes::Processes;
use crate::tracee::{self, Body, Child, Resume, Stop, Waited};
pub(crate) use recorder::Recorder;

/// How long a program has to show that a signal reached it, before it is passed on, ns.
const SIGNAL_REACHES_NS: u64 = 200_000_000;
const BETWEEN_LOOKS_NS: u64 = 1_000_000;
/// So many requests to end, and the capture ends whatever the program does.
const PATIENCE: u32 = 3;

/// What is to be captured, and where the trace goes.
pub struct Request<'a> {
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
    #[error("the command has a word with a zero byte in it, which no program can be given")]
    ZeroByte,
    /// Nothing can be traced here.
    #[error("nothing can be traced here ({0}): a container may forbid ptrace(2) or seccomp(2)")]
    NotHere(io::Error),
    /// The trace cannot be written.
    #[error("the trace cannot be written: {0}")]
    Output(io::Error),
}

/// What came of a capture.
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
/// A signal that asks this process to end is passed to the command, unless it got one, too, as from
/// a terminal; the capture then goes on until the command has ended. Signals must be counted
/// ([`iolab_process::count_signals`]). The calling thread must have no other traced children.
///
/// # Errors
/// The command cannot be run or traced, or the trace cannot be written; then the command still runs
/// to its end.
pub fn capture(request: Request<'_>) -> Result<Captured, CaptureError> {
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
    let mut recorder = Recorder::new(writer);
    let ended = Loop::run(&child, &clock, &mut recorder);
    if let Some(source) = refusal(&child, ended.ran) {
        return Err(CaptureError::Command { program, source });
    }
    let end = End {
        elapsed_ns: ended.elapsed_ns,
        operations: 0,
        read_bytes: Some((ended.counts.read, recorder.seen.read)),
        written_bytes: Some((ended.counts.written, recorder.seen.written)),
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
        Err(_) => io::Error::other("it ended before it began"),
    })
}

fn outcome(status: Option<i32>, signal: Option<i32>, gave_up: bool) -> String {
    match (status, signal) {
        _ if gave_up => "was killed with the end of the capture".to_owned(),
        (_, Some(signal)) => format!("was killed by signal {signal}"),
        (Some(status), None) => format!("exited with {status}"),
        (None, None) => "ended unseen".to_owned(),
    }
}

/// What the loop found.
pub(crate) struct Ended {
    status: Option<i32>,
    signal: Option<i32>,
    gave_up: bool,
    /// Whether the child ran a program.
    ran: bool,
    elapsed_ns: u64,
    counts: crate::kernel_counts::Counts,
    unseen: Vec<Unseen>,
}

/// The loop over stops.
pub(crate) struct Loop<'r, 'w> {
    processes: Processes<'r, 'w>,
    root: i32,
    ended: (Option<i32>, Option<i32>),
    /// A signal that would end the program reached it.
    was_told: bool,
    interrupts: u32,
    /// When a request to end is to be passed on.
    pass_on_ns: Option<u64>,
}

impl<'r, 'w> Loop<'r, 'w> {
    /// Lets a child begin, and follows it and all that it makes to the end.
    pub(crate) fn run(child: &Child, clock: &'r Clock, recorder: &'r mut Recorder<'w>) -> Ended {
        let mut this = Loop {
            processes: Processes::new(clock, recorder, child.pid),
            root: child.pid,
            ended: (None, None),
            was_told: false,
            interrupts: INTERRUPTS.load(std::sync::atomic::Ordering::Relaxed),
            pass_on_ns: None,
        };
        child.begin();
        let mut gave_up = false;
        loop {
            match tracee::wait(this.pass_on_ns.is_none()) {
                Waited::For(thread, stop) => this.stopped(thread, stop),
                Waited::NoneLeft => break,
                Waited::Nothing => clock.sleep_until(clock.now_ns() + BETWEEN_LOOKS_NS, 0),
                Waited::Interrupted => {}
            }
            if this.is_to_give_up(clock) {
                gave_up = true;
                break;
            }
        }
        let (status, signal) = this.ended;
        let elapsed_ns = this.processes.elapsed_ns();
        let ran = this.processes.ran;
        let (counts, unseen) = this.processes.end();
        Ended { status, signal, gave_up, ran, elapsed_ns, counts, unseen }
    }

    /// Looks after requests to end; true if the capture ends without the program.
    fn is_to_give_up(&mut self, clock: &Clock) -> bool {
        let interrupts = INTERRUPTS.load(std::sync::atomic::Ordering::Relaxed);
        if interrupts.wrapping_sub(self.interrupts) >= PATIENCE {
            return true;
        }
        if interrupts != self.interrupts && self.pass_on_ns.is_none() && !self.was_told {
            self.pass_on_ns = Some(clock.now_ns() + SIGNAL_REACHES_NS);
        }
        if let Some(at_ns) = self.pass_on_ns {
            if self.was_told {
                self.pass_on_ns = None;
            } else if clock.now_ns() >= at_ns {
                iolab_process::kill(self.root, libc::SIGTERM);
                self.was_told = true;
                self.pass_on_ns = None;
            }
        }
        false
    }

    fn stopped(&mut self, thread: i32, stop: Stop) {
        let mut signal = 0;
        match stop {
            Stop::Ended { status, signal } => {
                if thread == self.root {
                    self.ended = (status, signal);
                }
                self.processes.gone(thread);
                return;
            }
            Stop::CallBegins => self.processes.call_begins(thread),
            Stop::CallEnds => self.processes.call_ends(thread),
            Stop::Makes(made) => self.processes.made(thread, made),
            Stop::Runs(before) => self.processes.runs(thread, before),
            Stop::Ends => self.processes.ends(thread),
            Stop::StandsStill => {
                tracee::resume(thread, Resume::Listen, 0);
                return;
            }
            Stop::Other => {
                if !self.processes.may_begin(thread) {
                    return;
                }
            }
            Stop::Signal(delivered) => {
                self.was_told |= [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT].contains(&delivered);
                signal = delivered;
            }
        }
        tracee::resume(thread, self.processes.way_on(thread), signal);
    }
}
