//! Enabling, resetting and shutting down (Base, sections 3.1.5, 3.1.6, 7.3 and 7.6).

use iolab_nvme_spec::registers::{
    AdminQueueAttributes, Arbitration, ControllerConfiguration, ControllerStatus, ShutdownStatus,
};
use iolab_pci_device::HostMemory;

use super::admin_queue::AdminQueue;
use super::{Controller, QueueTable, Report, identity};
use crate::controller_record::Notice;
use crate::pcie::dispatcher::Order;
use crate::pcie::queue::{CompletionSpec, SubmissionSpec};

/// The state of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Disabled,
    Ready,
    ShutDown,
    /// Dispatchers have not yet released their queues.
    Stopping {
        token: u32,
        remaining: usize,
    },
    /// The controller could not be enabled, or a queue became unreachable.
    Failed,
}

impl<M: HostMemory> Controller<M> {
    /// Handles a change of CC.
    #[cold]
    pub(super) fn configure(&mut self, new: ControllerConfiguration) {
        let old = std::mem::replace(&mut self.configuration, new);
        if matches!(self.state, State::Stopping { .. }) {
            // The value of CC is applied after the controller has stopped.
            return;
        }
        if old.en() && !new.en() {
            self.stop();
        } else if !old.en() && new.en() {
            self.start();
        }
        if new.shn() != 0 && old.shn() != new.shn() {
            self.shut_down();
        }
    }

    fn start(&mut self) {
        match self.admin_queue() {
            Some(admin) => {
                self.admin = Some(admin);
                self.shared.recover();
                let page_shift = self.page_shift();
                self.orders.iter().for_each(|orders| orders.send(Order::Start { page_shift }));
                self.data.page_shift = page_shift;
                self.executor.note_alive();
                self.state = State::Ready;
                let status = self.shared.registers.status();
                self.shared.registers.set_status(status.with_rdy(true));
            }
            None => {
                self.state = State::Failed;
                self.shared.fail();
            }
        }
    }

    /// The admin queues that CC, AQA, ASQ and ACQ describe, if they are valid.
    fn admin_queue(&mut self) -> Option<AdminQueue> {
        let configuration = self.configuration;
        let capabilities = identity(&self.subsystem).capabilities;
        let css = configuration.css();
        let known_sets = [
            ControllerConfiguration::CSS_NVM,
            ControllerConfiguration::CSS_IDENTIFIED,
            ControllerConfiguration::CSS_ADMIN_ONLY,
        ];
        let is_known = known_sets.contains(&css)
            && configuration.ams() == Arbitration::ROUND_ROBIN.0
            && (capabilities.mpsmin()..=capabilities.mpsmax()).contains(&configuration.mps());
        if !is_known {
            return None;
        }
        let (attributes, submissions, completions) = self.shared.registers.admin_queues();
        let attributes = AdminQueueAttributes(attributes);
        let page_bytes = 1u64 << self.page_shift();
        let is_aligned = submissions.is_multiple_of(page_bytes) && completions.is_multiple_of(page_bytes);
        if !is_aligned || attributes.asqs() == 0 || attributes.acqs() == 0 {
            return None;
        }
        let entries = u32::from(attributes.asqs()) + 1;
        let submissions = SubmissionSpec { id: 0, completion: 0, base: submissions, entries };
        let entries = u32::from(attributes.acqs()) + 1;
        let completions = CompletionSpec { id: 0, base: completions, entries, vector: Some(0) };
        let doorbell = self.shared.registers.tail_doorbell(0)?;
        Some(AdminQueue::new(&mut self.data.memory, submissions, completions, doorbell))
    }

    /// Resets the controller: deletes all queues.
    pub(super) fn stop(&mut self) {
        self.admin = None;
        let token = self.next_token();
        self.state = State::Stopping { token, remaining: self.orders.len() };
        self.orders.iter().for_each(|orders| orders.send(Order::Stop { token }));
    }

    /// Records that one dispatcher has stopped.
    fn stopped_one(&mut self, done: u32) {
        let State::Stopping { token, remaining } = &mut self.state else { return };
        if *token != done {
            return;
        }
        *remaining -= 1;
        if *remaining == 0 {
            self.stopped();
        }
    }

    fn stopped(&mut self) {
        let registers = &self.shared.registers;
        if registers.is_gone() {
            return;
        }
        let pairs = self.subsystem.config.queue_pairs;
        self.executor.reset();
        self.queues = QueueTable::new(pairs);
        self.shared.recover();
        registers.initialise(identity(&self.subsystem), true);
        let nssro = registers.status().nssro();
        registers.set_status(ControllerStatus(0).with_nssro(nssro));
        self.state = State::Disabled;
        // The host may have enabled the controller again in the meantime.
        if self.configuration.en() {
            self.start();
        }
    }

    /// Makes all acknowledged data durable. The queues remain until a reset.
    fn shut_down(&mut self) {
        let registers = &self.shared.registers;
        registers.set_status(registers.status().with_shst(ShutdownStatus::OCCURRING.0));
        let flushed = self.subsystem.media.flush().is_ok();
        registers.set_status(registers.status().with_shst(ShutdownStatus::COMPLETE.0));
        if !flushed {
            self.shared.fail();
        }
        if self.state == State::Ready {
            self.state = State::ShutDown;
        }
    }

    /// Whether admin commands are processed.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Ready | State::ShutDown)
    }

    /// Processes reports of dispatchers and notifications of the subsystem; returns whether there
    /// were any.
    pub(super) fn take_messages(&mut self) -> bool {
        let has_any = self.shared.reports.has_messages() || self.shared.record.inbox.has_messages();
        if has_any {
            self.take_all_messages();
        }
        has_any
    }

    #[cold]
    fn take_all_messages(&mut self) {
        while let Some(Report { token, done }) = self.shared.reports.take() {
            self.stopped_one(token);
            self.order_done(token, done);
        }
        while let Some(notice) = self.shared.record.take_notice() {
            match notice {
                Notice::SubsystemReset => self.subsystem_reset(),
                notice => self.executor.note(&notice),
            }
        }
    }

    /// Handles a write to NSSR of this controller or another one: everything stops, and CC becomes
    /// zero (Base, section 7.3.1).
    fn subsystem_reset(&mut self) {
        let registers = &self.shared.registers;
        if registers.is_gone() {
            return;
        }
        registers.clear_configuration();
        self.configuration = ControllerConfiguration(0);
        registers.set_status(registers.status().with_nssro(true));
        if !matches!(self.state, State::Stopping { .. }) {
            self.stop();
        }
    }

    /// Resets the function: restores the state after power-on, including the admin queue registers
    /// (PCI Express, section 6.6.2).
    pub fn reset_function(&mut self) {
        self.shared.registers.write_power_on();
        self.configuration = ControllerConfiguration(0);
        if !matches!(self.state, State::Stopping { .. }) {
            self.stop();
        }
    }

    /// Whether its queues are still stopping.
    pub fn is_stopping(&self) -> bool {
        matches!(self.state, State::Stopping { .. })
    }

    /// When the keep alive timer expires, if it runs.
    pub(super) fn keep_alive_deadline_ns(&self) -> Option<u64> {
        self.executor.keep_alive_deadline_ns().filter(|_| self.state == State::Ready)
    }

    /// Marks the controller as failed if the host has been silent for too long.
    pub(super) fn check_keep_alive(&mut self) {
        if self.keep_alive_deadline_ns().is_some_and(|deadline_ns| self.executor.now_ns() >= deadline_ns) {
            self.shared.fail();
            self.state = State::Failed;
        }
    }
}
