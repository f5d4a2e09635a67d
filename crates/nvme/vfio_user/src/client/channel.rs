//! The client's end of a connection: requests, and the queries that precede the device.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use iolab_memory::{MappingAccess, SharedBytes};
use iolab_pci_device::{DmaTable, HostMemory};
use rustix::io::Errno;

use super::error::VfioUserError;
use crate::protocol::{
    Abilities, CONFIG_REGION, DeviceInfo, DmaAccess, InterruptInfo, MAJOR, MINOR, MessageCommand, MessageHeader,
    RegionAccess, RegionFlags, RegionInfo, RegionQuery, VersionMessage,
};
use crate::wire::{Inbox, Incoming, MOST_DATA_BYTES, MOST_DESCRIPTORS, Wire};

/// Polls within which a server must have answered: about ten seconds. A reset takes longest.
pub(super) const ANSWER: u32 = 200;
/// Messages that the server itself may send before its answer.
const MOST_OTHERS: u32 = 4096;
/// Bytes of the answer about a region: room for more areas than any server has.
const REGION_BYTES: u32 = 2048;
/// The index of MSI-X among the kinds of interrupts.
pub(super) const MSIX: u32 = 2;
/// The command register, and its bits for memory and bus mastering.
const COMMAND_REGISTER: RegionAccess = RegionAccess { offset: 4, region: CONFIG_REGION, count: 2 };
const ENABLE: u8 = 0b110;

/// The connection. After an error, no more requests are sent.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) wire: Wire,
    inbox: Inbox,
    next_id: u16,
    is_broken: bool,
    /// Memory that the server may access by messages.
    memory: DmaTable,
}

impl Channel {
    /// A channel on a connected socket. The server may access `memory` by messages.
    pub(super) fn new(socket: OwnedFd, memory: DmaTable) -> Channel {
        Channel { wire: Wire::new(socket), inbox: Inbox::default(), next_id: 0, is_broken: false, memory }
    }

    /// Checks that the device is a PCI function.
    pub(super) fn device(&mut self) -> Result<(), VfioUserError> {
        let device = self.ask(MessageCommand::DeviceInfo, "what it is", &DeviceInfo::query(), &[])?;
        DeviceInfo::decode(&device.payload)
            .filter(|device| device.is_pci && device.regions > CONFIG_REGION && device.interrupt_kinds > MSIX)
            .ok_or(VfioUserError::Odd { what: "what it is", why: "no PCI function" })?;
        Ok(())
    }

    /// The number of MSI-X vectors of the device.
    pub(super) fn vectors(&mut self) -> Result<u16, VfioUserError> {
        let what = "its interrupts";
        let vectors = self.ask(MessageCommand::InterruptInfo, what, &InterruptInfo::query(MSIX), &[])?;
        let vectors = InterruptInfo::decode(&vectors.payload)
            .ok_or(VfioUserError::Odd { what, why: "a message that is too short" })?;
        Ok(u16::try_from(vectors.count).unwrap_or(u16::MAX))
    }

    /// Negotiates a version.
    pub(super) fn agree(&mut self) -> Result<(), VfioUserError> {
        let what = "a version";
        let abilities = Abilities {
            descriptors: Some(MOST_DESCRIPTORS as u64),
            data_bytes: Some(MOST_DATA_BYTES as u64),
            ..Abilities::default()
        };
        let version = VersionMessage { major: MAJOR, minor: MINOR, abilities };
        let answer = self.ask(MessageCommand::Version, what, &version.encode(), &[])?;
        let version =
            VersionMessage::decode(&answer.payload).ok_or(VfioUserError::Odd { what, why: "what is no version" })?;
        if version.major != MAJOR || version.minor > MINOR {
            return Err(VfioUserError::Version { major: version.major, minor: version.minor });
        }
        Ok(())
    }

    /// The size of BAR 0, and its mappable parts.
    pub(super) fn bar(&mut self) -> Result<(u64, Vec<(u64, SharedBytes)>), VfioUserError> {
        let what = "its registers";
        let odd = |why| VfioUserError::Odd { what, why };
        let query = RegionQuery { most_bytes: REGION_BYTES, index: 0 };
        let answer = self.ask(MessageCommand::RegionInfo, what, &query.encode(), &[])?;
        let (info, _) = RegionInfo::decode(&answer.payload).ok_or(odd("an inconsistent message"))?;
        // There must be room for the registers and the doorbells of an admin queue.
        if info.index != 0 || info.bytes < 0x1008 || info.bytes > 1 << 31 {
            return Err(odd("a region that has no NVMe registers"));
        }
        let mut areas = Vec::new();
        if let Some(file) = answer.descriptors.first().filter(|_| info.flags.has(RegionFlags::MAP)) {
            for area in &info.areas {
                let end = area.offset.checked_add(area.bytes).filter(|end| *end <= info.bytes);
                let start = end.and_then(|_| info.offset.checked_add(area.offset)).ok_or(odd("an area beyond it"))?;
                // Memory that the server could truncate is accessed by messages.
                let bytes = area.bytes as usize;
                if let Ok(memory) = SharedBytes::of_peer(file.as_fd(), start, bytes, MappingAccess::ReadWrite) {
                    areas.push((area.offset, memory));
                }
            }
        }
        Ok((info.bytes, areas))
    }

    /// Enables memory accesses and bus mastering of the function.
    pub(super) fn enable(&mut self) -> Result<(), VfioUserError> {
        let what = "its command register";
        let answer = self.ask(MessageCommand::RegionRead, what, &COMMAND_REGISTER.encode(&[]), &[])?;
        let read = RegionAccess::decode(&answer.payload).and_then(|(_, data)| data.first_chunk::<2>().copied());
        let [low, high] = read.ok_or(VfioUserError::Odd { what, why: "a message that is too short" })?;
        self.ask(MessageCommand::RegionWrite, what, &COMMAND_REGISTER.encode(&[low | ENABLE, high]), &[])?;
        Ok(())
    }

    /// Sends a command and waits for its answer.
    pub(super) fn ask(
        &mut self,
        command: MessageCommand,
        what: &'static str,
        payload: &[u8],
        with: &[BorrowedFd<'_>],
    ) -> Result<Incoming, VfioUserError> {
        if self.is_broken {
            return Err(VfioUserError::Broken(io::ErrorKind::NotConnected.into()));
        }
        self.next_id = self.next_id.wrapping_add(1);
        let header = MessageHeader::command(self.next_id, command, payload.len());
        let answer = self.exchange(&header, payload, with);
        let answer = answer.inspect_err(|_| self.is_broken = true)?;
        match answer.header.error() {
            None => Ok(answer),
            Some(errno) => {
                let errno = i32::try_from(errno).ok().filter(|errno| *errno != 0).unwrap_or(Errno::IO.raw_os_error());
                Err(VfioUserError::Refused { what, source: io::Error::from_raw_os_error(errno) })
            }
        }
    }

    fn exchange(&mut self, header: &MessageHeader, payload: &[u8], with: &[BorrowedFd<'_>]) -> io::Result<Incoming> {
        let mut looks = 0;
        let mut goes_on = || {
            looks += 1;
            looks <= ANSWER
        };
        self.wire.send(header, payload, with, &mut goes_on)?;
        for _ in 0..MOST_OTHERS {
            let incoming = loop {
                match self.inbox.take(&self.wire) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        if !self.wire.has_news() && !goes_on() {
                            return Err(io::ErrorKind::TimedOut.into());
                        }
                    }
                    Ok(None) => return Err(io::ErrorKind::ConnectionReset.into()),
                    Ok(Some(incoming)) => break incoming,
                    Err(error) => return Err(error),
                }
            };
            match incoming.header.is_reply() {
                Some(true) if incoming.header.id == header.id && incoming.header.command == header.command => {
                    return Ok(incoming);
                }
                Some(false) => self.serve(&incoming)?,
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer to another request")),
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "requests without end, and no answer"))
    }

    /// Reads or writes memory of this process for a server that has not mapped it.
    fn serve(&mut self, incoming: &Incoming) -> io::Result<()> {
        let command = MessageCommand::of(incoming.header.command);
        let done = DmaAccess::decode(&incoming.payload).filter(|(access, _)| access.count <= MOST_DATA_BYTES as u64);
        let answer = done.and_then(|(access, data)| match command {
            Some(MessageCommand::DmaRead) => {
                let mut data = vec![0; access.count as usize];
                self.memory.read(access.address, &mut data).ok()?;
                Some(access.encode(&data))
            }
            Some(MessageCommand::DmaWrite) if data.len() as u64 == access.count => {
                self.memory.write(access.address, data).ok()?;
                Some(access.encode(&[]))
            }
            _ => None,
        });
        if incoming.header.wants_no_reply() {
            return Ok(());
        }
        let (header, payload) = match answer {
            Some(payload) => (incoming.header.reply(payload.len()), payload),
            None => (incoming.header.failure(Errno::INVAL.raw_os_error().unsigned_abs()), Vec::new()),
        };
        let mut looks = 0;
        self.wire.send(&header, &payload, &[], || {
            looks += 1;
            looks <= ANSWER
        })
    }
}
