//! The parts of a session: the file system and what it runs on, slots for requests, wake-up
//! descriptors.

use std::os::fd::{BorrowedFd, OwnedFd};

use iolab_clock::Clock;
use iolab_executor::Executor;
use iolab_fuse::abi::LEAST_BUFFER_BYTES;
use iolab_fuse::uring::Share;
use iolab_fuse::{FuseTransport, possible_cpus};
use iolab_logfs::{Disk, LocalVolume};
use iolab_memory::{Backing, SlotPool};

use crate::notices::Notices;
use crate::payloads::Payloads;
use crate::syncing::Commit;
use crate::{MountError, Options};

/// What is mounted: an open file system, or the part of it that a thread serves, with everything it
/// runs on.
#[derive(Debug)]
pub struct Mountable {
    /// The file system.
    pub fs: LocalVolume,
    /// Its device.
    pub disk: Disk,
    /// The executor with its background tasks.
    pub executor: Executor,
    /// Its clock.
    pub clock: Clock,
}

/// System resources of a session.
pub(crate) struct SessionResources {
    pub(crate) payloads: Payloads,
    pub(crate) commit: Commit,
    /// Whether access control lists are kept.
    pub(crate) acl: bool,
    pub(crate) notices: Notices,
}

impl SessionResources {
    pub(crate) fn new(options: &Options, share: Share) -> Result<SessionResources, MountError> {
        let payloads = Payloads::new(pool(options, share)?);
        let commit = Commit::new(options.commit_seconds)?;
        Ok(SessionResources { payloads, commit, acl: options.acl, notices: Notices::new()? })
    }
}

pub(crate) fn duplicate(fd: BorrowedFd<'_>) -> Result<OwnedFd, MountError> {
    fd.try_clone_to_owned().map_err(|error| MountError::System("dup", error))
}

/// The slots of all requests that a thread may have in flight.
fn pool(options: &Options, share: Share) -> Result<SlotPool, MountError> {
    const PAGE: usize = 4096;
    /// With more, the ring would have more entries than the kernel permits (io_uring_setup(2)).
    const MOST_SLOTS: usize = 16 << 10;
    let bytes = options.transfer_bytes.max(LEAST_BUFFER_BYTES).next_multiple_of(PAGE);
    // With io_uring each processor has its own requests, and one more slot receives those that
    // still come by reads.
    let slots = if options.transport == FuseTransport::Classic {
        options.depth.max(1)
    } else {
        let queues = possible_cpus().div_ceil(share.threads);
        options.depth.min(MOST_SLOTS / queues).max(1) * queues + 1
    };
    SlotPool::new(slots, bytes, 0, &Backing::Anonymous)
        .map_err(|error| MountError::System("memory for requests", error.source))
}
