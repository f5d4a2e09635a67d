//! The threads of one connection: the first is the caller's, which mounted and unmounts; the others each open a lane of
//! their own and serve by a descriptor of their own, or by the io_uring queues of their share of the processors.
//!
//! ```text
//!  thread 0:  lane 0 ── /dev/fuse        ── queues 0, n, 2n, …
//!  thread 1:  lane 1 ── its clone        ── queues 1, n + 1, …
//! ```
//!
//! Guarantees: all have a lane before the first request is served; when one fails, all end, and its error is the
//! export's. Deliberately not here: what a thread does with a request.

use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, ScopedJoinHandle, scope};

use iolab_engine::Lane;
use iolab_export::{Exporter, SharedRanges, Size, Stop, Tally};
use iolab_memory::SlotPool;

use crate::channel::Channel;
use crate::ending::Ending;
use crate::serve::OpenLane;
use crate::session::Session;
use crate::shared_tree::SharedTree;
use crate::uring::Share;
use crate::{ExportError, Options, Transport, classic, uring};

/// What the other threads need to know.
pub(crate) struct Others<'a, L> {
    pub(crate) open: &'a OpenLane<'a, L>,
    pub(crate) ranges: &'a SharedRanges,
    pub(crate) size: Size,
    pub(crate) tree: SharedTree,
}

/// Lets `first` serve on this thread and the others on theirs, until all have ended; what the others have served.
pub(crate) fn serve_beside<L: Lane>(
    others: &Others<'_, L>,
    (main, transport): (&Channel, Transport),
    options: &Options,
    first: impl FnOnce(&Stop) -> Result<(), ExportError>,
) -> Result<Tally, ExportError> {
    let stops = || Stop::by_hand().map_err(|error| ExportError::Connection("eventfd", error));
    let halts = (0..options.threads()).map(|_| stops()).collect::<Result<Vec<Stop>, _>>()?;
    let halt_all = || halts.iter().for_each(Stop::raise);
    scope(|threads| {
        let (ready, readiness) = channel();
        let mut handles: Vec<ScopedJoinHandle<'_, Result<Tally, ExportError>>> = Vec::new();
        let mut begun = Ok(());
        for number in 1..options.threads() {
            let ready = ready.clone();
            let (halts, halt_all) = (&halts, &halt_all);
            let body = move || {
                let served = serve_one(others, (main, transport), options, (number, &halts[number]), ready);
                if served.is_err() {
                    halt_all();
                }
                served
            };
            match Builder::new().name(format!("queue-{number}")).spawn_scoped(threads, body) {
                Ok(handle) => handles.push(handle),
                Err(error) => begun = Err(ExportError::Queue(number, format!("no thread: {error}"))),
            }
        }
        drop(ready);
        // Each says so when it has a lane; one that ends without has an error, which comes below.
        let all_ready = begun.is_ok() && readiness.iter().count() == handles.len();
        let served = if all_ready { first(&halts[0]) } else { begun };
        halt_all();
        let mut tally = Tally::default();
        let mut failed = Ok(());
        for (number, handle) in handles.into_iter().enumerate() {
            let panicked = |_| Err(ExportError::Queue(number + 1, "its thread has panicked".to_owned()));
            match handle.join().unwrap_or_else(panicked) {
                Ok(more) => tally += more,
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        // The thread that failed knows why; the first one only that it was halted.
        failed.and(served).map(|()| tally)
    })
}

/// One of the others, from its lane to its end.
fn serve_one<L: Lane>(
    others: &Others<'_, L>,
    (main, transport): (&Channel, Transport),
    options: &Options,
    (number, halt): (usize, &Stop),
    ready: Sender<()>,
) -> Result<Tally, ExportError> {
    options.bind(number)?;
    let (lane, mut pool): (L, SlotPool) =
        (others.open)(number).map_err(|reason| ExportError::Queue(number, reason))?;
    let exporter = Exporter::new(lane, &mut pool, others.size, options.limits)
        .and_then(|exporter| exporter.sharing(others.ranges, number))
        .map_err(|error| ExportError::Pool(error, options.pool_shape()))?;
    let mut session = Session::new(exporter, others.tree.clone());
    let ending = Ending { stop: None, halt: Some(halt) };
    let tell_ready = move || {
        // Whoever waits has the other end as long as this thread lives, and waits until this end is gone.
        let _ = ready.send(());
        drop(ready);
    };
    let served = if transport == Transport::Uring {
        let share = Share { thread: number, threads: options.threads() };
        uring::serve(main, &mut session, options, (ending, share), tell_ready)
    } else {
        let channel = main.another()?;
        tell_ready();
        classic::serve(&channel, &mut session, options, ending)
    };
    let drained = session.exporter.drain().map_err(ExportError::from);
    served.and(drained).map(|()| session.exporter.tally())
}
