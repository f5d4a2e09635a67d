//! The role of a connection to the discovery subsystem (Fabrics, section 5).

use std::net::SocketAddr;
use std::sync::Arc;

use iolab_nvme_fabrics::{Connect, DISCOVERY_NAME, FabricsCommand, QualifiedName, log_page};
use iolab_nvme_spec::command::{IdentifyDword10, LogDword10, LogDword11};
use iolab_nvme_spec::feature::Feature;
use iolab_nvme_spec::identify::{Cns, IdentifyController, SglSupport};
use iolab_nvme_spec::le::{U16, U32};
use iolab_nvme_spec::registers::{
    Capabilities, ControllerConfiguration, ControllerStatus, Register, ShutdownNotification, ShutdownStatus, Version,
};
use iolab_nvme_spec::{AdminOpcode, FromZeros, IntoBytes, Status, SubmissionEntry};
use iolab_virtual_ssd::{Answer, CommandError, DataDirection, DataWindow};

use super::admin_role::capabilities;
use super::controllers::Target;
use super::io_role::After;
use super::queue::{Queue, When};
use super::window::{Source, Window};

/// The Discovery log page (Fabrics, section 5.3).
const DISCOVERY_PAGE: u8 = 0x70;
/// The most event requests that are kept; no event ever answers them.
const MOST_EVENT_REQUESTS: u32 = 4;

/// A discovery controller.
#[derive(Debug)]
pub(super) struct DiscoveryRole {
    target: Arc<Target>,
    host: QualifiedName,
    /// The address to which the host has connected.
    at: SocketAddr,
    pub(super) window: Window,
    pub(super) queue: Queue,
    configuration: ControllerConfiguration,
    keep_alive_ms: u32,
    heard_ns: u64,
    event_requests: u32,
}

impl DiscoveryRole {
    pub(super) fn new(target: &Arc<Target>, connect: &Connect, at: SocketAddr, window: Window) -> DiscoveryRole {
        DiscoveryRole {
            queue: Queue::new(0, connect.entries, !connect.no_flow_control, target),
            heard_ns: target.clock.now_ns(),
            target: Arc::clone(target),
            host: connect.host.clone(),
            at,
            window,
            configuration: ControllerConfiguration(0),
            keep_alive_ms: connect.keep_alive_ms,
            event_requests: 0,
        }
    }

    /// Whether the host has been silent for longer than its keep alive timeout.
    pub(super) fn has_expired(&self, now_ns: u64) -> bool {
        let limit_ns = u64::from(self.keep_alive_ms) * 1_000_000;
        limit_ns > 0 && now_ns.saturating_sub(self.heard_ns) > limit_ns
    }

    pub(super) fn execute(&mut self, entry: &SubmissionEntry, now_ns: u64) -> After {
        self.heard_ns = now_ns;
        let outcome = match FabricsCommand::of(entry) {
            Some(command) => self.execute_fabrics(command).map(Some),
            None if !self.configuration.en() => Err(Status::COMMAND_SEQUENCE_ERROR),
            None => self.execute_admin(entry),
        };
        match outcome {
            Ok(None) => {}
            Ok(Some(result)) => {
                self.queue.answer(&mut self.window, entry.cid(), Answer::success(result), When::NOW);
            }
            Err(status) => self.fail(entry, status),
        }
        self.window.source = Source::Nowhere;
        After::GoOn
    }

    /// Answers a command with an error.
    pub(super) fn fail(&mut self, entry: &SubmissionEntry, status: Status) {
        self.window.drop_answer();
        let answer = Answer::failure(status.with_dnr(true));
        self.queue.answer(&mut self.window, entry.cid(), answer, When::NOW);
    }

    fn execute_fabrics(&mut self, command: FabricsCommand) -> Result<u64, Status> {
        match command {
            FabricsCommand::PropertyGet { register: Register::CAP, is_wide: true } => {
                Ok(capabilities().with_css(Capabilities::CSS_NVM).0)
            }
            FabricsCommand::PropertyGet { register: Register::VS, is_wide: false } => Ok(Version::V1_4.0.into()),
            FabricsCommand::PropertyGet { register: Register::CC, is_wide: false } => Ok(self.configuration.0.into()),
            FabricsCommand::PropertyGet { register: Register::CSTS, is_wide: false } => {
                let is_down = self.configuration.shn() != ShutdownNotification::NONE.0;
                let shutdown = if is_down { ShutdownStatus::COMPLETE } else { ShutdownStatus::NORMAL_OPERATION };
                Ok(ControllerStatus(0).with_rdy(self.configuration.en()).with_shst(shutdown.0).0.into())
            }
            FabricsCommand::PropertySet { register: Register::CC, value, is_wide: false } => {
                self.configuration = ControllerConfiguration(value as u32);
                Ok(0)
            }
            FabricsCommand::PropertyGet { .. } | FabricsCommand::PropertySet { .. } => Err(Status::INVALID_FIELD),
            FabricsCommand::Connect => Err(Status::COMMAND_SEQUENCE_ERROR),
            _ => Err(Status::INVALID_OPCODE),
        }
    }

    fn execute_admin(&mut self, entry: &SubmissionEntry) -> Result<Option<u64>, Status> {
        match AdminOpcode(entry.opc()) {
            AdminOpcode::IDENTIFY if Cns(IdentifyDword10(entry.cdw(10)).cns()) == Cns::CONTROLLER => {
                let identify = self.identify();
                self.send(entry, identify.as_bytes())
            }
            AdminOpcode::GET_LOG_PAGE if LogDword10(entry.cdw(10)).lid() == DISCOVERY_PAGE => self.log(entry),
            AdminOpcode::KEEP_ALIVE => Ok(Some(0)),
            AdminOpcode::SET_FEATURES | AdminOpcode::GET_FEATURES => match Feature(entry.cdw(10) as u8) {
                Feature::KEEP_ALIVE_TIMER if entry.opc() == AdminOpcode::SET_FEATURES.0 => {
                    self.keep_alive_ms = entry.cdw(11);
                    Ok(Some(0))
                }
                Feature::KEEP_ALIVE_TIMER => Ok(Some(self.keep_alive_ms.into())),
                Feature::ASYNCHRONOUS_EVENT_CONFIGURATION => Ok(Some(0)),
                _ => Err(Status::INVALID_FIELD),
            },
            AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST if self.event_requests < MOST_EVENT_REQUESTS => {
                self.event_requests += 1;
                Ok(None)
            }
            AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST => Err(Status::EVENT_REQUEST_LIMIT_EXCEEDED),
            AdminOpcode::IDENTIFY | AdminOpcode::GET_LOG_PAGE => Err(Status::INVALID_FIELD),
            _ => Err(Status::INVALID_OPCODE),
        }
    }

    fn identify(&self) -> Box<IdentifyController> {
        let mut data = Box::new(IdentifyController::new_zeroed());
        data.sn.fill(b' ');
        data.mn.fill(b' ');
        data.fr.fill(b' ');
        let model = b"iolab discovery";
        data.mn[..model.len()].copy_from_slice(model);
        data.mdts = 8;
        data.cntlid = U16::new(1);
        data.ver = U32::new(Version::V1_4.0);
        data.cntrltype = 2;
        data.aerl = MOST_EVENT_REQUESTS as u8 - 1;
        // The controller supports extended data for log pages: an offset and a long length.
        data.lpa = 0b100;
        data.kas = U16::new(10);
        data.maxcmd = U16::new(128);
        data.sgls = U32::new(SglSupport(0).with_supported(1).with_offset(true).with_transport(true).0);
        data.subnqn[..DISCOVERY_NAME.len()].copy_from_slice(DISCOVERY_NAME.as_bytes());
        data.ioccsz = U32::new(4);
        data.iorcsz = U32::new(1);
        data.msdbd = 1;
        data
    }

    fn log(&mut self, entry: &SubmissionEntry) -> Result<Option<u64>, Status> {
        let low = u64::from(LogDword10(entry.cdw(10)).numdl());
        let dwords = (u64::from(LogDword11(entry.cdw(11)).numdu()) << 16 | low) + 1;
        let offset = u64::from(entry.cdw(12)) | u64::from(entry.cdw(13)) << 32;
        let page = log_page(1, &self.target.records(&self.host, self.at));
        let Some(page) = usize::try_from(offset).ok().and_then(|offset| page.get(offset..)) else {
            return Err(Status::INVALID_FIELD);
        };
        // Bytes beyond the page are zeroes.
        let mut data = page.to_vec();
        data.resize((dwords * 4).min(super::window::MOST_TRANSFER_BYTES as u64) as usize, 0);
        self.send(entry, &data)
    }

    fn send(&mut self, entry: &SubmissionEntry, data: &[u8]) -> Result<Option<u64>, Status> {
        let located = self.window.locate(entry, DataDirection::ToHost, data.len());
        located.map_err(|CommandError { status, .. }| status.code())?;
        self.window.write(data).map_err(|_| Status::DATA_TRANSFER_ERROR)?;
        Ok(Some(0))
    }
}
