//! Judges intervals: in the worker, or in threads beside it (`verify_async`).
//!
//! ```text
//!  worker ─ copy of what was read, what it must hold ─▶ threads ─ what they found ─▶ worker
//! ```
//!
//! The number of reads in progress is fixed. A worker that wants to pass on one more takes back an
//! examined read, and waits for one if necessary.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use iolab_verify::{CrashBound, Held, Interval, Mismatch, Recipe, WantedContent};

use crate::open_files::fatal;
use crate::trouble::Fatal;

/// Reads in progress for each thread.
const READS_PER_THREAD: usize = 4;

/// What an interval must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// This content.
    Content(WantedContent),
    /// Content that a loss of power may have left.
    Aftermath(CrashBound),
}

/// Judges intervals by the recipe of their content.
#[derive(Debug, Clone)]
pub(crate) struct Judge {
    pub(crate) recipe: Recipe,
    /// When the runs began whose writes may be found, ns since 1970.
    pub(crate) runs: Arc<[u64]>,
}

impl Judge {
    #[inline]
    pub(crate) fn examine(&self, at: Interval, demand: Demand, found: &[u8]) -> Result<Option<Held>, Box<Mismatch>> {
        match demand {
            Demand::Content(wanted) => self.recipe.check(at, wanted, found).map(|()| None),
            Demand::Aftermath(bound) => self.recipe.check_after_crash(at, bound, &self.runs, found).map(Some),
        }
    }
}

/// A piece of a read.
#[derive(Debug)]
struct Piece {
    at: Interval,
    demand: Demand,
    /// Where it ends in the bytes of the read.
    end: usize,
}

/// A read that threads examine.
#[derive(Debug, Default)]
pub(crate) struct ReadCopy {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    answers: Vec<Result<Option<Held>, Box<Mismatch>>>,
}

impl ReadCopy {
    fn examine(&mut self, judge: &Judge) {
        let mut from = 0;
        for piece in &self.pieces {
            self.answers.push(judge.examine(piece.at, piece.demand, &self.bytes[from..piece.end]));
            from = piece.end;
        }
    }

    /// The findings, with the bytes of each interval.
    pub(crate) fn answers(&self) -> impl Iterator<Item = (Demand, &Result<Option<Held>, Box<Mismatch>>, &[u8])> {
        let starts = std::iter::once(0).chain(self.pieces.iter().map(|piece| piece.end));
        self.pieces
            .iter()
            .zip(&self.answers)
            .zip(starts)
            .map(|((piece, answer), from)| (piece.demand, answer, &self.bytes[from..piece.end]))
    }

    /// Adds an interval.
    pub(crate) fn add(&mut self, at: Interval, demand: Demand, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.pieces.push(Piece { at, demand, end: self.bytes.len() });
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.pieces.clear();
        self.answers.clear();
    }
}

/// The threads of one worker.
#[derive(Debug)]
pub(crate) struct JudgeThreads {
    /// `None` after they have been ordered to end.
    tasks: Option<SyncSender<ReadCopy>>,
    done: Receiver<ReadCopy>,
    free: Vec<ReadCopy>,
    under_way: usize,
    threads: Vec<JoinHandle<()>>,
}

impl JudgeThreads {
    /// Starts the threads.
    pub(crate) fn start(count: u32, cpus: Option<&[usize]>, judge: &Judge, read_bytes: usize) -> Result<Self, Fatal> {
        let reads = count as usize * READS_PER_THREAD;
        let (tasks, taken) = sync_channel::<ReadCopy>(reads);
        let (answers, done) = sync_channel::<ReadCopy>(reads);
        let taken = Arc::new(Mutex::new(taken));
        let mut threads = Vec::new();
        for _ in 0..count {
            let (taken, answers, judge) = (Arc::clone(&taken), answers.clone(), judge.clone());
            let cpus = cpus.map(<[usize]>::to_vec);
            let (started, has_started) = sync_channel(1);
            let body = move || {
                let placed = cpus.map_or(Ok(()), |cpus| iolab_process::set_cpus(&cpus));
                let is_placed = placed.is_ok();
                let _ = started.send(placed);
                if is_placed {
                    serve(&judge, &taken, &answers);
                }
            };
            let thread = std::thread::Builder::new().name("verify".to_owned()).spawn(body);
            threads.push(thread.map_err(|error| fatal("verify_async", &error))?);
            if let Ok(Err(error)) = has_started.recv() {
                return Err(fatal("verify_async_cpus", &error));
            }
        }
        let blank = || ReadCopy { bytes: Vec::with_capacity(read_bytes), ..ReadCopy::default() };
        let free = (0..reads).map(|_| blank()).collect();
        Ok(JudgeThreads { tasks: Some(tasks), done, free, under_way: 0, threads })
    }

    /// A place for a read; `None` while all are in use. In that case, wait for one with
    /// [`Self::next`].
    pub(crate) fn free(&mut self) -> Option<ReadCopy> {
        self.free.pop()
    }

    /// Passes a read on.
    pub(crate) fn examine(&mut self, read: ReadCopy) {
        if read.pieces.is_empty() {
            self.free.push(read);
        } else if self.tasks.as_ref().is_some_and(|tasks| tasks.send(read).is_ok()) {
            self.under_way += 1;
        }
    }

    /// An examined read, if there is one; with `waits`, `None` only when none is in progress. It
    /// must be returned.
    pub(crate) fn next(&mut self, waits: bool) -> Option<ReadCopy> {
        if self.under_way == 0 {
            return None;
        }
        let read = if waits {
            self.done.recv().expect("threads that examine reads live as long as somebody may pass them on")
        } else {
            self.done.try_recv().ok()?
        };
        self.under_way -= 1;
        Some(read)
    }

    /// Whether the threads have reads that were not taken back.
    pub(crate) fn is_busy(&self) -> bool {
        self.under_way > 0
    }

    pub(crate) fn give_back(&mut self, mut read: ReadCopy) {
        read.clear();
        self.free.push(read);
    }
}

impl Drop for JudgeThreads {
    fn drop(&mut self) {
        self.tasks = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has sent no answer, which its reader has noticed.
            let _ = thread.join();
        }
    }
}

/// A thread's loop: examines one read after the other until there is no sender.
fn serve(judge: &Judge, taken: &Mutex<Receiver<ReadCopy>>, answers: &SyncSender<ReadCopy>) {
    loop {
        let next = taken.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut read) = next else { return };
        read.examine(judge);
        if answers.send(read).is_err() {
            return;
        }
    }
}
