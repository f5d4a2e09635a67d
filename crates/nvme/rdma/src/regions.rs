//! Memory that the target accesses, by address.
//!
//! A lookup costs two comparisons if it is in the same region as the previous one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolab_memory::SharedBytes;
use iolab_pci_device::MapError;
use iolab_verbs::{Adapter, Registration, VerbsError};

/// One handle on the regions; clones share them and look them up independently.
#[derive(Debug)]
pub(crate) struct Regions {
    shared: Arc<Shared>,
    list: Arc<[Arc<Registration>]>,
    seen: u64,
    last: usize,
}

#[derive(Debug)]
struct Shared {
    adapter: Adapter,
    generation: AtomicU64,
    list: Mutex<Arc<[Arc<Registration>]>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Arc<[Arc<Registration>]>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Regions {
    fn clone(&self) -> Regions {
        Regions { shared: Arc::clone(&self.shared), list: Arc::new([]), seen: u64::MAX, last: 0 }
    }
}

/// Whether a region contains all of an access.
fn holds(region: &Registration, address: u64, bytes: usize) -> bool {
    let offset = address.checked_sub(region.address()).and_then(|offset| usize::try_from(offset).ok());
    offset.and_then(|offset| offset.checked_add(bytes)).is_some_and(|end| end <= region.memory().len())
}

impl Regions {
    /// Creates an empty set of regions for this adapter.
    pub(crate) fn new(adapter: Adapter) -> Regions {
        let shared = Shared { adapter, generation: AtomicU64::new(0), list: Mutex::new(Arc::new([])) };
        Regions { shared: Arc::new(shared), list: Arc::new([]), seen: u64::MAX, last: 0 }
    }

    pub(crate) fn adapter(&self) -> &Adapter {
        &self.shared.adapter
    }

    /// Registers memory, and returns its address.
    pub(crate) fn map(&self, memory: &SharedBytes) -> Result<u64, MapError> {
        let registration = self.shared.adapter.register(memory).map_err(|error: VerbsError| MapError::System {
            what: format!("{} bytes of memory for RDMA", memory.len()),
            source: std::io::Error::other(error),
        })?;
        let address = registration.address();
        let mut list = self.shared.lock();
        *list = list.iter().cloned().chain([Arc::new(registration)]).collect();
        self.shared.generation.fetch_add(1, Ordering::Release);
        Ok(address)
    }

    /// Unmaps memory that [`Regions::map`] mapped.
    pub(crate) fn unmap(&self, address: u64) -> Result<(), MapError> {
        let mut list = self.shared.lock();
        let place = list.iter().position(|region| region.address() == address);
        let place = place.ok_or(MapError::Unknown { address })?;
        *list = list.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, region)| Arc::clone(region)).collect();
        self.shared.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// The region that contains an access.
    #[inline]
    pub(crate) fn find(&mut self, address: u64, bytes: usize) -> Option<&Registration> {
        if self.shared.generation.load(Ordering::Acquire) != self.seen {
            self.refresh();
        }
        if !self.list.get(self.last).is_some_and(|region| holds(region, address, bytes)) {
            self.last = self.list.iter().position(|region| holds(region, address, bytes))?;
        }
        self.list.get(self.last).map(|region| &**region)
    }

    #[cold]
    fn refresh(&mut self) {
        let list = self.shared.lock();
        (self.list, self.seen) = (Arc::clone(&list), self.shared.generation.load(Ordering::Acquire));
    }
}
