//! The device's end: a socket that drivers connect to, one thread for each of them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use iolab_memory::{Access, SharedBytes};
use iolab_pci_device::{DmaMapper, DmaTable, Interrupt, InterruptTable, MapError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::SealFlags;
use rustix::net::{SocketFlags, accept_with, bind, listen};

use crate::message::{Kind, Message, VERSION};
use crate::socket;

/// Makes functions for drivers that connect, and answers questions about the device.
pub trait Functions: Send + Sync + 'static {
    /// A new function whose host is `memory` and whose interrupts are in `interrupts`; or why there is none. Dropping
    /// it takes it off the device.
    fn connect(&self, memory: DmaTable, interrupts: InterruptTable) -> Result<Box<dyn Function>, String>;

    /// The answer to a question, or why there is none.
    fn answer(&self, question: &str) -> Result<String, String>;

    /// How many interrupt vectors each function has.
    fn vectors(&self) -> u16;
}

/// One function, as long as its driver is connected.
pub trait Function: Send {
    /// BAR 0, in a memfd.
    fn registers(&self) -> &SharedBytes;

    /// Resets the function.
    fn reset(&mut self);
}

/// A device that is being served; dropping it ends the service and removes the socket.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    stop: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

/// How long a thread waits for a message before it looks whether it should end.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

impl Server {
    /// Listens at `path`. A socket that a killed server left there is replaced; one that still answers is an error.
    pub fn start(path: &Path, functions: Arc<dyn Functions>) -> io::Result<Server> {
        let listener = socket::open()?;
        let address = socket::address(path)?;
        if let Err(errno) = bind(&listener, &address) {
            let probe = socket::open()?;
            if errno != rustix::io::Errno::ADDRINUSE || rustix::net::connect(&probe, &address).is_ok() {
                return Err(errno.into());
            }
            std::fs::remove_file(path)?;
            bind(&listener, &address)?;
        }
        listen(&listener, 16)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let accepting = std::thread::Builder::new()
            .name("device-accept".into())
            .spawn(move || accept_all(&listener, &functions, &stopped))?;
        Ok(Server { path: path.to_owned(), stop, accepting: Some(accepting) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A socket that somebody else has removed is gone as well; a thread that panicked has said so.
        let _ = std::fs::remove_file(&self.path);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn accept_all(listener: &OwnedFd, functions: &Arc<dyn Functions>, stop: &Arc<AtomicBool>) {
    let mut drivers: Vec<JoinHandle<()>> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        if !readable(listener) {
            continue;
        }
        let Ok(socket) = accept_with(listener, SocketFlags::CLOEXEC) else { continue };
        let (functions, stop) = (Arc::clone(functions), Arc::clone(stop));
        let thread = std::thread::Builder::new().name("device-driver".into());
        // Where no thread can be had the socket is closed, which the driver is told as a connection that broke off.
        if let Ok(thread) = thread.spawn(move || serve(&socket, functions.as_ref(), &stop)) {
            drivers.push(thread);
        }
        drivers.retain(|driver| !driver.is_finished());
    }
    for driver in drivers {
        let _ = driver.join();
    }
}

fn readable(socket: &OwnedFd) -> bool {
    let mut watched = [PollFd::new(socket, PollFlags::IN)];
    poll(&mut watched, Some(&LOOK)).is_ok_and(|count| count > 0)
}

/// Talks to one driver until it closes, breaks the protocol, or the service ends.
fn serve(socket: &OwnedFd, functions: &dyn Functions, stop: &AtomicBool) {
    let mut driver = Driver { functions, memory: DmaTable::new(), interrupts: None, function: None };
    while !stop.load(Ordering::Relaxed) {
        if !readable(socket) {
            continue;
        }
        let Ok(Some((request, descriptor))) = socket::receive(socket) else { return };
        let kind = request.kind;
        let reply = driver.handle(request, descriptor);
        let reply = reply.unwrap_or_else(|why| Message::failure(kind, rustix::io::Errno::INVAL.raw_os_error(), why));
        let bar = driver.function.as_ref().filter(|_| kind == Kind::Hello && reply.status == 0);
        let bar = bar.and_then(|function| function.registers().file()).map(|(fd, _)| fd);
        if socket::send(socket, &reply, bar).is_err() {
            return;
        }
    }
}

/// What one driver has: its memory, its interrupts, its function.
struct Driver<'a> {
    functions: &'a dyn Functions,
    memory: DmaTable,
    interrupts: Option<InterruptTable>,
    function: Option<Box<dyn Function>>,
}

impl Driver<'_> {
    fn handle(&mut self, request: Message, descriptor: Option<OwnedFd>) -> Result<Message, String> {
        let mut reply = Message::new(request.kind);
        match request.kind {
            Kind::Hello => {
                reply.address = VERSION;
                self.hello(&request, &mut reply)?;
            }
            Kind::Map => self.map(&request, descriptor)?,
            Kind::Unmap => self.memory.unmap(request.address).map_err(|error| error.to_string())?,
            Kind::Interrupt => self.connect_interrupt(request.address, descriptor)?,
            Kind::Reset => self.function.as_mut().ok_or("no function to reset")?.reset(),
            Kind::Ask => reply.text = self.functions.answer(&request.text)?,
        }
        Ok(reply)
    }

    fn hello(&mut self, request: &Message, reply: &mut Message) -> Result<(), String> {
        if request.address != VERSION {
            return Err(format!("this server speaks version {VERSION} of the protocol, not {}", request.address));
        }
        if self.function.is_some() {
            return Err("this connection has a function already".into());
        }
        let interrupts = InterruptTable::with_vectors(self.functions.vectors());
        let function = self.functions.connect(self.memory.clone(), interrupts.clone())?;
        if function.registers().file().is_none() {
            return Err("the registers of the device are not in a memfd".into());
        }
        reply.bytes = function.registers().len() as u64;
        reply.offset = u64::from(interrupts.count());
        (self.interrupts, self.function) = (Some(interrupts), Some(function));
        Ok(())
    }

    fn map(&mut self, request: &Message, descriptor: Option<OwnedFd>) -> Result<(), String> {
        let file = descriptor.ok_or("a mapping without a descriptor")?;
        let bytes = usize::try_from(request.bytes).map_err(|_| "a mapping beyond the address space")?;
        // What lies behind the end of the file would kill whoever touches it.
        let there = rustix::fs::fstat(&file).map_err(|errno| errno.to_string())?.st_size as u64;
        if request.offset.checked_add(request.bytes).is_none_or(|end| end > there) {
            return Err(format!("a mapping of {bytes} bytes at {} of a file of {there}", request.offset));
        }
        seal(file.as_fd())?;
        let access = if request.text == "r" { Access::Read } else { Access::ReadWrite };
        let memory = SharedBytes::of_file(file, request.offset, bytes, access).map_err(|error| error.to_string())?;
        self.memory.map_at(request.address, memory).map_err(|error: MapError| error.to_string())
    }

    fn connect_interrupt(&mut self, vector: u64, descriptor: Option<OwnedFd>) -> Result<(), String> {
        let event = descriptor.ok_or("an interrupt without a descriptor")?;
        let table = self.interrupts.as_ref().ok_or("no function whose interrupts could be connected")?;
        let connected =
            u16::try_from(vector).is_ok_and(|vector| table.connect(vector, Some(Interrupt::from_eventfd(event))));
        if connected { Ok(()) } else { Err(format!("there is no interrupt vector {vector}")) }
    }
}

/// Keeps the driver from shortening memory that the device has mapped, which would end the device with SIGBUS.
fn seal(file: std::os::fd::BorrowedFd<'_>) -> Result<(), String> {
    // Whether it was this call that sealed it does not matter.
    let _ = rustix::fs::fcntl_add_seals(file, SealFlags::SHRINK);
    match rustix::fs::fcntl_get_seals(file) {
        Ok(seals) if seals.contains(SealFlags::SHRINK) => Ok(()),
        _ => Err("memory that is not in a memfd which can be sealed against shrinking (memfd_create(2))".into()),
    }
}
