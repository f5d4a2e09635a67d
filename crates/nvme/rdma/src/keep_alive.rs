//! Keep Alive commands, sent by a separate thread: the rest of the driver may send nothing for a
//! long time.
//!
//! The thread and the admin queue use the connection in turns. The thread moves arrivals into the
//! inbox, so that there is always room for the next response, and leaves them there.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iolab_nvme_association::Association;
use iolab_nvme_spec::sgl::SglDescriptor;
use iolab_nvme_spec::{AdminOpcode, SubmissionEntry};

use crate::connection_line::Line;

/// The identifier of Keep Alive commands, which the driver does not use on the admin queue.
pub(crate) const KEEP_ALIVE_CID: u16 = 29;

/// The connection of an admin queue.
#[derive(Debug, Default)]
struct Shared {
    line: Option<Box<Line>>,
    has_ended: bool,
}

/// Serialises access of the queue and the thread.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    shared: Mutex<Shared>,
    ended: Condvar,
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the connection that is the admin queue now, or none.
    pub(crate) fn set_line(&self, line: Option<Box<Line>>) {
        self.lock().line = line;
    }

    /// Calls a function with exclusive access to the connection.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut Line) -> R) -> Option<R> {
        self.lock().line.as_deref_mut().map(work)
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.lock().line.is_some()
    }
}

/// The thread; it ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct KeepAlive {
    turns: Arc<Turns>,
    thread: Option<JoinHandle<()>>,
}

impl KeepAlive {
    /// Starts a thread that sends a command several times within the timeout that the target was
    /// given.
    pub(crate) fn start(association: &Arc<Association>, turns: &Arc<Turns>) -> std::io::Result<KeepAlive> {
        let mut keep_alive = KeepAlive { turns: Arc::clone(turns), thread: None };
        let limit_ms = association.address.keep_alive_ms;
        if limit_ms > 0 {
            let period = Duration::from_millis(u64::from(limit_ms / 3).max(1));
            let (association, turns) = (Arc::clone(association), Arc::clone(turns));
            let body = move || run(&association, &turns, period);
            keep_alive.thread = Some(std::thread::Builder::new().name("rdma-keep-alive".into()).spawn(body)?);
        }
        Ok(keep_alive)
    }
}

fn run(association: &Association, turns: &Turns, period: Duration) {
    let entry = SubmissionEntry::new(AdminOpcode::KEEP_ALIVE.0, KEEP_ALIVE_CID).with_sgl(SglDescriptor::keyed(0, 0, 0));
    let mut shared = turns.lock();
    while !shared.has_ended {
        shared = turns.ended.wait_timeout(shared, period).unwrap_or_else(PoisonError::into_inner).0;
        if shared.has_ended {
            break;
        }
        let Some(line) = &mut shared.line else { continue };
        line.drain();
        line.look();
        let (message, is_away) = line.keep_alive;
        if !is_away {
            line.keep_alive.1 = true;
            line.begin(message, &entry.words, 0);
            line.post();
        }
        if let Some(reason) = &line.broken {
            association.report(association.generation(), reason);
        }
    }
}

impl Drop for KeepAlive {
    fn drop(&mut self) {
        self.turns.lock().has_ended = true;
        self.turns.ended.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has already reported it.
            let _ = thread.join();
        }
    }
}
