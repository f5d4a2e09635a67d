//! Errors of a running worker: counted, ignored, or fatal.

use iolab_engine::{LaneError, Op, OpKind};
use iolab_measure::{LatencyExceeded, Recorder};
use iolab_plan::{ContinuableError, ErrorPlan, FilePlan};
use iolab_recording::ErrorCount;

/// The first error that ends the worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fatal {
    pub(crate) errno: i32,
    pub(crate) message: String,
}

/// The error state of one worker.
#[derive(Debug)]
pub(crate) struct Trouble<'a> {
    plan: &'a ErrorPlan,
    files: &'a [FilePlan],
    /// A full device ends the job without an error (`fill_device`).
    full_is_the_end: bool,
    /// An operation that moves nothing ends the job without an error
    /// ([`iolab_engine::Lane::ends`]).
    nothing_is_the_end: bool,
    fatal: Option<Fatal>,
    /// The first block that did not verify, and how many did not: the job continues, and has
    /// failed.
    damaged: Option<(Fatal, u64)>,
    damage_is_fatal: bool,
    filled: bool,
    broken: bool,
    counts: Vec<ErrorCount>,
    notes: Vec<String>,
}

impl<'a> Trouble<'a> {
    pub(crate) fn new(plan: &'a ErrorPlan, files: &'a [FilePlan], full_is_the_end: bool) -> Trouble<'a> {
        Trouble {
            plan,
            files,
            full_is_the_end,
            nothing_is_the_end: false,
            fatal: None,
            damaged: None,
            damage_is_fatal: false,
            filled: false,
            broken: false,
            counts: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Whether an operation that moves nothing ends the job without an error.
    pub(crate) fn with_end(self, nothing_is_the_end: bool) -> Trouble<'a> {
        Trouble { nothing_is_the_end, ..self }
    }

    /// An operation failed or moved nothing. Returns whether the plan ignores the error, so that
    /// the operation counts as done.
    #[cold]
    pub(crate) fn failed(&mut self, op: &Op, result: i32, recorder: &mut impl Recorder) -> bool {
        let errno = if result < 0 { -result } else { libc::EIO };
        if errno == libc::ENOSPC && self.full_is_the_end || result == 0 && self.nothing_is_the_end {
            self.filled = true;
            return false;
        }
        let column = usize::from(op.kind != OpKind::Read);
        let ignored = self.plan.ignore[column].contains(&errno);
        let kind = if op.kind == OpKind::Read { ContinuableError::Read } else { ContinuableError::Write };
        if ignored {
            if self.plan.dump {
                self.note(describe(op, self.files, errno, result));
            }
            return true;
        }
        self.count(errno);
        if let Some(direction) = op.kind.direction() {
            recorder.tally().dropped[direction.index()] += 1;
            recorder.failed(direction, op.file, op.offset, u64::from(op.length));
        }
        let message = describe(op, self.files, errno, result);
        if self.plan.continue_on.contains(&kind) {
            self.note(message);
        } else {
            self.end(errno, message);
        }
        false
    }

    /// The first block that does not verify ends the worker (`verify_fatal`).
    pub(crate) fn end_at_damage(&mut self) {
        self.damage_is_fatal = true;
    }

    /// A read returned unexpected data.
    #[cold]
    pub(crate) fn mismatch(&mut self, message: String) {
        self.count(libc::EILSEQ);
        let ignored = self.plan.ignore[2].contains(&libc::EILSEQ);
        if ignored || self.plan.continue_on.contains(&ContinuableError::Verify) {
            self.note(message);
        } else if self.damage_is_fatal {
            self.end(libc::EILSEQ, message);
        } else if let Some((_, reads)) = &mut self.damaged {
            *reads += 1;
            self.note(message);
        } else {
            self.damaged = Some((Fatal { errno: libc::EILSEQ, message }, 1));
        }
    }

    /// The engine refused an operation.
    #[cold]
    pub(crate) fn refused(&mut self, op: &Op, errno: i32, recorder: &mut impl Recorder) {
        self.failed(op, -errno, recorder);
    }

    #[cold]
    pub(crate) fn lane_broke(&mut self, error: LaneError) {
        self.broken = true;
        self.end(error.errno, format!("{} failed: {}", error.call, errno_text(error.errno)));
    }

    pub(crate) fn lane_is_broken(&self) -> bool {
        self.broken
    }

    pub(crate) fn latency_exceeded(&mut self, limit: LatencyExceeded) {
        let (took, allowed) = (limit.took_ns / 1000, limit.limit_ns / 1000);
        let name = limit.direction.name();
        self.end(libc::ETIME, format!("a {name} took {took} µs; max_latency allows {allowed} µs"));
    }

    pub(crate) fn floor_missed(&mut self, reason: String) {
        self.end(libc::EIO, reason);
    }

    /// Ends the worker with an error met outside the loop.
    pub(crate) fn end(&mut self, errno: i32, message: String) {
        self.fatal.get_or_insert(Fatal { errno, message });
    }

    /// Operations were in flight when the run was abandoned.
    pub(crate) fn abandoned(&mut self, in_flight: usize) {
        if in_flight > 0 {
            let operations = iolab_text::counted(in_flight as u64, "operation");
            self.note(format!("not counted: {operations} still in flight when the run ended"));
        }
    }

    /// Whether the worker must stop: a fatal error, a device filled as asked, or the end of a
    /// stream.
    pub(crate) fn is_fatal(&self) -> bool {
        self.fatal.is_some() || self.filled
    }

    pub(crate) fn into_parts(self) -> (Option<Fatal>, Vec<ErrorCount>, Vec<String>) {
        let damaged = self.damaged.map(|(mut fatal, reads)| {
            if reads > 1 {
                fatal.message.push_str(&format!(" (the first of {reads} reads that failed to verify)"));
            }
            fatal
        });
        (self.fatal.or(damaged), self.counts, self.notes)
    }

    fn count(&mut self, errno: i32) {
        match self.counts.iter_mut().find(|count| count.errno == errno) {
            Some(count) => count.count += 1,
            None => self.counts.push(ErrorCount { errno, count: 1 }),
        }
    }

    fn note(&mut self, text: String) {
        const MOST: usize = 100;
        if self.notes.len() < MOST {
            self.notes.push(text);
        } else if self.notes.len() == MOST {
            self.notes.push("more errors follow; they are counted but not listed".to_owned());
        }
    }
}

fn describe(op: &Op, files: &[FilePlan], errno: i32, result: i32) -> String {
    let path = files.get(op.file as usize).map_or_else(|| "?".to_owned(), |file| file.path.display().to_string());
    let verb = match op.kind {
        OpKind::Read => "read",
        OpKind::Write => "write",
        OpKind::Trim => "trim",
        OpKind::Sync => "fsync",
        OpKind::DataSync => "fdatasync",
        OpKind::SyncFileRange => "sync_file_range",
    };
    let why = if result == 0 { "nothing transferred (end of file?)".to_owned() } else { errno_text(errno) };
    format!("{path}: {why}: {verb} offset={}, length={}", op.offset, op.length)
}

/// The system's text for an errno, without the number.
pub(crate) fn errno_text(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
