//! The driver's end of a link.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use iolab_memory::{MappingAccess, SharedBytes};
use iolab_pci_device::{DmaBuffer, DmaMapper, DmaTable, Interrupt, MapError, PciError, PciFunction};

use crate::message::{Message, MessageKind, VERSION};
use crate::{peer, socket};

/// Polls within which a server must have answered: about ten seconds. A reset takes longest.
const ANSWER: u32 = 200;

/// A function of a device that another process serves.
#[derive(Debug)]
pub struct Link {
    socket: OwnedFd,
    registers: SharedBytes,
    vectors: u16,
    /// Chooses bus addresses, and keeps mapped memory alive.
    addresses: DmaTable,
}

/// Why connecting or a request failed.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// No server serves the device.
    #[error("no device is served at {path}: {source}")]
    NotServed {
        /// The path of the socket.
        path: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The other end speaks another version.
    #[error("the server uses protocol version {theirs}, this program version {VERSION}")]
    Version {
        /// The version of the other end.
        theirs: u64,
    },
    /// The other end refused.
    #[error("{0}")]
    Refused(String),
    /// The connection broke.
    #[error("the server does not respond: {0}")]
    Broken(#[from] io::Error),
}

/// Asks the server a question about the device as a whole, without becoming a driver of it.
pub fn ask(path: &Path, question: &str) -> Result<String, LinkError> {
    let socket = connect(path)?;
    let (reply, _) = exchange(&socket, &Message { text: question.into(), ..Message::new(MessageKind::Ask) }, None)?;
    Ok(reply.text)
}

/// Connects to a server of the same user, or of root.
fn connect(path: &Path) -> Result<OwnedFd, LinkError> {
    let tried = socket::open().and_then(|socket| {
        socket::connect(&socket, &socket::address(path)?, ANSWER)?;
        Ok(socket)
    });
    let socket = tried.map_err(|source| LinkError::NotServed { path: path.display().to_string(), source })?;
    let server = format!("the server at {}", path.display());
    peer::check(&socket, &server).map_err(LinkError::Refused)?;
    Ok(socket)
}

/// Sends a request and waits for its reply.
fn exchange(
    socket: &OwnedFd,
    request: &Message,
    with: Option<BorrowedFd<'_>>,
) -> Result<(Message, Option<OwnedFd>), LinkError> {
    let mut looks = 0;
    let goes_on = || {
        looks += 1;
        looks <= ANSWER
    };
    // A server may have sent the reason before it closed.
    let sent = socket::send_patiently(socket, request, with, goes_on);
    let closed = || LinkError::Broken(io::ErrorKind::ConnectionReset.into());
    let (reply, descriptor) =
        socket::receive_within(socket, if sent.is_ok() { ANSWER } else { 1 })?.ok_or_else(closed)?;
    if reply.status != 0 {
        return Err(LinkError::Refused(reply.text));
    }
    sent?;
    if reply.kind != request.kind {
        return Err(LinkError::Broken(io::Error::new(io::ErrorKind::InvalidData, "a reply to another request")));
    }
    Ok((reply, descriptor))
}

impl Link {
    /// Connects to the server at `path` and gets a function of its device.
    pub fn connect(path: &Path) -> Result<Link, LinkError> {
        let socket = connect(path)?;
        let hello = Message { address: VERSION, ..Message::new(MessageKind::Hello) };
        let (welcome, bar) = exchange(&socket, &hello, None)?;
        if welcome.address != VERSION {
            return Err(LinkError::Version { theirs: welcome.address });
        }
        let bar = bar.ok_or_else(|| LinkError::Refused("the server sent no registers".into()))?;
        let bytes = usize::try_from(welcome.bytes).unwrap_or(usize::MAX);
        let registers = SharedBytes::of_peer(bar.as_fd(), 0, bytes, MappingAccess::ReadWrite)
            .map_err(|error| LinkError::Refused(format!("the server's registers cannot be mapped: {error}")))?;
        let vectors = u16::try_from(welcome.offset).unwrap_or(u16::MAX);
        Ok(Link { socket, registers, vectors, addresses: DmaTable::shareable() })
    }

    fn tell(&self, what: &str, request: &Message, with: Option<BorrowedFd<'_>>) -> Result<(), MapError> {
        let failed = |error: LinkError| MapError::System { what: what.into(), source: io::Error::other(error) };
        exchange(&self.socket, request, with).map(|_| ()).map_err(failed)
    }

    /// Maps memory, which has a bus address, for the device.
    fn announce(&mut self, address: u64, memory: &SharedBytes) -> Result<(), MapError> {
        let what = "sharing memory with the device";
        let (fd, offset) = memory.file().ok_or_else(|| MapError::System {
            what: format!("{what}: not in a memfd, so another process cannot map it"),
            source: io::ErrorKind::InvalidInput.into(),
        })?;
        let text = if memory.access() == MappingAccess::Read { "r" } else { "" }.to_owned();
        let bytes = memory.len() as u64;
        self.tell(what, &Message { address, bytes, offset, text, ..Message::new(MessageKind::Map) }, Some(fd))
    }

    fn in_bar(&self, offset: u32) -> Option<usize> {
        let offset = offset as usize;
        (offset.is_multiple_of(4) && offset + 4 <= self.registers.len()).then_some(offset)
    }
}

impl PciFunction for Link {
    /// Returns all ones if the server has closed or was killed. The socket reports that at once;
    /// the memory would not.
    fn read_u32(&self, offset: u32) -> u32 {
        if socket::is_closed(&self.socket) {
            return u32::MAX;
        }
        self.in_bar(offset).map_or(u32::MAX, |offset| self.registers.load_u32(offset, Ordering::Acquire))
    }

    fn write_u32(&self, offset: u32, value: u32) {
        if let Some(offset) = self.in_bar(offset) {
            self.registers.store_u32(offset, value, Ordering::Release);
        }
    }

    fn mapped_registers(&self, offset: u32) -> Option<SharedBytes> {
        let offset = offset as usize;
        self.registers.window(offset, self.registers.len().checked_sub(offset)?)
    }

    fn interrupt(&mut self, vector: u16) -> Result<Interrupt, PciError> {
        if vector >= self.vectors {
            return Err(PciError::NoVector { vector, available: self.vectors });
        }
        let what = || format!("connecting interrupt vector {vector}");
        let (interrupt, far) = Interrupt::pair().map_err(|source| PciError::System { what: what(), source })?;
        let request = Message { address: u64::from(vector), ..Message::new(MessageKind::Interrupt) };
        exchange(&self.socket, &request, Some(far.as_fd()))
            .map_err(|error| PciError::System { what: what(), source: io::Error::other(error) })?;
        Ok(interrupt)
    }

    fn reset(&mut self) -> Result<(), PciError> {
        let answer = exchange(&self.socket, &Message::new(MessageKind::Reset), None);
        answer.map(|_| ()).map_err(|error| PciError::Gone(error.to_string()))
    }

    fn pause(&self, at_most: Duration) {
        // The device works on another processor, or on this one while the driver sleeps.
        std::thread::sleep(at_most.min(Duration::from_micros(50)));
    }
}

impl DmaMapper for Link {
    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError> {
        let address = self.addresses.map(memory)?;
        if let Err(error) = self.announce(address, memory) {
            self.addresses.unmap(address)?;
            return Err(error);
        }
        Ok(address)
    }

    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        self.addresses.unmap(address)?;
        self.tell("releasing memory", &Message { address, ..Message::new(MessageKind::Unmap) }, None)
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
