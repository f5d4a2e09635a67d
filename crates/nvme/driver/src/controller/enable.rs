//! Enabling, disabling and preparing a controller (Base, sections 3.1.5, 3.1.6, 7.6.1 and 7.6.2).

use iolab_nvme_spec::command::FeatureDword10;
use iolab_nvme_spec::feature::{EventConfiguration, Feature, QueueCount};
use iolab_nvme_spec::registers::{
    Capabilities, ControllerConfiguration, ControllerStatus, Register, ShutdownNotification, ShutdownStatus,
};
use iolab_nvme_spec::{AdminOpcode, SubmissionEntry};

use super::admin_command::{AdminCommand, Payload};
use super::cold::Preparation;
use super::{Cold, ControllerFacts};
use crate::error::DriverError;
use crate::transport::Transport;

/// The shortest time allowed for becoming ready. CAP.TO may be zero in controllers that are ready
/// at once.
const SHORTEST_WAIT_NS: u64 = 1_000_000_000;
/// How long a shutdown may take if the controller does not specify it.
const SHUTDOWN_NS: u64 = 5_000_000_000;

impl<T: Transport> Cold<T> {
    /// Clears CC.EN and waits until the controller has stopped. From then on, it accesses no
    /// memory.
    pub(crate) fn disable(&mut self) -> Result<(), DriverError> {
        let cc = ControllerConfiguration(self.transport.property(Register::CC)?);
        let csts = ControllerStatus(self.transport.property(Register::CSTS)?);
        if cc.en() && !csts.rdy() && !csts.cfs() {
            // The controller is still starting. EN must not be cleared before RDY is set; if RDY is
            // never set, EN is cleared anyway.
            if let Err(error @ DriverError::Gone { .. }) = self.wait_ready(true) {
                return Err(error);
            }
        }
        if cc.en() {
            self.transport.set_property(Register::CC, cc.with_en(false).with_shn(0).0)?;
        }
        self.wait_ready(false)
    }

    /// Sets up the admin queue and CC, and waits until the controller is ready. It must be
    /// disabled, or never have been enabled.
    pub(crate) fn enable(&mut self) -> Result<(), DriverError> {
        self.disable()?;
        self.admin.restart();
        self.transport.start_admin()?;
        let cc = ControllerConfiguration(0)
            .with_css(self.command_sets()?)
            .with_mps(self.capabilities.mpsmin())
            .with_iosqes(6)
            .with_iocqes(4);
        self.transport.set_property(Register::CC, cc.0)?;
        self.transport.set_property(Register::CC, cc.with_en(true).0)?;
        self.wait_ready(true)
    }

    fn command_sets(&self) -> Result<u8, DriverError> {
        let css = self.capabilities.css();
        if css & Capabilities::CSS_IDENTIFIED != 0 {
            Ok(ControllerConfiguration::CSS_IDENTIFIED)
        } else if css & Capabilities::CSS_NVM != 0 {
            Ok(ControllerConfiguration::CSS_NVM)
        } else {
            Err(DriverError::Unsupported("it supports no I/O command set".into()))
        }
    }

    /// Waits for CSTS.RDY, at most for the time in CAP.TO.
    fn wait_ready(&mut self, ready: bool) -> Result<(), DriverError> {
        let wanted = if ready { "ready" } else { "disabled" };
        let limit = self.capabilities.timeout_ns().max(SHORTEST_WAIT_NS);
        self.wait_status(wanted, limit, |csts| {
            if ready && csts.cfs() {
                return Err(DriverError::Fatal);
            }
            Ok(csts.rdy() == ready)
        })
    }

    fn wait_status(
        &mut self,
        wanted: &'static str,
        limit_ns: u64,
        is_there: impl Fn(ControllerStatus) -> Result<bool, DriverError>,
    ) -> Result<(), DriverError> {
        let start = self.clock.now_ns();
        loop {
            let csts = ControllerStatus(self.transport.property(Register::CSTS)?);
            if is_there(csts)? {
                return Ok(());
            }
            let waited_ns = self.clock.now_ns().saturating_sub(start);
            if waited_ns > limit_ns {
                return Err(DriverError::NotReady { wanted, waited_ns });
            }
            self.pause();
        }
    }

    /// Configures a controller that has just been enabled and identified.
    pub(crate) fn prepare(&mut self, facts: &ControllerFacts) -> Result<(), DriverError> {
        let optional = EventConfiguration(facts.identify.oaes.get());
        let events = EventConfiguration(0)
            .with_health(0x1f)
            .with_namespace_attribute(optional.namespace_attribute())
            .with_firmware_activation(optional.firmware_activation())
            .with_ana_change(optional.ana_change())
            .with_zone_descriptor(optional.zone_descriptor());
        let allowed = usize::from(facts.identify.aerl) + 1;
        self.preparation = Preparation {
            event_requests: allowed.min(usize::from(self.options.event_requests)),
            events: events.0,
            granted: 0,
        };
        self.transport.identified(&facts.identify)?;
        self.prepare_again()
    }

    /// Configures a controller again after a reset.
    pub(crate) fn prepare_again(&mut self) -> Result<(), DriverError> {
        let wanted = self.options.queue_pairs.max(1) - 1;
        let count = QueueCount(0).with_nsq(wanted).with_ncq(wanted);
        let answer = QueueCount(self.set_feature(Feature::NUMBER_OF_QUEUES, count.0)?);
        self.preparation.granted = answer.nsq().min(answer.ncq()).min(wanted) + 1;
        if self.preparation.event_requests > 0 {
            match self.set_feature(Feature::ASYNCHRONOUS_EVENT_CONFIGURATION, self.preparation.events) {
                // A controller without the feature chooses by itself which events it reports.
                Ok(_) | Err(DriverError::Admin { .. }) => {}
                Err(error) => return Err(error),
            }
            self.admin.request_events(self.transport.admin(), self.preparation.event_requests);
        }
        self.set_up_transport()
    }

    fn set_up_transport(&mut self) -> Result<(), DriverError> {
        let Some(entry) = self.transport.setup_command() else { return Ok(()) };
        let accepted = match self.command(AdminCommand::new(entry, Payload::None)) {
            Ok(_) => true,
            Err(DriverError::Admin { .. }) => false,
            Err(error) => return Err(error),
        };
        self.transport.setup_answered(accepted)
    }

    fn set_feature(&mut self, feature: Feature, value: u32) -> Result<u32, DriverError> {
        let entry = SubmissionEntry::new(AdminOpcode::SET_FEATURES.0, 0)
            .with_cdw(10, FeatureDword10(0).with_fid(feature.0).0)
            .with_cdw(11, value);
        Ok(self.command(AdminCommand::new(entry, Payload::None))?.dw0())
    }

    /// Shuts the controller down normally; it is dead afterwards.
    pub(crate) fn shut_down(&mut self, facts: &ControllerFacts) -> Result<(), DriverError> {
        self.alive()?;
        let cc = ControllerConfiguration(self.transport.property(Register::CC)?);
        self.transport.set_property(Register::CC, cc.with_shn(ShutdownNotification::NORMAL.0).0)?;
        let limit_ns = (u64::from(facts.identify.rtd3e.get()) * 1000).max(SHUTDOWN_NS);
        let outcome = self.wait_status("shut down", limit_ns, |csts| Ok(csts.shst() == ShutdownStatus::COMPLETE.0));
        let reason = DriverError::BadRequest("the controller was shut down".into());
        self.give_up(crate::error::ResetCause::Requested, reason);
        outcome
    }
}
