//! Makes changes without a sync durable every few seconds, so that a killed process loses no more
//! than these seconds.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Lets a thread commit until it is dropped.
#[derive(Debug)]
pub(crate) struct Committer {
    /// Nothing is ever sent: its end is what the thread waits for.
    _end: Sender<()>,
}

impl Committer {
    /// Calls `commit` at this interval in seconds, as long as it returns that there is something to
    /// commit to. `None` when there can be no thread: then the file system alone decides.
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
