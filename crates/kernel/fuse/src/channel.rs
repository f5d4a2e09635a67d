//! `/dev/fuse` as a descriptor: reads and writes one message at a time.
//!
//! ```text
//!  readv:   | header 40 | arguments 40 |  payload of a slot …  |
//!  writev:  | header 16 |  payload of a slot …                 |
//! ```
//!
//! The arguments of a WRITE exactly fill the room before the payload, so that its data arrives
//! where the lane takes it from. The arguments of other requests are short, and are gathered after
//! the header.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;

use rustix::io::{Errno, readv, writev};

use crate::FuseError;
use crate::abi::{self, IN_HEADER_BYTES, InHeader, TRANSFER_ARGS_BYTES, opcode};

const HEAD_BYTES: usize = IN_HEADER_BYTES + TRANSFER_ARGS_BYTES;

/// The connection.
#[derive(Debug)]
pub struct Channel {
    /// `/dev/fuse`, opened for this connection.
    pub fd: OwnedFd,
}

/// A request's header and arguments. The data of a WRITE is in the payload with which it was
/// received.
#[derive(Debug, Clone)]
pub struct Message {
    /// The header of every request.
    pub header: InHeader,
    args: Vec<u8>,
    /// For a WRITE, the number of data bytes after the arguments.
    pub data_bytes: usize,
}

impl Message {
    /// An empty message, to receive into.
    pub const EMPTY: Message = Message {
        header: InHeader { length: 0, opcode: 0, unique: 0, node: 0, uid: 0, gid: 0 },
        args: Vec::new(),
        data_bytes: 0,
    };

    /// The structure of the opcode, followed by its names and values; for a WRITE, without the
    /// data.
    pub fn args(&self) -> &[u8] {
        &self.args
    }

    /// The bytes after the structure of the opcode: names, each terminated by a zero, and values.
    pub fn tail(&self) -> &[u8] {
        self.args.get(abi::fixed_bytes(self.header.opcode)..).unwrap_or_default()
    }

    /// Builds a request that came by io_uring from its header, the arguments of its opcode, and the
    /// contents of the payload.
    pub fn assemble(&mut self, header: InHeader, op_args: &[u8], payload: &[u8]) {
        self.header = header;
        self.args.clear();
        self.args.extend_from_slice(&op_args[..abi::fixed_bytes(header.opcode).min(op_args.len())]);
        if header.opcode != opcode::WRITE {
            self.args.extend_from_slice(payload);
        }
        self.data_bytes = payload.len();
    }
}

/// The result of reading the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// A message.
    Message,
    /// There is none now.
    Nothing,
    /// The file system was unmounted, or the connection was aborted.
    End,
}

impl Channel {
    /// Receives one message.
    pub fn receive(&self, message: &mut Message, payload: &mut [u8]) -> Result<Received, FuseError> {
        let mut head = [0u8; HEAD_BYTES];
        let bytes = match readv(&self.fd, &mut [IoSliceMut::new(&mut head), IoSliceMut::new(payload)]) {
            Ok(bytes) => bytes,
            // ENOENT: the request was interrupted while it was being read.
            Err(Errno::AGAIN | Errno::INTR | Errno::NOENT) => return Ok(Received::Nothing),
            Err(Errno::NODEV | Errno::CONNABORTED | Errno::NOTCONN) => return Ok(Received::End),
            Err(error) => return Err(FuseError::Connection("reading /dev/fuse", error.into())),
        };
        let header =
            InHeader::parse(&head).filter(|header| bytes >= IN_HEADER_BYTES && header.length as usize == bytes);
        let Some(header) = header else {
            return Err(FuseError::Protocol(format!("a message of {bytes} bytes does not say its length")));
        };
        message.header = header;
        let behind = bytes.saturating_sub(HEAD_BYTES).min(payload.len());
        message.args.clear();
        message.args.extend_from_slice(&head[IN_HEADER_BYTES..bytes.min(HEAD_BYTES)]);
        message.data_bytes = behind;
        if header.opcode != opcode::WRITE {
            message.args.extend_from_slice(&payload[..behind]);
        }
        Ok(Received::Message)
    }

    /// Sends a reply: 0 or a negative errno, and a body.
    pub fn reply(&self, unique: u64, error: i32, body: &[u8]) -> Result<(), FuseError> {
        self.send(&abi::out_header(unique, error, body.len()), body)
    }

    /// Sends the kernel a notification: a code of `enum fuse_notify_code`, and its structure. This
    /// may wait for pages that are being read or written, so a thread that answers those requests
    /// must not call it.
    pub fn notify(&self, code: i32, body: &[u8]) -> Result<(), FuseError> {
        self.send(&abi::out_header(0, code, body.len()), body)
    }

    fn send(&self, header: &[u8], body: &[u8]) -> Result<(), FuseError> {
        match writev(&self.fd, &[IoSlice::new(header), IoSlice::new(body)]) {
            Ok(_) => Ok(()),
            // ENOENT: nobody waits for this answer any more, or the inode was forgotten. ENODEV:
            // the connection has ended; the next read reports it.
            Err(Errno::NOENT | Errno::NODEV | Errno::NOTCONN | Errno::CONNABORTED) => Ok(()),
            Err(error) => Err(FuseError::Connection("writing /dev/fuse", error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::pipe;

    /// A channel on a pipe: what is written to the pipe is read as if from the device.
    fn incoming(bytes: &[u8]) -> Channel {
        let (reading, writing) = pipe().unwrap();
        assert_eq!(rustix::io::write(&writing, bytes), Ok(bytes.len()));
        Channel { fd: reading }
    }

    fn message_bytes(code: u32, rest: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; IN_HEADER_BYTES];
        bytes[..4].copy_from_slice(&((IN_HEADER_BYTES + rest.len()) as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&code.to_ne_bytes());
        bytes[8] = 77;
        bytes.extend_from_slice(rest);
        bytes
    }

    #[test]
    fn the_data_of_a_write_lands_in_the_payload() {
        let mut rest = vec![1u8; TRANSFER_ARGS_BYTES];
        rest.extend_from_slice(&[0xda; 600]);
        let mut payload = [0u8; 8192];
        let mut message = Message::EMPTY;
        let channel = incoming(&message_bytes(opcode::WRITE, &rest));
        assert_eq!(channel.receive(&mut message, &mut payload).unwrap(), Received::Message);
        assert_eq!((message.header.unique, message.data_bytes), (77, 600));
        assert_eq!(message.args(), [1; TRANSFER_ARGS_BYTES]);
        assert_eq!((&payload[..600], payload[600]), (&[0xda; 600][..], 0));
    }

    #[test]
    fn long_arguments_and_names_are_gathered() {
        let name: Vec<u8> = (0..200).collect();
        let mut message = Message::EMPTY;
        let channel = incoming(&message_bytes(opcode::LOOKUP, &name));
        assert_eq!(channel.receive(&mut message, &mut [0; 8192]).unwrap(), Received::Message);
        assert_eq!(message.args(), name);
        message.assemble(message.header, &[9; 128], b"disk\0");
        assert_eq!(message.args(), b"disk\0");
        message.assemble(InHeader { opcode: opcode::SETATTR, ..message.header }, &[9; 128], &[]);
        assert_eq!(message.args(), [9; 88], "struct fuse_setattr_in");
        message.assemble(InHeader { opcode: opcode::MKDIR, ..message.header }, &[9; 128], b"new\0");
        assert_eq!((message.args().len(), message.tail()), (12, &b"new\0"[..]));
    }

    #[test]
    fn a_message_of_another_length_is_an_error() {
        let mut bytes = message_bytes(opcode::GETATTR, &[0; 16]);
        bytes[0] += 1;
        let mut message = Message::EMPTY;
        assert!(incoming(&bytes).receive(&mut message, &mut [0; 64]).is_err());
        assert!(incoming(&bytes[..20]).receive(&mut message, &mut [0; 64]).is_err());
    }

    #[test]
    fn a_reply_is_header_and_body() {
        let (reading, writing) = pipe().unwrap();
        Channel { fd: writing }.reply(5, 0, b"data").unwrap();
        let mut bytes = [0u8; 64];
        assert_eq!(rustix::io::read(&reading, &mut bytes), Ok(20));
        assert_eq!(bytes[..20], *b"\x14\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0data");
    }
}
