//! Posts completions: at once, when they are due, or changed by a fault.

use iolab_nvme_spec::CompletionEntry;
use iolab_pci_device::HostMemory;

use super::Dispatcher;
use super::delayed::DelayedCompletion;
use crate::controller_record::Answer;
use crate::fault::FaultKind;
use crate::pcie::queue::SubmissionQueue;

impl<M: HostMemory> Dispatcher<M> {
    /// Delays an answer until it is due, and reserves an entry of the completion queue.
    #[inline(always)]
    pub(super) fn delay(&mut self, queue: usize, cid: u16, answer: Answer, at_ns: u64, fault: Option<FaultKind>) {
        let Some(submissions) = self.submissions.get_mut(queue).and_then(Option::as_mut) else { return };
        submissions.set_outstanding(cid);
        if let Some(completions) = self.completions.get_mut(submissions.completion_index).and_then(Option::as_mut) {
            completions.reserve();
        }
        self.delayed.delay(at_ns, DelayedCompletion::new(queue, cid, answer, fault));
    }

    #[inline]
    pub(super) fn completions_of(&mut self, queue: usize) -> Option<&mut crate::pcie::queue::CompletionQueue> {
        let place = self.submissions.get(queue)?.as_ref()?.completion_index;
        self.completions.get_mut(place)?.as_mut()
    }

    /// Posts the answers that are due.
    #[inline(always)]
    pub(super) fn answer_due(&mut self, now_ns: u64) -> bool {
        self.delayed.has_due(now_ns) && self.answer_all_due(now_ns)
    }

    /// A separate function, because it is large and an ideal drive never needs it.
    #[inline(never)]
    fn answer_all_due(&mut self, now_ns: u64) -> bool {
        let mut worked = false;
        while let Some(delayed) = self.delayed.take_due(now_ns) {
            self.complete_delayed(delayed, now_ns);
            worked = true;
        }
        worked
    }

    #[inline]
    pub(super) fn complete_delayed(&mut self, delayed: DelayedCompletion, now_ns: u64) {
        let Some(submissions) = self.submissions.get_mut(delayed.queue as usize).and_then(Option::as_mut) else {
            return;
        };
        submissions.clear_outstanding(delayed.cid);
        let Some(completions) = self.completions.get_mut(submissions.completion_index).and_then(Option::as_mut) else {
            return;
        };
        completions.release();
        if let Some(fault) = delayed.fault {
            return self.complete_with_fault(fault, delayed, now_ns);
        }
        let entry = entry(submissions, delayed.cid, delayed.answer);
        if completions.post(&mut self.executor.data.memory, entry).is_err() {
            self.shared.fail();
            return;
        }
        self.posted += 1;
        if completions.spec.vector.is_some() {
            completions.note_unsignalled(now_ns);
            self.has_unsignalled = true;
        }
    }

    /// Posts a completion.
    #[inline]
    pub(super) fn answer(&mut self, queue: usize, cid: u16, answer: Answer, now_ns: u64) {
        self.post(queue, cid, answer, now_ns, false);
    }

    #[cold]
    pub(super) fn complete_with_fault(&mut self, fault: FaultKind, completion: DelayedCompletion, now_ns: u64) {
        let DelayedCompletion { cid, answer, .. } = completion;
        let queue = completion.queue as usize;
        match fault {
            FaultKind::DropCompletion => {}
            FaultKind::DoubleCompletion => {
                self.answer(queue, cid, answer, now_ns);
                // The duplicate must not overwrite an entry that the host has not consumed.
                if self.completions_of(queue).is_some_and(|completions| completions.room() > 0) {
                    self.answer(queue, cid, answer, now_ns);
                }
            }
            FaultKind::WrongPhase => self.post(queue, cid, answer, now_ns, true),
            _ => self.answer(queue, cid ^ 1, answer, now_ns),
        }
    }

    #[inline(always)]
    fn post(&mut self, queue: usize, cid: u16, answer: Answer, now_ns: u64, stale: bool) {
        let Some(submissions) = self.submissions[queue].as_ref() else { return };
        let Some(completions) = self.completions[submissions.completion_index].as_mut() else { return };
        let entry = entry(submissions, cid, answer);
        let memory = &mut self.executor.data.memory;
        let posted = if stale { completions.post_stale(memory, entry) } else { completions.post(memory, entry) };
        if posted.is_err() {
            self.shared.fail();
            return;
        }
        self.posted += 1;
        if completions.spec.vector.is_some() {
            completions.note_unsignalled(now_ns);
            self.has_unsignalled = true;
        }
    }
}

/// The entry that answers a command of a queue.
#[inline(always)]
pub(super) fn entry(queue: &SubmissionQueue, cid: u16, answer: Answer) -> CompletionEntry {
    CompletionEntry::new(queue.spec.id, cid, answer.status).with_sqhd(queue.head()).with_result(answer.result)
}
