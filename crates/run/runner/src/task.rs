//! The task of a worker.

use std::fs::File;
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_guard::Guard;
use iolab_plan::WorkerPlan;

use crate::control::{Control, WorkerControl};
use crate::deliver::Mailbox;
use crate::feed::Supplied;
use crate::locking::FileLocks;
use crate::progress::Progress;
use crate::steady::Peers;
use crate::telling::Telling;
use crate::verification::share::VerifyShare;
use crate::zoned::ZoneTable;

/// The source of the operations of a worker that replays. It is called in the worker's own process.
/// Its error says why there are no operations.
pub type Supply = fn(&WorkerPlan) -> Result<Supplied, String>;

/// The temporary files of a worker, for data that is written after the run.
#[derive(Debug, Default)]
pub struct Spools {
    /// Entries of its logs; the file position is arbitrary.
    pub logs: Option<File>,
    /// Its operations ([`iolab_recording::NotedOperation`]), for an iolog; the file position is
    /// arbitrary.
    pub operations: Option<File>,
}

/// The inputs of a worker.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) plan: &'a WorkerPlan,
    pub(crate) worker_control: WorkerControl<'a>,
    pub(crate) guard: &'a Guard,
    pub(crate) clock: &'a Clock,
    pub(crate) spools: &'a Spools,
    pub(crate) stream: Option<&'a Arc<File>>,
    pub(crate) mailbox: &'a Mailbox,
    /// The source of the operations of replays.
    pub(crate) supply: Option<Supply>,
    /// The progress of the workers of replays.
    pub(crate) progress: Option<&'a Progress>,
    /// The workers whose rate this worker judges.
    pub(crate) peers: Option<Peers<'a>>,
    /// All workers, if there are others.
    pub(crate) others: Option<Others<'a>>,
    /// The files that it verifies, and what other workers know about them.
    pub(crate) verify: Option<&'a VerifyShare>,
    /// The zones of its files, if it uses zones.
    pub(crate) zones: &'a [ZoneTable],
    /// The locks of its files, if it locks them.
    pub(crate) locks: Option<&'a FileLocks>,
    /// What it tells while it works.
    pub(crate) telling: Option<&'a Telling>,
}

/// What a worker can see of all other workers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Others<'a> {
    pub(crate) control: &'a Control,
    pub(crate) workers: &'a [WorkerPlan],
}
