//! The client: operations to connections, completions back, and the wait for both.

use iolab_engine::waiting::poll_for;
use iolab_engine::{CompletionRow, LaneClient, LaneError, LaneRequest, Op, OpenError};
use iolab_nbd::{NbdFlags, NbdUri};
use rustix::event::{PollFd, PollFlags};

use crate::connection::Connection;
use crate::flights::Flights;
use crate::link::{Link, address};
use crate::options::{Asked, MOST_CONNECTIONS};

/// A client of the exports that the job names.
#[derive(Debug)]
pub struct NbdClient {
    connections: Box<[Connection]>,
    files: Box<[NbdFile]>,
    flights: Flights,
    asked: Asked,
    notes: Vec<String>,
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

impl NbdClient {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<NbdClient, OpenError> {
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
        Ok(NbdClient {
            connections: connections.into(),
            files: files.into(),
            flights: Flights::new(request)?,
            asked,
            notes: Vec::new(),
        })
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
}

impl LaneClient for NbdClient {
    const WAITS_AT_END: bool = false;

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

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        for connection in &mut self.connections {
            connection.send(&mut self.flights);
        }
        Ok(())
    }

    #[inline]
    fn take(&mut self) -> Result<(), LaneError> {
        let mut came = false;
        for connection in &mut self.connections {
            connection.send(&mut self.flights);
            came |= connection.receive(&mut self.flights);
        }
        if came {
            self.note_broken();
        }
        Ok(())
    }

    #[inline]
    fn done(&mut self) -> &mut CompletionRow {
        &mut self.flights.done
    }

    fn wait(&mut self, timeout_ns: u64) -> Result<(), LaneError> {
        wait_for(&self.connections, timeout_ns)
    }

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

    fn notes(&self) -> &[String] {
        &self.notes
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
