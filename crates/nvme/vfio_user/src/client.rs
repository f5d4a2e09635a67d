//! The driver's end: a function that another process serves, as a device for the driver.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use iolab_memory::{MappingAccess, SharedBytes};
use iolab_pci_device::{DmaBuffer, DmaMapper, DmaTable, HostMemory, Interrupt, MapError, PciError, PciFunction};
use rustix::io::Errno;
use rustix::net::SocketAddrUnix;

use crate::protocol::{
    Abilities, CONFIG_REGION, Command, DeviceInfo, DmaAccess, DmaMap, DmaUnmap, Header, InterruptAction, InterruptData,
    InterruptInfo, InterruptSet, MAJOR, MINOR, RegionAccess, RegionFlags, RegionInfo, RegionQuery, Version,
};
use crate::wire::{self, Inbox, Incoming, LOOK_MS, MOST_DATA_BYTES, MOST_DESCRIPTORS, Wire};

/// Looks until a server must have answered: about ten seconds. A reset takes longest.
const ANSWER: u32 = 200;
/// Messages of the server's own that may come before its answer.
const MOST_OTHERS: u32 = 4096;
/// Bytes of the answer about a region: with more areas than anybody has.
const REGION_BYTES: u32 = 2048;
/// MSI-X among the kinds of interrupts.
const MSIX: u32 = 2;
/// The command register, and memory and bus mastering in it.
const COMMAND_REGISTER: RegionAccess = RegionAccess { offset: 4, region: CONFIG_REGION, count: 2 };
const ENABLE: u8 = 0b110;

/// A function of a device that another process serves.
#[derive(Debug)]
pub struct VfioUser {
    channel: Mutex<Channel>,
    /// Bytes of BAR 0.
    bar_bytes: u64,
    /// What of BAR 0 is mapped: where it begins in the BAR, and the memory.
    areas: Vec<(u64, SharedBytes)>,
    vectors: u16,
    /// Chooses bus addresses, and keeps mapped memory alive.
    addresses: DmaTable,
}

/// Why connecting or asking failed.
#[derive(Debug, thiserror::Error)]
pub enum VfioUserError {
    /// Nobody serves a device there.
    #[error("no vfio-user device is served at {path}: {source}")]
    NotServed {
        /// The socket tried.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The other end speaks another version.
    #[error("the vfio-user server has protocol version {major}.{minor}, and this program {MAJOR}.{MINOR}")]
    Version {
        /// Of the other end.
        major: u16,
        /// Of the other end.
        minor: u16,
    },
    /// The other end refused.
    #[error("the vfio-user server refuses {what}: {source}")]
    Refused {
        /// What it was asked for.
        what: &'static str,
        /// Its errno.
        source: io::Error,
    },
    /// What it answered is not of the protocol, or of no NVMe function.
    #[error("the vfio-user server answers {what} with {why}")]
    Odd {
        /// What it was asked for.
        what: &'static str,
        /// What is wrong with its answer.
        why: &'static str,
    },
    /// The connection broke, or no answer came in time.
    #[error("the vfio-user server does not respond: {0}")]
    Broken(#[from] io::Error),
}

/// The connection. After an error, nothing more is asked.
#[derive(Debug)]
struct Channel {
    wire: Wire,
    inbox: Inbox,
    next_id: u16,
    is_broken: bool,
    /// What the server may read and write by messages.
    memory: DmaTable,
}

impl VfioUser {
    /// Connects to the server at `path` and looks at its device.
    pub fn connect(path: &Path) -> Result<VfioUser, VfioUserError> {
        let socket =
            connect(path).map_err(|source| VfioUserError::NotServed { path: path.display().to_string(), source })?;
        let addresses = DmaTable::shareable();
        VfioUser::over(socket, addresses)
    }

    /// The same, on a connected socket that does not block.
    pub(crate) fn over(socket: OwnedFd, addresses: DmaTable) -> Result<VfioUser, VfioUserError> {
        let memory = addresses.clone();
        let mut channel =
            Channel { wire: Wire::new(socket), inbox: Inbox::default(), next_id: 0, is_broken: false, memory };
        channel.agree()?;
        let device = channel.ask(Command::DeviceInfo, "what it is", &DeviceInfo::query(), &[])?;
        DeviceInfo::decode(&device.payload)
            .filter(|device| device.is_pci && device.regions > CONFIG_REGION && device.interrupt_kinds > MSIX)
            .ok_or(VfioUserError::Odd { what: "what it is", why: "no PCI function" })?;
        let (bar_bytes, areas) = channel.bar()?;
        let vectors = channel.ask(Command::InterruptInfo, "its interrupts", &InterruptInfo::query(MSIX), &[])?;
        let vectors = InterruptInfo::decode(&vectors.payload)
            .ok_or(VfioUserError::Odd { what: "its interrupts", why: "a message that is too short" })?;
        channel.enable()?;
        let vectors = u16::try_from(vectors.count).unwrap_or(u16::MAX);
        Ok(VfioUser { channel: Mutex::new(channel), bar_bytes, areas, vectors, addresses })
    }

    fn ask(
        &self,
        command: Command,
        what: &'static str,
        payload: &[u8],
        with: &[BorrowedFd<'_>],
    ) -> Result<Incoming, VfioUserError> {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner).ask(command, what, payload, with)
    }

    /// Gives the device memory that has a bus address.
    fn announce(&mut self, address: u64, memory: &SharedBytes) -> Result<(), MapError> {
        let what = "sharing memory with the device";
        let (file, offset) = memory.file().ok_or_else(|| MapError::System {
            what: format!("{what}: not in a memfd, so another process cannot map it"),
            source: io::ErrorKind::InvalidInput.into(),
        })?;
        let is_writable = memory.access() == MappingAccess::ReadWrite;
        let map = DmaMap { is_readable: true, is_writable, offset, address, bytes: memory.len() as u64 };
        let answer = self.ask(Command::DmaMap, "memory", &map.encode(), &[file]);
        answer.map(|_| ()).map_err(|error| failed_map(what, error))
    }

    /// The mapped register at `offset`.
    fn mapped(&self, offset: u32) -> Option<(&SharedBytes, usize)> {
        self.areas.iter().find_map(|(start, memory)| {
            let within = usize::try_from(u64::from(offset).checked_sub(*start)?).ok()?;
            (within.is_multiple_of(4) && within + 4 <= memory.len()).then_some((memory, within))
        })
    }

    fn is_register(&self, offset: u32) -> bool {
        offset.is_multiple_of(4) && u64::from(offset) + 4 <= self.bar_bytes
    }
}

fn failed_map(what: &str, error: VfioUserError) -> MapError {
    MapError::System { what: what.to_owned(), source: io::Error::other(error) }
}

/// A connected socket. A server whose listen queue stays full counts as not there.
fn connect(path: &Path) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(path)?;
    let socket = wire::open()?;
    for _ in 0..ANSWER {
        match rustix::net::connect(&socket, &address) {
            Err(Errno::AGAIN | Errno::INTR) => std::thread::sleep(Duration::from_millis(LOOK_MS)),
            done => return done.map(|()| socket).map_err(io::Error::from),
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

impl Channel {
    /// Agrees on a version.
    fn agree(&mut self) -> Result<(), VfioUserError> {
        let what = "a version";
        let abilities = Abilities {
            descriptors: Some(MOST_DESCRIPTORS as u64),
            data_bytes: Some(MOST_DATA_BYTES as u64),
            ..Abilities::default()
        };
        let version = Version { major: MAJOR, minor: MINOR, abilities };
        let answer = self.ask(Command::Version, what, &version.encode(), &[])?;
        let version = Version::decode(&answer.payload).ok_or(VfioUserError::Odd { what, why: "what is no version" })?;
        if version.major != MAJOR || version.minor > MINOR {
            return Err(VfioUserError::Version { major: version.major, minor: version.minor });
        }
        Ok(())
    }

    /// The size of BAR 0, and what of it can be mapped.
    fn bar(&mut self) -> Result<(u64, Vec<(u64, SharedBytes)>), VfioUserError> {
        let what = "its registers";
        let odd = |why| VfioUserError::Odd { what, why };
        let query = RegionQuery { most_bytes: REGION_BYTES, index: 0 };
        let answer = self.ask(Command::RegionInfo, what, &query.encode(), &[])?;
        let (info, _) = RegionInfo::decode(&answer.payload).ok_or(odd("an inconsistent message"))?;
        // Registers and the doorbells of an admin queue.
        if info.index != 0 || info.bytes < 0x1008 || info.bytes > 1 << 31 {
            return Err(odd("a region that has no NVMe registers"));
        }
        let mut areas = Vec::new();
        if let Some(file) = answer.descriptors.first().filter(|_| info.flags.has(RegionFlags::MAP)) {
            for area in &info.areas {
                let end = area.offset.checked_add(area.bytes).filter(|end| *end <= info.bytes);
                let start = end.and_then(|_| info.offset.checked_add(area.offset)).ok_or(odd("an area beyond it"))?;
                // What the server could take away again is reached by messages.
                let bytes = area.bytes as usize;
                if let Ok(memory) = SharedBytes::of_peer(file.as_fd(), start, bytes, MappingAccess::ReadWrite) {
                    areas.push((area.offset, memory));
                }
            }
        }
        Ok((info.bytes, areas))
    }

    /// Lets the function access memory.
    fn enable(&mut self) -> Result<(), VfioUserError> {
        let what = "its command register";
        let answer = self.ask(Command::RegionRead, what, &COMMAND_REGISTER.encode(&[]), &[])?;
        let read = RegionAccess::decode(&answer.payload).and_then(|(_, data)| data.first_chunk::<2>().copied());
        let [low, high] = read.ok_or(VfioUserError::Odd { what, why: "a message that is too short" })?;
        self.ask(Command::RegionWrite, what, &COMMAND_REGISTER.encode(&[low | ENABLE, high]), &[])?;
        Ok(())
    }

    /// Sends a command and waits for its answer.
    fn ask(
        &mut self,
        command: Command,
        what: &'static str,
        payload: &[u8],
        with: &[BorrowedFd<'_>],
    ) -> Result<Incoming, VfioUserError> {
        if self.is_broken {
            return Err(VfioUserError::Broken(io::ErrorKind::NotConnected.into()));
        }
        self.next_id = self.next_id.wrapping_add(1);
        let header = Header::command(self.next_id, command, payload.len());
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

    fn exchange(&mut self, header: &Header, payload: &[u8], with: &[BorrowedFd<'_>]) -> io::Result<Incoming> {
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

    /// Reads or writes our memory for a server that has not mapped it.
    fn serve(&mut self, incoming: &Incoming) -> io::Result<()> {
        let command = Command::of(incoming.header.command);
        let done = DmaAccess::decode(&incoming.payload).filter(|(access, _)| access.count <= MOST_DATA_BYTES as u64);
        let answer = done.and_then(|(access, data)| match command {
            Some(Command::DmaRead) => {
                let mut data = vec![0; access.count as usize];
                self.memory.read(access.address, &mut data).ok()?;
                Some(access.encode(&data))
            }
            Some(Command::DmaWrite) if data.len() as u64 == access.count => {
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

impl PciFunction for VfioUser {
    /// All ones when the server has closed or was killed. The socket tells that at once; the memory
    /// would not.
    fn read_u32(&self, offset: u32) -> u32 {
        if let Some((memory, within)) = self.mapped(offset) {
            let channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
            return if channel.wire.is_closed() { u32::MAX } else { memory.load_u32(within, Ordering::Acquire) };
        }
        if !self.is_register(offset) {
            return u32::MAX;
        }
        let access = RegionAccess { offset: offset.into(), region: 0, count: 4 };
        let answer = self.ask(Command::RegionRead, "a register", &access.encode(&[]), &[]);
        let value = answer.ok().and_then(|answer| {
            let (_, data) = RegionAccess::decode(&answer.payload)?;
            data.first_chunk().copied().map(u32::from_le_bytes)
        });
        value.unwrap_or(u32::MAX)
    }

    fn write_u32(&self, offset: u32, value: u32) {
        if let Some((memory, within)) = self.mapped(offset) {
            memory.store_u32(within, value, Ordering::Release);
        } else if self.is_register(offset) {
            let access = RegionAccess { offset: offset.into(), region: 0, count: 4 };
            // A server that is gone is noticed by the next read.
            let _ = self.ask(Command::RegionWrite, "a register", &access.encode(&value.to_le_bytes()), &[]);
        }
    }

    fn mapped_registers(&self, offset: u32) -> Option<SharedBytes> {
        let (memory, within) = self.mapped(offset)?;
        memory.window(within, memory.len() - within)
    }

    fn interrupt(&mut self, vector: u16) -> Result<Interrupt, PciError> {
        if vector >= self.vectors {
            return Err(PciError::NoVector { vector, available: self.vectors });
        }
        let failed = |source| PciError::System { what: format!("connecting interrupt vector {vector}"), source };
        let interrupt = Interrupt::new().map_err(failed)?;
        let set = InterruptSet {
            action: InterruptAction::Trigger,
            data: InterruptData::Eventfd,
            index: MSIX,
            start: vector.into(),
            count: 1,
        };
        self.ask(Command::SetInterrupts, "an interrupt", &set.encode(), &[interrupt.as_fd()])
            .map_err(|error| failed(io::Error::other(error)))?;
        Ok(interrupt)
    }

    fn reset(&mut self) -> Result<(), PciError> {
        let gone = |error: VfioUserError| PciError::Gone(error.to_string());
        self.ask(Command::Reset, "a reset", &[], &[]).map_err(gone)?;
        self.channel.get_mut().unwrap_or_else(PoisonError::into_inner).enable().map_err(gone)
    }

    fn pause(&self, at_most: Duration) {
        // The device works on another processor, or on this one while the driver sleeps.
        std::thread::sleep(at_most.min(Duration::from_micros(50)));
    }
}

impl DmaMapper for VfioUser {
    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError> {
        let address = self.addresses.map(memory)?;
        if let Err(error) = self.announce(address, memory) {
            self.addresses.unmap(address)?;
            return Err(error);
        }
        Ok(address)
    }

    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        let bytes = self.addresses.mapped_bytes(address).ok_or(MapError::Unknown { address })?;
        self.addresses.unmap(address)?;
        let unmap = DmaUnmap { is_all: false, address, bytes };
        let answer = self.ask(Command::DmaUnmap, "releasing memory", &unmap.encode(), &[]);
        answer.map(|_| ()).map_err(|error| failed_map("releasing memory", error))
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, MapError> {
        let buffer = self.addresses.allocate(bytes)?;
        if let Err(error) = self.announce(buffer.address, &buffer.memory) {
            self.addresses.unmap(buffer.address)?;
            return Err(error);
        }
        Ok(buffer)
    }
}
