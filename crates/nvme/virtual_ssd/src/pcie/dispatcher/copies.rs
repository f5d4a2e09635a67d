//! Commands whose data a copier copies.
//!
//! Guarantees: a command is answered when its copy is done and when it is due, whichever is later.

use std::sync::Arc;

use iolab_nvme_spec::SubmissionEntry;
use iolab_pci_device::HostMemory;

use super::Dispatcher;
use super::delayed::DelayedCompletion;
use crate::media::{Copy, CopyError};
use crate::pcie::copier::{Copier, Done, connect};

impl<M: HostMemory + Clone> Dispatcher<M> {
    /// Lets `count` copiers copy data from now on; each must be polled by a thread.
    pub fn add_copiers(&mut self, count: usize) -> Vec<Copier<M>> {
        let subsystem = Arc::clone(&self.subsystem);
        let memory = self.executor.data.memory.clone();
        let pairs = (0..count).map(|_| connect(&subsystem, memory.clone()));
        let (ports, copiers): (Vec<_>, Vec<_>) = pairs.unzip();
        self.ports.extend(ports);
        self.executor.defers_copies = !self.ports.is_empty() && !subsystem.media.is_null();
        self.looks_ahead &= !self.executor.defers_copies;
        copiers
    }
}

impl<M: HostMemory> Dispatcher<M> {
    /// Delays a command until it is due, and lets a copier copy its data meanwhile. If the copier
    /// is busy, copies here.
    #[inline(never)]
    pub(super) fn hand_over(&mut self, at_ns: u64, mut delayed: DelayedCompletion, copy: Copy) {
        if let Some(submissions) = self.submissions.get_mut(delayed.queue as usize).and_then(Option::as_mut) {
            submissions.set_outstanding(delayed.cid);
        }
        if let Some(completions) = self.completions_of(delayed.queue as usize) {
            completions.reserve();
        }
        let port = delayed.queue as usize % self.ports.len();
        delayed.is_copying = self.ports[port].has_room();
        if !delayed.is_copying {
            let copied = copy.run(&self.subsystem.media, &mut self.executor.data);
            self.judge(&mut delayed, copied, copy.lba);
        }
        let ticket = self.delayed.delay(at_ns, delayed);
        if delayed.is_copying {
            self.ports[port].send(ticket, copy, &mut self.executor.data.pieces);
        }
    }

    /// Turns a failed copy into a failure of its command.
    fn judge(&mut self, delayed: &mut DelayedCompletion, copied: Result<(), CopyError>, lba: u64) {
        let Err(error) = copied else { return };
        let queue = self.submissions.get(delayed.queue as usize).and_then(Option::as_ref);
        let queue = queue.map_or(0, |queue| queue.spec.id);
        delayed.answer =
            self.shared.record.log_failure(queue, &SubmissionEntry::new(0, delayed.cid), error.command_error(lba));
    }

    /// Takes finished jobs from the copiers.
    #[inline(never)]
    pub(super) fn take_copies(&mut self, now_ns: u64) -> bool {
        let mut worked = false;
        for port in 0..self.ports.len() {
            while let Some(done) = self.ports[port].take() {
                self.copied(done, now_ns);
                worked = true;
            }
        }
        worked
    }

    /// Waits until no copier copies for this dispatcher.
    pub(super) fn finish_copies(&mut self, now_ns: u64) {
        for port in 0..self.ports.len() {
            while let Some(done) = self.ports[port].wait() {
                self.copied(done, now_ns);
            }
        }
    }

    fn copied(&mut self, done: Done, now_ns: u64) {
        let Some(mut delayed) = self.delayed.get(done.ticket) else { return };
        delayed.is_copying = false;
        self.judge(&mut delayed, done.result, done.lba);
        if self.delayed.put_back(done.ticket, delayed) {
            self.complete_delayed(delayed, now_ns);
        }
    }
}
