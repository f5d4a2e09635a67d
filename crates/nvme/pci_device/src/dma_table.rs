//! An address space between a driver and a device model: the driver maps, the model looks up.
//!
//! Looking up costs a comparison where an access falls into the mapping that the last one fell
//! into, which is the case for nearly all data of a run. Mapping and unmapping are rare, and make
//! every user of the table fetch the list anew.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use iolab_memory::{MappingAccess, SharedBytes};

use crate::{DmaBuffer, DmaFault, DmaMapper, HostMemory, MapError};

const PAGE_BYTES: usize = 4096;
/// Bus addresses given out by the table start here, so that zero and small numbers are never valid.
const FIRST_ADDRESS: u64 = 1 << 32;
/// They end here: 48-bit addresses, like common IOMMUs.
const LAST_ADDRESS: u64 = (1 << 48) - 1;

/// One handle on the address space; clones share the mappings and look them up independently.
#[derive(Debug)]
pub struct DmaTable {
    shared: Arc<Shared>,
    regions: Arc<[Region]>,
    seen_generation: u64,
    /// Where the last access was.
    last: usize,
    shareable: bool,
}

/// Where an access lies, as long as nothing is mapped or unmapped.
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
}

#[derive(Debug, Clone)]
struct Region {
    address: u64,
    memory: SharedBytes,
}

impl Region {
    /// Where the access starts within the region, if all of it lies there.
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
        let shared = Shared { generation: AtomicU64::new(0), regions: Mutex::new(Arc::new([])) };
        DmaTable { shared: Arc::new(shared), regions: Arc::new([]), seen_generation: 0, last: 0, shareable: false }
    }

    /// The same, with memory that is allocated through it in memfds, so that a model in another
    /// process can map it.
    pub fn shareable() -> DmaTable {
        DmaTable { shareable: true, ..DmaTable::new() }
    }

    /// Maps `memory` at an address that somebody else has chosen. Fails where something is mapped
    /// already.
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

    /// Changes the list of mappings and lets all users of the table know.
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

    /// Where all of an access lies in one mapping that allows it.
    #[inline]
    pub fn place(&mut self, address: u64, bytes: usize, access: MappingAccess) -> Option<DmaPlace> {
        let (_, offset) = self.find(address, bytes, access).ok()?;
        Some(DmaPlace { generation: self.seen_generation, region: self.last, offset })
    }

    /// The memory of a place, and where in it; `None` if this handle has seen a change since then.
    #[inline]
    pub fn memory_at(&self, place: DmaPlace) -> Option<(&SharedBytes, usize)> {
        let region = self.regions.get(place.region).filter(|_| place.generation == self.seen_generation)?;
        Some((&region.memory, place.offset))
    }

    /// The region that holds all of an access, and where in it.
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

    /// Does `step` for each part of an access that crosses mappings: (mapping, offset in it, offset
    /// in the access, bytes).
    fn pieces(
        &mut self,
        address: u64,
        bytes: usize,
        access: MappingAccess,
        mut step: impl FnMut(&SharedBytes, usize, usize, usize),
    ) -> Result<(), DmaFault> {
        let mut done = 0;
        while done < bytes {
            let fault = DmaFault { address, bytes, access };
            let at = address.checked_add(done as u64).ok_or(fault)?;
            let (memory, offset) = self.find(at, 1, access).map_err(|_| fault)?;
            let part = (memory.len() - offset).min(bytes - done);
            step(memory, offset, done, part);
            done += part;
        }
        Ok(())
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
            // The first gap that is large enough, one page of distance kept so that an overrun
            // faults.
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

    #[inline]
    fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), DmaFault> {
        if let Ok((memory, offset)) = self.find(address, to.len(), MappingAccess::Read) {
            memory.read(offset, to);
            return Ok(());
        }
        self.pieces(address, to.len(), MappingAccess::Read, |memory, offset, done, part| {
            memory.read(offset, &mut to[done..done + part]);
        })
    }

    #[inline]
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), DmaFault> {
        if let Ok((memory, offset)) = self.find(address, from.len(), MappingAccess::ReadWrite) {
            memory.write(offset, from);
            return Ok(());
        }
        self.pieces(address, from.len(), MappingAccess::ReadWrite, |memory, offset, done, part| {
            memory.write(offset, &from[done..done + part]);
        })
    }

    #[inline]
    fn copy_in(&mut self, address: u64, from: &SharedBytes, offset: usize, bytes: usize) -> Result<(), DmaFault> {
        if let Ok((memory, at)) = self.find(address, bytes, MappingAccess::ReadWrite) {
            from.copy_to(offset, memory, at, bytes);
            return Ok(());
        }
        self.pieces(address, bytes, MappingAccess::ReadWrite, |memory, at, done, part| {
            from.copy_to(offset + done, memory, at, part);
        })
    }

    #[inline]
    fn copy_out(&mut self, address: u64, to: &SharedBytes, offset: usize, bytes: usize) -> Result<(), DmaFault> {
        if let Ok((memory, at)) = self.find(address, bytes, MappingAccess::Read) {
            memory.copy_to(at, to, offset, bytes);
            return Ok(());
        }
        self.pieces(address, bytes, MappingAccess::Read, |memory, at, done, part| {
            memory.copy_to(at, to, offset + done, part);
        })
    }

    #[inline]
    fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_only(bytes: usize) -> SharedBytes {
        let ours = SharedBytes::memfd("iolab-test", bytes).unwrap();
        SharedBytes::of_file(ours.file().unwrap().0.try_clone_to_owned().unwrap(), 0, bytes, MappingAccess::Read)
            .unwrap()
    }

    #[test]
    fn what_the_driver_writes_the_device_reads_until_it_is_unmapped() {
        let mut driver = DmaTable::new();
        let mut device = driver.clone();
        let buffer = driver.allocate(5000).unwrap();
        assert_eq!(buffer.memory.len(), 8192);
        buffer.memory.write(4090, b"across pages");
        let mut seen = [0; 12];
        device.read(buffer.address + 4090, &mut seen).unwrap();
        assert_eq!(&seen, b"across pages");
        let before = device.generation();
        driver.unmap(buffer.address).unwrap();
        assert_ne!(device.generation(), before);
        let fault = device.read(buffer.address, &mut seen).unwrap_err();
        assert_eq!(fault, DmaFault { address: buffer.address, bytes: 12, access: MappingAccess::Read });
        assert!(matches!(driver.unmap(buffer.address), Err(MapError::Unknown { .. })));
    }

    #[test]
    fn a_place_is_good_until_the_mappings_change() {
        let mut table = DmaTable::new();
        let first = table.allocate(8192).unwrap();
        let place = table.place(first.address + 4096, 4096, MappingAccess::ReadWrite).unwrap();
        assert!(table.place(first.address + 4097, 4096, MappingAccess::ReadWrite).is_none());
        let (memory, offset) = table.memory_at(place).unwrap();
        assert_eq!((memory.len(), offset), (8192, 4096));
        table.allocate(4096).unwrap();
        assert!(table.memory_at(place).is_none());
    }

    #[test]
    fn accesses_cross_mappings_that_touch_and_fault_where_they_do_not() {
        let mut table = DmaTable::new();
        let (low, high) = (SharedBytes::anonymous(4096).unwrap(), SharedBytes::anonymous(4096).unwrap());
        table.map_at(0x10_000, low.clone()).unwrap();
        table.map_at(0x11_000, high.clone()).unwrap();
        table.write(0x10_ffe, b"1234").unwrap();
        let mut two = [0; 2];
        high.read(0, &mut two);
        assert_eq!(&two, b"34");
        let own = SharedBytes::anonymous(64).unwrap();
        table.copy_out(0x10_ffe, &own, 8, 4).unwrap();
        table.copy_in(0x11_ffc, &own, 8, 4).unwrap();
        high.read(4094, &mut two);
        assert_eq!(&two, b"34");
        assert!(table.window(0x10_ffe, 4, MappingAccess::Read).is_err(), "a window lies in one mapping");
        assert!(table.write(0x11_ffe, b"1234").is_err());
        assert!(table.read(u64::MAX - 1, &mut [0; 8]).is_err());
        assert!(table.map_at(0x10_800, low.clone()).is_err(), "an address that is not aligned");
        assert!(table.map_at(0x11_000, low).is_err(), "an address in use");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    fn memory_that_may_only_be_read_faults_on_writes() {
        let mut table = DmaTable::new();
        table.map_at(0x20_000, read_only(4096)).unwrap();
        assert!(table.read(0x20_000, &mut [0; 16]).is_ok());
        assert!(table.write(0x20_000, &[0; 16]).is_err());
        assert!(table.window(0x20_000, 16, MappingAccess::ReadWrite).is_err());
        assert!(table.window(0x20_000, 16, MappingAccess::Read).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn mappings_never_overlap_and_gaps_are_used_again(steps in proptest::collection::vec((1usize..9, proptest::bool::ANY), 1..60)) {
            let mut table = DmaTable::new();
            let mut mapped: Vec<(u64, u64)> = Vec::new();
            for (pages, unmap) in steps {
                if unmap && !mapped.is_empty() {
                    let (address, _) = mapped.swap_remove(pages % mapped.len());
                    table.unmap(address).unwrap();
                } else {
                    let address = table.map(&SharedBytes::anonymous(pages * PAGE_BYTES).unwrap()).unwrap();
                    let end = address + (pages * PAGE_BYTES) as u64;
                    proptest::prop_assert!(mapped.iter().all(|&(from, to)| end < from || address > to));
                    mapped.push((address, end));
                }
            }
            let total: u64 = mapped.iter().map(|(from, to)| to - from).sum();
            let highest = mapped.iter().map(|(_, to)| *to).max().unwrap_or(FIRST_ADDRESS);
            // First fit never spreads further than everything that was ever mapped at once would
            // need.
            proptest::prop_assert!(highest - FIRST_ADDRESS <= 60 * 9 * PAGE_BYTES as u64 && total <= highest - FIRST_ADDRESS);
        }
    }
}
