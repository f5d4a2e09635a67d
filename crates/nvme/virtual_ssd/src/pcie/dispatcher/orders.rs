//! Orders of the controller: create and delete queues, abort commands, stop.
//!
//! Guarantees: an order is executed atomically between two commands, and reported to the
//! controller.

use iolab_nvme_spec::Status;
use iolab_pci_device::HostMemory;

use super::Dispatcher;
use super::shadow::{ShadowAddresses, ShadowDoorbells};
use crate::admin::Coalescing;
use crate::controller_record::Answer;
use crate::pcie::controller::Report;
use crate::pcie::queue::{CompletionQueue, CompletionSpec, SubmissionQueue, SubmissionSpec};
use crate::pcie::registers::Registers;

/// An order to a dispatcher. Orders with a token are reported.
#[derive(Debug, Clone)]
pub(crate) enum Order {
    CreateCompletions {
        spec: CompletionSpec,
        token: u32,
    },
    CreateSubmissions {
        spec: SubmissionSpec,
        token: u32,
    },
    DeleteCompletions {
        id: u16,
        token: u32,
    },
    DeleteSubmissions {
        id: u16,
        token: u32,
    },
    Abort {
        queue: u16,
        cid: u16,
        token: u32,
    },
    ShadowDoorbells {
        addresses: ShadowAddresses,
        token: u32,
    },
    Coalesce(Coalescing),
    /// The size of the host's memory pages, as a shift.
    Start {
        page_shift: u32,
    },
    /// Drop all queues and commands.
    Stop {
        token: u32,
    },
}

impl<M: HostMemory> Dispatcher<M> {
    #[cold]
    pub(super) fn execute_orders(&mut self, now_ns: u64) -> bool {
        while let Some(order) = self.orders.take() {
            let (token, done) = match order {
                Order::Coalesce(coalescing) => {
                    self.coalescing = coalescing;
                    continue;
                }
                Order::Start { page_shift } => {
                    self.executor.data.page_shift = page_shift;
                    continue;
                }
                Order::CreateCompletions { spec, token } => (token, self.create_completions(spec)),
                Order::CreateSubmissions { spec, token } => (token, self.create_submissions(spec)),
                Order::DeleteCompletions { id, token } => (token, self.delete_completions(id)),
                Order::DeleteSubmissions { id, token } => (token, self.delete_submissions(id, now_ns)),
                Order::Abort { queue, cid, token } => (token, self.abort(queue, cid, now_ns)),
                Order::ShadowDoorbells { addresses, token } => {
                    let bytes = 1 << self.executor.data.page_shift;
                    let shadow = ShadowDoorbells::new(&mut self.executor.data.memory, addresses, bytes);
                    let done = shadow.is_some();
                    self.shadow = shadow.or(self.shadow.take());
                    self.arm(self.is_armed);
                    (token, done)
                }
                Order::Stop { token } => {
                    self.finish_copies(now_ns);
                    (token, self.stop())
                }
            };
            self.shared.reports.send(Report { token, done });
        }
        true
    }

    fn create_completions(&mut self, spec: CompletionSpec) -> bool {
        self.clear_doorbell(Registers::head_offset(spec.id));
        let queue = CompletionQueue::new(&mut self.executor.data.memory, spec);
        put(&mut self.completions, queue);
        true
    }

    fn create_submissions(&mut self, spec: SubmissionSpec) -> bool {
        let with_id =
            |queue: &Option<CompletionQueue>| queue.as_ref().is_some_and(|one| one.spec.id == spec.completion);
        let Some(place) = self.completions.iter().position(with_id) else { return false };
        self.clear_doorbell(Registers::tail_offset(spec.id));
        let Some(doorbell) = self.shared.registers.tail_doorbell(spec.id) else { return false };
        let queue = SubmissionQueue::new(&mut self.executor.data.memory, spec, place, doorbell);
        put(&mut self.submissions, queue);
        self.arm(self.is_armed);
        true
    }

    /// Clears a doorbell: a new queue starts at entry zero, whatever the register contained.
    fn clear_doorbell(&self, offset: usize) {
        if !self.shared.registers.is_gone() {
            self.shared.registers.memory().store_u32(offset, 0, std::sync::atomic::Ordering::Release);
        }
    }

    fn delete_completions(&mut self, id: u16) -> bool {
        let is_meant = |queue: &&mut Option<CompletionQueue>| queue.as_ref().is_some_and(|one| one.spec.id == id);
        let found = self.completions.iter_mut().find(is_meant);
        found.map(Option::take).is_some()
    }

    /// Deletes a queue. Its fetched commands are answered as aborted (Base, section 5.6).
    fn delete_submissions(&mut self, id: u16, now_ns: u64) -> bool {
        let Some(place) = self.submission_place(id) else { return false };
        self.finish_copies(now_ns);
        while let Some(mut delayed) = self.delayed.take_if(|delayed| delayed.queue as usize == place) {
            delayed.answer = Answer::failure(Status::ABORTED_SQ_DELETION);
            delayed.fault = None;
            self.complete_delayed(delayed, now_ns);
        }
        self.submissions[place] = None;
        true
    }

    fn abort(&mut self, queue: u16, cid: u16, now_ns: u64) -> bool {
        let Some(place) = self.submission_place(queue) else { return false };
        self.finish_copies(now_ns);
        let Some(mut delayed) = self.delayed.take_if(|delayed| delayed.queue as usize == place && delayed.cid == cid)
        else {
            return false;
        };
        delayed.answer = Answer::failure(Status::ABORT_REQUESTED);
        delayed.fault = None;
        self.complete_delayed(delayed, now_ns);
        true
    }

    fn submission_place(&self, id: u16) -> Option<usize> {
        self.submissions.iter().position(|queue| queue.as_ref().is_some_and(|one| one.spec.id == id))
    }

    fn stop(&mut self) -> bool {
        self.submissions.clear();
        self.completions.clear();
        self.delayed.clear();
        self.shadow = None;
        self.coalescing = Coalescing::default();
        self.has_unsignalled = false;
        true
    }
}

/// Puts a queue into a free place. Other queues keep their places, because commands in flight refer
/// to them.
fn put<T>(queues: &mut Vec<Option<T>>, queue: T) {
    match queues.iter_mut().find(|place| place.is_none()) {
        Some(place) => *place = Some(queue),
        None => queues.push(Some(queue)),
    }
}
