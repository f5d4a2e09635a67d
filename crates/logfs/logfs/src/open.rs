//! Opening and closing a file system.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use iolab_disk::Buffer;
use iolab_executor::{Notify, Spawner};

use crate::activity::Activity;
use crate::allocation::Heads;
use crate::anchor::Anchor;
use crate::defragment::automatic;
use crate::instance::{Instance, Phase, State};
use crate::locks::Locks;
use crate::log::Log;
use crate::open_options::{CleaningSettings, OpenOptions, Runtime};
use crate::pace::Pace;
use crate::recovery::{Loaded, OnLoss, Recovery, claim_clusters, load, read_map};
use crate::turns::Turns;
use crate::{Answered, Disk, Error, Layout, LogFs, checkpoint, cleaner, demoter, discarder, domains, flusher};

/// Opens a file system. Its background tasks run on the executor of the runtime until
/// [`LogFs::close`].
///
/// # Errors
/// [`Error::Unusable`] when there is none, [`Error::Corrupt`] when something durable is missing or
/// contradicts itself. The disk is then unchanged.
pub async fn open(disk: &Disk, options: OpenOptions, runtime: Runtime) -> Result<(LogFs, Recovery), Error> {
    let (layout, owners) = read_map(disk).await?;
    if layout.domains != 1 {
        let why = format!("{} domains: open all of them together as a volume, or one alone", layout.domains);
        return Err(Error::Unusable(why));
    }
    let loaded = load(disk, layout, owners, 0, OnLoss::Refuse).await?;
    domains::finish_resize(disk, &layout).await?;
    start(disk, options, runtime, loaded).await
}

/// Opens one domain alone, as a file system of its own: its root directory holds the domain's part
/// of the common one. Several may be open at once, each by its own program or thread, but each only
/// once.
///
/// Names are not kept unique across domains meanwhile: if two domains then have the same name, one
/// of them gets a suffix when all are opened together.
///
/// # Errors
/// [`Error::Invalid`] when there is no such domain, and as [`open()`].
pub async fn open_domain(
    disk: &Disk,
    domain: u32,
    options: OpenOptions,
    runtime: Runtime,
) -> Result<(LogFs, Recovery), Error> {
    let (layout, owners) = read_map(disk).await?;
    if domain >= layout.domains {
        return Err(Error::Invalid("the file system does not have this domain"));
    }
    let loaded = load(disk, layout, owners, domain, OnLoss::Refuse).await?;
    domains::finish_resize(disk, &layout).await?;
    start(disk, options, runtime, loaded).await
}

/// The number of domains of the file system.
///
/// # Errors
/// As [`open()`].
pub async fn count_domains(disk: &Disk) -> Result<u32, Error> {
    Ok(read_map(disk).await?.0.domains)
}

/// Starts a loaded file system.
pub(crate) fn start(
    disk: &Disk,
    options: OpenOptions,
    runtime: Runtime,
    loaded: Loaded,
) -> Answered<'_, Result<(LogFs, Recovery), Error>> {
    Box::pin(async move {
        let (mut clusters, kept_is_there) = claim_clusters(&loaded)?;
        upgrade(disk, &loaded.layout).await?;
        clusters.discards = options.discard;
        let Loaded { layout, anchor, mut tree, mut end, recovery, sums, .. } = loaded;
        let layout = layout.current();
        if !kept_is_there {
            end.kept.clear();
        }
        clusters.adopt(sums);
        let cleaning = CleaningSettings::of(&options, &layout.cleaning);
        if let Some(k) = cleaning.policy.highest_k().filter(|_| cleaning.moves()) {
            clusters.count_candidates(k);
        }
        let anchor = Anchor {
            number: anchor.number + 1,
            epoch: anchor.epoch + 1,
            flushed: end.next.sequence - 1,
            changes: end.changes,
            closed: false,
            before: anchor.before.filter(|_| kept_is_there),
            ..anchor
        };
        let inline_queue = tree.queue_inline();
        let defragments = options.defragment_percent > 0;
        let state = State {
            tree,
            clusters,
            log: Log::resume(&layout, end, anchor.epoch),
            heads: Heads::default(),
            anchor,
            deltas: Vec::new(),
            failed: None,
            phase: Phase::Running,
            tasks: 7 + u32::from(defragments),
            // Until a checkpoint is written, only one can be read.
            checkpoint_wanted: recovery.by_older_checkpoint,
            checkpointing: false,
            checkpoint_pace: Pace::default(),
            flush_wanted: false,
            flushing: false,
            checkpoint_at_ns: runtime.clock.now_ns(),
            cleaning_wanted: false,
            space_wanted: false,
            discards_wanted: false,
            inline_queue,
            scattered: VecDeque::new(),
            defragment_credit: 0,
            no_room_at: None,
            fruitless_at: None,
            activity: Activity::default(),
        };
        let instance = Rc::new(Instance {
            disk: disk.clone(),
            clock: runtime.clock,
            layout,
            options,
            cleaning,
            inline_limit: options.inline_limit(u64::from(layout.owned) * u64::from(layout.cluster_bytes)),
            verifies_reads: options.verify_reads.covers(disk),
            locks: Locks::default(),
            turns: Turns::default(),
            state: RefCell::new(state),
            work: Notify::default(),
            progress: Notify::default(),
        });
        // Before any frame of this epoch: frames that a crash left out of order must remain
        // recognisable.
        checkpoint::write_anchor(&instance, &anchor).await?;
        spawn_tasks(&instance, &runtime.spawner);
        instance.consider(&mut instance.state.borrow_mut());
        Ok((LogFs(instance), recovery))
    })
}

/// The number of tasks must equal the one in the state.
fn spawn_tasks(instance: &Rc<Instance>, spawner: &Spawner) {
    spawner.spawn(flusher::run(Rc::clone(instance)));
    spawner.spawn(flusher::run_flushes(Rc::clone(instance)));
    spawner.spawn(checkpoint::run(Rc::clone(instance)));
    spawner.spawn(cleaner::run(Rc::clone(instance)));
    spawner.spawn(demoter::run(Rc::clone(instance)));
    spawner.spawn(discarder::run(Rc::clone(instance)));
    spawner.spawn(cleaner::run_graveyard(Rc::clone(instance)));
    if instance.options.defragment_percent > 0 {
        spawner.spawn(automatic::run(Rc::clone(instance)));
    }
}

/// Writes both bootstrap records in the current version, also when a crash interrupted an earlier
/// upgrade. Everything of version 1 is valid in the current one.
async fn upgrade(disk: &Disk, layout: &Layout) -> Result<(), Error> {
    let (new, block) = (layout.current(), layout.block_bytes as usize);
    for place in new.bootstrap_places() {
        let found = disk.read(place, block).await.map_err(Error::from).and_then(|bytes| Layout::decode(&bytes));
        let is_old =
            |found: Layout| (found.id, found.generation) == (new.id, new.generation) && found.version < new.version;
        if layout.version < new.version || found.is_ok_and(is_old) {
            disk.write(place, Buffer::padded(&new.encode(), block)).await?;
            disk.flush().await?;
        }
    }
    Ok(())
}

impl LogFs {
    /// Ends the background tasks, makes everything durable and marks the file system as closed.
    /// Files without a name are deleted, held open or not. Other handles return [`Error::Closed`]
    /// from now on.
    ///
    /// # Errors
    /// [`Error::Failed`] when the device fails.
    pub fn close(self) -> Answered<'static, Result<(), Error>> {
        Box::pin(async move {
            let instance = &self.0;
            {
                let mut state = instance.state.borrow_mut();
                state.usable()?;
                state.phase = Phase::Closing;
            }
            self.tasks_but(2).await;
            let is_wanted = checkpoint::is_wanted_at_end(&instance.state.borrow());
            if instance.options.closing_checkpoint && is_wanted {
                checkpoint::write(instance).await?;
            }
            // Operations that were still running may have changed something.
            loop {
                let last = instance.state.borrow().log.last_ticket;
                instance.sync_to(last).await?;
                let mut state = instance.state.borrow_mut();
                if state.log.last_ticket == state.log.durable_ticket {
                    state.phase = Phase::Closed;
                    break;
                }
            }
            self.tasks_but(0).await;
            let anchor = {
                let state = instance.state.borrow();
                let (number, serial) = (state.anchor.number + 1, state.tree.serial);
                let (flushed, changes) = (state.log.last_sequence(), state.log.flushed_changes);
                Anchor { number, flushed, changes, closed: true, serial, ..state.anchor }
            };
            checkpoint::write_anchor(instance, &anchor).await.map_err(Error::Failed)
        })
    }

    /// Waits until at most this number of background tasks are left.
    async fn tasks_but(&self, left: u32) {
        let instance = &self.0;
        loop {
            let wait = {
                let state = instance.state.borrow();
                if state.tasks <= left {
                    return;
                }
                instance.work.notify();
                instance.progress.pass()
            };
            wait.await;
        }
    }
}
