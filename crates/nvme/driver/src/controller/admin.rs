//! Admin commands: sending them, waiting for them, and handling their failure.

use iolab_nvme_spec::command::{FeatureDword10, LogDword10, LogDword11, LogDword14};
use iolab_nvme_spec::feature::Feature;
use iolab_nvme_spec::identify::{Cns, IDENTIFY_BYTES};
use iolab_nvme_spec::log::LogPage;
use iolab_nvme_spec::opcode::CommandSet;
use iolab_nvme_spec::{AdminOpcode, CompletionEntry, FromBytes, SubmissionEntry};

use super::admin_command::{AdminCommand, Payload};
use super::{Cold, Controller, Shared};
use crate::admin_queue::Ticket;
use crate::error::{DriverError, ResetCause};
use crate::transport::{ADMIN_DATA_BYTES, AdminCommands, Transport};

/// A command that was sent or waits for a free slot, and its start time.
struct Pending {
    ticket: Option<Ticket>,
    started_ns: u64,
    limit_ns: u64,
    epoch: u32,
}

impl<T: Transport> Cold<T> {
    /// Sends a command and waits for its answer with the controller locked. An error status is an
    /// error.
    pub(crate) fn command(&mut self, mut command: AdminCommand<'_>) -> Result<CompletionEntry, DriverError> {
        let mut pending = self.begin(&command);
        loop {
            if let Some(entry) = self.advance(&mut command, &mut pending)? {
                return Ok(entry);
            }
            self.pause();
        }
    }

    fn begin(&self, command: &AdminCommand<'_>) -> Pending {
        let limit_ns = if command.long { self.options.long_admin_timeout_ns } else { self.options.admin_timeout_ns };
        let epoch = self.epoch.load(std::sync::atomic::Ordering::Acquire);
        Pending { ticket: None, started_ns: self.clock.now_ns(), limit_ns, epoch }
    }

    /// One step: sends the command if a slot is free, and looks for the answer.
    fn advance(
        &mut self,
        command: &mut AdminCommand<'_>,
        pending: &mut Pending,
    ) -> Result<Option<CompletionEntry>, DriverError> {
        if pending.ticket.is_none() {
            pending.ticket = self.admin.send(self.transport.admin(), command.entry, command.out());
        }
        self.admin.poll(self.transport.admin()).map_err(DriverError::Protocol)?;
        let answer = pending.ticket.and_then(|ticket| self.admin.take(self.transport.admin(), ticket, command.room()));
        if let Some(entry) = answer {
            let status = entry.status();
            if status.is_success() {
                return Ok(Some(entry));
            }
            return Err(DriverError::Admin { command: command.opcode(), status });
        }
        self.status()?;
        let waited_ns = self.clock.now_ns().saturating_sub(pending.started_ns);
        if waited_ns > pending.limit_ns {
            return Err(DriverError::AdminTimeout { command: command.opcode(), waited_ns });
        }
        Ok(None)
    }

    /// An error if the device is gone or reports a fatal error.
    pub(crate) fn status(&mut self) -> Result<(), DriverError> {
        use iolab_nvme_spec::registers::{ControllerStatus, Register};
        let csts = ControllerStatus(self.transport.property(Register::CSTS)?);
        if csts.cfs() { Err(DriverError::Fatal) } else { Ok(()) }
    }

    /// Does what a failed admin command requires: nothing, a reset, or giving the controller up.
    fn handle_failure(&mut self, error: &DriverError, pending: &Pending) {
        let fault = match error {
            DriverError::Protocol(fault) => *fault,
            DriverError::Fatal => ResetCause::FatalStatus,
            DriverError::Disconnected(_) => ResetCause::Disconnected,
            DriverError::AdminTimeout { command, .. } => {
                let cid = pending.ticket.map_or(0, |ticket| self.admin.cid(ticket));
                ResetCause::NoAnswer { queue: 0, cid, opcode: command.0 }
            }
            DriverError::Gone { .. } => {
                self.give_up(ResetCause::FatalStatus, error.clone());
                return;
            }
            _ => return,
        };
        // The next caller finds out whether the reset worked. This caller's command has failed in
        // either case.
        let _ = self.recover(fault);
    }
}

impl<T: Transport> Shared<T> {
    /// Sends a command and waits for its answer. Other threads may use the admin queue meanwhile.
    pub(crate) fn command(&self, mut command: AdminCommand<'_>) -> Result<CompletionEntry, DriverError> {
        let mut cold = self.lock();
        cold.alive()?;
        let mut pending = cold.begin(&command);
        loop {
            if cold.epoch.load(std::sync::atomic::Ordering::Acquire) != pending.epoch {
                cold.alive()?;
                return Err(DriverError::CutOff { command: command.opcode() });
            }
            match cold.advance(&mut command, &mut pending) {
                Ok(Some(entry)) => return Ok(entry),
                Ok(None) => cold.pause(),
                Err(error) => {
                    cold.handle_failure(&error, &pending);
                    return Err(error);
                }
            }
            drop(cold);
            cold = self.lock();
        }
    }

    /// Executes Identify and returns the data as a structure.
    pub(crate) fn identify<D: FromBytes>(&self, cns: Cns, nsid: u32, set: CommandSet) -> Result<Box<D>, DriverError> {
        let mut data = Box::new([0; IDENTIFY_BYTES]);
        self.command(AdminCommand::identify(cns, nsid, set, &mut data))?;
        D::read_from_bytes(&data[..])
            .map(Box::new)
            .map_err(|_| DriverError::BadRequest("the Identify data structure has an unexpected size".into()))
    }
}

impl<T: Transport> Controller<T> {
    /// Executes any admin command with at most a page of data from the device. PRPs are filled in.
    pub fn admin(&self, entry: SubmissionEntry, from_device: &mut [u8]) -> Result<CompletionEntry, DriverError> {
        page_at_most(from_device.len())?;
        self.shared.command(AdminCommand::new(entry, Payload::In(from_device)))
    }

    /// Executes any admin command with at most a page of data to the device. PRPs are filled in.
    pub fn admin_out(&self, entry: SubmissionEntry, to_device: &[u8]) -> Result<CompletionEntry, DriverError> {
        page_at_most(to_device.len())?;
        self.shared.command(AdminCommand::new(entry, Payload::Out(to_device)))
    }

    /// Executes an admin command that may take minutes, such as Format NVM.
    pub fn admin_long(&self, entry: SubmissionEntry) -> Result<CompletionEntry, DriverError> {
        let mut command = AdminCommand::new(entry, Payload::None);
        command.long = true;
        self.shared.command(command)
    }

    /// Executes Get Log Page, from the start of the page. With `retain`, the event that belongs to
    /// the page is not cleared.
    pub fn log_page(&self, page: LogPage, nsid: u32, retain: bool, to: &mut [u8]) -> Result<(), DriverError> {
        let set = if page == LogPage::CHANGED_ZONES { CommandSet::ZONED } else { CommandSet::NVM };
        let total = to.len();
        for (position, part) in to.chunks_mut(ADMIN_DATA_BYTES).enumerate() {
            let offset = (position * ADMIN_DATA_BYTES) as u64;
            let last = offset as usize + part.len() == total;
            let dwords = (part.len().div_ceil(4) - 1) as u32;
            let entry = SubmissionEntry::new(AdminOpcode::GET_LOG_PAGE.0, 0)
                .with_nsid(nsid)
                .with_cdw(10, LogDword10(0).with_lid(page.0).with_rae(retain || !last).with_numdl(dwords as u16).0)
                .with_cdw(11, LogDword11(0).with_numdu((dwords >> 16) as u16).0)
                .with_cdw(12, offset as u32)
                .with_cdw(13, (offset >> 32) as u32)
                .with_cdw(14, LogDword14(0).with_csi(set.0).0);
            self.shared.command(AdminCommand::new(entry, Payload::In(part)))?;
        }
        Ok(())
    }

    /// Executes Set Features with a value in dword 11; returns dword 0 of the answer.
    pub fn set_feature(&self, feature: Feature, nsid: u32, value: u32) -> Result<u32, DriverError> {
        let entry = SubmissionEntry::new(AdminOpcode::SET_FEATURES.0, 0)
            .with_nsid(nsid)
            .with_cdw(10, FeatureDword10(0).with_fid(feature.0).0)
            .with_cdw(11, value);
        Ok(self.shared.command(AdminCommand::new(entry, Payload::None))?.dw0())
    }

    /// Executes Get Features; returns the current value, which is dword 0 of the answer.
    pub fn feature(&self, feature: Feature, nsid: u32) -> Result<u32, DriverError> {
        let entry = SubmissionEntry::new(AdminOpcode::GET_FEATURES.0, 0)
            .with_nsid(nsid)
            .with_cdw(10, FeatureDword10(0).with_fid(feature.0).0);
        Ok(self.shared.command(AdminCommand::new(entry, Payload::None))?.dw0())
    }
}

impl<T: Transport> AdminCommands for Shared<T> {
    fn execute(&self, entry: SubmissionEntry) -> Result<CompletionEntry, DriverError> {
        self.command(AdminCommand::new(entry, Payload::None))
    }
}

fn page_at_most(bytes: usize) -> Result<(), DriverError> {
    if bytes <= ADMIN_DATA_BYTES {
        return Ok(());
    }
    let what = format!("{bytes} bytes of data for an admin command exceed the limit of {ADMIN_DATA_BYTES}");
    Err(DriverError::BadRequest(what))
}
