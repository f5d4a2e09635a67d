//! A thread that serves some of the connections if there is no io_uring.
//!
//! It finds ready sockets by epoll. After work it spins for a while before it sleeps, because a
//! host that polls sends its next command at once.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::event::{Timespec, epoll};

use super::connection::{Connection, End};
use super::controllers::Target;
use super::mailbox::Mailbox;

/// The token of the eventfd.
const WAKE: u64 = u64::MAX;
/// Time between two checks of all connections.
const TICK_NS: u64 = 50_000_000;
/// Events that one call returns.
const EVENTS: usize = 128;

/// A connection, and whether epoll watches for room to write.
struct Watched {
    connection: Connection,
    watches_writing: bool,
    /// Whether it is in the list of connections with due work.
    is_waiting: bool,
}

/// The poller of a thread.
pub(super) struct Poller {
    target: Arc<Target>,
    mailbox: Arc<Mailbox>,
    epoll: OwnedFd,
    connections: Vec<Option<Watched>>,
    free: Vec<usize>,
    /// Connections with due work.
    waiting: Vec<usize>,
    next_tick_ns: u64,
    open: usize,
}

impl Poller {
    pub(super) fn new(target: &Arc<Target>, mailbox: &Arc<Mailbox>) -> io::Result<Poller> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &mailbox.wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        Ok(Poller {
            target: Arc::clone(target),
            mailbox: Arc::clone(mailbox),
            epoll,
            connections: Vec::new(),
            free: Vec::new(),
            waiting: Vec::new(),
            next_tick_ns: 0,
            open: 0,
        })
    }

    /// Serves until it is stopped.
    pub(super) fn run(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        let mut idle_since_ns = 0;
        while !self.mailbox.stop.load(Ordering::Acquire) {
            let now_ns = self.target.clock.now_ns();
            let may_spin = self.open > 0 && now_ns.saturating_sub(idle_since_ns) < self.target.options.spin_ns;
            let timeout = self.timeout(now_ns, may_spin);
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let now_ns = self.target.clock.now_ns();
            self.serve_events(&events, now_ns);
            if !events.is_empty() {
                idle_since_ns = now_ns;
            }
            if !self.waiting.is_empty() {
                self.serve_waiting(now_ns);
            }
            if now_ns >= self.next_tick_ns {
                self.next_tick_ns = now_ns + TICK_NS;
                self.tick(now_ns);
            }
        }
        Ok(())
    }

    /// A separate function, so that its instructions can be counted.
    #[inline(never)]
    fn serve_events(&mut self, events: &[epoll::Event], now_ns: u64) {
        for event in events {
            // Copied, because the structure is packed.
            let (token, flags) = (event.data.u64(), event.flags);
            match token {
                WAKE => self.adopt(now_ns),
                token => self.serve(token as usize, flags.contains(epoll::EventFlags::OUT), now_ns),
            }
        }
    }

    /// How long to sleep.
    fn timeout(&mut self, now_ns: u64, may_spin: bool) -> Timespec {
        let mut until_ns = if self.open > 0 { self.next_tick_ns } else { now_ns + 20 * TICK_NS };
        for index in &self.waiting {
            let due = self.connections[*index].as_mut().and_then(|watched| watched.connection.next_event_ns());
            until_ns = until_ns.min(due.unwrap_or(until_ns));
        }
        let sleep_ns = if may_spin { 0 } else { until_ns.saturating_sub(now_ns) };
        Timespec { tv_sec: (sleep_ns / 1_000_000_000) as i64, tv_nsec: (sleep_ns % 1_000_000_000) as i64 }
    }

    /// Takes new connections.
    fn adopt(&mut self, now_ns: u64) {
        for socket in self.mailbox.take() {
            let index = self.free.pop().unwrap_or(self.connections.len());
            if index == self.connections.len() {
                self.connections.push(None);
            }
            let Ok(connection) = Connection::new(socket, &self.target, None, now_ns) else {
                // The peer of the socket is already gone.
                self.free.push(index);
                self.target.connections.fetch_sub(1, Ordering::AcqRel);
                continue;
            };
            let data = epoll::EventData::new_u64(index as u64);
            let added = epoll::add(&self.epoll, connection.socket.as_fd(), data, epoll::EventFlags::IN);
            self.connections[index] = Some(Watched { connection, watches_writing: false, is_waiting: false });
            self.open += 1;
            if added.is_err() {
                self.close(index);
            }
        }
    }

    #[inline]
    fn serve(&mut self, index: usize, can_write: bool, now_ns: u64) {
        let Some(watched) = self.connections.get_mut(index).and_then(Option::as_mut) else { return };
        let outcome = match watched.connection.serve(now_ns) {
            Ok(_) if can_write => watched.connection.serve_due(now_ns),
            Ok(_) => Ok(()),
            Err(end) => Err(end),
        };
        self.after(index, outcome, now_ns);
    }

    /// Decides what to do after a connection was served.
    #[inline]
    fn after(&mut self, index: usize, outcome: Result<(), End>, now_ns: u64) {
        let Some(watched) = self.connections.get_mut(index).and_then(Option::as_mut) else { return };
        if let Err(end) = outcome
            && !watched.connection.say_end(&end, now_ns)
        {
            return self.close(index);
        }
        let wants_to_write = watched.connection.wants_to_write();
        if wants_to_write != watched.watches_writing {
            watched.watches_writing = wants_to_write;
            let writing = if wants_to_write { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() };
            let data = epoll::EventData::new_u64(index as u64);
            let socket = watched.connection.socket.as_fd();
            if epoll::modify(&self.epoll, socket, data, epoll::EventFlags::IN | writing).is_err() {
                return self.close(index);
            }
        }
        if !watched.is_waiting && watched.connection.next_event_ns().is_some() {
            watched.is_waiting = true;
            self.waiting.push(index);
        }
    }

    fn serve_waiting(&mut self, now_ns: u64) {
        for index in std::mem::take(&mut self.waiting) {
            let Some(watched) = self.connections[index].as_mut() else { continue };
            watched.is_waiting = false;
            let is_due = watched.connection.next_event_ns().is_some_and(|at_ns| at_ns <= now_ns);
            let outcome = if is_due { watched.connection.serve_due(now_ns) } else { Ok(()) };
            self.after(index, outcome, now_ns);
        }
    }

    fn tick(&mut self, now_ns: u64) {
        for index in 0..self.connections.len() {
            if let Some(watched) = &mut self.connections[index] {
                let outcome = watched.connection.tick(now_ns);
                self.after(index, outcome, now_ns);
            }
        }
    }

    #[cold]
    fn close(&mut self, index: usize) {
        if let Some(watched) = self.connections[index].take() {
            // Closing the socket also removes it, unless a duplicate of the descriptor exists.
            let _ = epoll::delete(&self.epoll, watched.connection.socket.as_fd());
            self.free.push(index);
            self.open -= 1;
            self.target.connections.fetch_sub(1, Ordering::AcqRel);
        }
        self.waiting.retain(|waiting| *waiting != index);
    }
}
