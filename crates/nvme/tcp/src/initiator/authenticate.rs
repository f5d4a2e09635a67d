//! Proving who the host is, on a queue that was just connected.

use iolab_nvme_authentication::{AuthenticationLine, LineError, authenticate};
use iolab_nvme_driver::DriverError;
use iolab_nvme_fabrics::{
    DISCOVERY_NAME, DataRange, Framing, Pdu, authentication_receive, authentication_send,
};
use iolab_nvme_spec::CompletionEntry;
use iolab_nvme_spec::fabrics::ConnectAnswer;

use super::link::Link;
use super::wire::{Wire, unexpected};
use crate::entropy::draw_entropy;

/// A connection, and for how long an answer is waited for.
struct Line<'a> {
    wire: &'a mut Wire,
    link: &'a Link,
}

impl Wire {
    /// Authenticates if the answer to Connect asks for it, or the host wants to know the controller.
    pub(super) fn authenticate_if_wanted(&mut self, link: &Link, answer: ConnectAnswer) -> Result<(), DriverError> {
        let address = &link.address;
        let refused = |why: &str| DriverError::Refused(format!("{}: {why}", address.at));
        if answer.wants_secure_channel() {
            return Err(refused(
                "it wants a channel secured by TLS, which this transport does not have: let it ask for DH-HMAC-CHAP alone",
            ));
        }
        let wants_to_know = address.secrets.as_ref().is_some_and(|secrets| secrets.controller.is_some())
            && address.subsystem.as_str() != DISCOVERY_NAME;
        if !answer.wants_authentication() && !wants_to_know {
            return Ok(());
        }
        let Some(secrets) = &address.secrets else {
            return Err(refused(
                "it wants authentication (DH-HMAC-CHAP): add dhchap_secret=FILE, a file with this host's secret",
            ));
        };
        let entropy = draw_entropy().map_err(|error| refused(&format!("no randomness: {error}")))?;
        let names = (address.host.as_str(), address.subsystem.as_str());
        authenticate(&mut Line { wire: self, link }, secrets, names, &entropy).map_err(|error| match error {
            LineError::Line(error) => error,
            error => refused(&format!("{error} (as host {})", address.host)),
        })
    }
}

impl Line<'_> {
    fn deadline_ns(&self) -> u64 {
        self.link.clock.now_ns().saturating_add(self.link.address.connect_ns)
    }

    fn succeeded(&self, entry: &CompletionEntry) -> Result<(), DriverError> {
        if entry.status().is_success() {
            return Ok(());
        }
        let why = format!("it refuses authentication (DH-HMAC-CHAP): {}", entry.status());
        Err(DriverError::Refused(format!("{}: {why}", self.link.address.at)))
    }
}

impl AuthenticationLine for Line<'_> {
    type Error = DriverError;

    fn send(&mut self, message: &[u8]) -> Result<(), DriverError> {
        let wire = &mut *self.wire;
        let entry = authentication_send(message.len() as u32, 0);
        wire.framing.command_header(wire.out.bytes(), &entry.words, message.len());
        let start = wire.out.bytes().len();
        wire.out.bytes().extend_from_slice(message);
        wire.framing.end_data(wire.out.bytes(), start);
        let deadline_ns = self.deadline_ns();
        match self.wire.await_whole(self.link, deadline_ns)? {
            (Pdu::Response(entry), range) if entry.cid() == 0 => {
                self.wire.inbox.consume(range.end());
                self.succeeded(&entry)
            }
            _ => Err(unexpected("another PDU than the answer to Authentication Send")),
        }
    }

    fn receive(&mut self, most: usize) -> Result<Vec<u8>, DriverError> {
        let wire = &mut *self.wire;
        wire.framing.command(wire.out.bytes(), &authentication_receive(most as u32, 0).words);
        let deadline_ns = self.deadline_ns();
        let mut message = Vec::new();
        loop {
            let (pdu, range) = self.wire.await_whole(self.link, deadline_ns)?;
            let is_last = match pdu {
                Pdu::Response(entry) if entry.cid() == 0 => {
                    self.succeeded(&entry)?;
                    true
                }
                Pdu::Data { cid: 0, offset, is_success, .. } if offset as usize == message.len() => {
                    message.extend_from_slice(self.intact(range)?);
                    is_success
                }
                _ => return Err(unexpected("another PDU than the answer to Authentication Receive")),
            };
            self.wire.inbox.consume(range.end());
            if message.len() > most {
                return Err(unexpected("more data than was asked for"));
            }
            if is_last {
                return Ok(message);
            }
        }
    }
}

impl Line<'_> {
    /// The data of a PDU at the start of the inbox.
    fn intact(&self, range: DataRange) -> Result<&[u8], DriverError> {
        let pdu = &self.wire.inbox.unread()[..range.end()];
        if range.bytes > 0 && !Framing::data_is_intact(pdu, range) {
            return Err(unexpected("data with a wrong digest"));
        }
        Ok(&pdu[range.offset..range.offset + range.bytes])
    }
}
