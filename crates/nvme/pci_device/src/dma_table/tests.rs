//! Tests of address spaces: drivers map, devices look up.

use super::*;

fn read_only(bytes: usize) -> SharedBytes {
    let ours = SharedBytes::memfd("iolab-test", bytes).unwrap();
    SharedBytes::of_file(ours.file().unwrap().0.try_clone_to_owned().unwrap(), 0, bytes, MappingAccess::Read).unwrap()
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

/// Two pages from 5000h; the second is read-only.
#[derive(Debug)]
struct Far(Mutex<Vec<u8>>);

impl DistantMemory for Far {
    fn reaches(&self, address: u64, bytes: usize, access: MappingAccess) -> bool {
        let limit = if access == MappingAccess::Read { 0x7000 } else { 0x6000 };
        address >= 0x5000 && address + bytes as u64 <= limit
    }

    fn read(&self, address: u64, to: &mut [u8]) -> Result<(), DmaFault> {
        let fault = DmaFault { address, bytes: to.len(), access: MappingAccess::Read };
        let at = self.reaches(address, to.len(), fault.access).then_some(address as usize - 0x5000).ok_or(fault)?;
        to.copy_from_slice(&self.0.lock().unwrap()[at..at + to.len()]);
        Ok(())
    }

    fn write(&self, address: u64, from: &[u8]) -> Result<(), DmaFault> {
        let fault = DmaFault { address, bytes: from.len(), access: MappingAccess::ReadWrite };
        let at = self.reaches(address, from.len(), fault.access).then_some(address as usize - 0x5000).ok_or(fault)?;
        self.0.lock().unwrap()[at..at + from.len()].copy_from_slice(from);
        Ok(())
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri maps no files")]
fn what_is_not_mapped_is_looked_for_in_distant_memory() {
    let far = Arc::new(Far(Mutex::new(vec![7; 0x2000])));
    let mut table = DmaTable::beside(Arc::clone(&far) as Arc<dyn DistantMemory>);
    let near = SharedBytes::anonymous(4096).unwrap();
    table.map_at(0x4000, near.clone()).unwrap();
    table.write(0x4ffe, b"1234").unwrap();
    assert_eq!(far.0.lock().unwrap()[..3], *b"34\x07");
    let own = SharedBytes::anonymous(4096).unwrap();
    table.copy_out(0x4ffe, &own, 0, 5).unwrap();
    table.copy_in(0x4ffd, &own, 1, 4).unwrap();
    let mut seen = [0; 6];
    table.read(0x4ffd, &mut seen).unwrap();
    assert_eq!(&seen, b"234\x074\x07");
    assert!(table.reaches(0x5000, 4096, MappingAccess::ReadWrite) && table.reaches(0x6000, 16, MappingAccess::Read));
    assert!(!table.reaches(0x6000, 16, MappingAccess::ReadWrite) && !table.reaches(0x7000, 1, MappingAccess::Read));
    let fault = DmaFault { address: 0x5ffe, bytes: 4, access: MappingAccess::ReadWrite };
    assert_eq!(table.write(0x5ffe, b"1234"), Err(fault), "partly read-only");
    assert!(table.window(0x5000, 4, MappingAccess::Read).is_err(), "no window to what is not mapped");
    // A read-only mapping is written to on no path.
    table.map_at(0x5000, read_only(4096)).unwrap();
    assert!(table.write(0x5000, b"1").is_err());
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
        // First fit never uses more space than the largest amount that was mapped at once needs.
        proptest::prop_assert!(highest - FIRST_ADDRESS <= 60 * 9 * PAGE_BYTES as u64 && total <= highest - FIRST_ADDRESS);
    }
}
