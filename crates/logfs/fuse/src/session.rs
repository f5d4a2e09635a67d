//! Requests on their way from a transport to the file system and back.

use iolab_executor::{Executor, Spawner};
use iolab_fuse::channel::Message;
use iolab_fuse::{Reply, Service, Taken};
use iolab_logfs::Disk;
use iolab_memory::SlotPool;

use crate::MountError;
use crate::finished::{Finished, Outbox};
use crate::quick;
use crate::slow::{self, Starter};
use crate::syncing::Commit;
use crate::world::World;

/// The file system at work.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) world: World,
    executor: Executor,
    spawner: Spawner,
    disk: Disk,
    /// Whether the device wakes the transport.
    wakes: bool,
    pool: SlotPool,
    outbox: Outbox,
    commit: Commit,
}

impl Session {
    pub(crate) fn new((executor, disk): (Executor, Disk), world: World, pool: SlotPool, commit: Commit) -> Session {
        let (spawner, wakes) = (executor.spawner(), disk.waking().is_some());
        Session { world, executor, spawner, disk, wakes, pool, outbox: Outbox::default(), commit }
    }

    /// Finishes what is under way, and closes the file system.
    pub(crate) fn close(mut self) -> Result<(), MountError> {
        let closed = self.executor.run(&mut self.disk, self.world.fs.into_volume().close());
        closed.map_err(|_stalled| MountError::Stalled)?.map_err(MountError::FileSystem)
    }
}

impl Service for Session {
    type Error = MountError;

    fn shape(&self) -> (usize, usize) {
        let view = self.pool.view();
        (view.slots(), view.slot_bytes())
    }

    fn payload(&mut self, slot: u16) -> &mut [u8] {
        self.pool.slot_mut(usize::from(slot))
    }

    fn payload_address(&self, slot: u16) -> u64 {
        self.pool.view().slot_ptr(usize::from(slot)) as u64
    }

    fn take(&mut self, slot: u16, message: &Message) -> Taken {
        let unique = message.header.unique;
        let payload = self.pool.slot_mut(usize::from(slot));
        if quick::is_silent(&self.world, message) {
            return Taken::Silence;
        }
        let answer = quick::answer(&self.world, message, payload).or_else(|| {
            let starter = Starter { spawner: &self.spawner, outbox: &self.outbox, slot, unique };
            slow::start(&starter, &self.world, message, payload).err().map(Err)
        });
        match answer {
            None => Taken::Started,
            Some(Ok(body_bytes)) => Taken::Reply(Reply { slot, unique, error: 0, body_bytes }),
            Some(Err(errno)) => Taken::Reply(Reply { slot, unique, error: -errno, body_bytes: 0 }),
        }
    }

    fn work(&mut self, _arrived: bool) -> Result<(), MountError> {
        self.world.notices.borrow_mut().look();
        self.executor.run_ready(&mut self.disk);
        if self.commit.look(&self.world.fs) {
            let fs = self.world.fs.clone();
            // That it failed, the next change or sync is told.
            self.spawner.spawn(async move { drop(fs.sync().await) });
            self.executor.run_ready(&mut self.disk);
        }
        Ok(())
    }

    fn next_reply(&mut self) -> Option<Reply> {
        let Finished { slot, unique, answer } = self.outbox.take()?;
        let payload = self.pool.slot_mut(usize::from(slot));
        let placed = answer.and_then(|bytes| {
            payload.get_mut(..bytes.len()).ok_or(libc::EIO)?.copy_from_slice(&bytes);
            Ok(bytes.len())
        });
        Some(match placed {
            Ok(body_bytes) => Reply { slot, unique, error: 0, body_bytes },
            Err(errno) => Reply { slot, unique, error: -errno, body_bytes: 0 },
        })
    }

    fn is_busy(&self) -> bool {
        // A device that cannot wake is looked at until it has done all.
        !self.wakes && self.disk.under_way() > 0
    }
}
