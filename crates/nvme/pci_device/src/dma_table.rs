//! An address space shared by a driver and a device model: the driver maps memory, the model looks
//! addresses up.
//!
//! A lookup costs one comparison if the access is in the same mapping as the previous one, which is
//! the case for nearly all data of a run. Mapping and unmapping are rare, and make every user of
//! the table fetch the list again.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use iolab_memory::{MappingAccess, SharedBytes};

use crate::{DistantMemory, DmaBuffer, DmaFault, DmaMapper, HostMemory, MapError};

const PAGE_BYTES: usize = 4096;
/// Bus addresses allocated by the table start here, so zero and small numbers are never valid.
const FIRST_ADDRESS: u64 = 1 << 32;
/// They end here: 48-bit addresses, like common IOMMUs.
const LAST_ADDRESS: u64 = (1 << 48) - 1;

/// One handle on the address space; clones share the mappings and look them up independently.
#[derive(Debug)]
pub struct DmaTable {
    shared: Arc<Shared>,
    regions: Arc<[Region]>,
    seen_generation: u64,
    /// The region of the previous access.
    last: usize,
    shareable: bool,
}

/// The place of an access; valid until a mapping changes.
#[derive(Debug, Clone, Copy)]
pub struct DmaPlace {
    generation: u64,
    region: usize,
    offset: usize,
}

#[derive(Debug)]
struct Shared {
    generation: AtomicU64,
    regions: Mutex<Arc<[Region]>>,
    /// Other memory of the driver, used for addresses outside all regions.
    distant: Option<Arc<dyn DistantMemory>>,
}

/// The place of a part of an access.
enum Part<'a> {
    /// In a mapping, at this offset.
    Mapped(&'a SharedBytes, usize),
    /// In distant memory, at this address.
    Distant(&'a dyn DistantMemory, u64),
}

#[derive(Debug, Clone)]
struct Region {
    address: u64,
    memory: SharedBytes,
}

impl Region {
    /// The offset of the access within the region, if the region contains all of it.
    #[inline]
    fn offset(&self, address: u64, bytes: usize) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.address)?).ok()?;
        (offset.checked_add(bytes)? <= self.memory.len()).then_some(offset)
    }
}

impl Clone for DmaTable {
    fn clone(&self) -> DmaTable {
        let mut clone = DmaTable { shared: Arc::clone(&self.shared), regions: Arc::new([]), last: 0, ..*self };
        clone.refresh();
        clone
    }
}

impl DmaTable {
    /// An empty address space for a model in this process.
    pub fn new() -> DmaTable {
        DmaTable::with(None)
    }

    /// An address space for a driver that has memory which cannot be mapped: addresses outside all
    /// mappings are looked up in `distant`.
    pub fn beside(distant: Arc<dyn DistantMemory>) -> DmaTable {
        DmaTable::with(Some(distant))
    }

    fn with(distant: Option<Arc<dyn DistantMemory>>) -> DmaTable {
        let shared = Shared { generation: AtomicU64::new(0), regions: Mutex::new(Arc::new([])), distant };
        DmaTable { shared: Arc::new(shared), regions: Arc::new([]), seen_generation: 0, last: 0, shareable: false }
    }

    /// An address space whose memory is allocated in memfds, so that a model in another process can
    /// map it.
    pub fn shareable() -> DmaTable {
        DmaTable { shareable: true, ..DmaTable::new() }
    }

    /// Maps `memory` at an address chosen by the caller. Fails if another mapping overlaps.
    pub fn map_at(&mut self, address: u64, memory: SharedBytes) -> Result<(), MapError> {
        let bytes = memory.len();
        let aligned = address.is_multiple_of(PAGE_BYTES as u64) && bytes.is_multiple_of(PAGE_BYTES) && bytes > 0;
        if !aligned {
            return Err(MapError::Unaligned { address: address as usize, bytes, page_bytes: PAGE_BYTES });
        }
        let end = address.checked_add(bytes as u64).ok_or(MapError::NoAddress { bytes, limit: u64::MAX })?;
        self.change(|regions| {
            let position = regions.partition_point(|region| region.address < end);
            let before = position.checked_sub(1).and_then(|before| regions.get(before));
            if before.is_some_and(|region| region.address + region.memory.len() as u64 > address) {
                return Err(MapError::NoAddress { bytes, limit: u64::MAX });
            }
            regions.insert(position, Region { address, memory });
            Ok(())
        })
    }

    /// Length in bytes of the mapping that begins at `address`.
    pub fn mapped_bytes(&self, address: u64) -> Option<u64> {
        let regions = self.shared.regions.lock().unwrap_or_else(PoisonError::into_inner);
        regions.iter().find(|region| region.address == address).map(|region| region.memory.len() as u64)
    }

    /// Changes the list of mappings and notifies all users of the table.
    fn change<T>(&mut self, edit: impl FnOnce(&mut Vec<Region>) -> Result<T, MapError>) -> Result<T, MapError> {
        let mut guard = self.shared.regions.lock().unwrap_or_else(PoisonError::into_inner);
        let mut regions = guard.to_vec();
        let answer = edit(&mut regions)?;
        *guard = regions.into();
        self.shared.generation.fetch_add(1, Ordering::Release);
        drop(guard);
        self.refresh();
        Ok(answer)
    }

    #[cold]
    fn refresh(&mut self) {
        let guard = self.shared.regions.lock().unwrap_or_else(PoisonError::into_inner);
        self.regions = Arc::clone(&guard);
        self.seen_generation = self.shared.generation.load(Ordering::Acquire);
        self.last = 0;
    }

    /// The place of an access, if one mapping contains all of it and allows it.
    #[inline]
    pub fn place(&mut self, address: u64, bytes: usize, access: MappingAccess) -> Option<DmaPlace> {
        let (_, offset) = self.find(address, bytes, access).ok()?;
        Some(DmaPlace { generation: self.seen_generation, region: self.last, offset })
    }

    /// The memory of a place, and the offset in it; `None` if this handle has seen a change since
    /// then.
    #[inline]
    pub fn memory_at(&self, place: DmaPlace) -> Option<(&SharedBytes, usize)> {
        let region = self.regions.get(place.region).filter(|_| place.generation == self.seen_generation)?;
        Some((&region.memory, place.offset))
    }

    /// The region that contains all of an access, and the offset in it.
    #[inline]
    fn find(&mut self, address: u64, bytes: usize, access: MappingAccess) -> Result<(&SharedBytes, usize), DmaFault> {
        if self.seen_generation != self.shared.generation.load(Ordering::Acquire) {
            self.refresh();
        }
        let hit = self.regions.get(self.last).and_then(|region| region.offset(address, bytes));
        let offset = match hit {
            Some(offset) => offset,
            None => self.search(address, bytes, access)?,
        };
        let fault = DmaFault { address, bytes, access };
        let memory = &self.regions.get(self.last).ok_or(fault)?.memory;
        if access == MappingAccess::ReadWrite && memory.access() == MappingAccess::Read {
            return Err(fault);
        }
        Ok((memory, offset))
    }

    fn search(&mut self, address: u64, bytes: usize, access: MappingAccess) -> Result<usize, DmaFault> {
        let fault = DmaFault { address, bytes, access };
        let after = self.regions.partition_point(|region| region.address <= address);
        let position = after.checked_sub(1).ok_or(fault)?;
        let offset = self.regions[position].offset(address, bytes).ok_or(fault)?;
        self.last = position;
        Ok(offset)
    }

    /// Calls `step` for each part of an access that no single mapping contains, with the part's
    /// place and its range within the access.
    #[cold]
    fn parts(
        &mut self,
        address: u64,
        bytes: usize,
        access: MappingAccess,
        mut step: impl FnMut(Part<'_>, Range<usize>) -> Result<(), DmaFault>,
    ) -> Result<(), DmaFault> {
        let fault = DmaFault { address, bytes, access };
        let mut done = 0;
        while done < bytes {
            let at = address.checked_add(done as u64).ok_or(fault)?;
            let left = bytes - done;
            done += match self.find(at, 1, access) {
                Ok((memory, offset)) => {
                    let part = (memory.len() - offset).min(left);
                    step(Part::Mapped(memory, offset), done..done + part)?;
                    part
                }
                Err(_) => {
                    let part = self.unmapped(at, left).ok_or(fault)?;
                    let distant = self.shared.distant.as_deref().ok_or(fault)?;
                    step(Part::Distant(distant, at), done..done + part).map_err(|_| fault)?;
                    part
                }
            };
        }
        Ok(())
    }

    /// How many of at most `most` bytes from `address` are in no mapping; `None` if the first byte
    /// is in one.
    fn unmapped(&self, address: u64, most: usize) -> Option<usize> {
        let after = self.regions.partition_point(|region| region.address <= address);
        let before = after.checked_sub(1).and_then(|before| self.regions.get(before));
        if before.is_some_and(|region| region.offset(address, 1).is_some()) {
            return None;
        }
        let free = self.regions.get(after).map_or(u64::MAX, |next| next.address - address);
        Some(most.min(usize::try_from(free).unwrap_or(usize::MAX)))
    }
}

impl Default for DmaTable {
    fn default() -> DmaTable {
        DmaTable::new()
    }
}

impl DmaMapper for DmaTable {
    fn map(&mut self, memory: &SharedBytes) -> Result<u64, MapError> {
        let bytes = memory.len();
        if bytes == 0 || !bytes.is_multiple_of(PAGE_BYTES) || !(memory.as_ptr() as usize).is_multiple_of(PAGE_BYTES) {
            return Err(MapError::Unaligned { address: memory.as_ptr() as usize, bytes, page_bytes: PAGE_BYTES });
        }
        self.change(|regions| {
            // Finds the first gap that is large enough. One page stays free after it, so that an
            // overrun causes a fault.
            let mut address = FIRST_ADDRESS;
            let mut position = 0;
            while let Some(region) = regions.get(position) {
                if region.address >= address.saturating_add(bytes as u64 + PAGE_BYTES as u64) {
                    break;
                }
                address = address.max(region.address + region.memory.len() as u64 + PAGE_BYTES as u64);
                position += 1;
            }
            if address.saturating_add(bytes as u64) > LAST_ADDRESS {
                return Err(MapError::NoAddress { bytes, limit: LAST_ADDRESS });
            }
            regions.insert(position, Region { address, memory: memory.clone() });
            Ok(address)
        })
    }

    fn unmap(&mut self, address: u64) -> Result<(), MapError> {
        self.change(|regions| {
            let position = regions.iter().position(|region| region.address == address);
            regions.remove(position.ok_or(MapError::Unknown { address })?);
            Ok(())
        })
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, MapError> {
        let bytes = bytes.max(1).next_multiple_of(PAGE_BYTES);
        let made = if self.shareable { SharedBytes::memfd("iolab-dma", bytes) } else { SharedBytes::anonymous(bytes) };
        let memory = made.map_err(|source| {
            let what = format!("allocating {bytes} bytes of memory for a device");
            MapError::System { what, source }
        })?;
        let address = self.map(&memory)?;
        Ok(DmaBuffer { memory, address })
    }
}

impl HostMemory for DmaTable {
    #[inline]
    fn window(&mut self, address: u64, bytes: usize, access: MappingAccess) -> Result<SharedBytes, DmaFault> {
        let (memory, offset) = self.find(address, bytes, access)?;
        memory.window(offset, bytes).ok_or(DmaFault { address, bytes, access })
    }

    fn reaches(&mut self, address: u64, bytes: usize, access: MappingAccess) -> bool {
        self.find(address, bytes, access).is_ok()
            || self.unmapped(address, bytes) == Some(bytes)
                && self.shared.distant.as_ref().is_some_and(|distant| distant.reaches(address, bytes, access))
    }

    #[inline]
    fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), DmaFault> {
        if let Ok((memory, offset)) = self.find(address, to.len(), MappingAccess::Read) {
            memory.read(offset, to);
            return Ok(());
        }
        self.parts(address, to.len(), MappingAccess::Read, |part, range| match part {
            Part::Mapped(memory, offset) => {
                memory.read(offset, &mut to[range]);
                Ok(())
            }
            Part::Distant(memory, at) => memory.read(at, &mut to[range]),
        })
    }

    #[inline]
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), DmaFault> {
        if let Ok((memory, offset)) = self.find(address, from.len(), MappingAccess::ReadWrite) {
            memory.write(offset, from);
            return Ok(());
        }
        self.parts(address, from.len(), MappingAccess::ReadWrite, |part, range| match part {
            Part::Mapped(memory, offset) => {
                memory.write(offset, &from[range]);
                Ok(())
            }
            Part::Distant(memory, at) => memory.write(at, &from[range]),
        })
    }

    #[inline]
    fn copy_in(&mut self, address: u64, from: &SharedBytes, offset: usize, bytes: usize) -> Result<(), DmaFault> {
        if let Ok((memory, at)) = self.find(address, bytes, MappingAccess::ReadWrite) {
            from.copy_to(offset, memory, at, bytes);
            return Ok(());
        }
        self.parts(address, bytes, MappingAccess::ReadWrite, |part, range| match part {
            Part::Mapped(memory, at) => {
                from.copy_to(offset + range.start, memory, at, range.len());
                Ok(())
            }
            Part::Distant(memory, at) => {
                let mut own = vec![0; range.len()];
                from.read(offset + range.start, &mut own);
                memory.write(at, &own)
            }
        })
    }

    #[inline]
    fn copy_out(&mut self, address: u64, to: &SharedBytes, offset: usize, bytes: usize) -> Result<(), DmaFault> {
        if let Ok((memory, at)) = self.find(address, bytes, MappingAccess::Read) {
            memory.copy_to(at, to, offset, bytes);
            return Ok(());
        }
        self.parts(address, bytes, MappingAccess::Read, |part, range| match part {
            Part::Mapped(memory, at) => {
                memory.copy_to(at, to, offset + range.start, range.len());
                Ok(())
            }
            Part::Distant(memory, at) => {
                let mut own = vec![0; range.len()];
                memory.read(at, &mut own)?;
                to.write(offset + range.start, &own);
                Ok(())
            }
        })
    }

    #[inline]
    fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::Acquire)
    }
}
