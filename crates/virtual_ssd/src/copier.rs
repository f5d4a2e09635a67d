//! Copiers: threads that copy the data of a dispatcher's commands.
//!
//! ```text
//! dispatcher ─ job (where on the media, pieces of host memory) ─▶ copier
//!            ◀─ done, with the vector of pieces to use again ────
//! ```
//!
//! Two bounded rings connect each pair of them, with one sender and one receiver each. A copier never touches a queue:
//! the completion is posted by the dispatcher, when the copy is done and the command's time has come. That keeps every
//! ring with one owner and no lock. When a copier has too much to do, the dispatcher copies by itself.
//!
//! Guarantees: no job is lost; a dispatcher that lets go of its queues waits for its copies first, so that nothing is
//! copied after a reset has been reported. Deliberately not here: which copier gets a job.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use iolab_pci_device::HostMemory;

use crate::media::{CopyError, Media};
use crate::subsystem::Subsystem;
use crate::transfer::{Direction, Piece};

/// Jobs that one copier has at a time.
const MOST_JOBS: usize = 256;

/// Data to copy once the time of the command is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copy {
    pub(crate) direction: Direction,
    /// On the media.
    pub(crate) offset: u64,
    pub(crate) lba: u64,
}

impl Copy {
    /// Does it.
    #[inline]
    pub(crate) fn run<M: HostMemory>(self, media: &Media, memory: &mut M, pieces: &[Piece]) -> Result<(), CopyError> {
        match self.direction {
            Direction::ToHost => media.copy_to_host(self.offset, memory, pieces),
            Direction::FromHost => media.copy_from_host(self.offset, memory, pieces),
        }
    }
}

/// A copy with everything it needs.
#[derive(Debug)]
pub(crate) struct Job {
    /// What the dispatcher knows it by.
    pub(crate) ticket: u32,
    pub(crate) copy: Copy,
    pub(crate) pieces: Vec<Piece>,
}

/// A job that is over.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) ticket: u32,
    pub(crate) lba: u64,
    pub(crate) result: Result<(), CopyError>,
    pieces: Vec<Piece>,
}

/// The dispatcher's end.
#[derive(Debug)]
pub(crate) struct Port {
    jobs: SyncSender<Job>,
    done: Receiver<Done>,
    outstanding: usize,
    spare: Vec<Vec<Piece>>,
}

/// A thread's end: poll it.
#[derive(Debug)]
pub struct Copier<M> {
    subsystem: Arc<Subsystem>,
    memory: M,
    jobs: Receiver<Job>,
    done: SyncSender<Done>,
}

/// A copier and the port to it.
pub(crate) fn connect<M>(subsystem: &Arc<Subsystem>, memory: M) -> (Port, Copier<M>) {
    let (jobs, todo) = sync_channel(MOST_JOBS);
    let (done, results) = sync_channel(MOST_JOBS);
    let port = Port { jobs, done: results, outstanding: 0, spare: Vec::new() };
    (port, Copier { subsystem: Arc::clone(subsystem), memory, jobs: todo, done })
}

impl Port {
    /// Whether another job fits.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.outstanding < MOST_JOBS
    }

    /// Hands a job over, with `pieces` replaced by an empty vector. The caller has seen that it fits.
    pub(crate) fn send(&mut self, ticket: u32, copy: Copy, pieces: &mut Vec<Piece>) {
        let pieces = std::mem::replace(pieces, self.spare.pop().unwrap_or_default());
        if self.jobs.try_send(Job { ticket, copy, pieces }).is_ok() {
            self.outstanding += 1;
        }
    }

    /// A job that is over.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Done> {
        if self.outstanding == 0 {
            return None;
        }
        let done = self.done.try_recv().ok()?;
        Some(self.over(done))
    }

    /// Waits for a job; `None` when there is none, or the copier has ended.
    pub(crate) fn wait(&mut self) -> Option<Done> {
        if self.outstanding == 0 {
            return None;
        }
        let done = self.done.recv().ok()?;
        Some(self.over(done))
    }

    fn over(&mut self, mut done: Done) -> Done {
        self.outstanding -= 1;
        self.spare.push(std::mem::take(&mut done.pieces));
        done
    }
}

impl<M: HostMemory> Copier<M> {
    /// Does the jobs that wait; whether there were any.
    pub fn poll(&mut self) -> bool {
        let mut worked = false;
        while let Ok(Job { ticket, copy, pieces }) = self.jobs.try_recv() {
            let result = copy.run(&self.subsystem.media, &mut self.memory, &pieces);
            // A dispatcher that is gone needs no answer.
            let _ = self.done.send(Done { ticket, lba: copy.lba, result, pieces });
            worked = true;
        }
        worked
    }
}
