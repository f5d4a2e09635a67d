//! The admin queue: fetches commands, and answers them at once or when a dispatcher has done its
//! part.
//!
//! Guarantees: commands are fetched only if there is room for their answers. Requests for events
//! take no room until there is an event. This module does not execute the commands.

use std::sync::atomic::Ordering;

use iolab_nvme_spec::{CompletionEntry, Status, SubmissionEntry};
use iolab_pci_device::{HostMemory, SharedWord};

use super::queues::Reply;
use super::{Controller, ControllerShared};
use crate::controller_record::{Answer, Notice};
use crate::fault::{FaultKind, PlannedFaults};
use crate::pcie::queue::{CompletionQueue, CompletionSpec, SubmissionQueue, SubmissionSpec};
use crate::pcie::registers::Registers;

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
    /// The number of outstanding reports.
    remaining: usize,
    /// Whether one of them reported success.
    any_done: bool,
    command: SubmissionEntry,
}

impl AdminQueue {
    pub(super) fn new<M: HostMemory>(
        memory: &mut M,
        submissions: SubmissionSpec,
        completions: CompletionSpec,
        doorbell: SharedWord,
    ) -> AdminQueue {
        let submissions = SubmissionQueue::new(memory, submissions, 0, doorbell);
        AdminQueue { submissions, completions: CompletionQueue::new(memory, completions), waiting: Vec::new() }
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
            shared.record.inbox.send(Notice::InvalidDoorbellValue);
        }
    }
}

impl<M: HostMemory> Controller<M> {
    /// Processes the admin queue.
    #[inline]
    pub(super) fn poll_admin(&mut self) -> bool {
        if !self.is_running() || self.shared.is_fatal() {
            return false;
        }
        let generation = self.data.memory.generation();
        if generation != self.generation {
            self.generation = generation;
            if let Some(admin) = &mut self.admin {
                admin.submissions.look_up(&mut self.data.memory);
                admin.completions.look_up(&mut self.data.memory);
            }
        }
        let Some(admin) = &mut self.admin else { return false };
        let tail = admin.submissions.rung();
        if tail != admin.submissions.tail() && !admin.submissions.set_tail(tail) && admin.submissions.refuse_tail(tail)
        {
            self.shared.record.inbox.send(Notice::InvalidDoorbellValue);
        }
        let has_work = admin.submissions.waiting() > 0;
        if has_work {
            self.serve_admin();
        }
        if self.shared.registers.take_unknown_doorbell() {
            self.shared.record.inbox.send(Notice::InvalidDoorbellRegister);
        }
        if self.executor.needs_attention() {
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
            let Ok(command) = admin.submissions.fetch(&mut self.data.memory) else {
                self.shared.fail();
                break;
            };
            admin.submissions.advance();
            self.executor.note_alive();
            let faults = match &self.subsystem.faults {
                Some(_) => self.subsystem.planned_faults(0, &command),
                None => PlannedFaults::default(),
            };
            match faults.at_fetch {
                Some(FaultKind::Timeout) => {}
                Some(FaultKind::Removal) => self.shared.remove(),
                Some(_) => self.shared.fail(),
                None => self.serve_one(&command, faults.at_completion),
            }
        }
        self.signal_admin();
    }

    fn serve_one(&mut self, command: &SubmissionEntry, fault: Option<FaultKind>) {
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
            Err(error) => self.shared.record.log_failure(0, command, error),
        };
        let Some(admin) = &mut self.admin else { return };
        let cid = if fault == Some(FaultKind::WrongCid) { command.cid() ^ 1 } else { command.cid() };
        if fault != Some(FaultKind::DropCompletion) {
            admin.post(&mut self.data.memory, &self.shared, cid, answer);
        }
        if fault == Some(FaultKind::DoubleCompletion) && admin.completions.room() > 0 {
            admin.post(&mut self.data.memory, &self.shared, cid, answer);
        }
    }

    /// Posts an answer without a result, in addition to that of the command being executed.
    pub(super) fn post_admin(&mut self, cid: u16, status: Status) {
        if let Some(admin) = &mut self.admin {
            admin.post(&mut self.data.memory, &self.shared, cid, Answer::failure(status));
        }
    }

    /// Takes a dispatcher's report, and answers the command that waited for it.
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
            Err(error) => self.shared.record.log_failure(0, &command, error),
        };
        if let Some(admin) = &mut self.admin {
            admin.post(&mut self.data.memory, &self.shared, command.cid(), answer);
        }
        self.signal_admin();
    }

    /// Does rare work: reports events, and checks the keep alive timer.
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
            let Some((cid, event)) = self.executor.take_event() else { break };
            admin.post(&mut self.data.memory, &self.shared, cid, Answer::success(u64::from(event.0)));
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
