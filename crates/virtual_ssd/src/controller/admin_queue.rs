//! The admin queue: fetching commands, answering them now or when a dispatcher has done its part.
//!
//! Guarantees: at most as many commands are fetched as their answers have room; requests for events take no room until
//! there is an event. Deliberately not here: what the commands do.

use std::sync::atomic::Ordering;

use iolab_nvme_spec::{CompletionEntry, Status, SubmissionEntry};
use iolab_pci_device::{HostMemory, SharedWord};

use super::{Controller, ControllerShared, Notice};
use crate::admin::Reply;
use crate::dispatcher::Answer;
use crate::fault::{FaultKind, Seam, Subject};
use crate::queue::{CompletionQueue, CompletionSpec, SubmissionQueue, SubmissionSpec};
use crate::refusal::Refusal;
use crate::registers::Registers;

/// The admin queues, and the commands that wait for a dispatcher.
#[derive(Debug)]
pub(super) struct AdminQueue {
    submissions: SubmissionQueue,
    completions: CompletionQueue,
    waiting: Vec<Waiting>,
}

/// A command that waits for dispatchers.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    token: u32,
    /// Reports that are still to come.
    remaining: usize,
    /// Whether one of them said that it was done.
    any_done: bool,
    command: SubmissionEntry,
}

impl AdminQueue {
    pub(super) fn new<M: HostMemory>(
        memory: &mut M,
        submissions: (u64, u32),
        completions: (u64, u32),
        doorbell: SharedWord,
    ) -> AdminQueue {
        let spec = SubmissionSpec { id: 0, completion: 0, base: submissions.0, entries: submissions.1 };
        let submissions = SubmissionQueue::new(memory, spec, 0, doorbell);
        let spec = CompletionSpec { id: 0, base: completions.0, entries: completions.1, vector: Some(0) };
        AdminQueue { submissions, completions: CompletionQueue::new(memory, spec), waiting: Vec::new() }
    }

    /// Posts an answer.
    fn post<M: HostMemory>(&mut self, memory: &mut M, shared: &ControllerShared, cid: u16, answer: Answer) {
        let entry =
            CompletionEntry::new(0, cid, answer.status).with_sqhd(self.submissions.head()).with_result(answer.result);
        self.completions.unsignalled += 1;
        if self.completions.post(memory, entry).is_err() {
            shared.fail();
        }
    }

    fn take_head(&mut self, shared: &ControllerShared) {
        let head = shared.registers.memory().load_u32(Registers::head_offset(0), Ordering::Acquire);
        if !self.completions.set_head(head) && self.completions.refuse_head(head) {
            shared.inbox.send(Notice::InvalidDoorbellValue);
        }
    }
}

impl<M: HostMemory> Controller<M> {
    /// Looks at the admin queue.
    #[inline]
    pub(super) fn poll_admin(&mut self) -> bool {
        if !self.is_running() || self.shared.is_fatal() {
            return false;
        }
        let generation = self.memory.generation();
        if generation != self.generation {
            self.generation = generation;
            if let Some(admin) = &mut self.admin {
                admin.submissions.look_up(&mut self.memory);
                admin.completions.look_up(&mut self.memory);
            }
        }
        let Some(admin) = &mut self.admin else { return false };
        let tail = admin.submissions.rung();
        if tail != admin.submissions.tail() && !admin.submissions.set_tail(tail) && admin.submissions.refuse_tail(tail)
        {
            self.shared.inbox.send(Notice::InvalidDoorbellValue);
        }
        let has_work = admin.submissions.waiting() > 0;
        if has_work {
            self.serve_admin();
        }
        if self.shared.registers.take_wild_doorbell() {
            self.shared.inbox.send(Notice::InvalidDoorbellRegister);
        }
        if self.events.has_pending() || self.features.keep_alive_ns() > 0 {
            self.attend();
        }
        has_work
    }

    #[cold]
    fn serve_admin(&mut self) {
        while let Some(admin) = &mut self.admin {
            if admin.completions.room() == 0 {
                admin.take_head(&self.shared);
            }
            if admin.submissions.waiting() == 0 || admin.completions.room() == 0 || self.shared.is_fatal() {
                break;
            }
            let Ok(command) = admin.submissions.fetch(&mut self.memory) else {
                self.shared.fail();
                break;
            };
            admin.submissions.advance();
            self.keep_alive();
            let (struck, spoiled) = self.admin_faults(&command);
            match struck {
                Some(FaultKind::Timeout) => {}
                Some(FaultKind::Removal) => self.shared.remove(),
                Some(_) => self.shared.fail(),
                None => self.serve_one(&command, spoiled),
            }
        }
        self.signal_admin();
    }

    fn admin_faults(&self, command: &SubmissionEntry) -> (Option<FaultKind>, Option<FaultKind>) {
        let Some(faults) = &self.subsystem.faults else { return (None, None) };
        let subject = Subject::of(0, command, 9);
        (faults.strike(Seam::Fetch, &subject), faults.strike(Seam::Complete, &subject))
    }

    fn serve_one(&mut self, command: &SubmissionEntry, spoiled: Option<FaultKind>) {
        let answer = match self.execute_admin(command) {
            Ok(Reply::Now(result)) => Answer::success(u64::from(result)),
            Ok(Reply::Later) => return,
            Ok(Reply::AfterOrders { token, dispatchers }) => {
                let waiting = Waiting { token, remaining: dispatchers, any_done: false, command: *command };
                if let Some(admin) = &mut self.admin {
                    admin.completions.reserve();
                    admin.waiting.push(waiting);
                }
                return;
            }
            Err(refusal) => self.shared.log_failure(0, command, refusal),
        };
        let Some(admin) = &mut self.admin else { return };
        let cid = if spoiled == Some(FaultKind::WrongCid) { command.cid() ^ 1 } else { command.cid() };
        if spoiled != Some(FaultKind::DropCompletion) {
            admin.post(&mut self.memory, &self.shared, cid, answer);
        }
        if spoiled == Some(FaultKind::DoubleCompletion) && admin.completions.room() > 0 {
            admin.post(&mut self.memory, &self.shared, cid, answer);
        }
    }

    /// Posts an answer without a result, beside that of the command being executed.
    pub(crate) fn post_admin(&mut self, cid: u16, status: Status) {
        if let Some(admin) = &mut self.admin {
            admin.post(&mut self.memory, &self.shared, cid, Answer::failure(status));
        }
    }

    /// A dispatcher has reported: the command that waited for it may be answered.
    pub(super) fn order_done(&mut self, token: u32, done: bool) {
        let Some(admin) = &mut self.admin else { return };
        let Some(place) = admin.waiting.iter().position(|waiting| waiting.token == token) else { return };
        let waiting = &mut admin.waiting[place];
        waiting.remaining -= 1;
        waiting.any_done |= done;
        if waiting.remaining > 0 {
            return;
        }
        let Waiting { command, any_done, .. } = admin.waiting.swap_remove(place);
        admin.completions.release();
        let answer = match self.finish_admin(&command, any_done) {
            Ok(result) => Answer::success(u64::from(result)),
            Err(refusal) => self.shared.log_failure(0, &command, refusal),
        };
        if let Some(admin) = &mut self.admin {
            admin.post(&mut self.memory, &self.shared, command.cid(), answer);
        }
        self.signal_admin();
    }

    /// Rare things beside commands: events to report, silent hosts.
    fn attend(&mut self) {
        self.check_keep_alive();
        self.report_events();
    }

    fn report_events(&mut self) {
        loop {
            let Some(admin) = &mut self.admin else { return };
            if admin.completions.room() == 0 {
                admin.take_head(&self.shared);
            }
            if admin.completions.room() == 0 {
                break;
            }
            let Some((cid, event)) = self.events.take_deliverable() else { break };
            admin.post(&mut self.memory, &self.shared, cid, Answer::success(u64::from(event.0)));
        }
        self.signal_admin();
    }

    fn signal_admin(&mut self) {
        if let Some(admin) = &mut self.admin
            && admin.completions.unsignalled > 0
        {
            self.posted += u64::from(std::mem::take(&mut admin.completions.unsignalled));
            self.shared.interrupt(0);
        }
    }
}

impl ControllerShared {
    /// Logs a failed command, and makes its answer.
    #[cold]
    pub(crate) fn log_failure(&self, queue: u16, command: &SubmissionEntry, refusal: Refusal) -> Answer {
        let refusal = Refusal { status: refusal.status.with_more(true), ..refusal };
        let (cid, namespace) = (command.cid(), command.nsid());
        self.errors.add(super::shared::Failure { queue, cid, namespace, refusal });
        Answer::failure(refusal.status)
    }
}
