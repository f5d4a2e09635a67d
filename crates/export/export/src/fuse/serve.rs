//! One export from mounting to unmounting.
//!
//! ```text
//!  mount ─▶ INIT ─▶ classic or io_uring loop, on each thread ─▶ the connection ends ─▶ lanes drained, mount gone
//! ```

use crate::{Exporter, OpenLane, ServedCounts, SharedRanges, Size, Stop};
use iolab_clock::Clock;
use iolab_engine::Lane;
use iolab_fuse::abi::{LEAST_BUFFER_BYTES, init_flag};
use iolab_fuse::channel::Channel;
use iolab_fuse::connection::negotiate;
use iolab_fuse::mount::{MountOptions, Mounted, mount};
use iolab_fuse::negotiation::Offer;
use iolab_fuse::uring::Share;
use iolab_fuse::{
    Ending, FuseEvent, FuseTransport, MountFlags, Service, Unmounter, UringSwitch, classic, permitted, possible_cpus,
    uring,
};
use iolab_memory::SlotPool;

use crate::fuse::queues::{Others, serve_beside};
use crate::fuse::session::Session;
use crate::fuse::shared_tree::SharedTree;
use crate::fuse::tree::Tree;
use crate::fuse::{ExportError, Options};

/// The result of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// The transport that carried the requests, never `Auto`.
    pub transport: FuseTransport,
    /// What was served.
    pub tally: ServedCounts,
}

/// Mounts, serves until the file system is unmounted or a stop is raised, and cleans up.
///
/// `lane` was opened on `buffers`, with as many operations in flight as they have slots;
/// [`Options::pool_shape`] says how many and how large. The device's bytes are `size`. Serves on
/// the calling thread, and leaves it on the processor it was put on.
pub fn serve<L: Lane>(lane: L, buffers: &mut SlotPool, size: Size, options: &Options) -> Result<Summary, ExportError> {
    let options = Options { queues: 1, ..options.clone() };
    run(lane, buffers, size, &options, None)
}

/// As [`serve()`], with [`Options::queues`] threads, each with a lane on the same device that
/// `open` opens. The kernel distributes requests to them: with io_uring by the processor they are
/// made on, otherwise in the order of reads.
pub fn serve_queues<L: Lane>(open: &OpenLane<'_, L>, size: Size, options: &Options) -> Result<Summary, ExportError> {
    let (lane, mut buffers) = open(0).map_err(|reason| ExportError::Queue(0, reason))?;
    run(lane, &mut buffers, size, options, Some(open))
}

fn run<L: Lane>(
    lane: L,
    buffers: &mut SlotPool,
    size: Size,
    options: &Options,
    open: Option<&OpenLane<'_, L>>,
) -> Result<Summary, ExportError> {
    let (transport, note) = permitted(options.transport);
    let options = &Options { transport, ..options.clone() };
    note.into_iter().for_each(|note| options.tell(&FuseEvent::Note(note)));
    let shape = options.pool_shape();
    let unfit = |error| ExportError::Pool(error, shape);
    let mut exporter = Exporter::new(lane, buffers, size, options.limits).map_err(unfit)?;
    check(&exporter, options)?;
    options.bind(0)?;
    let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let now = Clock::monotonic().unix_ns() / 1_000_000_000;
    let tree = Tree::new(&options.name, size, owner, now);
    let tree = SharedTree::new(tree);
    let ranges = SharedRanges::new(options.threads(), exporter.slots()).map_err(unfit)?;
    let others = match open.filter(|_| options.threads() > 1) {
        Some(open) => {
            exporter = exporter.sharing(&ranges, 0).map_err(unfit)?;
            Some(Others { open, ranges: &ranges, size, tree: tree.clone() })
        }
        None => None,
    };
    let session = Session::new(exporter, tree);
    let switch = (options.transport != FuseTransport::Classic).then(UringSwitch::on);
    let mounting = MountOptions {
        source: "iolab".to_owned(),
        subtype: "iolab".to_owned(),
        flags: MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOATIME,
        payload_bytes: session.exporter.payload_bytes(),
    };
    let (fd, mount) = mount(&options.mount_point, &mounting)?;
    // Declared before the connection, to be dropped after it.
    let mounted = Mounted(mount);
    let mut unmounter = Unmounter::new(mounted.0.clone(), options.observer.clone());
    let served = connect(Channel { fd }, session, others, options, switch, &mut unmounter);
    unmounter.join();
    served
}

/// The largest number of io_uring queues of a thread; each needs a slot, and one more slot is for
/// other requests.
fn own_queues(options: &Options) -> usize {
    possible_cpus().div_ceil(options.threads())
}

fn check<L: Lane>(exporter: &Exporter<'_, L>, options: &Options) -> Result<(), ExportError> {
    let unusable =
        |reason: &str| Err(ExportError::Unusable { path: options.mount_point.clone(), reason: reason.to_owned() });
    let name = options.name.as_str();
    if name.is_empty() || name.len() > 255 || name == "." || name == ".." || name.contains(['/', '\0']) {
        return unusable("the file name must have 1 to 255 bytes and no slash");
    }
    let too_few = options.transport == FuseTransport::Uring && exporter.slots() <= own_queues(options);
    if exporter.payload_bytes() < LEAST_BUFFER_BYTES || too_few {
        let slot_bytes = crate::slot_bytes(exporter.payload_bytes());
        let given = crate::PoolMismatch { slot_bytes, slots: exporter.slots() };
        return Err(ExportError::Pool(given, options.pool_shape()));
    }
    Ok(())
}

/// Serves a connection to its end, and closes it.
fn connect<L: Lane>(
    channel: Channel,
    mut session: Session<'_, L>,
    others: Option<Others<'_, L>>,
    options: &Options,
    switch: Option<UringSwitch>,
    unmounter: &mut Unmounter,
) -> Result<Summary, ExportError> {
    let offer = offer(&session.exporter, options);
    let transport = negotiate(&channel, offer, session.payload(0))?.transport;
    drop(switch);
    let mut first = |halt: Option<&Stop>| serve_first(&channel, &mut session, options, transport, unmounter, halt);
    let served = match &others {
        Some(others) => serve_beside(others, &channel, transport, options, |halt| first(Some(halt))),
        None => first(None).map(|()| ServedCounts::default()),
    };
    let drained = session.exporter.drain().map_err(ExportError::from);
    let mut tally = session.exporter.tally();
    tally += served?;
    drained.map(|()| Summary { transport, tally })
}

/// The work of the calling thread, until the connection ends or the user stops it.
fn serve_first<L: Lane>(
    channel: &Channel,
    session: &mut Session<'_, L>,
    options: &Options,
    transport: FuseTransport,
    unmounter: &mut Unmounter,
    halt: Option<&Stop>,
) -> Result<(), ExportError> {
    let path = options.mount_point.join(&options.name);
    let serving = || options.tell(&FuseEvent::Serving { path, transport });
    let ending = Ending { stop: options.stop.as_deref().map(|stop| (stop, unmounter)), halt, wakes: &[] };
    if transport == FuseTransport::Uring {
        let share = Share { thread: 0, threads: options.threads() };
        return uring::serve(channel, session, options.idle_looks, ending, share, serving);
    }
    serving();
    classic::serve(channel, session, options.idle_looks, ending)
}

/// The reply to INIT.
fn offer<L: Lane>(exporter: &Exporter<'_, L>, options: &Options) -> Offer {
    Offer {
        payload_bytes: exporter.payload_bytes(),
        transport: if exporter.slots() > own_queues(options) { options.transport } else { FuseTransport::Classic },
        background: u16::try_from(exporter.slots() * options.threads()).unwrap_or(u16::MAX).max(64),
        features: init_flag::DO_READDIRPLUS | init_flag::DIRECT_IO_ALLOW_MMAP,
    }
}
