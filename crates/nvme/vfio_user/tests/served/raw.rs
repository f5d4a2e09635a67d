//! A client that works by messages: it can send anything, and gives the device access to its memory
//! with or without a descriptor.

use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use iolab_vfio_user::protocol::{
    Abilities, DmaAccess, DmaMap, HEADER_BYTES, MessageCommand, MessageHeader, RegionAccess, VersionMessage,
};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

/// The longest time for one message.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Raw {
    socket: UnixStream,
    id: u16,
    /// Memory at bus address 0.
    pub(crate) memory: Vec<u8>,
    /// How often the device has read and written the memory by messages.
    pub(crate) reads: u32,
    pub(crate) writes: u32,
}

/// An answer, or the errno of a refusal.
pub(crate) type Answered = Result<(Vec<u8>, Vec<OwnedFd>), u32>;

impl Raw {
    pub(crate) fn connect(path: &Path) -> Raw {
        let socket = UnixStream::connect(path).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Raw { socket, id: 0, memory: Vec::new(), reads: 0, writes: 0 }
    }

    /// A client that has negotiated a version.
    pub(crate) fn greeted(path: &Path) -> Raw {
        let mut raw = Raw::connect(path);
        let version = VersionMessage { major: 0, minor: 1, abilities: Abilities::default() };
        raw.ask(MessageCommand::Version, &version.encode(), &[]).unwrap();
        raw
    }

    /// Sends bytes; `false` if the server accepts no more of them.
    pub(crate) fn send(&self, bytes: &[u8], with: &[BorrowedFd<'_>]) -> bool {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !with.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(with));
        }
        let parts = [std::io::IoSlice::new(bytes)];
        sendmsg(&self.socket, &parts, &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_ok()
    }

    /// Sends a command and waits for its answer, serving memory accesses meanwhile.
    pub(crate) fn ask(&mut self, command: MessageCommand, payload: &[u8], with: &[BorrowedFd<'_>]) -> Answered {
        self.id += 1;
        let header = MessageHeader::command(self.id, command, payload.len());
        assert!(self.send(&[&header.encode()[..], payload].concat(), with));
        loop {
            let (answer, payload, descriptors) = self.receive().expect("an answer");
            if answer.is_reply() == Some(true) {
                assert_eq!((answer.id, answer.command), (self.id, header.command));
                return match answer.error() {
                    Some(errno) => Err(errno),
                    None => Ok((payload, descriptors)),
                };
            }
            self.serve(&answer, &payload);
        }
    }

    /// Whether the server has closed the connection.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.receive().is_none()
    }

    fn receive(&mut self) -> Option<(MessageHeader, Vec<u8>, Vec<OwnedFd>)> {
        let (head, descriptors) = self.receive_bytes(HEADER_BYTES)?;
        let header = MessageHeader::decode(&head).unwrap();
        let (payload, _) = self.receive_bytes(header.bytes as usize - HEADER_BYTES)?;
        Some((header, payload, descriptors))
    }

    fn receive_bytes(&mut self, bytes: usize) -> Option<(Vec<u8>, Vec<OwnedFd>)> {
        let (mut taken, mut descriptors) = (Vec::new(), Vec::new());
        while taken.len() < bytes {
            let mut part = vec![0; bytes - taken.len()];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let received = {
                let mut parts = [std::io::IoSliceMut::new(&mut part)];
                recvmsg(&self.socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC).ok()?
            };
            if received.bytes == 0 {
                return None;
            }
            for message in control.drain() {
                if let RecvAncillaryMessage::ScmRights(sent) = message {
                    descriptors.extend(sent);
                }
            }
            taken.extend_from_slice(&part[..received.bytes]);
        }
        Some((taken, descriptors))
    }

    /// Answers a command of the device.
    fn serve(&mut self, header: &MessageHeader, payload: &[u8]) {
        let (access, data) = DmaAccess::decode(payload).unwrap();
        let range = access.address as usize..(access.address + access.count) as usize;
        let payload = if header.command == MessageCommand::DmaRead as u16 {
            self.reads += 1;
            access.encode(&self.memory[range])
        } else {
            self.writes += 1;
            self.memory[range].copy_from_slice(data);
            access.encode(&[])
        };
        let header = header.reply(payload.len());
        assert!(self.send(&[&header.encode()[..], &payload].concat(), &[]));
    }

    pub(crate) fn map(&mut self, map: DmaMap, with: &[BorrowedFd<'_>]) -> Result<(), u32> {
        self.ask(MessageCommand::DmaMap, &map.encode(), with).map(|_| ())
    }

    pub(crate) fn read_u32(&mut self, offset: u64) -> u32 {
        let access = RegionAccess { offset, region: 0, count: 4 };
        let (payload, _) = self.ask(MessageCommand::RegionRead, &access.encode(&[]), &[]).unwrap();
        u32::from_le_bytes(*RegionAccess::decode(&payload).unwrap().1.first_chunk().unwrap())
    }

    pub(crate) fn write_u32(&mut self, offset: u64, value: u32) {
        let access = RegionAccess { offset, region: 0, count: 4 };
        self.ask(MessageCommand::RegionWrite, &access.encode(&value.to_le_bytes()), &[]).unwrap();
    }

    /// Reads a register until it has these bits.
    pub(crate) fn until(&mut self, offset: u64, mask: u32, wanted: u32) {
        for _ in 0..20_000 {
            if self.read_u32(offset) & mask == wanted {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("register {offset:#x} is {:#x} and never gets {wanted:#x}", self.read_u32(offset));
    }
}
