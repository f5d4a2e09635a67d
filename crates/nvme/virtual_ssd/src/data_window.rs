//! The data of a command, accessed through the front that received the command.
//!
//! ```text
//! execution ── locate(command, direction, bytes) ──▶ window: how the command describes its data
//!           ── read, write, copy_from, copy_to ────▶ the host's side of it
//! ```
//!
//! For PCIe the data lies in the host's memory, at addresses given by PRPs and SGLs
//! ([`crate::pcie`]). A front that carries data in messages has a buffer instead.
//!
//! Guarantees of an implementation: a located window has exactly the requested bytes. A description
//! that breaks a rule is answered with the specification's status. Data that cannot be accessed is
//! [`Unreachable`], never a panic.

use iolab_memory::SharedBytes;
use iolab_nvme_spec::{Status, SubmissionEntry};

use crate::command_error::{CommandError, place};

/// The direction of a command's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataDirection {
    /// From the controller to the host.
    ToHost,
    /// From the host to the controller.
    FromHost,
}

/// The host's side of a data transfer cannot be accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the host's data cannot be accessed")]
pub struct Unreachable;

impl From<Unreachable> for CommandError {
    /// Data Transfer Error (Base, section 4.6.1.2.1).
    #[cold]
    fn from(_: Unreachable) -> CommandError {
        CommandError::transient(Status::DATA_TRANSFER_ERROR).at(place::PRP1, 0)
    }
}

/// Locates the data of one command after another.
pub trait DataWindow {
    /// Finds the `bytes` of data that a command moves. The window covers them until the next call.
    ///
    /// # Errors
    /// The command's description of its data breaks a rule, or describes fewer bytes.
    fn locate(&mut self, command: &SubmissionEntry, direction: DataDirection, bytes: usize)
    -> Result<(), CommandError>;

    /// Bytes of the window.
    fn len(&self) -> usize;

    /// Whether the window has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads as many bytes of the window from the host as `to` has.
    fn read(&mut self, to: &mut [u8]) -> Result<(), Unreachable>;

    /// Writes to the window, and thereby to the host.
    fn write(&mut self, from: &[u8]) -> Result<(), Unreachable>;

    /// Copies the whole window from the host to `to`, beginning at `offset`.
    fn copy_to(&mut self, to: &SharedBytes, offset: usize) -> Result<(), Unreachable>;

    /// Copies the whole window to the host from `from`, beginning at `offset`.
    fn copy_from(&mut self, from: &SharedBytes, offset: usize) -> Result<(), Unreachable>;
}
