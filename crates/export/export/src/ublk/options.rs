//! What a caller chooses about an export, and what it is told while the export runs.
//!
//! Plain data; checking it against the machine is the server's part.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{LaneLimits, PoolShape, Stop, place_thread};

use crate::ublk::ExportError;

/// Something a user would want to know while the export runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UblkEvent {
    /// The block device is there.
    Serving {
        /// Its path.
        path: PathBuf,
    },
    /// A stop was asked for, but the device is mounted or held otherwise: it is served on until a
    /// second stop.
    Busy,
}

/// Who is told of moments; may be called from another thread.
pub type Observer = Arc<dyn Fn(&UblkEvent) + Send + Sync>;

/// How to export.
#[derive(Clone)]
pub struct Options {
    /// The device's number, or the first free one.
    pub number: Option<u32>,
    /// Requests in flight on each queue.
    pub depth: usize,
    /// The largest transfer, bytes; rounded up to whole pages.
    pub transfer_bytes: usize,
    /// Queues, each with a thread and a lane of its own: 1 for [`serve()`](crate::ublk::serve()).
    pub queues: usize,
    /// The processors that the threads are bound to, in turn; none leaves it to the kernel. A
    /// thread with one processor only interrupts nobody ([`crate::place_thread`]).
    pub cpus: Vec<usize>,
    /// How often to look for requests again before sleeping; 0 sleeps at once.
    pub idle_looks: u32,
    /// What the lane can do.
    pub limits: LaneLimits,
    /// Asks the server to end. The first time it does, unless somebody holds the device exclusively
    /// (a mounted file system, for one); the second time it ends at once, and who still uses the
    /// device gets errors.
    pub stop: Option<Arc<Stop>>,
    /// Is told when the device is there.
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
    /// How many threads serve.
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
