//! A pair of I/O queues: the hot part, owned by one thread.
//!
//! A command occupies one of a fixed number of slots from the moment it is accepted until it is
//! returned. Its identifier consists of the slot's number (low bits) and a count of the slot's uses
//! (high bits). A completion therefore leads to its slot without a search, and a late or duplicate
//! completion is not mistaken for a new one.
//!
//! ```text
//! read(slot, …) ─▶ entry in the ring, copy in the slot ─▶ flush(): one doorbell ─▶ device
//! reap(max, …) ◀── checks queue, identifier, head ◀── completion ring ◀── device
//!      └─ now and then: clock, time-outs, epoch ─▶ abort, reset, send again (recovery.rs)
//! ```

mod completion;
mod held;
mod lifetime;
mod reap;
mod recovery;
mod slot;
mod submit;
mod wait;
mod zoned;

pub use completion::{CommandOutcome, Completion, Loss, Refusal, Submit};
pub use submit::BlockBuffers;
pub use zoned::ZoneReport;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use crate::controller::Shared;
use crate::options::QueueOptions;
use crate::pcie::Pcie;
use crate::transport::Transport;
use slot::Slot;

/// A submission queue and its completion queue. Send it to the thread that uses it.
#[derive(Debug)]
pub struct QueuePair<T: Transport = Pcie> {
    queue: T::Queue,
    slots: Box<[Slot]>,
    in_flight: u32,
    slot_mask: u16,
    /// Added to a slot's identifier for its next use.
    cid_step: u16,
    /// Reaps until the clock is read again.
    countdown: u32,
    /// The epoch of the controller in which the queues were created.
    epoch: u32,
    current_epoch: Arc<AtomicU32>,
    /// Completions that were found outside of a reap.
    pending: Vec<Completion>,
    shared: Arc<Shared<T>>,
    cold: Box<ColdQueue>,
}

/// The rarely used part of a queue pair.
#[derive(Debug)]
struct ColdQueue {
    options: QueueOptions,
    /// When slots are next checked for time-outs.
    next_check_ns: u64,
    /// The progress of completions at the last check.
    checked_progress: u32,
    /// Whether an invalid completion caused the reset, so that the others in the queue are ignored
    /// too.
    reject_completion: bool,
    /// Slots and identifiers of commands that are to be sent again and did not fit into the queue.
    unsent: Vec<(u16, u16)>,
    /// Commands that wait for their path.
    held: Vec<held::Held>,
    /// The controller was given up.
    dead: bool,
    /// Whether the clock is simulated. In that case the device is in this thread.
    is_simulated: bool,
}
