//! What the control thread of a rank does: it carries bytes between the sockets here and the other
//! ranks, and sleeps when there are none.
//!
//! ```text
//!  rank 0:  client ══ N sockets ══ relay ── MPI ── relay ══ socket ══ server of rank r, with its job    :rank r
//!                                    ╚═ socket ═ server of rank 0
//! ```
//!
//! No call of MPI waits: messages are looked for, and between two looks the thread sleeps in
//! poll(2), for a short time while messages come, for up to [`LONGEST_NS`] when none do.

use iolab_clock::Clock;
use rustix::event::{PollFd, Timespec, poll};

use crate::carrier::{Carrier, Tag};
use crate::stream::Stream;

/// The sleep after something has come, ns.
const SHORTEST_NS: i64 = 50_000;
/// The longest sleep, ns.
const LONGEST_NS: i64 = 2_000_000;
/// From so many bytes on that are on their way to a rank, no more are read for it.
const MOST_BYTES: usize = 4 << 20;
/// How long the last messages may take, ns.
const END_NS: u64 = 3_000_000_000;
/// The rank with the client.
pub(crate) const ROOT: usize = 0;

/// The streams of one rank.
pub(crate) struct Relay<'w> {
    carrier: Carrier<'w>,
    /// Which rank this is.
    rank: usize,
    /// The server of this rank.
    own: Stream,
    /// Of the root: what the client has with each rank.
    clients: Vec<Stream>,
    /// The exit code of the run, once it is over.
    code: Option<u8>,
    sleep_ns: i64,
}

impl<'w> Relay<'w> {
    pub(crate) fn new(carrier: Carrier<'w>, rank: usize, own: Stream, clients: Vec<Stream>) -> Relay<'w> {
        Relay { carrier, rank, own, clients, code: None, sleep_ns: SHORTEST_NS }
    }

    /// Carries what there is; sleeps if there is nothing. Returns the exit code of the run when the
    /// root has said that it is over.
    pub(crate) fn step(&mut self) -> Option<u8> {
        let moved = [self.take_letters(), self.carrier.retire(), self.read_own(), self.read_clients()];
        self.own.flush();
        self.clients.iter_mut().for_each(Stream::flush);
        if moved.contains(&true) {
            self.sleep_ns = SHORTEST_NS;
        } else {
            self.sleep();
        }
        self.code
    }

    fn take_letters(&mut self) -> bool {
        let mut some = false;
        while let Some(letter) = self.carrier.receive() {
            some = true;
            match letter.tag {
                Tag::Over => self.code = Some(letter.bytes.first().copied().unwrap_or(0)),
                Tag::Bytes if self.rank == ROOT => self.clients[letter.from].write(&letter.bytes),
                Tag::Bytes => self.own.write(&letter.bytes),
            }
        }
        some
    }

    /// From the server here to the client.
    fn read_own(&mut self) -> bool {
        if self.rank != ROOT && self.carrier.waiting_bytes(ROOT) > MOST_BYTES {
            return false;
        }
        let Some(piece) = self.own.read() else { return false };
        match self.clients.first_mut() {
            Some(client) => client.write(&piece),
            None => self.carrier.send(ROOT, Tag::Bytes, piece),
        }
        true
    }

    /// From the client to the servers.
    fn read_clients(&mut self) -> bool {
        let mut some = false;
        for (to, client) in self.clients.iter_mut().enumerate() {
            if to != ROOT && self.carrier.waiting_bytes(to) > MOST_BYTES {
                continue;
            }
            let Some(piece) = client.read() else { continue };
            some = true;
            if to == ROOT {
                self.own.write(&piece);
            } else {
                self.carrier.send(to, Tag::Bytes, piece);
            }
        }
        some
    }

    fn sleep(&mut self) {
        let has_room = |to: usize| to == self.rank || self.carrier.waiting_bytes(to) <= MOST_BYTES;
        let clients = self.clients.iter().enumerate().filter_map(|(to, client)| client.interest(has_room(to)));
        let mut fds: Vec<PollFd<'_>> = clients.chain(self.own.interest(has_room(ROOT))).collect();
        // A signal ends the sleep, as it should.
        let _ = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: self.sleep_ns }));
        self.sleep_ns = (self.sleep_ns * 2).min(LONGEST_NS);
    }

    /// Of the root: tells all ranks that the run is over, and its exit code, and waits until that
    /// is on its way, but not for ever: a rank that was killed takes nothing.
    ///
    /// All ranks end with the code, because Hydra may end with 0 after an interrupt when the only
    /// rank that ends with another code is among the last.
    pub(crate) fn end(&mut self, ranks: usize, code: u8) {
        (0..ranks).filter(|rank| *rank != self.rank).for_each(|rank| self.carrier.send(rank, Tag::Over, vec![code]));
        let clock = Clock::monotonic();
        let until_ns = clock.now_ns() + END_NS;
        while self.carrier.is_sending() && clock.now_ns() < until_ns {
            self.take_letters();
            self.carrier.retire();
            self.sleep();
        }
    }
}
