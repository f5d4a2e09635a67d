//! Makes changes durable: on request, and otherwise after some time.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use iolab_logfs::{InodeId, LocalVolume};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::MountError;
use crate::server::{Answer, Server, sync_errno};

/// FSYNC and FSYNCDIR.
pub(crate) async fn sync_file(server: Server, inode: InodeId, data_only: bool) -> Answer {
    let synced = if data_only { server.fs.fdatasync(inode).await } else { server.fs.fsync(inode).await };
    synced.map(|()| Vec::new()).map_err(|error| sync_errno(&error))
}

/// SYNCFS.
pub(crate) async fn sync_all(server: Server) -> Answer {
    server.fs.sync().await.map(|()| Vec::new()).map_err(|error| sync_errno(&error))
}

/// A timer that expires some time after the first change that is not durable.
#[derive(Debug)]
pub(crate) struct Commit {
    timer: OwnedFd,
    seconds: u32,
    is_set: bool,
}

impl Commit {
    pub(crate) fn new(seconds: u32) -> Result<Commit, MountError> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags);
        let timer = timer.map_err(|error| MountError::System("timerfd_create", error.into()))?;
        Ok(Commit { timer, seconds, is_set: false })
    }

    /// Arms the timer when there is something to make durable; returns true when it has expired and
    /// that is due.
    pub(crate) fn look(&mut self, fs: &LocalVolume) -> bool {
        let has_gone_off = self.is_set && rustix::io::read(&self.timer, &mut [0; 8]).is_ok();
        self.is_set &= !has_gone_off;
        if !self.is_set && self.seconds > 0 && fs.has_unsynced() {
            let after = Timespec { tv_sec: i64::from(self.seconds), tv_nsec: 0 };
            let never = Timespec { tv_sec: 0, tv_nsec: 0 };
            let once = Itimerspec { it_interval: never, it_value: after };
            self.is_set = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once).is_ok();
        }
        has_gone_off
    }
}

impl AsFd for Commit {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}
