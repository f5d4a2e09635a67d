//! One connection of a host: from its handshake to its end.
//!
//! ```text
//! ICReq ─▶ Connect ─┬▶ admin queue ──▶ properties, admin commands
//!                   ├▶ I/O queue ────▶ reads, writes, …
//!                   └▶ discovery
//! a PDU that breaks a rule ─▶ C2HTermReq ─▶ the end
//! ```

use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use iolab_nvme_fabrics::{DataPart, DataRange, Digests, Framing, Pdu, PduError, Sender};
use iolab_nvme_spec::fabrics::tcp::FatalError;
use iolab_nvme_spec::{Status, SubmissionEntry};
use iolab_sockets::Parcel;

use super::admin_role::AdminRole;
use super::authenticating_role::AuthenticatingRole;
use super::controllers::Target;
use super::io_role::{After, IoRole};
use super::queue::{Arrival, Queue};
use super::role::{Role, refuse};
use super::transfers::Incoming;
use super::window::{Breakage, Window};
use crate::inbox::{Found, look};

/// Bytes of data in the capsule of an admin command (TCP, section 3.3.1.3).
const ADMIN_CAPSULE_DATA: u32 = 8192;
/// The size of the inbox of a connection that has no I/O queue: a capsule fits.
const SMALL_INBOX_BYTES: usize = 12 << 10;
/// Bytes of data that a host may send in one PDU.
const MOST_DATA_PDU_BYTES: u32 = 128 << 10;
/// If more answers than this were not received by a host, the host is not read from.
const MOST_UNSENT_BYTES: usize = 512 << 10;
/// How long a host may take to connect a queue.
const HANDSHAKE_NS: u64 = 10_000_000_000;
/// How long a host may take to close a connection after its end was announced.
const FAREWELL_NS: u64 = 1_000_000_000;
/// Data of at least this size bypasses the inbox, because then a separate call pays off.
const DIRECT_BYTES: usize = 16 << 10;
/// Commands of a connection that may wait for data at once: more than any queue has entries.
const MOST_TRANSFERS: usize = 4096;
/// Rounds of reading before other connections get their turn.
const ROUNDS: usize = 4;

/// Why a connection ends.
#[derive(Debug)]
pub(super) enum End {
    /// The host has closed it, or the network has failed.
    Closed,
    /// The host broke the protocol.
    Broken(PduError),
    /// The connection is over: pending answers are sent, and nothing after them.
    Over,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> End {
        End::Closed
    }
}

impl From<PduError> for End {
    fn from(error: PduError) -> End {
        End::Broken(error)
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: TcpStream,
    pub(super) target: Arc<Target>,
    pub(super) at: SocketAddr,
    pub(super) role: Role,
    pub(super) incoming: Option<Incoming>,
    /// When the present stage began, ns.
    pub(super) since_ns: u64,
    /// What a ring sends and receives for the connection; `None` if the connection does it itself.
    pub(super) carried: Option<Carried>,
}

/// The part of a connection that a ring uses.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// Bytes that are being sent.
    pub(super) on_the_way: usize,
    /// An empty parcel for the next send.
    pub(super) spare: Option<Box<Parcel>>,
    /// Whether nothing may be sent after the pending bytes.
    pub(super) ends_when_sent: bool,
}

impl Connection {
    pub(super) fn new(
        socket: TcpStream,
        target: &Arc<Target>,
        carried: Option<Carried>,
        now_ns: u64,
    ) -> io::Result<Connection> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        rustix::net::sockopt::set_socket_keepalive(&socket, true)?;
        let at = socket.local_addr()?;
        // A ring lends its buffers as bytes arrive.
        let inbox_bytes = if carried.is_some() { 0 } else { SMALL_INBOX_BYTES };
        let role = Role::Fresh(Window::new(inbox_bytes));
        Ok(Connection { socket, target: Arc::clone(target), at, role, incoming: None, since_ns: now_ns, carried })
    }

    /// Reads, executes and answers the available commands. Returns whether there were any.
    #[inline]
    pub(super) fn serve(&mut self, now_ns: u64) -> Result<bool, End> {
        let mut worked = false;
        for _ in 0..ROUNDS {
            if self.role.window().out.unsent() > MOST_UNSENT_BYTES && !self.role.window().out.send(&self.socket)? {
                break;
            }
            let (found, has_more) = self.read()?;
            if found == Found::End {
                return Err(End::Closed);
            }
            worked |= found != Found::Nothing;
            // Commands may have been left over because there was no room.
            self.pump(now_ns)?;
            if !has_more {
                break;
            }
        }
        Ok(worked)
    }

    /// Reads into the inbox, or reads large data of one PDU directly to its destination.
    #[inline]
    fn read(&mut self) -> io::Result<(Found, bool)> {
        if let Some(incoming) = &mut self.incoming
            && incoming.left >= DIRECT_BYTES
            && let Some((window, queue)) = self.role.parts()
            && window.inbox.is_empty()
        {
            let found = look(&self.socket, queue.transfers.room(incoming))?;
            if let Found::Bytes(bytes) = found {
                queue.transfers.received(incoming, bytes);
            }
            return Ok((found, matches!(found, Found::Bytes(_))));
        }
        if matches!(self.role, Role::Ended(_)) {
            self.role.window().inbox.clear();
        }
        self.role.window().inbox.fill(&self.socket)
    }

    /// Whether there are answers that the socket did not accept.
    pub(super) fn wants_to_write(&mut self) -> bool {
        self.role.window().out.unsent() > 0
    }

    /// The time of work that does not depend on the host.
    pub(super) fn next_event_ns(&mut self) -> Option<u64> {
        self.role.parts().and_then(|(_, queue)| queue.next_event_ns())
    }

    /// Does due work that does not depend on the host: answers, and commands that had to wait.
    pub(super) fn serve_due(&mut self, now_ns: u64) -> Result<(), End> {
        if let Role::Io(role) = &mut self.role {
            role.retry(now_ns);
        }
        let Some((window, queue)) = self.role.parts() else { return Ok(()) };
        queue.release_due(window, now_ns);
        // Commands may have been left over because there was no room.
        self.pump(now_ns)
    }

    /// Checks periodically whether the connection may continue.
    pub(super) fn tick(&mut self, now_ns: u64) -> Result<(), End> {
        let age_ns = now_ns.saturating_sub(self.since_ns);
        match &mut self.role {
            Role::Fresh(_) | Role::Unconnected(_) | Role::Authenticating(_) if age_ns > HANDSHAKE_NS => {
                return Err(End::Closed);
            }
            Role::Ended(_) if age_ns > FAREWELL_NS => return Err(End::Closed),
            Role::Fresh(_) | Role::Unconnected(_) | Role::Authenticating(_) | Role::Ended(_) => {}
            Role::Admin(role) => {
                role.report_events();
                if role.has_expired(now_ns) || !role.is_current() {
                    return Err(End::Closed);
                }
            }
            Role::Discovery(role) if role.has_expired(now_ns) => return Err(End::Closed),
            Role::Discovery(_) => {}
            Role::Io(role) if !role.is_current() => return Err(End::Closed),
            Role::Io(_) => {}
        }
        if let Some((window, queue)) = self.role.parts()
            && queue.transfers.has_waiting()
        {
            queue.transfers.ask(&window.framing, window.out.bytes());
        }
        if self.carried.is_none() {
            self.role.window().out.send(&self.socket)?;
        }
        Ok(())
    }

    /// Sends the reason why the connection ends. Returns whether the host may still receive it.
    pub(super) fn say_end(&mut self, end: &End, now_ns: u64) -> bool {
        if matches!(end, End::Closed) || matches!(self.role, Role::Ended(_)) {
            return false;
        }
        let mut window = Window::new(SMALL_INBOX_BYTES);
        let old = self.role.window();
        std::mem::swap(&mut window.out, &mut old.out);
        if let End::Broken(error) = end {
            Framing::terminate(window.out.bytes(), Sender::Controller, error, old.inbox.unread());
        }
        if let Some(carried) = &mut self.carried {
            carried.ends_when_sent = true;
            (self.role, self.incoming, self.since_ns) = (Role::Ended(window), None, now_ns);
            return true;
        }
        // The host may already be gone.
        let sent = window.out.send(&self.socket).is_ok() && self.socket.shutdown(Shutdown::Write).is_ok();
        (self.role, self.incoming, self.since_ns) = (Role::Ended(window), None, now_ns);
        sent
    }

    /// Handles the PDUs in the inbox and sends the answers, as long as the host accepts them.
    #[inline]
    pub(super) fn pump(&mut self, now_ns: u64) -> Result<(), End> {
        if self.carried.is_some() {
            self.process(now_ns)?;
            return self.break_link();
        }
        loop {
            let is_full = self.process(now_ns)?;
            self.break_link()?;
            // Nothing else would trigger the handling of PDUs that were left over only because of
            // answers that have been sent by now.
            if !self.role.window().out.send(&self.socket)? || !is_full {
                return Ok(());
            }
        }
    }

    /// Applies a fault to the link.
    #[inline]
    fn break_link(&mut self) -> Result<(), End> {
        let window = self.role.window();
        match window.breakage {
            None => Ok(()),
            Some(Breakage::HalfOpen) => {
                window.inbox.clear();
                window.out.clear();
                Ok(())
            }
            Some(Breakage::Reset) => {
                // Without this option, the connection ends in an orderly way, which is also a
                // fault.
                let _ = rustix::net::sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
                Err(End::Closed)
            }
        }
    }

    /// Handles the PDUs in the inbox. Returns whether it stopped because too many bytes wait to be
    /// sent.
    #[inline]
    fn process(&mut self, now_ns: u64) -> Result<bool, End> {
        loop {
            if self.role.window().breakage.is_some() {
                return Ok(false);
            }
            if self.incoming.is_some() && !self.take_data(now_ns)? {
                return Ok(false);
            }
            if matches!(self.role, Role::Ended(_)) {
                return Ok(false);
            }
            let on_the_way = self.on_the_way();
            let window = self.role.window();
            if window.out.unsent() + on_the_way > MOST_UNSENT_BYTES {
                return Ok(true);
            }
            let Some((pdu, range)) = window.framing.next(window.inbox.unread(), Sender::Host)? else {
                return Ok(false);
            };
            if let Pdu::Data { cid, tag, offset, is_last, .. } = pdu {
                let part = DataPart { cid, tag, offset, bytes: range.bytes as u32, is_last, is_success: false };
                if window.inbox.unread().len() < range.offset {
                    return Ok(false);
                }
                self.begin_data(&part, range)?;
                continue;
            }
            if window.inbox.unread().len() < range.end() || !self.role.has_room() {
                return Ok(false);
            }
            let after = self.take(pdu, range, now_ns)?;
            self.role.window().inbox.consume(range.end());
            if after == After::End {
                return Err(End::Over);
            }
        }
    }

    /// Handles a complete PDU.
    #[inline]
    fn take(&mut self, pdu: Pdu, range: DataRange, now_ns: u64) -> Result<After, End> {
        match (pdu, &mut self.role) {
            (Pdu::Command(entry), Role::Io(_) | Role::Admin(_) | Role::Discovery(_) | Role::Authenticating(_)) => {
                self.take_command(&entry, range, now_ns)
            }
            (Pdu::Command(entry), Role::Unconnected(_)) => self.connect(&entry, range, now_ns),
            (Pdu::IcReq(request), Role::Fresh(window)) => {
                if request.pfv.get() != 0 {
                    let what = "ICReq has an unknown format";
                    return Err(PduError { status: FatalError::UNSUPPORTED_PARAMETER, information: 8, what }.into());
                }
                if request.hpda > 31 {
                    return Err(PduError::field(10, "HPDA is out of range").into());
                }
                let digests = Digests::of_bits(request.dgst).and(self.target.options.digests);
                Framing::ic_resp(window.out.bytes(), digests, MOST_DATA_PDU_BYTES);
                window.framing = Framing {
                    digests,
                    send_alignment: request.hpda,
                    most_capsule_data: ADMIN_CAPSULE_DATA,
                    most_data: MOST_DATA_PDU_BYTES,
                };
                let window = std::mem::replace(window, Window::new(0));
                self.role = Role::Unconnected(window);
                Ok(After::GoOn)
            }
            (Pdu::Terminate { .. }, _) => Err(End::Closed),
            _ => Err(PduError::sequence("a PDU that cannot come in this state").into()),
        }
    }

    /// Handles a command of a connected queue.
    #[inline]
    fn take_command(&mut self, entry: &SubmissionEntry, range: DataRange, now_ns: u64) -> Result<After, End> {
        let gives_data = match &self.role {
            Role::Io(_) => IoRole::gives_data(entry),
            Role::Admin(_) => AdminRole::gives_data(entry),
            Role::Authenticating(_) => AuthenticatingRole::gives_data(entry),
            _ => false,
        };
        let Some((window, queue)) = self.role.parts() else { return Ok(After::GoOn) };
        queue.advance();
        let intact = range.bytes == 0 || Framing::data_is_intact(&window.inbox.unread()[..range.end()], range);
        let found = if intact {
            Queue::find_data(window, entry, gives_data, (range.offset, range.bytes))
        } else {
            Err(Status::TRANSIENT_TRANSPORT_ERROR)
        };
        Ok(match (found, &mut self.role) {
            (Ok(Arrival::Now), Role::Io(role)) => role.execute(entry, now_ns),
            (Ok(Arrival::Now), Role::Admin(role)) => role.execute(entry, now_ns),
            (Ok(Arrival::Now), Role::Discovery(role)) => role.execute(entry, now_ns),
            (Ok(Arrival::Now), Role::Authenticating(role)) => {
                let after = role.execute(entry);
                self.end_authentication();
                after
            }
            (Ok(Arrival::Now), _) => After::GoOn,
            (Ok(Arrival::Asked(bytes)), role) => {
                if let Some((window, queue)) = role.parts() {
                    if queue.transfers.len() >= MOST_TRANSFERS {
                        return Err(PduError::limit("more commands in flight than the queue takes").into());
                    }
                    queue.transfers.add(*entry, bytes);
                    queue.transfers.ask(&window.framing, window.out.bytes());
                }
                After::GoOn
            }
            (Err(status), role) => {
                refuse(role, entry, status);
                After::GoOn
            }
        })
    }
}
