//! Commands whose data a copier copies: handing over, taking back, waiting for all.
//!
//! Guarantees: a command is answered when its copy is done and its time has come, whichever is later.

use std::sync::Arc;

use iolab_nvme_spec::SubmissionEntry;
use iolab_pci_device::HostMemory;

use super::Dispatcher;
use super::parked::Parked;
use crate::copier::{Copier, Copy, Done, connect};
use crate::media::CopyError;

impl<M: HostMemory + Clone> Dispatcher<M> {
    /// Lets `count` copiers copy data from now on; each is to be polled by a thread.
    pub fn add_copiers(&mut self, count: usize) -> Vec<Copier<M>> {
        let subsystem = Arc::clone(&self.subsystem);
        let memory = self.bench.memory.clone();
        let pairs = (0..count).map(|_| connect(&subsystem, memory.clone()));
        let (ports, copiers): (Vec<_>, Vec<_>) = pairs.unzip();
        self.ports.extend(ports);
        self.bench.defers_copies = !self.ports.is_empty() && !subsystem.media.is_null();
        self.looks_ahead &= !self.bench.defers_copies;
        copiers
    }
}

impl<M: HostMemory> Dispatcher<M> {
    /// Parks a command until its time, and lets a copier copy meanwhile. Without room there the copy is done here.
    #[inline(never)]
    pub(super) fn hand_over(&mut self, at_ns: u64, mut parked: Parked, copy: Copy) {
        if let Some(submissions) = self.submissions.get_mut(parked.queue as usize).and_then(Option::as_mut) {
            submissions.set_outstanding(parked.cid);
        }
        if let Some(completions) = self.completions_of(parked.queue as usize) {
            completions.reserve();
        }
        let port = parked.queue as usize % self.ports.len();
        parked.is_copying = self.ports[port].has_room();
        if !parked.is_copying {
            let bench = &mut self.bench;
            let copied = copy.run(&self.subsystem.media, &mut bench.memory, &bench.pieces);
            self.judge(&mut parked, copied, copy.lba);
        }
        let ticket = self.parked.park(at_ns, parked);
        if parked.is_copying {
            self.ports[port].send(ticket, copy, &mut self.bench.pieces);
        }
    }

    /// Turns a copy that did not work into a failure of its command.
    fn judge(&mut self, parked: &mut Parked, copied: Result<(), CopyError>, lba: u64) {
        let Err(error) = copied else { return };
        let queue = self.submissions.get(parked.queue as usize).and_then(Option::as_ref);
        let queue = queue.map_or(0, |queue| queue.spec.id);
        parked.answer = self.shared.log_failure(queue, &SubmissionEntry::new(0, parked.cid), error.refusal(lba));
    }

    /// Takes back what copiers have copied.
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

    /// Waits until no copier copies for this dispatcher any more.
    pub(super) fn finish_copies(&mut self, now_ns: u64) {
        for port in 0..self.ports.len() {
            while let Some(done) = self.ports[port].wait() {
                self.copied(done, now_ns);
            }
        }
    }

    fn copied(&mut self, done: Done, now_ns: u64) {
        let Some(mut parked) = self.parked.get(done.ticket) else { return };
        parked.is_copying = false;
        self.judge(&mut parked, done.result, done.lba);
        if self.parked.put_back(done.ticket, parked) {
            self.answer_parked(parked, now_ns);
        }
    }
}
