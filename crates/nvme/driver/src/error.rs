//! Errors caused by devices or by the users of this crate.

use std::sync::Arc;

use iolab_nvme_spec::{AdminOpcode, Status};
use iolab_pci_device::{MapError, PciError};

/// Why an operation on a controller failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DriverError {
    /// A register reads as all ones: the device is gone.
    #[error("the device was removed: register {register} reads as all ones")]
    Gone {
        /// The register.
        register: &'static str,
    },
    /// The connection to the controller broke. A reset connects again.
    #[error("no connection to the controller: {0}")]
    Disconnected(String),
    /// CSTS.RDY did not change in the time that CAP.TO promises.
    #[error("the controller did not become {wanted} within {} ms", waited_ns / 1_000_000)]
    NotReady {
        /// "ready", "disabled" or "shut down".
        wanted: &'static str,
        /// How long the driver waited.
        waited_ns: u64,
    },
    /// CSTS.CFS is set: the controller has failed.
    #[error("the controller reports a fatal error (CSTS.CFS)")]
    Fatal,
    /// The controller cannot do what this driver needs.
    #[error("the controller is not usable: {0}")]
    Unsupported(String),
    /// The controller does not admit this host, or not to the requested subsystem. A retry would
    /// not change that.
    #[error("refused: {0}")]
    Refused(String),
    /// An admin command ended with an error.
    #[error("{command} failed: {status}")]
    Admin {
        /// The command.
        command: AdminOpcode,
        /// The device's answer.
        status: Status,
    },
    /// An admin command got no answer, and the controller was reset.
    #[error("{command} timed out after {} ms", waited_ns / 1_000_000)]
    AdminTimeout {
        /// The command.
        command: AdminOpcode,
        /// How long the driver waited.
        waited_ns: u64,
    },
    /// The controller was reset while an admin command was outstanding. Whether the command took
    /// effect is unknown.
    #[error("{command} was aborted by a controller reset")]
    CutOff {
        /// The command.
        command: AdminOpcode,
    },
    /// The device broke the protocol.
    #[error("the device violated the protocol: {0}")]
    Protocol(ResetCause),
    /// A structure the device returned contradicts itself or this driver's limits.
    #[error("the device reports invalid properties: {0}")]
    BadDescription(String),
    /// The caller asked for something impossible.
    #[error("{0}")]
    BadRequest(String),
    /// Memory could not be mapped for the device.
    #[error(transparent)]
    Map(Arc<MapError>),
    /// The PCI function failed.
    #[error(transparent)]
    Pci(Arc<PciError>),
    /// The controller was given up earlier.
    #[error("the controller was shut down after a failure: {0}")]
    Dead(Arc<DriverError>),
}

impl From<MapError> for DriverError {
    fn from(error: MapError) -> DriverError {
        DriverError::Map(Arc::new(error))
    }
}

impl From<PciError> for DriverError {
    fn from(error: PciError) -> DriverError {
        DriverError::Pci(Arc::new(error))
    }
}

/// Why a controller was reset: an error of its device, or a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResetCause {
    /// A completion names a command that is not in flight: invented, or completed twice.
    #[error("queue {queue}: completion for command {cid:#x}, which is not in flight")]
    NotInFlight {
        /// The completion queue.
        queue: u16,
        /// The command identifier it names.
        cid: u16,
    },
    /// A completion names a different submission queue.
    #[error("queue {queue}: completion for submission queue {sqid}")]
    WrongQueue {
        /// The completion queue.
        queue: u16,
        /// The submission queue it names.
        sqid: u16,
    },
    /// A completion reports the fetching of entries that were never submitted.
    #[error("queue {queue}: submission queue head {sqhd} is beyond the last submitted command")]
    BadHead {
        /// The completion queue.
        queue: u16,
        /// The head it names.
        sqhd: u16,
    },
    /// A command got no answer, and could not be aborted.
    #[error("queue {queue}: command {cid:#x} (opcode {opcode:#04x}) timed out")]
    NoAnswer {
        /// The submission queue.
        queue: u16,
        /// The command identifier.
        cid: u16,
        /// Its opcode.
        opcode: u8,
    },
    /// The connection to the controller broke.
    #[error("lost the connection to the controller")]
    Disconnected,
    /// CSTS.CFS was set.
    #[error("the controller reports a fatal error (CSTS.CFS)")]
    FatalStatus,
    /// The caller asked for a reset.
    #[error("a reset was requested")]
    Requested,
}
