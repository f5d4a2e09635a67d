//! Authentication of the host, on a queue that was just connected.

use iolab_nvme_association::{Association, authenticate_if_wanted, succeeded};
use iolab_nvme_authentication::AuthenticationLine;
use iolab_nvme_driver::DriverError;
use iolab_nvme_fabrics::{DataRange, Framing, Pdu, authentication_receive, authentication_send};
use iolab_nvme_spec::fabrics::ConnectAnswer;

use super::wire::{Wire, unexpected};

/// A connection, and how long to wait for an answer.
struct Line<'a> {
    wire: &'a mut Wire,
    link: &'a Association,
}

impl Wire {
    /// Authenticates if the answer to Connect requires it, or if the host wants the controller to
    /// authenticate itself.
    pub(super) fn authenticate_if_wanted(
        &mut self,
        link: &Association,
        answer: ConnectAnswer,
    ) -> Result<(), DriverError> {
        authenticate_if_wanted(link, answer, &mut Line { wire: self, link })
    }
}

impl Line<'_> {
    fn deadline_ns(&self) -> u64 {
        self.link.clock.now_ns().saturating_add(self.link.address.connect_ns)
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
                succeeded(self.link, &entry)
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
                    succeeded(self.link, &entry)?;
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
