//! Records the activity of block devices and the machine while a foreign program works: one that it
//! starts, or one that already runs.
//!
//! The clock, the samples and the findings are those of a run. The program itself is one worker of
//! the recording, see [`crate::program_recording`].

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::Ordering;

use iolab_clock::Clock;
use iolab_observe::System;
use iolab_plan::Plan;
use iolab_process::INTERRUPTS;
use iolab_recording::{HostFacts, Observations, Recording, partial};
use iolab_runner::Sampling;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, getpgrp, getpid, kill_process, waitpid};

use crate::process_tree::ProcessTree;
use crate::program_recording::{self, Look};
use crate::request::{Wanted, WatchError};
use crate::selection;
use crate::watched::{ProgramEnd, Watched};

/// Default time between samples, ns.
const INTERVAL_NS: u64 = 200_000_000;
/// How long a command may take to end by itself after the terminal has interrupted it and this
/// program, ns.
const PATIENCE_NS: u64 = 300_000_000;
/// How long a signal that arrived just before waiting goes unnoticed, ns.
const NOTICE_NS: u64 = 100_000_000;

/// What is to be recorded.
#[derive(Debug)]
pub struct RecordRequest<'a> {
    /// Devices and interval, as for a report.
    pub wanted: &'a Wanted,
    /// Whose reads and writes are counted.
    pub watched: &'a Watched,
    /// The longest time, ns; `None` as long as the program is there.
    pub for_ns: Option<u64>,
    /// The plan that describes the program, from [`crate::describe_program`].
    pub plan: Plan,
    /// Facts about the machine.
    pub host: HostFacts,
    /// The version of the program that records.
    pub version: &'a str,
    /// Takes a partial recording, for the case that this program is killed.
    pub stream: Option<File>,
}

/// What was recorded.
#[derive(Debug)]
pub struct Recorded {
    /// The recording, without findings.
    pub recording: Recording,
    /// How the program ended.
    pub end: ProgramEnd,
}

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Devices or interval.
    #[error(transparent)]
    Wanted(#[from] WatchError),
    /// The command.
    #[error("{command}: it cannot be started: {source}: name a program that there is, or its whole path")]
    Command {
        /// Its first word.
        command: String,
        /// What the system says.
        source: io::Error,
    },
    /// The process.
    #[error("process {process} cannot be watched: {source}: `ps -e` lists the processes there are")]
    Process {
        /// Its number.
        process: i32,
        /// What the system says.
        source: io::Error,
    },
    /// The file of the partial recording.
    #[error("the partial recording cannot be written: {0}: make room, or record to another file")]
    Partial(io::Error),
}

/// Records until the program has ended, the time is over, or a signal comes.
///
/// # Errors
/// What is to be watched is not there.
pub fn record(request: RecordRequest<'_>) -> Result<Recorded, RecordError> {
    let system = System::live();
    let (selection, pace) = selection::read(request.wanted, &system)?;
    let interval_ns = if pace.interval_ns == 0 { INTERVAL_NS } else { pace.interval_ns };
    let clock = Clock::monotonic();
    let (names, only_used) = selection.names(&system);
    let devices = system.devices_named(names.iter().map(String::as_str));
    let sampling = Sampling::of_devices(&devices, interval_ns, true, &system, &clock);
    iolab_process::count_signals();

    let mut recording = program_recording::empty(request.plan, interval_ns, request.host, request.version);
    let mut stream = request.stream;
    recording.started_unix_ns = clock.unix_ns();
    append(&mut stream, &partial::start(&recording)).map_err(RecordError::Partial)?;
    let mut program = Program::begin(request.watched)?;
    let origin_ns = clock.now_ns();
    recording.started_unix_ns = clock.unix_ns();
    let mut trouble = append(&mut stream, &partial::begun(recording.started_unix_ns)).err();
    let mut tell = |news: &Observations| {
        let told = append(&mut stream, &partial::observed(news));
        trouble = trouble.take().or(told.err());
    };
    let mut sampling = sampling.begin(origin_ns, &clock, &mut tell);
    recording.warnings.extend(sampling.trouble());
    let deadline_ns = request.for_ns.map_or(u64::MAX, |for_ns| origin_ns.saturating_add(for_ns));
    let mut looks = vec![Look { at_ns: 0, counts: program.tree.total() }];
    let mut next_ns = origin_ns + interval_ns;
    let end = loop {
        let now_ns = clock.now_ns();
        let wake_ns = sampling.look_if_due(now_ns, &clock, &mut tell);
        if now_ns >= next_ns {
            looks.push(program.look(now_ns - origin_ns));
            next_ns += (now_ns - next_ns) / interval_ns * interval_ns + interval_ns;
        }
        if now_ns >= deadline_ns || program.is_interrupted(now_ns) {
            break program.end_now();
        }
        let until_ns = wake_ns.min(next_ns).min(deadline_ns).min(now_ns + NOTICE_NS);
        if program.has_ended(until_ns.saturating_sub(now_ns)) {
            break program.end_now();
        }
    };
    let elapsed_ns = clock.now_ns() - origin_ns;
    looks.push(program.look(elapsed_ns));
    let mut observations = sampling.finish(&clock, &mut tell);
    program.reap();
    let warning = trouble.map(|error| format!("the partial recording could not be written: {error}"));
    recording.warnings.extend(warning);
    if only_used {
        program_recording::leave_out_unused(&mut observations);
    }
    recording.elapsed_ns = elapsed_ns;
    recording.devices = observations.device_uses().collect();
    recording.observations = Some(observations);
    recording.interrupted = INTERRUPTS.load(Ordering::Relaxed) > 0;
    recording.workers = vec![program_recording::worker(&looks, &program.tree, program.process, end)];
    Ok(Recorded { recording, end })
}

fn append(stream: &mut Option<File>, bytes: &[u8]) -> io::Result<()> {
    stream.iter_mut().try_for_each(|file| file.write_all(bytes))
}

/// The program that is watched.
#[derive(Debug)]
struct Program {
    process: i32,
    /// Readable when the process has ended.
    handle: OwnedFd,
    /// The command, if it was started here.
    child: Option<Child>,
    tree: ProcessTree,
    is_gone: bool,
    /// When the first signal was noticed.
    asked_at_ns: Option<u64>,
}

impl Program {
    fn begin(watched: &Watched) -> Result<Program, RecordError> {
        let proc = Path::new("/proc");
        let (child, process) = match watched {
            Watched::Command(words) => {
                let mut words = words.iter();
                let command = words.next().cloned().unwrap_or_default();
                // Orphans become children of this process, which counts them; otherwise they are
                // counted only while they are visible.
                let _ = rustix::process::set_child_subreaper(Some(getpid()));
                let child = Command::new(&command).args(words).spawn();
                let child = child.map_err(|source| RecordError::Command { command, source })?;
                let process = child.id().cast_signed();
                (Some(child), process)
            }
            Watched::Process(process) => (None, *process),
        };
        let handle = Pid::from_raw(process).ok_or(io::ErrorKind::NotFound.into());
        let handle = handle.and_then(|pid| Ok(rustix::process::pidfd_open(pid, PidfdFlags::empty())?));
        let handle = handle.map_err(|source| RecordError::Process { process, source })?;
        let adopts = child.is_some().then(|| getpid().as_raw_nonzero().get());
        let mut tree = ProcessTree::new(proc, process, adopts);
        if child.is_none() {
            tree.begin();
        }
        Ok(Program { process, handle, child, tree, is_gone: false, asked_at_ns: None })
    }

    fn look(&mut self, at_ns: u64) -> Look {
        self.tree.look();
        for orphan in self.tree.take_ended_orphans() {
            // It has ended: this only reaps it.
            let _ = waitpid(Pid::from_raw(orphan), WaitOptions::NOHANG);
        }
        Look { at_ns, counts: self.tree.total() }
    }

    /// Waits at most this long for its end. It is left for counting, and [`Program::reap`] reaps
    /// it.
    fn has_ended(&mut self, longest_ns: u64) -> bool {
        let longest =
            Timespec { tv_sec: (longest_ns / 1_000_000_000) as i64, tv_nsec: (longest_ns % 1_000_000_000) as i64 };
        let mut handles = [PollFd::from_borrowed_fd(self.handle.as_fd(), PollFlags::IN)];
        // A signal ends the wait: the loop checks which.
        self.is_gone = poll(&mut handles, Some(&longest)).is_ok_and(|ready| ready > 0);
        self.is_gone
    }

    /// Whether the user has interrupted. A command is asked to end and gets time for that, unless
    /// the user interrupts again.
    fn is_interrupted(&mut self, now_ns: u64) -> bool {
        let asked = INTERRUPTS.load(Ordering::Relaxed);
        if asked == 0 {
            return false;
        }
        if self.child.is_none() || asked > 1 && self.asked_at_ns.is_some_and(|first| now_ns > first + PATIENCE_NS) {
            return true;
        }
        if self.asked_at_ns.is_none() {
            self.asked_at_ns = Some(now_ns);
            // A terminal interrupts the whole foreground group; a signal from elsewhere reached
            // only this program.
            if !is_in_front()
                && let Some(pid) = Pid::from_raw(self.process)
            {
                let _ = kill_process(pid, Signal::INT);
            }
        }
        false
    }

    /// How it ended, as of now.
    fn end_now(&mut self) -> ProgramEnd {
        match (&self.child, self.is_gone) {
            (_, false) => ProgramEnd::GoesOn,
            (None, true) => ProgramEnd::Gone,
            (Some(_), true) => self.how(),
        }
    }

    /// How a command ended that is not yet reaped.
    fn how(&mut self) -> ProgramEnd {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let Some(pid) = Pid::from_raw(self.process) else { return ProgramEnd::Gone };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(pid), options) {
            Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => ProgramEnd::Exited(code),
                (None, Some(signal)) => ProgramEnd::Killed(signal),
                (None, None) => ProgramEnd::Gone,
            },
            _ => ProgramEnd::Gone,
        }
    }

    /// Reaps an ended command.
    fn reap(&mut self) {
        if let Some(child) = self.child.as_mut().filter(|_| self.is_gone) {
            let _ = child.wait();
        }
    }
}

/// Whether this program is in the terminal's foreground.
fn is_in_front() -> bool {
    File::open("/dev/tty").is_ok_and(|tty| rustix::termios::tcgetpgrp(&tty).is_ok_and(|group| group == getpgrp()))
}
