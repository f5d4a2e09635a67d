//! A thread that serves some of the connections with an io_uring.
//!
//! One call sends the answers of all connections and collects the received bytes of all of them.
//! Between two calls the thread only reads memory. After work it spins for a while before it
//! sleeps.

use std::io;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use iolab_sockets::{RingBuffer, RingOptions, SocketEvent, SocketRing};

use super::connection::{Carried, Connection, End};
use super::controllers::Target;
use super::mailbox::Mailbox;

/// Time between two checks of all connections.
const TICK_NS: u64 = 50_000_000;
/// Reads of memory between two readings of the clock.
const LOOKS: usize = 32;
/// Receive buffers for all connections of a thread.
const BUFFERS: u16 = 128;
const BUFFER_BYTES: usize = 32 << 10;
const ENTRIES: u32 = 256;
/// The bits of a token that hold the connection's place; the bits above count the connections of
/// that place.
const PLACE_BITS: u32 = 24;
const MOST_TURNS: u64 = 1 << (56 - PLACE_BITS);

/// A connection, and the state of its operations in the ring.
struct Member {
    connection: Connection,
    token: u64,
    is_receiving: bool,
    is_stopping: bool,
    /// Whether it is in the list of connections with due work.
    is_waiting: bool,
    /// Whether the kernel may read the medium's memory directly.
    may_share: bool,
}

/// The poller of a thread.
pub(super) struct RingPoller {
    target: Arc<Target>,
    mailbox: Arc<Mailbox>,
    ring: SocketRing,
    members: Vec<Option<Member>>,
    free: Vec<usize>,
    /// How many times a place was assigned to a connection.
    turn: u64,
    waiting: Vec<usize>,
    next_tick_ns: u64,
    open: usize,
}

impl RingPoller {
    /// A poller for the calling thread.
    ///
    /// # Errors
    /// The kernel provides no io_uring for this process, or an old version.
    pub(super) fn new(target: &Arc<Target>, mailbox: &Arc<Mailbox>) -> io::Result<RingPoller> {
        let options = RingOptions {
            entries: ENTRIES,
            buffers: BUFFERS,
            buffer_bytes: BUFFER_BYTES,
            zero_copy_above: target.options.zero_copy_above,
        };
        Ok(RingPoller {
            ring: SocketRing::new(&options)?,
            target: Arc::clone(target),
            mailbox: Arc::clone(mailbox),
            members: Vec::new(),
            free: Vec::new(),
            turn: 0,
            waiting: Vec::new(),
            next_tick_ns: 0,
            open: 0,
        })
    }

    /// Serves connections until the thread is stopped.
    pub(super) fn run(&mut self) -> io::Result<()> {
        self.ring.watch(&self.mailbox.wake, 0)?;
        let mut idle_since_ns = 0;
        while !self.mailbox.stop.load(Ordering::Acquire) {
            let now_ns = self.target.clock.now_ns();
            let may_spin = self.open > 0 && now_ns.saturating_sub(idle_since_ns) < self.target.options.spin_ns;
            self.look(now_ns, may_spin)?;
            let now_ns = self.target.clock.now_ns();
            if self.work(now_ns)? {
                idle_since_ns = now_ns;
            }
            if !self.waiting.is_empty() {
                self.serve_waiting(now_ns)?;
            }
            if now_ns >= self.next_tick_ns {
                self.next_tick_ns = now_ns + TICK_NS;
                self.tick(now_ns)?;
            }
        }
        Ok(())
    }

    /// Handles the events. Returns whether there were any.
    #[inline]
    fn work(&mut self, now_ns: u64) -> io::Result<bool> {
        let mut has_worked = false;
        while let Some(event) = self.ring.next_event() {
            has_worked = true;
            self.take(event, now_ns)?;
        }
        Ok(has_worked)
    }

    /// Submits operations, and polls for events for as long as allowed.
    #[inline]
    fn look(&mut self, now_ns: u64, may_spin: bool) -> io::Result<()> {
        if self.ring.has_work() {
            return self.ring.round(Duration::ZERO);
        }
        if !may_spin {
            let at_most = self.timeout(now_ns);
            return self.ring.round(at_most);
        }
        for _ in 0..LOOKS {
            std::hint::spin_loop();
            if self.ring.has_work() {
                return self.ring.round(Duration::ZERO);
            }
        }
        Ok(())
    }

    /// How long to sleep.
    fn timeout(&mut self, now_ns: u64) -> Duration {
        let mut until_ns = if self.open > 0 { self.next_tick_ns } else { now_ns + 20 * TICK_NS };
        for index in &self.waiting {
            let due = self.members[*index].as_mut().and_then(|member| member.connection.next_event_ns());
            until_ns = until_ns.min(due.unwrap_or(until_ns));
        }
        Duration::from_nanos(until_ns.saturating_sub(now_ns))
    }

    #[inline]
    fn take(&mut self, event: SocketEvent, now_ns: u64) -> io::Result<()> {
        match event {
            SocketEvent::Received { token, buffer, bytes } => {
                let stopped = self.ring.next_stopped();
                self.feed(token, buffer, bytes, now_ns)?;
                match stopped {
                    Some(token) => self.has_stopped(token, false, now_ns),
                    None => Ok(()),
                }
            }
            SocketEvent::Stopped { token, is_over } => self.has_stopped(token, is_over, now_ns),
            SocketEvent::Sent { token, outcome, parcel } => {
                let Some((index, member)) = find(&mut self.members, token) else { return Ok(()) };
                member.connection.has_sent(parcel);
                // Commands may have been left over because too many bytes waited to be sent.
                let outcome = outcome.map_err(End::from).and_then(|()| member.connection.pump(now_ns));
                self.after(index, outcome, now_ns)
            }
            SocketEvent::Readable { .. } => {
                self.adopt(now_ns)?;
                self.ring.watch(&self.mailbox.wake, 0)
            }
        }
    }

    #[inline]
    fn feed(&mut self, token: u64, buffer: RingBuffer, bytes: usize, now_ns: u64) -> io::Result<()> {
        let Some((index, member)) = find(&mut self.members, token) else {
            self.ring.give_back(buffer);
            return Ok(());
        };
        let (buffer, outcome) = member.connection.feed(buffer, bytes, now_ns);
        if let Some(buffer) = buffer {
            self.ring.give_back(buffer);
        }
        self.after(index, outcome, now_ns)
    }

    #[cold]
    fn has_stopped(&mut self, token: u64, is_over: bool, now_ns: u64) -> io::Result<()> {
        let Some((index, member)) = find(&mut self.members, token) else { return Ok(()) };
        (member.is_receiving, member.is_stopping) = (false, false);
        self.after(index, if is_over { Err(End::Closed) } else { Ok(()) }, now_ns)
    }

    /// Takes new connections.
    fn adopt(&mut self, now_ns: u64) -> io::Result<()> {
        for socket in self.mailbox.take() {
            let may_share = socket.peer_addr().is_ok_and(|peer| !peer.ip().is_loopback());
            let Ok(connection) = Connection::new(socket, &self.target, Some(Carried::default()), now_ns) else {
                // The peer of the socket is already gone.
                self.target.connections.fetch_sub(1, Ordering::AcqRel);
                continue;
            };
            let index = self.free.pop().unwrap_or(self.members.len());
            if index == self.members.len() {
                self.members.push(None);
            }
            self.turn = (self.turn + 1) % MOST_TURNS;
            let token = self.turn << PLACE_BITS | index as u64;
            let (is_receiving, is_stopping, is_waiting) = (false, false, false);
            self.members[index] = Some(Member { connection, token, is_receiving, is_stopping, is_waiting, may_share });
            self.open += 1;
            self.after(index, Ok(()), now_ns)?;
        }
        Ok(())
    }

    /// Decides what to do after a connection was served: send answers, receive more, or end it.
    #[inline]
    fn after(&mut self, index: usize, outcome: Result<(), End>, now_ns: u64) -> io::Result<()> {
        let Some(member) = self.members.get_mut(index).and_then(Option::as_mut) else { return Ok(()) };
        if let Err(end) = outcome
            && !member.connection.say_end(&end, now_ns)
        {
            self.close(index);
            return Ok(());
        }
        if let Some(parcel) = member.connection.take_parcel() {
            self.ring.send(&member.connection.socket, member.token, parcel, member.may_share)?;
        } else if member.connection.end_if_sent().is_err() {
            self.close(index);
            return Ok(());
        }
        match (member.is_receiving, member.connection.may_listen()) {
            (false, true) => {
                self.ring.receive(&member.connection.socket, member.token)?;
                member.is_receiving = true;
            }
            (true, false) if !member.is_stopping => {
                self.ring.stop(member.token)?;
                member.is_stopping = true;
            }
            _ => {}
        }
        if !member.is_waiting && member.connection.next_event_ns().is_some() {
            member.is_waiting = true;
            self.waiting.push(index);
        }
        Ok(())
    }

    fn serve_waiting(&mut self, now_ns: u64) -> io::Result<()> {
        for index in std::mem::take(&mut self.waiting) {
            let Some(member) = self.members[index].as_mut() else { continue };
            member.is_waiting = false;
            let is_due = member.connection.next_event_ns().is_some_and(|at_ns| at_ns <= now_ns);
            let outcome = if is_due { member.connection.serve_due(now_ns) } else { Ok(()) };
            self.after(index, outcome, now_ns)?;
        }
        Ok(())
    }

    fn tick(&mut self, now_ns: u64) -> io::Result<()> {
        for index in 0..self.members.len() {
            if let Some(member) = &mut self.members[index] {
                let outcome = member.connection.tick(now_ns);
                self.after(index, outcome, now_ns)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn close(&mut self, index: usize) {
        if let Some(member) = self.members[index].take() {
            // The ring also holds the socket, and this ends its operations on it.
            let _ = member.connection.socket.shutdown(Shutdown::Both);
            self.free.push(index);
            self.open -= 1;
            self.target.connections.fetch_sub(1, Ordering::AcqRel);
        }
        self.waiting.retain(|waiting| *waiting != index);
    }
}

/// The connection that a token names, unless it is gone.
#[inline]
fn find(members: &mut [Option<Member>], token: u64) -> Option<(usize, &mut Member)> {
    let index = (token & ((1 << PLACE_BITS) - 1)) as usize;
    let member = members.get_mut(index)?.as_mut().filter(|member| member.token == token)?;
    Some((index, member))
}

impl Drop for RingPoller {
    fn drop(&mut self) {
        for member in self.members.iter().flatten() {
            let _ = member.connection.socket.shutdown(Shutdown::Both);
        }
    }
}
