//! The interface between commands and the transport that carries them.
//!
//! ```text
//! Controller, Namespace, QueuePair   what a command says, and what becomes of it: identify, slots,
//!          │                         identifiers, time-outs, abort, reset, sending again
//!          ▼ the traits of this file, chosen by type
//! Transport, TransportQueue          how a command and its data reach the controller: for PCIe
//!                                    registers, rings, doorbells and interrupts (`pcie`)
//! ```
//!
//! A transport gives access to a controller ([`Connection`]) and creates its queues
//! ([`Transport`]). The admin queue and the I/O queues have one type, [`TransportQueue`]. The
//! command side calls a queue for every command, so these calls are not dynamic: a transport is a
//! type parameter.
//!
//! Data is described by addresses. A transport maps memory and returns an address
//! ([`Connection::map`]). A [`DataWindow`] is an address within such memory and a length. For PCIe
//! it is a bus address. A transport that copies data looks the address up in its own table.
//!
//! Guarantees of a transport: a call returns after bounded time. A controller that is gone for good
//! causes [`DriverError::Gone`]. A broken connection causes [`DriverError::Disconnected`], and
//! [`Connection::reset`] connects again. A position or length that a peer sends is always checked
//! before use. A transport does not know which commands are in flight, and what happens when they
//! are not answered.

use std::fmt;
use std::time::Duration;

use iolab_nvme_spec::identify::IdentifyController;
use iolab_nvme_spec::registers::{Capabilities, Register};
use iolab_nvme_spec::{CompletionEntry, SubmissionEntry};
use iolab_pci_device::{MapError, SharedBytes};

use crate::error::{DriverError, ResetCause};
use crate::options::QueueOptions;
use crate::queue_pair::Refusal;

/// Entries of the admin queue.
pub const ADMIN_ENTRIES: u32 = 64;
/// Slots of the admin queue whose commands may move data.
pub const ADMIN_DATA_SLOTS: u16 = 16;
/// Bytes of data that an admin command moves at most. Longer data is moved in parts.
pub const ADMIN_DATA_BYTES: usize = 4096;

/// Memory that the controller reaches at consecutive addresses.
///
/// To this driver a window is only a number. Its creator keeps the memory mapped until every
/// command that names it has been reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataWindow {
    pub(crate) address: u64,
    pub(crate) bytes: u32,
}

impl DataWindow {
    /// A window without memory.
    pub const EMPTY: DataWindow = DataWindow { address: 0, bytes: 0 };

    /// A window of `bytes` from `address`, which must be within mapped memory.
    #[inline]
    pub const fn new(address: u64, bytes: u32) -> DataWindow {
        DataWindow { address, bytes }
    }

    /// Address of the first byte.
    pub const fn address(self) -> u64 {
        self.address
    }

    /// Length in bytes.
    pub const fn bytes(self) -> u32 {
        self.bytes
    }
}

/// The data pointer of a submission entry, as words of the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataPointerWords {
    /// Words 3 and 4: the DPTR field (Base, section 4.2).
    pub dptr: [u64; 2],
    /// Bits that the pointer sets in word 0: PSDT.
    pub flags: u64,
}

impl DataPointerWords {
    /// Puts the pointer into an entry that has no pointer yet.
    #[inline]
    pub fn put_into(self, entry: &mut [u64; 8]) {
        entry[0] |= self.flags;
        [entry[3], entry[4]] = self.dptr;
    }
}

/// Access to one controller, except to its queues.
pub trait Connection: fmt::Debug + Send + 'static {
    /// The capabilities (CAP).
    fn capabilities(&mut self) -> Result<Capabilities, DriverError>;

    /// Reads a 32-bit property.
    fn property(&mut self, register: Register) -> Result<u32, DriverError>;

    /// Writes a 32-bit property.
    fn set_property(&mut self, register: Register, value: u32) -> Result<(), DriverError>;

    /// Resets the controller by means that work even if it no longer obeys CC.EN, or connects
    /// again. The controller can be disabled afterwards.
    fn reset(&mut self) -> Result<(), DriverError>;

    /// Passes time while the driver waits for the controller, at most about `at_most`. A controller
    /// that lives in the calling thread works during this call.
    fn pause(&self, at_most: Duration);

    /// Maps memory for the controller and returns its address.
    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError>;

    /// Unmaps memory that [`Connection::map`] mapped.
    fn unmap(&mut self, address: u64) -> Result<(), MapError>;
}

/// The description of an I/O queue to create.
#[derive(Debug)]
pub struct QueueRequest<'a> {
    /// Identifier of the queue.
    pub id: u16,
    /// The caller's options. The number of entries is resolved.
    pub options: &'a QueueOptions,
    /// Bytes of the longest transfer that its commands will name.
    pub max_transfer_bytes: u64,
}

/// Setup that a transport does with its own commands.
pub trait ControllerSetup {
    /// Receives the controller's identification, once, before the first
    /// [`ControllerSetup::setup_command`].
    fn identified(&mut self, identify: &IdentifyController) -> Result<(), DriverError>;

    /// A command that the transport needs to have executed each time the controller has been
    /// enabled.
    fn setup_command(&mut self) -> Option<SubmissionEntry>;

    /// Receives whether the controller accepted [`ControllerSetup::setup_command`].
    fn setup_answered(&mut self, accepted: bool) -> Result<(), DriverError>;
}

/// A way to a controller.
pub trait Transport: Connection + ControllerSetup {
    /// Its queues.
    type Queue: TransportQueue;

    /// Connects the admin queue, empty, to a controller that is disabled.
    fn start_admin(&mut self) -> Result<(), DriverError>;

    /// The admin queue. Its first [`ADMIN_DATA_SLOTS`] slots have [`ADMIN_DATA_BYTES`] of memory
    /// each.
    fn admin(&mut self) -> &mut Self::Queue;

    /// Prepares an I/O queue. [`QueueLife::create`] creates it at the controller.
    fn new_queue(&mut self, request: &QueueRequest<'_>) -> Result<Self::Queue, DriverError>;

    /// Takes a queue back. If `is_unused` is false, the controller may still access the queue's
    /// memory, which therefore stays mapped until [`Transport::release`].
    fn retire_queue(&mut self, queue: &mut Self::Queue, is_unused: bool);

    /// Releases all resources. The controller is disabled and no longer accesses anything.
    fn release(&mut self);
}

/// Executes admin commands without data, for transports that create queues with them.
pub trait AdminCommands {
    /// Executes a command and waits for its answer. An error status is [`DriverError::Admin`].
    fn execute(&self, entry: SubmissionEntry) -> Result<CompletionEntry, DriverError>;
}

/// How a queue is created and deleted.
pub trait QueueLife: fmt::Debug + Send {
    /// Identifier of the queue; 0 is the admin queue.
    fn id(&self) -> u16;

    /// Creates the queue at the controller.
    fn create(&mut self, admin: &dyn AdminCommands) -> Result<(), DriverError>;

    /// Deletes the queue at the controller.
    fn delete(&mut self, admin: &dyn AdminCommands) -> Result<(), DriverError>;

    /// Deletes as much of the queue as the controller has, ignoring its answers.
    fn delete_remains(&mut self, admin: &dyn AdminCommands);

    /// Empties the queue. The controller has already deleted it.
    fn restart(&mut self);
}

/// Commands into a queue.
pub trait Submission {
    /// A free entry.
    type Room;

    /// A free entry, if there is one.
    fn room(&self) -> Option<Self::Room>;

    /// Puts a command into a free entry. The controller sees it with the next
    /// [`Submission::flush`].
    fn push(&mut self, room: Self::Room, slot: u16, entry: [u64; 8]);

    /// Makes the pushed commands visible to the controller.
    fn flush(&mut self);

    /// Rejects further commands until the queue is restarted.
    fn close(&mut self);

    /// The pointer to `bytes` of data at `address`, where a few comparisons are enough to make it.
    /// `None` decides nothing: call [`Submission::data_pointer`].
    fn plain_data_pointer(&mut self, slot: u16, address: u64, bytes: u64) -> Option<DataPointerWords>;

    /// The pointer to `bytes` of data at `address`, or why there is none. It may use the memory of
    /// the slot.
    fn data_pointer(&mut self, slot: u16, address: u64, bytes: u64) -> Result<DataPointerWords, Refusal>;

    /// The pointer to data in several windows.
    fn gathered_data_pointer(&mut self, slot: u16, parts: &[DataWindow]) -> Result<DataPointerWords, Refusal>;
}

/// Memory that the queue owns for each slot: at least a page. It holds the data of commands that
/// the driver issues by itself.
pub trait SlotMemory {
    /// The first `bytes` of a slot's memory, as addressed by the controller.
    fn slot_window(&self, slot: u16, bytes: u32) -> DataWindow;

    /// Writes to the start of a slot's memory.
    fn write_slot(&mut self, slot: u16, from: &[u8]);

    /// Reads from the start of a slot's memory.
    fn read_slot(&self, slot: u16, to: &mut [u8]);
}

/// Completions out of a queue.
pub trait Completions {
    /// The next completion, if it has arrived. A transport that receives messages receives them
    /// here.
    fn peek(&mut self) -> Option<CompletionEntry>;

    /// Moves to the next completion.
    fn pop(&mut self);

    /// Checks the transport's fields of a completion and returns a [`ResetCause`] if they are
    /// invalid. Records the free room that the completion reports.
    fn check(&mut self, entry: &CompletionEntry) -> Result<(), ResetCause>;

    /// Records that this many completions were popped, and notifies the controller when it is worth
    /// it.
    fn consumed(&mut self, completions: u32);

    /// A number that changes when completions are popped.
    fn progress(&self) -> u32;

    /// Lets a controller that lives in the calling thread work, unless another thread is running
    /// it. Other threads are not delayed.
    fn let_controller_work(&self, at_most: Duration);

    /// Sleeps until the controller signals a completion; returns `false` if it did not within
    /// `at_most`. Returns at once if the queue has no signals.
    fn sleep(&self, at_most: Duration) -> Result<bool, DriverError>;
}

/// A queue of a transport, for one thread.
pub trait TransportQueue: QueueLife + Submission + SlotMemory + Completions {}

impl<Q: QueueLife + Submission + SlotMemory + Completions> TransportQueue for Q {}
