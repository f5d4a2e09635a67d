//! The options of an export, and the events reported while it runs.
//!
//! Plain data; the server checks it against the machine.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{LaneLimits, PoolShape, Stop, place_thread};
use iolab_fuse::{FuseEvent, FuseTransport, Observer, abi, possible_cpus};

use crate::fuse::ExportError;

/// The options of an export.
#[derive(Clone)]
pub struct Options {
    /// The directory to mount on; must exist.
    pub mount_point: PathBuf,
    /// The name of the file in it.
    pub name: String,
    /// The transport of requests.
    pub transport: FuseTransport,
    /// Requests in flight: per processor with io_uring, in total with the classic transport.
    pub depth: usize,
    /// The largest transfer, bytes; rounded up to whole pages, at least two of them.
    pub transfer_bytes: usize,
    /// Threads that serve, each with a lane: 1 for [`serve()`](crate::fuse::serve()).
    pub queues: usize,
    /// The processors that the threads are bound to, in turn; if empty, the kernel decides.
    /// Wake-ups between processors cost more than a request. A thread with only one processor does
    /// not preempt others ([`crate::place_thread`]).
    pub cpus: Vec<usize>,
    /// How often to poll for requests before sleeping; 0 sleeps at once. Only useful with a spare
    /// processor.
    pub idle_looks: u32,
    /// The limits of the lane.
    pub limits: LaneLimits,
    /// Asks the server to end. The first time it unmounts, if the file is not in use; the second
    /// time it ends at once.
    pub stop: Option<Arc<Stop>>,
    /// Called when the file is ready.
    pub observer: Option<Observer>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("mount_point", &self.mount_point)
            .field("name", &self.name)
            .field("transport", &self.transport)
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
    /// The defaults: a file `name` below `mount_point`.
    pub fn new(mount_point: impl Into<PathBuf>, name: impl Into<String>) -> Options {
        Options {
            mount_point: mount_point.into(),
            name: name.into(),
            transport: FuseTransport::Auto,
            depth: 32,
            transfer_bytes: 128 << 10,
            queues: 1,
            cpus: Vec::new(),
            idle_looks: 0,
            limits: LaneLimits::default(),
            stop: None,
            observer: None,
        }
    }

    /// The number of threads that serve: with io_uring at most the number of queues, one for each
    /// processor.
    pub(crate) fn threads(&self) -> usize {
        let most = if self.transport == FuseTransport::Classic { usize::MAX } else { possible_cpus() };
        self.queues.clamp(1, most)
    }

    /// The slots that each thread needs with these options on this machine.
    pub fn pool_shape(&self) -> PoolShape {
        let depth = self.depth.max(1);
        // With io_uring each processor has its own requests, and one more slot receives those that
        // still come by reads.
        let share = possible_cpus().div_ceil(self.threads());
        let slots = if self.transport == FuseTransport::Classic { depth } else { depth * share + 1 };
        let transfer_bytes = self.transfer_bytes.max(abi::LEAST_BUFFER_BYTES);
        PoolShape { slots, slot_bytes: crate::slot_bytes(transfer_bytes) }
    }

    /// Binds the calling thread, number `queue`, to its processor.
    pub(crate) fn bind(&self, queue: usize) -> Result<(), ExportError> {
        place_thread(&self.cpus, queue).map_err(|(cpu, error)| ExportError::Processor(cpu, error))
    }

    pub(crate) fn tell(&self, moment: &FuseEvent) {
        if let Some(observer) = &self.observer {
            observer(moment);
        }
    }
}
