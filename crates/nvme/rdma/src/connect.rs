//! Opens a connection with the connection manager, and makes it a queue with Connect.
//!
//! ```text
//! request  0 format  2 queue  4 responses there is room for  6 commands, less one  8 controller   32 bytes
//! refusal  0 format  2 status
//! ```

use std::time::Duration;

use iolab_nvme_association::{Association, authenticate_if_wanted, refused, succeeded};
use iolab_nvme_authentication::AuthenticationLine;
use iolab_nvme_driver::DriverError;
use iolab_nvme_fabrics::{Connect, authentication_receive, authentication_send, connect_data, connect_entry};
use iolab_nvme_spec::fabrics::{ConnectAnswer, ConnectStatus, RESERVED_CONTROLLER_ID};
use iolab_nvme_spec::sgl::SglDescriptor;
use iolab_nvme_spec::{CompletionEntry, SubmissionEntry};
use iolab_verbs::{Adapter, ConnectRequest, VerbsError};

use crate::connection_line::{COMMAND_BYTES, Line};

/// Bytes of the private data of a request and a refusal (RDMA, section 3.2).
const PRIVATE_BYTES: usize = 32;
/// Bytes that may follow a command in its message: data of a small write, or of Connect.
pub(crate) const FOLLOW_BYTES: usize = 4096;
/// Receive buffers beyond the queue's entries, for responses to commands that this transport issues
/// by itself.
const MORE_ROOMS: u16 = 8;
/// Bytes of a receive buffer; a response has 16.
const ROOM_BYTES: usize = 64;

/// A queue to connect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) queue: u16,
    pub(crate) entries: u32,
    /// Messages to send.
    pub(crate) messages: u16,
    /// The message used by Connect and authentication, and the identifier of their commands.
    pub(crate) own: (u16, u16),
}

/// Converts an error of the libraries to one of the driver.
pub(crate) fn driver_error(error: &VerbsError) -> DriverError {
    match error {
        VerbsError::NotInstalled { .. } | VerbsError::NoAdapter { .. } => DriverError::Unsupported(error.to_string()),
        VerbsError::Refused { private_data, .. } => match refusal(private_data) {
            Some((why, true)) => DriverError::Refused(format!("the target refuses the queue: {why}")),
            Some((why, false)) => DriverError::Disconnected(format!("the target refuses the queue: {why}")),
            None => DriverError::Disconnected(error.to_string()),
        },
        VerbsError::Failed { .. } => DriverError::Disconnected(error.to_string()),
    }
}

/// The reason in a target's refusal (RDMA, table of status codes), and whether a retry would be
/// refused again.
fn refusal(private_data: &[u8]) -> Option<(&'static str, bool)> {
    let (format, status) = (private_data.first_chunk::<2>()?, private_data.get(2..4)?);
    if u16::from_le_bytes(*format) != 0 {
        return None;
    }
    Some(match u16::from_le_bytes([status[0], status[1]]) {
        1 => ("the length of what it was told is wrong", true),
        2 => ("the format of what it was told is wrong", true),
        3 => ("it has no such queue", true),
        4 => ("the queue has too many entries (queue_size sets fewer)", true),
        5 => ("the queue has room for too many responses (queue_size sets fewer)", true),
        6 => ("it has no resources left", false),
        7 => ("it wants to read more at a time than the adapter here answers", true),
        8 => ("it answers fewer reads at a time than the adapter here wants", true),
        9 => ("it has no such controller", true),
        _ => return None,
    })
}

impl Line {
    /// Connects a queue. Also returns the controller's identifier.
    pub(crate) fn connect(
        adapter: &Adapter,
        association: &Association,
        wanted: Wanted,
    ) -> Result<(Line, u16), DriverError> {
        let address = &association.address;
        let controller = if wanted.queue == 0 { RESERVED_CONTROLLER_ID } else { association.controller() };
        let entries = wanted.entries as u16;
        let mut private_data = vec![0; PRIVATE_BYTES];
        for (place, value) in [(2, wanted.queue), (4, entries), (6, entries - 1), (8, controller)] {
            private_data[place..place + 2].copy_from_slice(&value.to_le_bytes());
        }
        let request = ConnectRequest {
            at: address.at,
            private_data,
            sends: (wanted.messages, COMMAND_BYTES + FOLLOW_BYTES),
            receives: (entries.saturating_add(MORE_ROOMS), ROOM_BYTES),
            timeout: Duration::from_nanos(address.connect_ns),
        };
        let endpoint = adapter.connect(&request).map_err(|error| driver_error(&error))?;
        let mut own = OwnCommands { line: Line::new(endpoint), association, own: wanted.own };
        let connect = Connect {
            queue: wanted.queue,
            entries: wanted.entries,
            no_flow_control: wanted.queue != 0,
            keep_alive_ms: if wanted.queue == 0 { address.keep_alive_ms } else { 0 },
            host_id: address.host_id,
            host: address.host.clone(),
            subsystem: address.subsystem.clone(),
            controller,
        };
        let answer = match own.connect(&connect)? {
            answer if answer.status().code() == ConnectStatus::INVALID_PARAMETERS && connect.no_flow_control => {
                // Some targets do not support queues without flow control.
                own.connect(&Connect { no_flow_control: false, ..connect })?
            }
            answer => answer,
        };
        if !answer.status().is_success() {
            return Err(refused(association, answer.status(), answer.dw0()));
        }
        let answer = ConnectAnswer(answer.dw0());
        authenticate_if_wanted(association, answer, &mut own)?;
        Ok((own.line, answer.controller()))
    }
}

/// Executes commands before the connection is a queue.
struct OwnCommands<'a> {
    line: Line,
    association: &'a Association,
    own: (u16, u16),
}

impl OwnCommands<'_> {
    fn connect(&mut self, connect: &Connect) -> Result<CompletionEntry, DriverError> {
        let data = connect_data(connect);
        self.give(&data);
        self.execute(connect_entry(connect, self.own.1), data.len())
    }

    /// Copies data to where the target reads it.
    fn give(&mut self, data: &[u8]) {
        let place = self.line.place(self.own.0) + COMMAND_BYTES;
        self.line.endpoint.send_memory().write(place, data);
    }

    /// Executes a command whose data is in the memory of its message, and waits for its answer.
    fn execute(&mut self, entry: SubmissionEntry, bytes: usize) -> Result<CompletionEntry, DriverError> {
        let Association { address, clock, .. } = self.association;
        let (index, cid) = self.own;
        let data = SglDescriptor::keyed(self.line.data_address(index), bytes as u32, self.line.endpoint.send_key());
        self.line.begin(index, &entry.with_sgl(data).words, 0);
        self.line.post();
        let deadline_ns = clock.now_ns().saturating_add(address.connect_ns);
        let (mut answer, mut has_gone) = (None, false);
        loop {
            self.line.drain();
            has_gone |= self.line.sent.drain(..).any(|sent| sent == index);
            while let Some(entry) = self.line.answers.pop_front() {
                if entry.cid() != cid || answer.is_some() {
                    return Err(DriverError::Disconnected("the target answers a command that was not sent".to_owned()));
                }
                answer = Some(entry);
            }
            if let (Some(answer), true) = (answer, has_gone) {
                return Ok(answer);
            }
            if let Some(reason) = self.line.broken.take() {
                return Err(DriverError::Disconnected(reason));
            }
            let left_ns = deadline_ns.saturating_sub(clock.now_ns());
            if left_ns == 0 {
                let what = format!("{} does not answer as an NVMe/RDMA target in time", address.at);
                return Err(DriverError::Disconnected(what));
            }
            self.line.wait(Duration::from_nanos(left_ns));
        }
    }
}

impl AuthenticationLine for OwnCommands<'_> {
    type Error = DriverError;

    fn send(&mut self, message: &[u8]) -> Result<(), DriverError> {
        self.give(message);
        let answer = self.execute(authentication_send(message.len() as u32, self.own.1), message.len())?;
        succeeded(self.association, &answer)
    }

    fn receive(&mut self, most: usize) -> Result<Vec<u8>, DriverError> {
        let mut message = vec![0; most.min(FOLLOW_BYTES)];
        self.give(&message);
        let answer = self.execute(authentication_receive(message.len() as u32, self.own.1), message.len())?;
        succeeded(self.association, &answer)?;
        let place = self.line.place(self.own.0) + COMMAND_BYTES;
        self.line.endpoint.send_memory().read(place, &mut message);
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_what_is_wrong() {
        let said = |private_data: &[u8]| {
            driver_error(&VerbsError::Refused { status: 28, private_data: private_data.to_vec() }).to_string()
        };
        assert!(said(&[0, 0, 4, 0]).contains("too many entries (queue_size"));
        assert!(said(&[0, 0, 6, 0]).contains("no connection to the controller: the target refuses the queue"));
        assert!(said(&[0, 0]).contains("refuses the connection: it gives a reason of its own"));
        assert!(said(&[1, 0, 4, 0]).contains("a reason of its own"));
        let missing = VerbsError::NotInstalled { library: "librdmacm.so.1", why: "no such file".into() };
        let said = driver_error(&missing).to_string();
        assert!(said.contains("librdmacm.so.1: no such file; install it with: apt-get install"), "{said}");
    }
}
