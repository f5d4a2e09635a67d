//! Passes requests from a transport to the file system, and replies back.

use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;

use iolab_executor::{Executor, Spawner};
use iolab_fuse::channel::Message;
use iolab_fuse::{FuseEvent, Observer, Reply, Service, Taken};
use iolab_logfs::{CoreDriver, Disk, InodeId};

use crate::MountError;
use crate::finished::{Finished, Outbox, TaskResult};
use crate::forwarding::forwarded;
use crate::payloads::Payloads;
use crate::quick;
use crate::resources::{Mountable, SessionResources, duplicate};
use crate::server::Server;
use crate::slow::{self, Start, Starter};
use crate::syncing::Commit;
use crate::wake_event::WakeEvent;

/// A file system being served.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) server: Server,
    executor: Executor,
    spawner: Spawner,
    disk: Disk,
    /// Whether the device can wake the transport.
    wakes: bool,
    payloads: Payloads,
    outbox: Outbox,
    commit: Commit,
    /// Signalled by other threads.
    wake: Option<Arc<WakeEvent>>,
}

impl Session {
    pub(crate) fn new(what: Mountable, resources: SessionResources, wake: Option<Arc<WakeEvent>>) -> Session {
        let Mountable { fs, disk, executor, clock } = what;
        let SessionResources { payloads, commit, acl, notices } = resources;
        let server = Server::new(fs, clock, acl, notices);
        if server.fs.is_shared() {
            server.fs.keep(Rc::new(server.clone()));
        }
        let (spawner, wakes) = (executor.spawner(), disk.waking().is_some());
        Session { server, executor, spawner, disk, wakes, payloads, outbox: Outbox::default(), commit, wake }
    }

    /// Descriptors that become readable when there is something to do.
    pub(crate) fn wakes(&self) -> Result<Vec<OwnedFd>, MountError> {
        let notices = self.server.notices.borrow();
        let own = [self.commit.as_fd()].into_iter().chain(notices.wakes()).map(duplicate);
        own.chain(self.disk.waking().map(Ok)).collect()
    }

    /// Reports errors of the device.
    pub(crate) fn report(&self, observer: &Observer) {
        let activity = self.server.fs.activity();
        if activity.content_errors + activity.bad_checkpoints > 0 {
            let (reads, checkpoints) = (activity.content_errors, activity.bad_checkpoints);
            let text = format!(
                "the device is unreliable: {} of data that differs from what was written, {} rewritten",
                iolab_text::counted(reads, "read"),
                iolab_text::counted(checkpoints, "checkpoint")
            );
            observer(&FuseEvent::Note(text));
        }
    }

    /// Finishes what is in progress, and closes the file system, on all threads if `driver` has
    /// others to wait for.
    pub(crate) fn close(mut self, driver: Option<&mut CoreDriver>) -> Result<(), MountError> {
        let volume = self.server.fs.clone().into_volume();
        volume.keep_nothing();
        let closing = volume.close();
        let closed = match driver {
            Some(driver) => self.executor.run(driver, closing),
            None => self.executor.run(&mut self.disk, closing),
        };
        closed.map_err(|_stalled| MountError::Stalled)?.map_err(MountError::FileSystem)
    }

    /// Serves the other threads until one of them has closed the file system.
    pub(crate) fn serve_others(mut self, driver: &mut CoreDriver) -> Result<(), MountError> {
        let volume = self.server.fs.clone().into_volume();
        let closed = self.executor.run(driver, volume.closed());
        volume.keep_nothing();
        closed.map_err(|_stalled| MountError::Stalled)
    }
}

impl Service for Session {
    type Error = MountError;

    fn shape(&self) -> (usize, usize) {
        self.payloads.shape()
    }

    fn payload(&mut self, slot: u16) -> &mut [u8] {
        self.payloads.of(slot)
    }

    fn payload_address(&self, slot: u16) -> u64 {
        self.payloads.address(slot)
    }

    fn take(&mut self, slot: u16, message: &Message) -> Taken {
        let unique = message.header.unique;
        if quick::is_silent(&self.server, message, &self.spawner) {
            return Taken::Silence;
        }
        let Session { server, spawner, outbox, payloads, .. } = self;
        let inode = InodeId(message.header.node);
        if !server.fs.serves(inode) && message.header.node != 0 {
            let task = forwarded(server.fs.clone(), message, payloads.of(slot));
            Starter { spawner, outbox, payloads, slot, unique }.start(task);
            return Taken::Started;
        }
        let answer = quick::answer(server, message, payloads.of(slot)).or_else(|| {
            let mut starter = Starter { spawner, outbox, payloads, slot, unique };
            slow::start(&mut starter, server, message).err().map(Err)
        });
        match answer {
            None => Taken::Started,
            Some(Ok(body_bytes)) => Taken::Reply(Reply { slot, unique, error: 0, body_bytes }),
            Some(Err(errno)) => Taken::Reply(Reply { slot, unique, error: -errno, body_bytes: 0 }),
        }
    }

    fn work(&mut self, _arrived: bool) -> Result<(), MountError> {
        if let Some(event) = &self.wake {
            event.clear();
        }
        self.server.notices.borrow_mut().look();
        self.executor.run_ready(&mut self.disk);
        if self.commit.look(&self.server.fs) {
            let fs = self.server.fs.clone();
            // The next change or sync reports the failure.
            self.spawner.start(async move { drop(fs.sync().await) });
            self.executor.run_ready(&mut self.disk);
        }
        Ok(())
    }

    fn next_reply(&mut self) -> Option<Reply> {
        let Finished { slot, unique, result } = self.outbox.take()?;
        let placed = match result {
            TaskResult::Transfer(transfer) => self.payloads.end(slot, transfer),
            TaskResult::Answer(answer) => answer.and_then(|bytes| {
                let payload = self.payloads.of(slot);
                payload.get_mut(..bytes.len()).ok_or(libc::EIO)?.copy_from_slice(&bytes);
                Ok(bytes.len())
            }),
        };
        Some(match placed {
            Ok(body_bytes) => Reply { slot, unique, error: 0, body_bytes },
            Err(errno) => Reply { slot, unique, error: -errno, body_bytes: 0 },
        })
    }

    fn is_busy(&self) -> bool {
        // A device that cannot wake the transport is polled until it is done.
        !self.wakes && self.disk.under_way() > 0
    }
}
