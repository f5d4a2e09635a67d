//! A connection: opened, negotiated, and made a queue by Connect.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use iolab_nvme_association::{Association, refused};
use iolab_nvme_driver::DriverError;
use iolab_nvme_fabrics::{Connect, DataRange, Framing, Pdu, PduError, Sender, connect_data, connect_entry};
use iolab_nvme_spec::CompletionEntry;
use iolab_nvme_spec::fabrics::tcp::IcResp;
use iolab_nvme_spec::fabrics::{ConnectAnswer, ConnectStatus, RESERVED_CONTROLLER_ID};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::inbox::{Found, Inbox};
use crate::outbox::Outbox;

/// Bytes of the inbox of an I/O queue, and of the admin queue.
const INBOX_BYTES: usize = 256 << 10;
const ADMIN_INBOX_BYTES: usize = 16 << 10;
/// Bytes of data in the capsule of an admin command (TCP, section 3.3.1.3).
pub(super) const ADMIN_CAPSULE_DATA: u32 = 8192;
/// The least MAXH2CDATA (TCP, section 3.6.2.2).
const LEAST_H2C_DATA: u32 = 4096;

/// A connection that is a queue.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) socket: TcpStream,
    pub(super) inbox: Inbox,
    pub(super) out: Outbox,
    pub(super) framing: Framing,
    /// The most bytes of data in one PDU to the controller.
    pub(super) most_sent: u32,
}

/// A queue to connect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) queue: u16,
    pub(super) entries: u32,
}

/// Waits until a socket is readable, or for at most `at_most`. Returns whether it is.
pub(super) fn wait_readable(socket: &TcpStream, at_most: Duration) -> bool {
    let timeout = Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
    // An interrupted wait is only shorter than requested.
    poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)).is_ok_and(|ready| ready > 0)
}

fn broken(what: &str, error: &io::Error) -> DriverError {
    DriverError::Disconnected(format!("{what}: {error}"))
}

impl Wire {
    /// Connects a queue. Also returns the controller's identifier.
    pub(super) fn connect(link: &Association, wanted: Wanted) -> Result<(Wire, u16), DriverError> {
        let address = &link.address;
        let to = format!("connecting to {}", address.at);
        let timeout = Duration::from_nanos(address.connect_ns);
        let socket = TcpStream::connect_timeout(&address.at, timeout).map_err(|error| broken(&to, &error))?;
        let set_up = socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true));
        set_up.map_err(|error| broken(&to, &error))?;
        let inbox = Inbox::new(if wanted.queue == 0 { ADMIN_INBOX_BYTES } else { INBOX_BYTES });
        let framing = Framing::before_connection();
        let mut wire = Wire { socket, inbox, out: Outbox::default(), framing, most_sent: 0 };
        Framing::ic_req(wire.out.bytes(), address.digests);
        let deadline_ns = link.clock.now_ns().saturating_add(address.connect_ns);
        match wire.await_pdu(link, deadline_ns)? {
            Pdu::IcResp(answer) => wire.agree(link, &answer)?,
            _ => return Err(unexpected("another PDU than ICResp")),
        }
        let connect = Connect {
            queue: wanted.queue,
            entries: wanted.entries,
            no_flow_control: wanted.queue != 0,
            keep_alive_ms: if wanted.queue == 0 { address.keep_alive_ms } else { 0 },
            host_id: address.host_id,
            host: address.host.clone(),
            subsystem: address.subsystem.clone(),
            controller: if wanted.queue == 0 { RESERVED_CONTROLLER_ID } else { link.controller() },
        };
        let answer = match wire.ask(link, &connect)? {
            answer if answer.status().code() == ConnectStatus::INVALID_PARAMETERS && connect.no_flow_control => {
                // Some targets do not support queues without flow control.
                wire.ask(link, &Connect { no_flow_control: false, ..connect })?
            }
            answer => answer,
        };
        if !answer.status().is_success() {
            return Err(refused(link, answer.status(), answer.dw0()));
        }
        let answer = ConnectAnswer(answer.dw0());
        wire.authenticate_if_wanted(link, answer)?;
        Ok((wire, answer.controller()))
    }

    /// Applies the parameters that the controller has agreed to.
    fn agree(&mut self, link: &Association, answer: &IcResp) -> Result<(), DriverError> {
        let wanted = link.address.digests.bits();
        if answer.pfv.get() != 0 || answer.dgst & !wanted != 0 || answer.cpda > 31 {
            return Err(unexpected("an ICResp that does not fit the ICReq"));
        }
        if answer.maxh2cdata.get() < LEAST_H2C_DATA {
            return Err(unexpected("an ICResp with a MAXH2CDATA below 4096"));
        }
        self.most_sent = answer.maxh2cdata.get() & !3;
        self.framing = Framing {
            digests: iolab_nvme_fabrics::Digests::of_bits(answer.dgst),
            send_alignment: answer.cpda,
            most_capsule_data: 0,
            // A controller may answer a command with all of its data at once.
            most_data: u32::MAX,
        };
        Ok(())
    }

    fn ask(&mut self, link: &Association, connect: &Connect) -> Result<CompletionEntry, DriverError> {
        let data = connect_data(connect);
        self.framing.command_header(self.out.bytes(), &connect_entry(connect, 0).words, data.len());
        let start = self.out.bytes().len();
        self.out.bytes().extend_from_slice(&data);
        self.framing.end_data(self.out.bytes(), start);
        let deadline_ns = link.clock.now_ns().saturating_add(link.address.connect_ns);
        match self.await_pdu(link, deadline_ns)? {
            Pdu::Response(entry) if entry.cid() == 0 => Ok(entry),
            _ => Err(unexpected("another PDU than the answer to Connect")),
        }
    }

    /// Sends pending bytes, and waits for a PDU without data.
    fn await_pdu(&mut self, link: &Association, deadline_ns: u64) -> Result<Pdu, DriverError> {
        match self.await_whole(link, deadline_ns)? {
            (pdu, range) if range.bytes == 0 => {
                self.inbox.consume(range.end());
                Ok(pdu)
            }
            _ => Err(unexpected("data that nobody asked for")),
        }
    }

    /// Sends pending bytes, and waits until a PDU is in the inbox with all its data.
    pub(super) fn await_whole(
        &mut self,
        link: &Association,
        deadline_ns: u64,
    ) -> Result<(Pdu, DataRange), DriverError> {
        loop {
            self.out.send(&self.socket).map_err(|error| broken("sending", &error))?;
            match self.framing.next(self.inbox.unread(), Sender::Controller) {
                Ok(Some((Pdu::Terminate { status, .. }, _))) => {
                    return Err(unexpected(&format!("a termination request: {status}")));
                }
                // A PDU larger than the inbox would never be complete.
                Ok(Some((_, range))) if range.end() > ADMIN_INBOX_BYTES => {
                    return Err(unexpected("more data than was asked for"));
                }
                Ok(Some((pdu, range))) if range.end() <= self.inbox.unread().len() => return Ok((pdu, range)),
                Ok(_) => {}
                Err(error) => return Err(self.refuse(&error)),
            }
            let now_ns = link.clock.now_ns();
            if now_ns >= deadline_ns {
                let what = format!("{} does not answer as an NVMe/TCP target in time", link.address.at);
                return Err(DriverError::Disconnected(what));
            }
            wait_readable(&self.socket, Duration::from_nanos(deadline_ns - now_ns));
            if self.inbox.fill(&self.socket).map_err(|error| broken("receiving", &error))?.0 == Found::End {
                return Err(DriverError::Disconnected(format!("{} closed the connection", link.address.at)));
            }
        }
    }

    /// Reports a protocol error to the controller. Its answer is no longer relevant.
    #[cold]
    pub(super) fn refuse(&mut self, error: &PduError) -> DriverError {
        self.out.clear();
        Framing::terminate(self.out.bytes(), Sender::Host, error, self.inbox.unread());
        let _ = self.out.send(&self.socket);
        DriverError::Disconnected(format!("the target broke the protocol: {error}"))
    }
}

pub(super) fn unexpected(what: &str) -> DriverError {
    DriverError::Disconnected(format!("the target sent {what}"))
}
