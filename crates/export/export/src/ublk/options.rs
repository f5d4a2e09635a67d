//! The options of an export, and the events reported while it runs.
//!
//! Plain data; the server checks it against the machine.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{LaneLimits, PoolShape, Stop, place_thread};

use crate::ublk::ExportError;

/// An event while the export runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UblkEvent {
    /// The block device is ready.
    Serving {
        /// Its path.
        path: PathBuf,
    },
    /// A stop was requested, but the device is mounted or otherwise in exclusive use: it is served
    /// until a second stop.
    Busy,
}

/// Called for each event, possibly from another thread.
pub type Observer = Arc<dyn Fn(&UblkEvent) + Send + Sync>;

/// The options of an export.
#[derive(Clone)]
pub struct Options {
    /// The device's number, or the first free one.
    pub number: Option<u32>,
    /// Requests in flight on each queue.
    pub depth: usize,
    /// The largest transfer, bytes; rounded up to whole pages.
    pub transfer_bytes: usize,
    /// Queues, each with its own thread and lane: 1 for [`serve()`](crate::ublk::serve()).
    pub queues: usize,
    /// The processors that the threads are bound to, in turn; if empty, the kernel decides. A
    /// thread with only one processor does not preempt others ([`crate::place_thread`]).
    pub cpus: Vec<usize>,
    /// How often to poll for requests before sleeping; 0 sleeps at once.
    pub idle_looks: u32,
    /// The limits of the lane.
    pub limits: LaneLimits,
    /// Asks the server to end. The first time it does so unless the device is in exclusive use
    /// (such as a mounted file system); the second time it ends at once, and remaining users of the
    /// device get errors.
    pub stop: Option<Arc<Stop>>,
    /// Called when the device is ready.
    pub observer: Option<Observer>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            number: None,
            depth: 64,
            transfer_bytes: 128 << 10,
            queues: 1,
            cpus: Vec::new(),
            idle_looks: 0,
            limits: LaneLimits::default(),
            stop: None,
            observer: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("number", &self.number)
            .field("depth", &self.depth)
            .field("transfer_bytes", &self.transfer_bytes)
            .field("queues", &self.queues)
            .field("cpus", &self.cpus)
            .field("idle_looks", &self.idle_looks)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// The number of threads that serve.
    pub(crate) fn threads(&self) -> usize {
        self.queues.clamp(1, crate::ublk::abi::MOST_QUEUES)
    }

    /// Binds the calling thread, number `queue`, to its processor.
    pub(crate) fn bind(&self, queue: usize) -> Result<(), ExportError> {
        place_thread(&self.cpus, queue).map_err(|(cpu, error)| ExportError::Processor(cpu, error))
    }

    /// The slots that each queue needs.
    pub fn pool_shape(&self) -> PoolShape {
        let slots = self.depth.clamp(1, crate::ublk::abi::MOST_DEPTH);
        PoolShape { slots, slot_bytes: crate::slot_bytes(self.transfer_bytes.max(4096)) }
    }

    pub(crate) fn tell(&self, moment: &UblkEvent) {
        if let Some(observer) = &self.observer {
            observer(moment);
        }
    }
}
