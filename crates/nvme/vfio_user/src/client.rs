//! The driver's end: a function served by another process, as a device for the driver.

mod channel;
mod error;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use iolab_memory::{MappingAccess, SharedBytes};
use iolab_pci_device::{DmaBuffer, DmaMapper, DmaTable, Interrupt, MapError, PciError, PciFunction};
use rustix::io::Errno;
use rustix::net::SocketAddrUnix;

use crate::protocol::{DmaMap, DmaUnmap, InterruptAction, InterruptData, InterruptSet, MessageCommand, RegionAccess};
use crate::wire::{self, Incoming, LOOK_MS};
use channel::{ANSWER, Channel, MSIX};

pub use error::VfioUserError;

/// A function of a device that another process serves.
#[derive(Debug)]
pub struct VfioUser {
    channel: Mutex<Channel>,
    /// Bytes of BAR 0.
    bar_bytes: u64,
    /// The mapped parts of BAR 0: the offset of each in the BAR, and its memory.
    areas: Vec<(u64, SharedBytes)>,
    vectors: u16,
    /// Chooses bus addresses, and keeps mapped memory alive.
    addresses: DmaTable,
}

impl VfioUser {
    /// Connects to the server at `path` and queries its device.
    pub fn connect(path: &Path) -> Result<VfioUser, VfioUserError> {
        let socket =
            connect(path).map_err(|source| VfioUserError::NotServed { path: path.display().to_string(), source })?;
        let addresses = DmaTable::shareable();
        VfioUser::over(socket, addresses)
    }

    /// Does the same as `connect`, on a connected socket that does not block.
    pub(crate) fn over(socket: OwnedFd, addresses: DmaTable) -> Result<VfioUser, VfioUserError> {
        let mut channel = Channel::new(socket, addresses.clone());
        channel.agree()?;
        channel.device()?;
        let (bar_bytes, areas) = channel.bar()?;
        let vectors = channel.vectors()?;
        channel.enable()?;
        Ok(VfioUser { channel: Mutex::new(channel), bar_bytes, areas, vectors, addresses })
    }

    fn ask(
        &self,
        command: MessageCommand,
        what: &'static str,
        payload: &[u8],
        with: &[BorrowedFd<'_>],
    ) -> Result<Incoming, VfioUserError> {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner).ask(command, what, payload, with)
    }

    /// Maps memory, which has a bus address, for the device.
    fn announce(&mut self, address: u64, memory: &SharedBytes) -> Result<(), MapError> {
        let what = "sharing memory with the device";
        let (file, offset) = memory.file().ok_or_else(|| MapError::System {
            what: format!("{what}: not in a memfd, so another process cannot map it"),
            source: io::ErrorKind::InvalidInput.into(),
        })?;
        let is_writable = memory.access() == MappingAccess::ReadWrite;
        let map = DmaMap { is_readable: true, is_writable, offset, address, bytes: memory.len() as u64 };
        let answer = self.ask(MessageCommand::DmaMap, "memory", &map.encode(), &[file]);
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

/// A connected socket. A server whose listen queue stays full counts as absent.
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

impl PciFunction for VfioUser {
    /// Returns all ones if the server has closed or was killed. The socket reports that at once;
    /// the memory would not.
    fn read_u32(&self, offset: u32) -> u32 {
        if let Some((memory, within)) = self.mapped(offset) {
            let channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
            return if channel.wire.is_closed() { u32::MAX } else { memory.load_u32(within, Ordering::Acquire) };
        }
        if !self.is_register(offset) {
            return u32::MAX;
        }
        let access = RegionAccess { offset: offset.into(), region: 0, count: 4 };
        let answer = self.ask(MessageCommand::RegionRead, "a register", &access.encode(&[]), &[]);
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
            // If the server is gone, the next read notices it.
            let _ = self.ask(MessageCommand::RegionWrite, "a register", &access.encode(&value.to_le_bytes()), &[]);
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
        self.ask(MessageCommand::SetInterrupts, "an interrupt", &set.encode(), &[interrupt.as_fd()])
            .map_err(|error| failed(io::Error::other(error)))?;
        Ok(interrupt)
    }

    fn reset(&mut self) -> Result<(), PciError> {
        let gone = |error: VfioUserError| PciError::Gone(error.to_string());
        self.ask(MessageCommand::Reset, "a reset", &[], &[]).map_err(gone)?;
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
        let answer = self.ask(MessageCommand::DmaUnmap, "releasing memory", &unmap.encode(), &[]);
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
