//! Keep Alive commands, sent by a separate thread: the rest of the driver may send nothing for a
//! long time.
//!
//! The thread writes to the socket of the admin queue, between two PDUs of that queue. The queue
//! receives the answers and ignores them: other commands detect a target that is gone.

use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iolab_nvme_association::Association;
use iolab_nvme_fabrics::Framing;
use iolab_nvme_spec::sgl::SglDescriptor;
use iolab_nvme_spec::{AdminOpcode, SubmissionEntry};

use super::queue::KEEP_ALIVE_CID;

/// The socket of an admin queue.
#[derive(Debug, Default)]
struct Line {
    socket: Option<TcpStream>,
    command: Vec<u8>,
    /// Whether the queue has sent only a part of a PDU.
    is_partial: bool,
    has_ended: bool,
}

/// Serialises sending between the queue and the thread.
#[derive(Debug, Default)]
pub(super) struct Turns {
    line: Mutex<Line>,
    ended: Condvar,
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the connection that is the admin queue now, or none.
    pub(super) fn set_line(&self, socket: Option<TcpStream>, framing: &Framing) {
        let mut line = self.lock();
        line.command.clear();
        let entry = SubmissionEntry::new(AdminOpcode::KEEP_ALIVE.0, KEEP_ALIVE_CID);
        framing.command(&mut line.command, &entry.with_sgl(SglDescriptor::transport(0)).words);
        (line.socket, line.is_partial) = (socket, false);
    }

    /// Sends for the queue with `send`, which returns whether everything was sent.
    pub(super) fn take<E>(&self, send: impl FnOnce() -> Result<bool, E>) -> Result<bool, E> {
        let mut line = self.lock();
        let sent = send()?;
        line.is_partial = !sent;
        Ok(sent)
    }
}

/// The thread; it ends when this value is dropped.
#[derive(Debug)]
pub(super) struct KeepAlive {
    turns: Arc<Turns>,
    thread: Option<JoinHandle<()>>,
}

impl KeepAlive {
    /// Starts a thread that sends a command several times within the timeout that the target was
    /// given.
    pub(super) fn start(link: &Arc<Association>, turns: &Arc<Turns>) -> std::io::Result<KeepAlive> {
        let mut keep_alive = KeepAlive { turns: Arc::clone(turns), thread: None };
        if link.address.keep_alive_ms > 0 {
            let period = Duration::from_millis(u64::from(link.address.keep_alive_ms / 3).max(1));
            let (link, turns) = (Arc::clone(link), Arc::clone(turns));
            let body = move || run(&link, &turns, period);
            keep_alive.thread = Some(std::thread::Builder::new().name("tcp-keep-alive".into()).spawn(body)?);
        }
        Ok(keep_alive)
    }
}

fn run(link: &Association, turns: &Turns, period: Duration) {
    let mut line = turns.lock();
    while !line.has_ended {
        line = turns.ended.wait_timeout(line, period).unwrap_or_else(PoisonError::into_inner).0;
        if line.has_ended || line.is_partial {
            continue;
        }
        let Line { socket, command, .. } = &mut *line;
        let Some(mut socket) = socket.as_ref() else { continue };
        // The command is so short that it fits, unless the target has received nothing for a very
        // long time.
        match socket.write(command) {
            Ok(bytes) if bytes == command.len() => {}
            Ok(_) => link.report(link.generation(), "the target takes no Keep Alive"),
            Err(error) => link.report(link.generation(), &format!("sending Keep Alive: {error}")),
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
