//! The device's end: a socket that drivers connect to, one thread for each of them.
//!
//! No driver can delay another one, or the end of the service: each wait here lasts at most one
//! poll, and the resources of a driver are limited ([`MOST_DRIVERS`], [`crate::MOST_MAPPINGS`],
//! [`crate::MOST_MAPPED_BYTES`]).

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use iolab_memory::SharedBytes;
use rustix::event::PollFlags;
use rustix::net::{SocketFlags, accept_with, bind, listen};

use crate::driver::{Driver, Functions};
use crate::message::{Message, MessageKind};
use crate::{peer, socket};

/// The most connections that a server has at a time.
pub const MOST_DRIVERS: usize = 64;

/// A device that is being served; dropping it ends the service and removes the socket.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    stop: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

/// Polls after which a driver that does not read its replies is disconnected: a few seconds.
const PATIENCE: u32 = 40;
/// Polls for a server that may be listening at the same path.
const PROBE: u32 = 20;

impl Server {
    /// Listens at `path`. A socket that a killed server left there is replaced; one that still
    /// answers is an error.
    pub fn start(path: &Path, functions: Arc<dyn Functions>) -> io::Result<Server> {
        let listener = socket::open()?;
        let address = socket::address(path)?;
        if let Err(errno) = bind(&listener, &address) {
            let probe = socket::open()?;
            // A server that does not accept connections counts as one that answers.
            let is_there = |error: io::Error| error.kind() == io::ErrorKind::TimedOut;
            let answers = || socket::connect(&probe, &address, PROBE).map_or_else(is_there, |()| true);
            if errno != rustix::io::Errno::ADDRINUSE || answers() {
                return Err(errno.into());
            }
            if !std::fs::symlink_metadata(path)?.file_type().is_socket() {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file that is not a socket is there"));
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
        // The socket may already have been removed. A thread that panicked has already reported it.
        let _ = std::fs::remove_file(&self.path);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn accept_all(listener: &OwnedFd, functions: &Arc<dyn Functions>, stop: &Arc<AtomicBool>) {
    let mut drivers: Vec<JoinHandle<()>> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        if !socket::is_ready(listener, PollFlags::IN) {
            continue;
        }
        let Ok(socket) = accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) else {
            // Most likely no descriptor is free. The driver waits until there is one.
            std::thread::sleep(std::time::Duration::from_millis(socket::LOOK_MS));
            continue;
        };
        drivers.retain(|driver| !driver.is_finished());
        if let Err(why) = admit(&socket, drivers.len()) {
            // The refusal is sent without waiting, before the driver's request has been read.
            let errno = rustix::io::Errno::PERM.raw_os_error();
            let _ = socket::send(&socket, &Message::failure(MessageKind::Hello, errno, why), None);
            continue;
        }
        let (functions, stop) = (Arc::clone(functions), Arc::clone(stop));
        let thread = std::thread::Builder::new().name("device-driver".into());
        // If no thread can be started, the socket is closed, and the driver reports a broken
        // connection.
        if let Ok(thread) = thread.spawn(move || serve(&socket, functions.as_ref(), &stop)) {
            drivers.push(thread);
        }
    }
    for driver in drivers {
        let _ = driver.join();
    }
}

/// Returns why a connection is refused, if it is.
fn admit(socket: &OwnedFd, drivers: usize) -> Result<(), String> {
    peer::check(socket, "whoever connects")?;
    if drivers >= MOST_DRIVERS {
        return Err(format!("the device already has {MOST_DRIVERS} connections, the maximum: close one"));
    }
    Ok(())
}

/// Serves one driver until it closes, breaks the protocol, does not read replies, or the service
/// ends.
fn serve(socket: &OwnedFd, functions: &dyn Functions, stop: &AtomicBool) {
    let mut driver = Driver::new(functions);
    while !stop.load(Ordering::Relaxed) {
        if !socket::is_ready(socket, PollFlags::IN) {
            continue;
        }
        let (request, descriptor) = match socket::receive(socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Ok(Some(received)) => received,
            _ => return,
        };
        let kind = request.kind;
        let reply = driver.handle(request, descriptor);
        let reply = reply.unwrap_or_else(|why| Message::failure(kind, rustix::io::Errno::INVAL.raw_os_error(), why));
        let bar = driver.registers().filter(|_| kind == MessageKind::Hello && reply.status == 0);
        let bar = bar.and_then(SharedBytes::file).map(|(fd, _)| fd);
        let mut looks = 0;
        let goes_on = || {
            looks += 1;
            looks <= PATIENCE && !stop.load(Ordering::Relaxed)
        };
        if socket::send_patiently(socket, &reply, bar, goes_on).is_err() {
            return;
        }
    }
}
