//! The role of a connection that is the admin queue of a controller. It represents the controller.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use iolab_nvme_fabrics::{Connect, FabricsCommand};
use iolab_nvme_spec::command::{FeatureDword10, IdentifyDword10};
use iolab_nvme_spec::feature::Feature;
use iolab_nvme_spec::identify::{Cns, IdentifyController, SglSupport};
use iolab_nvme_spec::le::{U16, U32};
use iolab_nvme_spec::registers::{
    Capabilities, ControllerConfiguration, ControllerStatus, Register, ShutdownNotification, ShutdownStatus, Version,
};
use iolab_nvme_spec::{AdminOpcode, FromBytes, Status, SubmissionEntry};
use iolab_virtual_ssd::{AdminExecutor, AdminReply, Answer, CommandError, FrontFeatures, Notice};

use super::controllers::{HostController, MOST_ENTRIES, Target};
use super::io_role::{After, IO_CAPSULE_DATA};
use super::queue::{Queue, When};
use super::transfers::Gathered;
use super::window::{MOST_TRANSFER_BYTES, Source, Window};

/// Bytes of a command in a capsule.
const COMMAND_BYTES: u32 = 64;
/// Byte of a command where its opcode is (Base, section 4.2).
const OPCODE_PLACE: u8 = 0;

/// The admin queue, and the properties of its controller.
#[derive(Debug)]
pub(super) struct AdminRole {
    target: Arc<Target>,
    pub(super) controller: Arc<HostController>,
    admin: AdminExecutor,
    pub(super) window: Window,
    pub(super) queue: Queue,
    configuration: ControllerConfiguration,
    shutdown: ShutdownStatus,
    keep_alive_ms: u32,
}

impl AdminRole {
    pub(super) fn new(
        target: &Arc<Target>,
        controller: Arc<HostController>,
        connect: &Connect,
        window: Window,
    ) -> AdminRole {
        let front = FrontFeatures {
            queue_pairs: target.subsystem.config().queue_pairs,
            vectors: 0,
            has_memory_queues: false,
            sgl: SglSupport(0).with_supported(1).with_offset(true).with_transport(true),
        };
        let admin = AdminExecutor::new(Arc::clone(&target.subsystem), Arc::clone(&controller.record), front);
        let mut role = AdminRole {
            admin,
            queue: Queue::new(0, connect.entries, !connect.no_flow_control, target),
            target: Arc::clone(target),
            controller,
            window,
            configuration: ControllerConfiguration(0),
            shutdown: ShutdownStatus::NORMAL_OPERATION,
            keep_alive_ms: connect.keep_alive_ms,
        };
        role.admin.set_time(role.target.clock.now_ns());
        role.set_keep_alive();
        role
    }

    /// Sets the timer to the timeout that Connect requested.
    fn set_keep_alive(&mut self) {
        let entry = SubmissionEntry::new(AdminOpcode::SET_FEATURES.0, 0)
            .with_cdw(10, FeatureDword10(0).with_fid(Feature::KEEP_ALIVE_TIMER.0).0)
            .with_cdw(11, self.keep_alive_ms);
        // Every number of milliseconds is valid.
        let _ = self.admin.execute(&entry, &mut self.window);
    }

    /// Whether the host has been silent for longer than its keep alive timeout.
    pub(super) fn has_expired(&self, now_ns: u64) -> bool {
        self.admin.keep_alive_deadline_ns().is_some_and(|deadline_ns| now_ns > deadline_ns)
    }

    /// Whether the host sends data with a command.
    pub(super) fn gives_data(entry: &SubmissionEntry) -> bool {
        // Fabrics commands that send data are not executed here.
        entry.opc() != AdminOpcode::FABRICS.0 && entry.opc() & 3 == 1
    }

    /// Executes a command whose data the window describes.
    pub(super) fn execute(&mut self, entry: &SubmissionEntry, now_ns: u64) -> After {
        self.admin.set_time(now_ns);
        self.admin.set_has_io_queues(self.controller.has_queues());
        let outcome = match FabricsCommand::of(entry) {
            Some(command) => {
                self.admin.note_alive();
                self.execute_fabrics(command).map(Some)
            }
            None if !self.configuration.en() => Err(CommandError::permanent(Status::COMMAND_SEQUENCE_ERROR)),
            None => self.execute_admin(entry),
        };
        match outcome {
            // The command will be answered by an event.
            Ok(None) => {}
            Ok(Some(result)) => {
                self.queue.answer(&mut self.window, entry.cid(), Answer::success(result), When::NOW);
            }
            Err(error) => self.fail(entry, error),
        }
        self.window.source = Source::Nowhere;
        self.report_events();
        After::GoOn
    }

    /// Executes a command whose data was gathered.
    pub(super) fn execute_gathered(&mut self, gathered: Gathered, now_ns: u64) -> After {
        if gathered.is_damaged {
            self.fail(&gathered.entry, CommandError::transient(Status::TRANSIENT_TRANSPORT_ERROR));
            return After::GoOn;
        }
        self.window.source = Source::Gathered(gathered.data);
        self.execute(&gathered.entry, now_ns)
    }

    /// Answers a command with an error.
    pub(super) fn fail(&mut self, entry: &SubmissionEntry, error: CommandError) {
        self.window.drop_answer();
        let answer = self.controller.record.log_failure(0, entry, error);
        self.queue.answer(&mut self.window, entry.cid(), answer, When::NOW);
    }

    /// Reports pending events of the subsystem to the host.
    pub(super) fn report_events(&mut self) {
        while let Some(notice) = self.controller.record.take_notice() {
            if notice == Notice::SubsystemReset {
                self.controller.end();
            } else {
                self.admin.note(&notice);
            }
        }
        while let Some((cid, event)) = self.admin.take_event() {
            self.queue.answer(&mut self.window, cid, Answer::success(event.0.into()), When::NOW);
        }
    }

    /// Whether the controller still exists.
    pub(super) fn is_current(&self) -> bool {
        self.controller.is_current(self.controller.epoch())
    }

    fn execute_admin(&mut self, entry: &SubmissionEntry) -> Result<Option<u64>, CommandError> {
        match AdminOpcode(entry.opc()) {
            AdminOpcode::ABORT => {
                let cid = (entry.cdw(10) >> 16) as u16;
                if entry.cdw(10) as u16 == 0 && self.admin.withdraw_event_request(cid) {
                    let aborted = Answer::failure(Status::ABORT_REQUESTED);
                    self.queue.answer(&mut self.window, cid, aborted, When::NOW);
                    return Ok(Some(0));
                }
                // Other commands are not aborted; bit 0 says so (Base, section 5.1).
                Ok(Some(1))
            }
            AdminOpcode::SET_FEATURES if Feature(entry.cdw(10) as u8) == Feature::INTERRUPT_COALESCING => {
                Err(CommandError::permanent(Status::INVALID_FIELD))
            }
            opcode => match self.admin.execute(entry, &mut self.window)? {
                AdminReply::Later => Ok(None),
                AdminReply::Now(result) => {
                    if opcode == AdminOpcode::IDENTIFY && Cns(IdentifyDword10(entry.cdw(10)).cns()) == Cns::CONTROLLER {
                        self.amend_identify();
                    }
                    Ok(Some(result.into()))
                }
            },
        }
    }

    /// Adds the fields of Identify Controller that only fabrics have (Fabrics, section 4.1).
    fn amend_identify(&mut self) {
        let name = &self.target.options.name;
        let Some(data) = self.window.answer_mut() else { return };
        let Ok(identify) = IdentifyController::mut_from_bytes(data) else { return };
        // A target limits transfers even where the drive does not.
        let most = (MOST_TRANSFER_BYTES >> 12).trailing_zeros() as u8;
        identify.mdts = if identify.mdts == 0 { most } else { identify.mdts.min(most) };
        identify.maxcmd = U16::new(MOST_ENTRIES as u16);
        name.put_into(&mut identify.subnqn);
        identify.ioccsz = U32::new((COMMAND_BYTES + IO_CAPSULE_DATA) / 16);
        identify.iorcsz = U32::new(1);
        identify.icdoff = U16::new(0);
        identify.fcatt = 0;
        identify.msdbd = 1;
        identify.ofcs = U16::new(1);
    }

    fn execute_fabrics(&mut self, command: FabricsCommand) -> Result<u64, CommandError> {
        let invalid = Err(CommandError::permanent(Status::INVALID_FIELD));
        match command {
            FabricsCommand::PropertyGet { register, is_wide } => match (register, is_wide) {
                (Register::CAP, true) => Ok(capabilities().0),
                (Register::VS, false) => Ok(Version::V1_4.0.into()),
                (Register::CC, false) => Ok(self.configuration.0.into()),
                (Register::CSTS, false) => Ok(self.status().0.into()),
                _ => invalid,
            },
            FabricsCommand::PropertySet { register: Register::CC, value, is_wide: false } => {
                self.configure(ControllerConfiguration(value as u32));
                Ok(0)
            }
            FabricsCommand::PropertySet { .. } => invalid,
            FabricsCommand::Connect => Err(CommandError::permanent(Status::COMMAND_SEQUENCE_ERROR)),
            // The admin queue ends with its connection (Fabrics, section 3.4).
            _ => Err(CommandError::permanent(Status::INVALID_OPCODE).at(OPCODE_PLACE, 0)),
        }
    }

    fn status(&self) -> ControllerStatus {
        let is_fatal = self.controller.is_fatal.load(Ordering::Acquire);
        let is_ready = self.controller.is_ready.load(Ordering::Acquire) && !is_fatal;
        ControllerStatus(0).with_rdy(is_ready).with_cfs(is_fatal).with_shst(self.shutdown.0)
    }

    fn configure(&mut self, new: ControllerConfiguration) {
        let old = std::mem::replace(&mut self.configuration, new);
        let starts_shutdown = new.shn() != ShutdownNotification::NONE.0 && old.shn() != new.shn();
        if starts_shutdown {
            // Flush reports data that cannot be written; a shutdown has no answer of its own.
            let _ = self.target.subsystem.flush();
            self.shutdown = ShutdownStatus::COMPLETE;
            self.controller.end_queues();
        }
        match (old.en(), new.en()) {
            (true, false) => {
                self.controller.end_queues();
                self.controller.is_fatal.store(false, Ordering::Release);
                self.shutdown = ShutdownStatus::NORMAL_OPERATION;
                self.admin.reset();
                self.set_keep_alive();
            }
            (false, true) => self.controller.is_ready.store(true, Ordering::Release),
            _ => {}
        }
    }
}

/// CAP, for every controller behind a fabric.
pub(super) fn capabilities() -> Capabilities {
    let sets = Capabilities::CSS_NVM | Capabilities::CSS_IDENTIFIED;
    Capabilities(0).with_mqes((MOST_ENTRIES - 1) as u16).with_cqr(true).with_to(20).with_css(sets)
}

impl Drop for AdminRole {
    fn drop(&mut self) {
        self.target.detach(&self.controller);
    }
}
