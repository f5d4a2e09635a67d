//! The queues other than the first: each with its own thread, lane and ring.
//!
//! They are not involved in creating or removing the device: they offer their tags, serve, and end
//! when the driver has aborted the tags, or when they are halted.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use crate::{CommandRing, Exporter, OpenLane, OtherThread, ServedCounts, SharedRanges, Size, Stop, beside};
use iolab_engine::Lane;

use crate::ublk::descriptors::Descriptors;
use crate::ublk::queue::Queue;
use crate::ublk::{ExportError, Options};

const HALT_TOKEN: u64 = 1 << 43;

/// What the other threads need to know.
pub(crate) struct Others<'a, L> {
    pub(crate) open: &'a OpenLane<'a, L>,
    pub(crate) ranges: &'a SharedRanges,
    pub(crate) size: Size,
}

/// Lets `first` serve on this thread and the others on theirs, until all have ended; returns what
/// the others have served.
pub(crate) fn serve_beside<L: Lane>(
    others: &Others<'_, L>,
    file: &File,
    path: &Path,
    options: &Options,
    first: impl FnOnce(&Stop) -> Result<(), ExportError>,
) -> Result<ServedCounts, ExportError> {
    let other = |thread: OtherThread<'_>| serve_one(others, file, path, options, thread);
    beside(options.threads(), ExportError::Queue, &other, first)
}

/// Runs one of the other threads, from opening its lane to its end.
fn serve_one<L: Lane>(
    others: &Others<'_, L>,
    file: &File,
    path: &Path,
    options: &Options,
    OtherThread { number, halt, ready }: OtherThread<'_>,
) -> Result<ServedCounts, ExportError> {
    options.bind(number)?;
    let (lane, mut pool) = (others.open)(number).map_err(|reason| ExportError::Queue(number, reason))?;
    let exporter = Exporter::new(lane, &mut pool, others.size, options.limits)
        .and_then(|exporter| exporter.sharing(others.ranges, number))
        .map_err(|error| ExportError::Pool(error, options.pool_shape()))?;
    let failed = |error| ExportError::Device(path.to_owned(), error);
    let descriptors = Descriptors::map(file.as_raw_fd(), number as u16, exporter.slots()).map_err(failed)?;
    let mut ring = CommandRing::new(exporter.slots() + 8).map_err(ExportError::Ring)?;
    let mut queue = Queue::new(exporter, file.as_raw_fd(), number as u16, descriptors);
    ring.watch(halt.as_raw_fd(), HALT_TOKEN).map_err(ExportError::Ring)?;
    queue.fetch(&mut ring)?;
    ring.enter(0).map_err(ExportError::Ring)?;
    ready.tell();
    let served = serve_tags(&mut ring, &mut queue, options);
    let drained = queue.exporter.drain().map_err(ExportError::from);
    // The payloads belong to the driver as long as the ring that offers them exists.
    drop(ring);
    served.and(drained).map(|()| queue.exporter.tally())
}

fn serve_tags<L: Lane>(ring: &mut CommandRing, queue: &mut Queue<'_, L>, options: &Options) -> Result<(), ExportError> {
    while !queue.is_dead() || queue.exporter.is_busy() {
        ring.round(queue.exporter.is_busy(), options.idle_looks).map_err(ExportError::Ring)?;
        let mut arrived = false;
        while let Some(event) = ring.next_event() {
            if event.token == HALT_TOKEN {
                return Ok(());
            }
            arrived = true;
            queue.on_event(ring, event)?;
        }
        queue.work(ring, arrived)?;
    }
    Ok(())
}
