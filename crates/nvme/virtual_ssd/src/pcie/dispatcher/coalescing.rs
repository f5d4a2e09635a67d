//! Decides when completions are signalled: at once for a batch, or later if the host requested
//! fewer interrupts (Base, sections 5.21.1.8 and 5.21.1.9, 7.5).
//!
//! Guarantees: one interrupt per batch and vector; with coalescing, after the threshold or the
//! time, whichever comes first. The admin queue is never coalesced and not handled here.

use iolab_pci_device::HostMemory;

use super::Dispatcher;
use crate::admin::Coalescing;
use crate::pcie::queue::CompletionQueue;

impl Coalescing {
    /// When the interrupt of a queue is due.
    fn due_ns(&self, queue: &CompletionQueue) -> u64 {
        let is_exempt = queue.spec.vector.is_some_and(|vector| self.exempt.contains(&vector));
        let waits = self.time_ns > 0 && !is_exempt && queue.unsignalled < self.threshold;
        if waits { queue.unsignalled_since_ns.saturating_add(self.time_ns) } else { 0 }
    }

    /// When the next delayed interrupt is due.
    pub(super) fn next_event_ns(&self, queues: &[Option<CompletionQueue>]) -> Option<u64> {
        queues.iter().flatten().filter(|queue| queue.unsignalled > 0).map(|queue| self.due_ns(queue)).min()
    }
}

impl<M: HostMemory> Dispatcher<M> {
    /// Signals the queues with unsignalled completions.
    pub(super) fn signal(&mut self, now_ns: u64) {
        self.has_unsignalled = false;
        for queue in self.completions.iter_mut().flatten().filter(|queue| queue.unsignalled > 0) {
            if self.coalescing.due_ns(queue) > now_ns {
                self.has_unsignalled = true;
                continue;
            }
            queue.unsignalled = 0;
            if let Some(vector) = queue.spec.vector {
                self.shared.interrupt(vector);
            }
        }
    }
}
