//! An adapter of this machine, and memory that it accesses.
#![allow(unsafe_code, reason = "island: calls of verbs with their own objects")]

use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use iolab_memory::{MappingAccess, SharedBytes};

use crate::abi::{
    DeviceAttr, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE, Mr, Pd, VerbsContext,
};
use crate::error::VerbsError;
use crate::event::Identifier;
use crate::library::Libraries;

/// An adapter.
#[derive(Debug, Clone)]
pub struct Adapter {
    pub(crate) open: Arc<Open>,
}

/// Keeps an adapter open.
#[derive(Debug)]
pub(crate) struct Open {
    /// The identifier that opened the adapter; it has no other use.
    anchor: Identifier,
    pub(crate) domain: *mut Pd,
    /// The most reads by a peer that a queue pair serves at a time.
    pub(crate) most_reads: u8,
    /// The most messages of a queue pair.
    pub(crate) most_messages: u32,
}

// SAFETY: every thread may call the libraries. The calls that are made with a shared adapter
// (registering, creating queues) lock what they share.
unsafe impl Send for Open {}
// SAFETY: as above.
unsafe impl Sync for Open {}

impl Open {
    pub(crate) fn libraries(&self) -> &'static Libraries {
        self.anchor.libraries
    }

    pub(crate) fn context(&self) -> *mut VerbsContext {
        self.anchor.context()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: registrations and connections hold this object, so the domain is unused. The
        // anchor keeps its adapter open until after this call.
        unsafe { (self.libraries().verbs.ibv_dealloc_pd)(self.domain) };
    }
}

impl Adapter {
    /// The adapter that reaches an address.
    ///
    /// # Errors
    /// The libraries are missing, or no adapter reaches it.
    pub fn towards(at: SocketAddr, timeout: Duration) -> Result<Adapter, VerbsError> {
        let libraries = Libraries::get()?;
        let anchor = Identifier::towards(libraries, at, timeout)?;
        let mut attributes = MaybeUninit::<DeviceAttr>::zeroed();
        // SAFETY: the adapter is open, and there is room for the answer.
        let asked = unsafe { (libraries.verbs.ibv_query_device)(anchor.context(), attributes.as_mut_ptr()) };
        if asked != 0 {
            return Err(VerbsError::last("asking an RDMA adapter what it can do"));
        }
        // SAFETY: the structure consists of numbers, which were zero before.
        let attributes = unsafe { attributes.assume_init() };
        // SAFETY: the adapter is open.
        let domain = unsafe { (libraries.verbs.ibv_alloc_pd)(anchor.context()) };
        if domain.is_null() {
            return Err(VerbsError::last("a protection domain"));
        }
        Ok(Adapter {
            open: Arc::new(Open {
                anchor,
                domain,
                most_reads: attributes.max_qp_rd_atom.clamp(0, 255) as u8,
                most_messages: attributes.max_qp_wr.max(0) as u32,
            }),
        })
    }

    /// Messages that a connection can have in transit, in each direction.
    pub fn most_messages(&self) -> u32 {
        self.open.most_messages
    }

    /// Allows peers that know its key to read and write memory.
    ///
    /// # Errors
    /// The kernel's limit of locked memory is exceeded, or the adapter has no room for it.
    pub fn register(&self, memory: &SharedBytes) -> Result<Registration, VerbsError> {
        let access = match memory.access() {
            MappingAccess::ReadWrite => IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
            _ => IBV_ACCESS_REMOTE_READ,
        };
        // SAFETY: the memory is mapped for as long as the registration holds its window. Nothing
        // has a reference to it, so a peer may change it at any time.
        let registered = unsafe {
            (self.open.libraries().verbs.ibv_reg_mr)(self.open.domain, memory.as_ptr().cast(), memory.len(), access)
        };
        if registered.is_null() {
            let bytes = memory.len();
            let what = format!(
                "registering {bytes} bytes of memory (the limit for locked memory, `ulimit -l`, may be too low)"
            );
            return Err(VerbsError::last(what));
        }
        // SAFETY: the library returned a registration, which stays valid until it is given back.
        let (local_key, remote_key) = unsafe { ((*registered).lkey, (*registered).rkey) };
        Ok(Registration { local_key, remote_key, registered, memory: memory.clone(), open: Arc::clone(&self.open) })
    }
}

/// Memory that the adapter accesses.
#[derive(Debug)]
pub struct Registration {
    pub(crate) local_key: u32,
    remote_key: u32,
    registered: *mut Mr,
    memory: SharedBytes,
    open: Arc<Open>,
}

// SAFETY: a registration is only given back, once; the other fields are numbers.
unsafe impl Send for Registration {}
// SAFETY: as above.
unsafe impl Sync for Registration {}

impl Registration {
    /// The key with which a peer accesses the memory.
    pub fn remote_key(&self) -> u32 {
        self.remote_key
    }

    /// The address of its first byte, for a peer.
    pub fn address(&self) -> u64 {
        self.memory.as_ptr() as u64
    }

    /// The memory.
    pub fn memory(&self) -> &SharedBytes {
        &self.memory
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: the registration is one of this library and is given back once. After that the
        // adapter cannot access the memory; only then is the window dropped.
        unsafe { (self.open.libraries().verbs.ibv_dereg_mr)(self.registered) };
    }
}
