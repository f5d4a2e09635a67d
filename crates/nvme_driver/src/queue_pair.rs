//! A pair of I/O queues: the hot part, owned by one thread.
//!
//! A command is in one of a fixed number of slots from the moment it is accepted until it is handed back. Its identifier
//! is the slot's number with a count of the slot's uses above it, so that a completion leads to its slot without a
//! search, and a late or doubled completion does not pass for a new one.
//!
//! ```text
//! read(slot, …) ─▶ entry in the ring, copy in the slot ─▶ flush(): one doorbell ─▶ device
//! reap(max, …) ◀── checks queue, identifier, head ◀── completion ring ◀── device
//!      └─ now and then: clock, time-outs, epoch ─▶ abort, reset, send again (recovery.rs)
//! ```

mod completion;
mod lifetime;
mod reap;
mod recovery;
mod slot;
mod submit;
mod wait;
mod zoned;

pub use completion::{Completion, Loss, Outcome, Refusal, Submit};
pub use zoned::ZoneReport;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use iolab_pci_device::{DmaBuffer, Interrupt};

use crate::controller::{QueueAddresses, Shared};
use crate::data_pointer::ListArea;
use crate::doorbell::Doorbell;
use crate::options::QueueOptions;
use crate::ring::{CompletionRing, SubmissionRing};
use slot::Slot;

/// A submission queue and its completion queue. Send it to the thread that uses it.
#[derive(Debug)]
pub struct QueuePair {
    sq: SubmissionRing,
    slots: Box<[Slot]>,
    lists: ListArea,
    page_bytes: u64,
    sgl: bool,
    in_flight: u32,
    slot_mask: u16,
    /// What is added to a slot's identifier for its next use.
    cid_step: u16,
    qid: u16,
    cq: CompletionRing,
    /// Reaps until the clock is looked at again.
    countdown: u32,
    /// The life of the controller that the queues belong to.
    epoch: u32,
    current_epoch: Arc<AtomicU32>,
    sq_doorbell: Doorbell,
    cq_doorbell: Doorbell,
    /// Completions that were made outside of a reap.
    pending: Vec<Completion>,
    shared: Arc<Shared>,
    cold: Box<ColdQueue>,
}

/// What a queue pair needs rarely.
#[derive(Debug)]
struct ColdQueue {
    options: QueueOptions,
    addresses: QueueAddresses,
    /// Rings and lists.
    buffers: Vec<DmaBuffer>,
    interrupt: Option<Interrupt>,
    /// When slots are looked at for time-outs again.
    next_check_ns: u64,
    /// Where the completion ring was then.
    checked_head: u32,
    /// Whether a completion before the reset was found wrong, so that the rest of the ring is not to be believed.
    distrust: bool,
    /// Slots with the identifiers of commands that did not fit into the ring when everything was sent again.
    unsent: Vec<(u16, u16)>,
    /// The controller was given up.
    dead: bool,
    /// Whether time passes only when somebody says so; the device is in this thread then.
    is_simulated: bool,
}
