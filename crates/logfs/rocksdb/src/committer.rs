//! Makes durable, every few seconds, what nobody syncs: what is lost when the process is killed is
//! then never older than that.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::file_system::Shared;

/// Lets a thread commit until it is dropped.
#[derive(Debug)]
pub(crate) struct Committer {
    /// Nothing is ever sent: its end is what the thread waits for.
    _end: Sender<()>,
}

impl Committer {
    /// `None` when there can be no thread: then the file system alone decides.
    pub(crate) fn start(shared: &Arc<Shared>, seconds: u32) -> Option<Committer> {
        let (end, ended) = channel::<()>();
        let shared: Weak<Shared> = Arc::downgrade(shared);
        let pause = Duration::from_secs(u64::from(seconds));
        let thread = std::thread::Builder::new().name("logfs commit".to_owned());
        let started = thread.spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(pause) {
                let Some(shared) = shared.upgrade() else { return };
                // That it failed, the next change or sync is told.
                let _failed = shared.commit();
            }
        });
        started.ok().map(|_| Committer { _end: end })
    }
}
