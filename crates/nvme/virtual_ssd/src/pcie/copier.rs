//! Copiers: threads that copy the data of a dispatcher's commands.
//!
//! ```text
//! dispatcher ─ job (where on the media, pieces of host memory) ─▶ copier
//!            ◀─ done, with the vector of pieces to use again ────
//! ```
//!
//! Two bounded channels connect a dispatcher and a copier. A copier never accesses a queue: the
//! dispatcher posts the completion when the copy is done and the command is due. Every queue
//! therefore has one owner and needs no lock. When a copier has too many jobs, the dispatcher
//! copies by itself.
//!
//! Guarantees: no job is lost. A dispatcher waits for its copies before it releases its queues, so
//! nothing is copied after a reset has been reported. This module does not choose the copier for a
//! job.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use iolab_pci_device::HostMemory;

use super::data::{PcieData, Piece};
use crate::media::{Copy, CopyError};
use crate::subsystem::Subsystem;

/// The most jobs that one copier has at a time.
const MOST_JOBS: usize = 256;

/// A copy with everything it needs.
#[derive(Debug)]
pub(crate) struct Job {
    /// The dispatcher's identifier of the job.
    pub(crate) ticket: u32,
    pub(crate) copy: Copy,
    pub(crate) pieces: Vec<Piece>,
}

/// A finished job.
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

/// A copier's end, which a thread must poll.
#[derive(Debug)]
pub struct Copier<M> {
    subsystem: Arc<Subsystem>,
    data: PcieData<M>,
    jobs: Receiver<Job>,
    done: SyncSender<Done>,
}

/// A copier and the port to it.
pub(crate) fn connect<M>(subsystem: &Arc<Subsystem>, memory: M) -> (Port, Copier<M>) {
    let (jobs, todo) = sync_channel(MOST_JOBS);
    let (done, results) = sync_channel(MOST_JOBS);
    let port = Port { jobs, done: results, outstanding: 0, spare: Vec::new() };
    (port, Copier { subsystem: Arc::clone(subsystem), data: PcieData::new(memory), jobs: todo, done })
}

impl Port {
    /// Whether another job fits.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.outstanding < MOST_JOBS
    }

    /// Passes a job to the copier and replaces `pieces` by an empty vector. The caller has checked
    /// that the job fits.
    pub(crate) fn send(&mut self, ticket: u32, copy: Copy, pieces: &mut Vec<Piece>) {
        let pieces = std::mem::replace(pieces, self.spare.pop().unwrap_or_default());
        if self.jobs.try_send(Job { ticket, copy, pieces }).is_ok() {
            self.outstanding += 1;
        }
    }

    /// Takes a finished job.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Done> {
        if self.outstanding == 0 {
            return None;
        }
        let done = self.done.try_recv().ok()?;
        Some(self.over(done))
    }

    /// Waits for a job; `None` if there is none, or the copier has ended.
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
    /// Executes the waiting jobs; returns whether there were any.
    pub fn poll(&mut self) -> bool {
        let mut worked = false;
        while let Ok(Job { ticket, copy, pieces }) = self.jobs.try_recv() {
            self.data.pieces = pieces;
            let result = copy.run(&self.subsystem.media, &mut self.data);
            let pieces = std::mem::take(&mut self.data.pieces);
            // If the dispatcher is gone, no answer is needed.
            let _ = self.done.send(Done { ticket, lba: copy.lba, result, pieces });
            worked = true;
        }
        worked
    }
}
