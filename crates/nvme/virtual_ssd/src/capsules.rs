//! A front without a bus, for tests: capsules in memory. Commands and answers contain their data,
//! like messages of NVMe over Fabrics.
//!
//! ```text
//! (entry, data) ─▶ Capsules ─▶ AdminExecutor, IoExecutor ─▶ when its time has come ─▶ (completion, data)
//! ```
//!
//! It shows what a front has to do: move data, delay answers until their time, and apply the faults
//! planned for commands. It has no flow control, no authentication, and nothing else that a
//! transport between processes would need.

use std::collections::VecDeque;
use std::sync::Arc;

use iolab_memory::SharedBytes;
use iolab_nvme_spec::feature::Feature;
use iolab_nvme_spec::identify::SglSupport;
use iolab_nvme_spec::registers::{Capabilities, ControllerConfiguration, ControllerStatus, Register, Version};
use iolab_nvme_spec::{AdminOpcode, CompletionEntry, Status, SubmissionEntry};

use crate::admin::{AdminExecutor, AdminReply, FrontFeatures};
use crate::command_error::CommandError;
use crate::controller_record::{Answer, ControllerRecord, Notice};
use crate::data_window::{DataDirection, DataWindow, Unreachable};
use crate::fault::FaultKind;
use crate::io::{ExecutionStep, IoExecutor};
use crate::subsystem::Subsystem;

/// The data of one command.
#[derive(Debug, Default)]
struct CapsuleData {
    bytes: Vec<u8>,
    /// Whether the bytes go to the host.
    is_answer: bool,
}

impl CapsuleData {
    /// The data sent with the answer.
    fn take_answer(&mut self) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.bytes);
        if std::mem::take(&mut self.is_answer) { bytes } else { Vec::new() }
    }
}

impl DataWindow for CapsuleData {
    fn locate(&mut self, _: &SubmissionEntry, direction: DataDirection, bytes: usize) -> Result<(), CommandError> {
        match direction {
            DataDirection::ToHost => (self.bytes, self.is_answer) = (vec![0; bytes], true),
            // The capsule is too short (Base, section 4.4.1).
            DataDirection::FromHost if self.bytes.len() < bytes => {
                return Err(CommandError::permanent(Status::DATA_SGL_LENGTH_INVALID));
            }
            DataDirection::FromHost => self.bytes.truncate(bytes),
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn read(&mut self, to: &mut [u8]) -> Result<(), Unreachable> {
        to.copy_from_slice(self.bytes.get(..to.len()).ok_or(Unreachable)?);
        Ok(())
    }

    fn write(&mut self, from: &[u8]) -> Result<(), Unreachable> {
        self.bytes.get_mut(..from.len()).ok_or(Unreachable)?.copy_from_slice(from);
        Ok(())
    }

    fn copy_to(&mut self, to: &SharedBytes, offset: usize) -> Result<(), Unreachable> {
        to.write(offset, &self.bytes);
        Ok(())
    }

    fn copy_from(&mut self, from: &SharedBytes, offset: usize) -> Result<(), Unreachable> {
        from.read(offset, &mut self.bytes);
        Ok(())
    }
}

/// A command of a host, with the data to write.
#[derive(Debug, Clone)]
pub struct Command {
    /// Its queue; 0 is the admin queue.
    pub queue: u16,
    /// The submission entry. Its data pointer is not used.
    pub entry: SubmissionEntry,
    /// The data to write.
    pub data: Vec<u8>,
}

/// An answer to a host, with the data read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The command's queue.
    pub queue: u16,
    /// The completion entry.
    pub completion: CompletionEntry,
    /// The data read.
    pub data: Vec<u8>,
}

/// The destination of an answer, and the fault planned for it.
#[derive(Debug, Clone, Copy)]
struct Origin {
    queue: u16,
    cid: u16,
    fault: Option<FaultKind>,
}

/// A controller behind capsules.
#[derive(Debug)]
pub struct Capsules {
    subsystem: Arc<Subsystem>,
    record: Arc<ControllerRecord>,
    admin: AdminExecutor,
    io: IoExecutor<CapsuleData>,
    configuration: ControllerConfiguration,
    is_fatal: bool,
    /// Commands that have not been executed yet.
    waiting: VecDeque<Command>,
    /// Answers, and when they are due.
    answers: Vec<(u64, Response)>,
}

impl Capsules {
    /// A new controller of `subsystem`; `None` if the subsystem has the maximum number already.
    pub fn new(subsystem: &Arc<Subsystem>) -> Option<Capsules> {
        let record = subsystem.register()?;
        let front = FrontFeatures {
            queue_pairs: subsystem.config().queue_pairs,
            vectors: 0,
            has_memory_queues: false,
            sgl: SglSupport(0).with_supported(1),
        };
        Some(Capsules {
            admin: AdminExecutor::new(Arc::clone(subsystem), Arc::clone(&record), front),
            io: IoExecutor::new(subsystem, &record, CapsuleData::default()),
            subsystem: Arc::clone(subsystem),
            record,
            configuration: ControllerConfiguration(0),
            is_fatal: false,
            waiting: VecDeque::new(),
            answers: Vec::new(),
        })
    }

    /// A property, as Property Get returns it.
    pub fn property(&self, register: Register) -> u64 {
        match register {
            Register::CAP => {
                let sets = Capabilities::CSS_NVM | Capabilities::CSS_IDENTIFIED;
                Capabilities(0).with_mqes(127).with_cqr(true).with_to(20).with_css(sets).0
            }
            Register::VS => Version::V1_4.0.into(),
            Register::CC => self.configuration.0.into(),
            Register::CSTS => {
                let is_ready = self.configuration.en() && !self.is_fatal;
                ControllerStatus(0).with_rdy(is_ready).with_cfs(self.is_fatal).0.into()
            }
            _ => 0,
        }
    }

    /// Writes a property, as Property Set does. Only CC changes anything.
    pub fn set_property(&mut self, register: Register, value: u32) {
        if register != Register::CC {
            return;
        }
        let new = ControllerConfiguration(value);
        if self.configuration.en() && !new.en() {
            self.waiting.clear();
            self.answers.clear();
            self.admin.reset();
            self.is_fatal = false;
        }
        self.configuration = new;
    }

    /// Accepts a command. The next [`Capsules::poll`] executes it.
    pub fn send(&mut self, command: Command) {
        self.waiting.push_back(command);
    }

    /// Executes pending commands, and returns the answers due at `now_ns`, the earliest first.
    pub fn poll(&mut self, now_ns: u64) -> Vec<Response> {
        self.admin.set_time(now_ns);
        let mut stalled = VecDeque::new();
        while self.configuration.en()
            && !self.is_fatal
            && let Some(command) = self.waiting.pop_front()
        {
            if let Some(command) = self.execute(command, now_ns) {
                stalled.push_back(command);
            }
        }
        self.waiting.append(&mut stalled);
        while let Some(notice) = self.record.take_notice() {
            if notice != Notice::SubsystemReset {
                self.admin.note(&notice);
            }
        }
        while let Some((cid, event)) = self.admin.take_event() {
            self.keep_answer(now_ns, 0, cid, Answer::success(event.0.into()));
        }
        let (mut due, later): (Vec<_>, Vec<_>) = self.answers.drain(..).partition(|(at_ns, _)| *at_ns <= now_ns);
        self.answers = later;
        due.sort_by_key(|(at_ns, _)| *at_ns);
        due.into_iter().map(|(_, response)| response).collect()
    }

    /// When the next answer is due.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.answers.iter().map(|(at_ns, _)| *at_ns).min()
    }

    /// Executes a command; returns it if the medium cannot accept it now.
    fn execute(&mut self, command: Command, now_ns: u64) -> Option<Command> {
        let (queue, entry) = (command.queue, command.entry);
        let faults = self.subsystem.planned_faults(queue, &entry);
        match faults.at_fetch {
            None => {}
            Some(FaultKind::Timeout) => return None,
            Some(_) => {
                self.is_fatal = true;
                return None;
            }
        }
        let origin = Origin { queue, cid: entry.cid(), fault: faults.at_completion };
        let data = &mut self.io.data;
        (data.bytes, data.is_answer) = (command.data, false);
        let outcome = match queue {
            0 => execute_admin(&mut self.admin, &entry, data).map(|result| result.map(|result| (now_ns, result))),
            _ => match self.io.execute(&self.subsystem, queue, &entry, now_ns) {
                Ok(ExecutionStep::Stall { .. }) => {
                    return Some(Command { data: std::mem::take(&mut self.io.data.bytes), ..command });
                }
                Ok(ExecutionStep::Done { at_ns, result }) => Ok(Some((at_ns, result))),
                Err(error) => Err(error),
            },
        };
        match outcome {
            Ok(None) => {}
            Ok(Some((at_ns, result))) => self.answer(at_ns, origin, Answer::success(result)),
            Err(error) => {
                self.io.data.is_answer = false;
                let answer = self.record.log_failure(queue, &entry, error);
                self.answer(now_ns, origin, answer);
            }
        }
        None
    }

    fn answer(&mut self, at_ns: u64, origin: Origin, answer: Answer) {
        let Origin { queue, cid, fault } = origin;
        match fault {
            Some(FaultKind::DropCompletion) => {}
            Some(FaultKind::DoubleCompletion) => {
                self.keep_answer(at_ns, queue, cid, answer);
                self.keep_answer(at_ns, queue, cid, answer);
            }
            Some(FaultKind::WrongCid) => self.keep_answer(at_ns, queue, cid ^ 1, answer),
            // There is no phase tag here.
            _ => self.keep_answer(at_ns, queue, cid, answer),
        }
    }

    fn keep_answer(&mut self, at_ns: u64, queue: u16, cid: u16, answer: Answer) {
        let completion = CompletionEntry::new(queue, cid, answer.status).with_result(answer.result);
        let data = self.io.data.take_answer();
        self.answers.push((at_ns, Response { queue, completion, data }));
    }
}

/// Executes an admin command: returns its result, or `None` if an event will answer it.
fn execute_admin(
    admin: &mut AdminExecutor,
    entry: &SubmissionEntry,
    data: &mut CapsuleData,
) -> Result<Option<u64>, CommandError> {
    match AdminOpcode(entry.opc()) {
        // Commands that are being executed cannot be aborted here; bit 0 says so (Base, section
        // 5.1).
        AdminOpcode::ABORT => Ok(Some(1)),
        AdminOpcode::SET_FEATURES if Feature(entry.cdw(10) as u8) == Feature::INTERRUPT_COALESCING => {
            Err(CommandError::permanent(Status::INVALID_FIELD))
        }
        _ => Ok(match admin.execute(entry, data)? {
            AdminReply::Now(result) => Some(result.into()),
            AdminReply::Later => None,
        }),
    }
}
