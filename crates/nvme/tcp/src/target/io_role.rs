//! The role of a connection that is an I/O queue.

use std::sync::Arc;

use iolab_nvme_fabrics::{Connect, FabricsCommand};
use iolab_nvme_spec::opcode::DataTransfer;
use iolab_nvme_spec::{Status, SubmissionEntry};
use iolab_virtual_ssd::{Answer, CommandError, ExecutionStep, FaultKind, IoExecutor};

use super::controllers::{HostController, Target};
use super::queue::{Queue, Stalled, When};
use super::transfers::Gathered;
use super::window::{Source, Window};

/// Bytes of data in the capsule of an I/O command.
pub(super) const IO_CAPSULE_DATA: u32 = 16 << 10;
/// Bytes of the inbox of an I/O queue.
const INBOX_BYTES: usize = 256 << 10;

/// What the connection does after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// It continues.
    GoOn,
    /// It ends when everything was sent.
    End,
}

/// An I/O queue.
#[derive(Debug)]
pub(super) struct IoRole {
    target: Arc<Target>,
    pub(super) controller: Arc<HostController>,
    epoch: u32,
    executor: IoExecutor<Window>,
    pub(super) queue: Queue,
    has_faults: bool,
}

impl IoRole {
    pub(super) fn new(
        target: &Arc<Target>,
        (controller, epoch): (Arc<HostController>, u32),
        connect: &Connect,
        (mut window, is_carried): (Window, bool),
    ) -> IoRole {
        if !is_carried {
            window.inbox.grow(INBOX_BYTES);
        }
        window.framing.most_capsule_data = IO_CAPSULE_DATA;
        window.marks_success = connect.no_flow_control;
        IoRole {
            executor: IoExecutor::new(&target.subsystem, &controller.record, window),
            queue: Queue::new(connect.queue, connect.entries, !connect.no_flow_control, target),
            has_faults: !target.subsystem.config().faults.is_empty(),
            target: Arc::clone(target),
            controller,
            epoch,
        }
    }

    #[inline]
    pub(super) fn window(&mut self) -> &mut Window {
        &mut self.executor.data
    }

    #[inline]
    pub(super) fn parts(&mut self) -> (&mut Window, &mut Queue) {
        (&mut self.executor.data, &mut self.queue)
    }

    /// Whether the queue still belongs to its controller.
    pub(super) fn is_current(&self) -> bool {
        self.controller.is_current(self.epoch)
    }

    /// Whether the host sends data with a command.
    #[inline]
    pub(super) fn gives_data(entry: &SubmissionEntry) -> bool {
        DataTransfer::of_opcode(entry.opc()) == DataTransfer::FromHost
    }

    /// Executes a command whose data the window describes.
    #[inline]
    pub(super) fn execute(&mut self, entry: &SubmissionEntry, now_ns: u64) -> After {
        if let Some(command) = FabricsCommand::of(entry) {
            return self.execute_fabrics(entry, command);
        }
        let mut fault = None;
        if self.has_faults {
            let planned = self.target.subsystem.planned_faults(self.queue.id, entry);
            match planned.at_fetch {
                None => fault = planned.at_completion,
                Some(FaultKind::Timeout) => return After::GoOn,
                Some(_) => {
                    self.controller.is_fatal.store(true, std::sync::atomic::Ordering::Release);
                    return After::GoOn;
                }
            }
        }
        match self.executor.execute(&self.target.subsystem, self.queue.id, entry, now_ns) {
            Ok(ExecutionStep::Done { at_ns, result }) => {
                let when = When { at_ns, now_ns };
                match fault {
                    None => self.queue.answer(&mut self.executor.data, entry.cid(), Answer::success(result), when),
                    Some(fault) => self.answer_wrongly(entry, fault, Answer::success(result), when),
                }
            }
            Ok(ExecutionStep::Stall { not_before_ns }) => {
                let window = &mut self.executor.data;
                window.drop_answer();
                let data = window.take_brought();
                self.queue.stalled.push_back(Stalled { not_before_ns, entry: *entry, data });
            }
            Err(error) => self.fail(entry, error),
        }
        if let Source::Gathered(buffer) = std::mem::take(&mut self.executor.data.source) {
            self.queue.transfers.recycle(buffer);
        }
        After::GoOn
    }

    /// Executes a command whose data was gathered.
    pub(super) fn execute_gathered(&mut self, gathered: Gathered, now_ns: u64) -> After {
        if gathered.is_damaged {
            self.fail(&gathered.entry, CommandError::transient(Status::TRANSIENT_TRANSPORT_ERROR));
            return After::GoOn;
        }
        self.executor.data.source = Source::Gathered(gathered.data);
        self.execute(&gathered.entry, now_ns)
    }

    /// Retries commands that had to wait for the medium.
    pub(super) fn retry(&mut self, now_ns: u64) {
        for _ in 0..self.queue.stalled.len() {
            match self.queue.stalled.front() {
                Some(first) if first.not_before_ns <= now_ns => {}
                _ => return,
            }
            if let Some(Stalled { entry, data, .. }) = self.queue.stalled.pop_front() {
                self.executor.data.source = Source::Gathered(data);
                let _ = self.execute(&entry, now_ns);
            }
        }
    }

    /// Answers a command with an error.
    #[cold]
    pub(super) fn fail(&mut self, entry: &SubmissionEntry, error: CommandError) {
        self.executor.data.drop_answer();
        let answer = self.controller.record.log_failure(self.queue.id, entry, error);
        self.queue.answer(&mut self.executor.data, entry.cid(), answer, When::NOW);
    }

    #[cold]
    fn answer_wrongly(&mut self, entry: &SubmissionEntry, fault: FaultKind, answer: Answer, when: When) {
        let (cid, window) = (entry.cid(), &mut self.executor.data);
        match fault {
            FaultKind::DropCompletion => window.drop_answer(),
            FaultKind::WrongCid => {
                window.drop_answer();
                self.queue.answer(window, cid ^ 1, answer, when);
            }
            FaultKind::DoubleCompletion => {
                self.queue.answer(window, cid, answer, when);
                self.queue.answer(window, cid, answer, when);
            }
            // Fabrics have no phase tag.
            _ => self.queue.answer(window, cid, answer, when),
        }
    }

    #[cold]
    fn execute_fabrics(&mut self, entry: &SubmissionEntry, command: FabricsCommand) -> After {
        let status = match command {
            FabricsCommand::Disconnect => {
                self.queue.answer(&mut self.executor.data, entry.cid(), Answer::success(0), When::NOW);
                return After::End;
            }
            FabricsCommand::Connect => Status::COMMAND_SEQUENCE_ERROR,
            _ => Status::INVALID_OPCODE,
        };
        self.fail(entry, CommandError::permanent(status));
        After::GoOn
    }
}

impl Drop for IoRole {
    fn drop(&mut self) {
        self.controller.release_queue(self.queue.id, self.epoch);
    }
}
