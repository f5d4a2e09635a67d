//! An identifier of the connection manager, with its own channel for events.
#![allow(unsafe_code, reason = "island: calls of the connection manager with its own objects")]

use std::ffi::c_int;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use iolab_clock::Clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::abi::{CmEvent, CmId, EventChannel, RDMA_PS_TCP, VerbsContext, cm_event};
use crate::error::VerbsError;
use crate::library::Libraries;

/// An identifier and its channel.
#[derive(Debug)]
pub(crate) struct Identifier {
    pub(crate) libraries: &'static Libraries,
    pub(crate) id: *mut CmId,
    channel: *mut EventChannel,
}

/// An event that was taken from the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: u32,
    pub(crate) status: c_int,
    pub(crate) private_data: Vec<u8>,
}

/// Waits until a descriptor is readable; `false` if it is not within the time.
pub(crate) fn wait_readable(descriptor: BorrowedFd<'_>, at_most: Duration) -> bool {
    let timeout = Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
    // An interrupted wait is only shorter.
    poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)], Some(&timeout)).is_ok_and(|ready| ready > 0)
}

/// An address in the format of the C library.
fn socket_address(at: SocketAddr) -> libc::sockaddr_storage {
    // SAFETY: all zeroes are a valid value of this structure of numbers.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let place = &raw mut storage;
    match at {
        SocketAddr::V4(at) => {
            let address = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: at.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(at.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: the storage is large enough and aligned for every address.
            unsafe { place.cast::<libc::sockaddr_in>().write(address) };
        }
        SocketAddr::V6(at) => {
            let address = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: at.port().to_be(),
                sin6_flowinfo: at.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: at.ip().octets() },
                sin6_scope_id: at.scope_id(),
            };
            // SAFETY: as above.
            unsafe { place.cast::<libc::sockaddr_in6>().write(address) };
        }
    }
    storage
}

impl Identifier {
    /// Creates an identifier that is bound to the adapter which reaches an address.
    pub(crate) fn towards(
        libraries: &'static Libraries,
        at: SocketAddr,
        timeout: Duration,
    ) -> Result<Identifier, VerbsError> {
        let manager = &libraries.manager;
        let no_adapter = |why: String| VerbsError::NoAdapter { at: at.to_string(), why };
        // SAFETY: the function has no arguments.
        let channel = unsafe { (manager.rdma_create_event_channel)() };
        if channel.is_null() {
            // Without any adapter, the kernel's part of the connection manager does not exist.
            return Err(no_adapter(std::io::Error::last_os_error().to_string()));
        }
        let mut identifier = Identifier { libraries, id: std::ptr::null_mut(), channel };
        rustix::io::ioctl_fionbio(identifier.descriptor(), true)
            .map_err(|error| VerbsError::failed("a channel of events", error))?;
        // SAFETY: the channel belongs to this library, and there is a place for the answer.
        let made =
            unsafe { (manager.rdma_create_id)(channel, &raw mut identifier.id, std::ptr::null_mut(), RDMA_PS_TCP) };
        if made != 0 {
            return Err(VerbsError::last("an identifier of a connection"));
        }
        let mut address = socket_address(at);
        let timeout_ms = timeout.as_millis().min(i32::MAX as u128) as c_int;
        // SAFETY: the identifier belongs to this library; the address is copied before the call
        // returns.
        let resolved = unsafe {
            (manager.rdma_resolve_addr)(identifier.id, std::ptr::null_mut(), (&raw mut address).cast(), timeout_ms)
        };
        if resolved != 0 {
            return Err(no_adapter(std::io::Error::last_os_error().to_string()));
        }
        match identifier.next(timeout)? {
            Some(Event { kind: cm_event::ADDR_RESOLVED, .. }) if !identifier.context().is_null() => Ok(identifier),
            Some(Event { kind: cm_event::ADDR_ERROR, status, .. }) => {
                Err(no_adapter(std::io::Error::from_raw_os_error(status.saturating_neg()).to_string()))
            }
            Some(event) => Err(no_adapter(libraries.event_text(event.kind))),
            None => Err(no_adapter("no answer in time".to_owned())),
        }
    }

    /// Resolves the route to the address.
    pub(crate) fn resolve_route(&self, timeout: Duration) -> Result<(), VerbsError> {
        let timeout_ms = timeout.as_millis().min(i32::MAX as u128) as c_int;
        // SAFETY: the identifier belongs to this library, and its address is resolved.
        if unsafe { (self.libraries.manager.rdma_resolve_route)(self.id, timeout_ms) } != 0 {
            return Err(VerbsError::last("looking for a route"));
        }
        match self.next(timeout)? {
            Some(Event { kind: cm_event::ROUTE_RESOLVED, .. }) => Ok(()),
            Some(event) => Err(VerbsError::failed("looking for a route", self.libraries.event_text(event.kind))),
            None => Err(VerbsError::failed("looking for a route", "no answer in time")),
        }
    }

    /// The open adapter.
    pub(crate) fn context(&self) -> *mut VerbsContext {
        // SAFETY: the identifier belongs to this library, and exists since rdma_create_id.
        unsafe { (*self.id).verbs }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel and its descriptor live as long as this object.
        unsafe { BorrowedFd::borrow_raw((*self.channel).fd) }
    }

    /// The next event; `None` if there is none within the time.
    pub(crate) fn next(&self, at_most: Duration) -> Result<Option<Event>, VerbsError> {
        let clock = Clock::monotonic();
        let end_ns = clock.now_ns().saturating_add(at_most.as_nanos().min(u64::MAX.into()) as u64);
        loop {
            let mut event: *mut CmEvent = std::ptr::null_mut();
            // SAFETY: the channel belongs to this library and does not block, and there is a place
            // for the answer.
            if unsafe { (self.libraries.manager.rdma_get_cm_event)(self.channel, &raw mut event) } == 0 {
                // SAFETY: the library returned an event, which stays valid until it is
                // acknowledged.
                let taken = unsafe { take(event) };
                // SAFETY: the event was not acknowledged before.
                unsafe { (self.libraries.manager.rdma_ack_cm_event)(event) };
                return Ok(Some(taken));
            }
            let error = std::io::Error::last_os_error();
            match error.kind() {
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted => {}
                _ => return Err(VerbsError::failed("events of a connection", error)),
            }
            let left_ns = end_ns.saturating_sub(clock.now_ns());
            if left_ns == 0 {
                return Ok(None);
            }
            wait_readable(self.descriptor(), Duration::from_nanos(left_ns));
        }
    }
}

/// Copies the used parts of an event.
///
/// # Safety
/// `event` points to an event of the library that was not acknowledged.
unsafe fn take(event: *mut CmEvent) -> Event {
    // SAFETY: the caller guarantees that the event is valid. Only some kinds of events have private
    // data; for the others these fields are zero, because librdmacm clears every event.
    unsafe {
        let CmEvent { event: kind, status, conn, .. } = &*event;
        let brings_data = matches!(*kind, cm_event::REJECTED | cm_event::ESTABLISHED);
        let private_data = match brings_data && !conn.private_data.is_null() {
            true => std::slice::from_raw_parts(conn.private_data.cast::<u8>(), conn.private_data_len.into()).to_vec(),
            false => Vec::new(),
        };
        Event { kind: *kind, status: *status, private_data }
    }
}

impl Drop for Identifier {
    fn drop(&mut self) {
        // SAFETY: both belong to this library, and nothing uses them any more. Every event was
        // acknowledged, which destroying the identifier would wait for.
        unsafe {
            if !self.id.is_null() {
                (self.libraries.manager.rdma_destroy_id)(self.id);
            }
            (self.libraries.manager.rdma_destroy_event_channel)(self.channel);
        }
    }
}
