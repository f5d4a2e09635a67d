//! The threads of one connection. The first is the caller's, which mounts and unmounts. Each of the
//! others opens its own lane and serves through its own descriptor, or through the io_uring queues
//! of its share of the processors.
//!
//! ```text
//!  thread 0:  lane 0 ── /dev/fuse        ── queues 0, n, 2n, …
//!  thread 1:  lane 1 ── its clone        ── queues 1, n + 1, …
//! ```
//!
//! Guarantees: all have a lane before the file is announced; when one fails, all end. Deliberately
//! not here: the handling of requests.

use crate::{Exporter, OpenLane, OtherThread, ServedCounts, SharedRanges, Size, Stop, beside};
use iolab_engine::Lane;
use iolab_memory::SlotPool;

use iolab_fuse::channel::Channel;
use iolab_fuse::uring::Share;
use iolab_fuse::{Ending, FuseTransport, classic, uring};

use crate::fuse::session::Session;
use crate::fuse::shared_tree::SharedTree;
use crate::fuse::{ExportError, Options};

/// What the other threads need to know.
pub(crate) struct Others<'a, L> {
    pub(crate) open: &'a OpenLane<'a, L>,
    pub(crate) ranges: &'a SharedRanges,
    pub(crate) size: Size,
    pub(crate) tree: SharedTree,
}

/// Lets `first` serve on this thread and the others on theirs, until all have ended; returns what
/// the others have served.
pub(crate) fn serve_beside<L: Lane>(
    others: &Others<'_, L>,
    main: &Channel,
    transport: FuseTransport,
    options: &Options,
    first: impl FnOnce(&Stop) -> Result<(), ExportError>,
) -> Result<ServedCounts, ExportError> {
    let other = |thread: OtherThread<'_>| serve_one(others, main, transport, options, thread);
    beside(options.threads(), ExportError::Queue, &other, first)
}

/// Runs one of the other threads, from opening its lane to its end.
fn serve_one<L: Lane>(
    others: &Others<'_, L>,
    main: &Channel,
    transport: FuseTransport,
    options: &Options,
    OtherThread { number, halt, ready }: OtherThread<'_>,
) -> Result<ServedCounts, ExportError> {
    options.bind(number)?;
    let (lane, mut pool): (L, SlotPool) = (others.open)(number).map_err(|reason| ExportError::Queue(number, reason))?;
    let exporter = Exporter::new(lane, &mut pool, others.size, options.limits)
        .and_then(|exporter| exporter.sharing(others.ranges, number))
        .map_err(|error| ExportError::Pool(error, options.pool_shape()))?;
    let mut session = Session::new(exporter, others.tree.clone());
    let ending = Ending { stop: None, halt: Some(halt), wakes: &[] };
    let served = if transport == FuseTransport::Uring {
        let share = Share { thread: number, threads: options.threads() };
        uring::serve(main, &mut session, options.idle_looks, ending, share, || ready.tell())
    } else {
        let channel = main.another()?;
        ready.tell();
        classic::serve(&channel, &mut session, options.idle_looks, ending)
    };
    let drained = session.exporter.drain().map_err(ExportError::from);
    served.and(drained).map(|()| session.exporter.tally())
}
