//! The lane: operations to connections, completions back, and the wait for both.

use iolab_clock::Clock;
use iolab_engine::waiting::{Sleeper, poll_for, reap_rest, wanted};
use iolab_engine::{Completions, Lane, LaneError, LaneRequest, Op, OpenError, Submission, Wait};
use iolab_nbd::{NbdFlags, NbdUri};
use rustix::event::{PollFd, PollFlags};

use crate::connection::Connection;
use crate::flights::Flights;
use crate::link::{Link, address};
use crate::options::{Asked, MOST_CONNECTIONS};

/// Fruitless looks, for a caller that only polls, between two readings of the clock.
const LOOKS_BEFORE_CLOCK: u32 = 64;

/// A lane on the exports that the job names.
#[derive(Debug)]
pub struct NbdLane {
    connections: Box<[Connection]>,
    files: Box<[NbdFile]>,
    flights: Flights,
    asked: Asked,
    /// Accepted and not reaped.
    in_flight: usize,
    fruitless: u32,
    notes: Vec<String>,
    clock: Clock,
}

/// An export.
#[derive(Debug)]
struct NbdFile {
    uri: NbdUri,
    first_connection: usize,
    /// Mask of the smallest block.
    block_mask: u64,
    most_bytes: u32,
}

impl NbdLane {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<NbdLane, OpenError> {
        let asked = Asked::of(request.options);
        let (mut connections, mut files) = (Vec::new(), Vec::new());
        let failed = |message: String| OpenError { message, errno: Some(libc::EINVAL) };
        if request.files.len() * asked.connections > MOST_CONNECTIONS {
            return Err(failed(format!("a job has at most {MOST_CONNECTIONS} connections; use several jobs")));
        }
        for target in request.files {
            let uri = address(&target.path.to_string_lossy())?;
            let first_connection = connections.len();
            for _ in 0..asked.connections {
                let link = Link::connect(&uri, asked.timeout)?;
                check(&uri, &link, &asked)?;
                connections.push(Connection::new(link, connections.len(), request.depth));
            }
            let sizes = connections[first_connection].export.sizes;
            let block_mask = u64::from(sizes.minimum) - 1;
            files.push(NbdFile { uri, first_connection, block_mask, most_bytes: sizes.maximum });
        }
        Ok(NbdLane {
            connections: connections.into(),
            files: files.into(),
            flights: Flights::new(request)?,
            asked,
            in_flight: 0,
            fruitless: 0,
            notes: Vec::new(),
            clock: Clock::best().0,
        })
    }

    #[inline]
    fn offer(&mut self, op: &Op) -> Result<(), i32> {
        let file = self.files.get(op.file as usize).ok_or(libc::EBADF)?;
        let spread = if self.asked.connections == 1 { 0 } else { usize::from(op.slot) % self.asked.connections };
        let connection = &mut self.connections[file.first_connection + spread];
        let refusal = connection.refuses(op.kind, &self.asked);
        if refusal != 0 {
            return Err(refusal);
        }
        if !op.kind.is_sync() && (op.offset | u64::from(op.length)) & file.block_mask != 0 {
            return Err(libc::EINVAL);
        }
        let flight = self.flights.begin(op, connection.number, file.most_bytes).ok_or(libc::EFAULT)?;
        connection.request(&flight, &self.asked, &self.flights);
        Ok(())
    }

    /// Sends and receives once on each connection, and hands over what has ended.
    #[inline]
    fn gather(&mut self, out: &mut Completions) -> usize {
        let mut came = false;
        for connection in &mut self.connections {
            connection.send(&mut self.flights);
            came |= connection.receive(&mut self.flights);
        }
        if came {
            self.fruitless = 0;
            self.note_broken();
        }
        let found = self.flights.done.drain_into(out);
        self.in_flight -= found;
        found
    }

    /// Makes a note of a connection that has just broken.
    fn note_broken(&mut self) {
        if self.notes.is_empty()
            && let Some(connection) = self.connections.iter().find(|connection| connection.broken.is_some())
        {
            self.note(connection.number);
        }
    }

    #[cold]
    fn note(&mut self, number: usize) {
        let file = self.files.iter().rfind(|file| file.first_connection <= number);
        if let (Some(file), Some((_, why))) = (file, &self.connections[number].broken) {
            self.notes.push(format!("{}: the connection is gone: {why}", file.uri));
        }
    }

    /// Gives up connections that have been silent for too long. Returns when the next one will
    /// have been.
    fn give_up_silent(&mut self, now_ns: u64) -> u64 {
        let timeout_ns = u64::try_from(self.asked.timeout.as_nanos()).unwrap_or(u64::MAX);
        let mut next_ns = u64::MAX;
        for connection in self.connections.iter_mut().filter(|connection| connection.in_flight > 0) {
            let end_ns = connection.silent_since_ns.get_or_insert(now_ns).saturating_add(timeout_ns);
            if now_ns >= end_ns {
                let why =
                    format!("the server was silent for {} ms while it owed replies", self.asked.timeout.as_millis());
                connection.break_off(libc::ETIMEDOUT, &why, &mut self.flights);
            } else {
                next_ns = next_ns.min(end_ns);
            }
        }
        self.note_broken();
        next_ns
    }
}

impl Sleeper for NbdLane {
    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    #[inline]
    fn collect(&mut self, out: &mut Completions) -> Result<usize, LaneError> {
        Ok(self.gather(out))
    }

    fn sleep(&mut self, now_ns: u64, end_ns: u64) -> Result<(), LaneError> {
        let end_ns = end_ns.min(self.give_up_silent(now_ns));
        if self.flights.done.is_empty() {
            wait_for(&self.connections, end_ns.saturating_sub(now_ns))?;
        }
        Ok(())
    }
}

/// Whether an export can do what the options demand.
fn check(uri: &NbdUri, link: &Link, asked: &Asked) -> Result<(), OpenError> {
    let flags = link.export.flags;
    let failed = |what: &str| Err(OpenError { message: format!("{uri}: {what}"), errno: Some(libc::EOPNOTSUPP) });
    if asked.connections > 1 && !flags.has(NbdFlags::MULTI_CONNECTION) {
        return failed("the server does not promise that its connections see the same data: use nbd_connections=1");
    }
    if asked.fua && !flags.has(NbdFlags::FUA) {
        return failed("the server does not offer FUA: use nbd_fua=0, and fsync= or fdatasync=");
    }
    Ok(())
}

/// Waits in poll(2) for connections that owe replies, unless one has brought bytes already.
fn wait_for(connections: &[Connection], timeout_ns: u64) -> Result<(), LaneError> {
    if connections.iter().any(|connection| connection.in_flight > 0 && connection.channel.has_unread()) {
        return Ok(());
    }
    let mut waiting = connections.iter().filter(|connection| connection.in_flight > 0);
    let Some(first) = waiting.next() else { return Ok(()) };
    let interest = |connection: &Connection| match connection.has_unsent() {
        true => PollFlags::IN | PollFlags::OUT,
        false => PollFlags::IN,
    };
    // The list has a fixed length, so that nothing is allocated; what is left of it is the first
    // one again.
    let count = 1 + waiting.clone().count();
    let mut list: [PollFd<'_>; MOST_CONNECTIONS] = std::array::from_fn(|number| {
        let connection = if number == 0 { first } else { waiting.next().unwrap_or(first) };
        PollFd::new(connection, interest(connection))
    });
    poll_for(&mut list[..count], timeout_ns)?;
    Ok(())
}

impl Lane for NbdLane {
    const SYNCHRONOUS: bool = false;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        match self.offer(op) {
            Ok(()) => {
                self.in_flight += 1;
                Submission::Accepted
            }
            Err(errno) => Submission::Refused(errno),
        }
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        for connection in &mut self.connections {
            connection.send(&mut self.flights);
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let found = self.gather(out);
        if found == 0 && self.in_flight > 0 && wanted(wait, 0, self.in_flight, out) == 0 {
            self.fruitless += 1;
            if self.fruitless.is_multiple_of(LOOKS_BEFORE_CLOCK) {
                self.give_up_silent(self.clock.now_ns());
            }
        }
        reap_rest(self, wait, found, out)
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}
