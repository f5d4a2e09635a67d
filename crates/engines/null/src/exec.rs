//! The engine `exec`: runs a program as long as its job runs, beside jobs that do I/O.
//!
//! ```text
//! first operation: start ── one look at the program per operation ── program ends: end of the job
//!                                                                 └─ time is up: SIGTERM ── grace_time ── SIGKILL
//! ```
//!
//! The first operation starts the program; each further one waits until the program has ended, but
//! at most for one look ([`LOOK_NS`]). Nothing is moved: bandwidth and size have no meaning, and
//! latency is the length of a look. The program leads a process group of its own, so that what it
//! has started ends with it.

mod command;
mod options;

pub use options::EXEC_OPTIONS;

use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::Mutex;

use iolab_engine::{
    Capabilities, Completion, CompletionRow, Completions, Engine, EngineDescription, FileEffect, FileUse, Lane,
    LaneError, LaneRequest, Op, OpenError, Polling, Submission, Wait,
};
use iolab_options::{PageCache, Reach};
use rustix::process::{Pid, Signal, kill_process_group};

use command::ProgramLine;

/// How long one operation looks at the program, ns: as in fio.
const LOOK_NS: u64 = 50_000_000;

/// Files that may be overwritten although no job made them.
static OVERWRITABLE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The engine `exec`.
#[derive(Debug)]
pub struct Exec;

/// The lane of [`Exec`]: the program, once it has started.
#[derive(Debug)]
pub struct ExecLane {
    line: ProgramLine,
    grace_ns: u64,
    program: Option<Child>,
    has_ended: bool,
    finished: CompletionRow,
    notes: Vec<String>,
}

impl Engine for Exec {
    type Lane = ExecLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "exec",
        aliases: &[],
        summary: "Runs a program as long as the job runs, instead of doing I/O",
        details: "The first operation starts program with arguments; each further one looks for at most 50 ms whether \
            it has ended. When it ends, the job ends (fio: the job goes on until its runtime is over), with a warning \
            if its exit status is not 0. When the job ends, the program gets SIGTERM and, after grace_time seconds, \
            SIGKILL, as does all of its process group. No data moves, and no size is needed. Each worker starts a \
            program of its own.",
        options: EXEC_OPTIONS,
        capabilities: Capabilities {
            synchronous: true,
            files: FileUse::Nothing,
            moves_data: false,
            trims: false,
            trims_ranges: false,
            syncs: false,
            direct: true,
            extends_files: true,
            effect: FileEffect::ByDirection,
            reach: Reach::Programs,
            page_cache: PageCache::Never,
            polling: Polling::Never,
            reads_to_write: false,
            needs: &[],
        },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<ExecLane, OpenError> {
        let allowed = OVERWRITABLE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let line = ProgramLine::from_options(request.options, &allowed)?;
        let grace_s = request.options.integer("grace_time").unwrap_or(1).max(0) as u64;
        Ok(ExecLane {
            line,
            grace_ns: grace_s.saturating_mul(1_000_000_000),
            program: None,
            has_ended: false,
            finished: CompletionRow::with_depth(request.depth),
            notes: Vec::new(),
        })
    }

    fn allow_overwriting(paths: &[PathBuf]) {
        *OVERWRITABLE.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = paths.to_vec();
    }
}

impl ExecLane {
    /// Starts the program, or looks at it. Returns whether it runs.
    fn look(&mut self) -> Result<bool, i32> {
        if self.has_ended {
            return Ok(false);
        }
        if self.program.is_none() {
            let child = self.line.start().map_err(|error| {
                self.notes.push(format!("the program `{}` cannot be started: {error}", self.line.program()));
                error.raw_os_error().unwrap_or(libc::EINVAL)
            })?;
            self.program = Some(child);
            return Ok(true);
        }
        let Some(status) = self.wait_for_program(LOOK_NS) else { return Ok(true) };
        self.has_ended = true;
        if !status.success() {
            self.notes.push(format!("the program `{}` ended by itself: {status}", self.line.program()));
        }
        Ok(false)
    }

    /// Waits for at most `at_most_ns`, and returns how the program has ended.
    fn wait_for_program(&mut self, at_most_ns: u64) -> Option<ExitStatus> {
        let child = self.program.as_mut()?;
        iolab_process::ended_within(child, at_most_ns)
    }
}

impl Lane for ExecLane {
    const SYNCHRONOUS: bool = true;

    fn submit(&mut self, op: &Op) -> Submission {
        if self.finished.is_full() {
            return Submission::Full;
        }
        if !op.kind.moves_data() {
            return Submission::Refused(libc::EOPNOTSUPP);
        }
        match self.look() {
            Ok(runs) => {
                let result = if runs { op.length as i32 } else { 0 };
                self.finished.push(Completion { slot: u32::from(op.slot), result });
                Submission::Accepted
            }
            Err(errno) => Submission::Refused(errno),
        }
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        Ok(self.finished.drain_into(out))
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn ends(&self) -> bool {
        true
    }
}

impl Drop for ExecLane {
    /// Asks the program to end, and kills what is left of its group after the grace time.
    fn drop(&mut self) {
        let Some(child) = &self.program else { return };
        let group = Pid::from_child(child);
        if !self.has_ended {
            // If the process group is gone, it needs no signal.
            let _ = kill_process_group(group, Signal::TERM);
            self.wait_for_program(self.grace_ns);
        }
        let _ = kill_process_group(group, Signal::KILL);
        if let Some(child) = &mut self.program {
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests;
