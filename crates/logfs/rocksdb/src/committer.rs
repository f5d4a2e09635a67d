//! Makes changes without a sync durable every few seconds, so that a killed process loses no more
//! than these seconds.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// A thread that commits until this is dropped.
#[derive(Debug)]
pub(crate) struct Committer {
    /// Nothing is ever sent: the thread waits for this to be dropped.
    _end: Sender<()>,
}

impl Committer {
    /// Calls `commit` at this interval in seconds, until it returns that the image is gone. `None`
    /// when no thread can be started: then only the file system decides when to commit.
    pub(crate) fn start(seconds: u32, commit: impl Fn() -> bool + Send + 'static) -> Option<Committer> {
        let (end, ended) = channel::<()>();
        let pause = Duration::from_secs(u64::from(seconds));
        let thread = std::thread::Builder::new().name("logfs commit".to_owned());
        let started = thread.spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(pause) {
                if !commit() {
                    return;
                }
            }
        });
        started.ok().map(|_| Committer { _end: end })
    }
}
