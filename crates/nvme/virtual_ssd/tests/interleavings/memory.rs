//! Memory shared by a host and a device, made of a model checker's atomics. The code that loads and
//! stores words is compiled from the source of `iolab-memory`.

use std::io;
use std::sync::Arc;

use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::{DmaFault, MappingAccess};

#[path = "../../../../base/memory/src/shared_bytes/words.rs"]
#[allow(dead_code, reason = "not all of it is modelled")]
mod words;

/// A window into words of 32 bits or of 64 bits; a memory has one kind.
#[derive(Debug, Clone)]
pub struct SharedBytes {
    halves: Arc<[AtomicU32]>,
    rows: Arc<[AtomicU64]>,
    start: usize,
    bytes: usize,
}

impl SharedBytes {
    /// Words of 32 bits: registers and doorbells.
    pub(crate) fn of_words(bytes: usize) -> SharedBytes {
        let halves = (0..bytes / 4).map(|_| AtomicU32::new(0)).collect();
        SharedBytes { halves, rows: Arc::new([]), start: 0, bytes }
    }

    /// Words of 64 bits: rings.
    pub(crate) fn of_rows(bytes: usize) -> SharedBytes {
        let rows = (0..bytes / 8).map(|_| AtomicU64::new(0)).collect();
        SharedBytes { halves: Arc::new([]), rows, start: 0, bytes }
    }

    /// The same as in the real type; the tests of rings use it.
    pub(crate) fn anonymous(bytes: usize) -> io::Result<SharedBytes> {
        Ok(SharedBytes::of_rows(bytes))
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    pub(crate) fn window(&self, offset: usize, bytes: usize) -> Option<SharedBytes> {
        (offset + bytes <= self.bytes).then(|| SharedBytes { start: self.start + offset, bytes, ..self.clone() })
    }

    pub(crate) fn word(&self, offset: usize) -> Option<SharedWord> {
        (offset + 4 <= self.bytes).then(|| SharedWord(self.window(offset, 4).unwrap()))
    }

    pub(crate) fn fill(&self, offset: usize, bytes: usize, value: u8) {
        for position in (0..bytes).step_by(8) {
            self.words_mut::<1>(offset + position)[0].store(u64::from_ne_bytes([value; 8]), Ordering::Relaxed);
        }
    }

    fn word_u32(&self, offset: usize) -> &AtomicU32 {
        &self.halves[(self.start + offset) / 4]
    }

    fn word_u32_mut(&self, offset: usize) -> &AtomicU32 {
        self.word_u32(offset)
    }

    fn words<const N: usize>(&self, offset: usize) -> &[AtomicU64] {
        self.words_mut::<N>(offset)
    }

    fn words_mut<const N: usize>(&self, offset: usize) -> &[AtomicU64] {
        let first = (self.start + offset) / 8;
        &self.rows[first..first + N]
    }
}

/// One word, as in the real type.
#[derive(Debug, Clone)]
pub struct SharedWord(SharedBytes);

impl SharedWord {
    pub(crate) fn load(&self, order: Ordering) -> u32 {
        self.0.load_u32(0, order)
    }

    pub(crate) fn store(&self, value: u32, order: Ordering) {
        self.0.store_u32(0, value, order);
    }
}

/// The part of a host's memory that the device needs here.
pub trait HostMemory {
    fn window(&mut self, address: u64, bytes: usize, access: MappingAccess) -> Result<SharedBytes, DmaFault>;
    fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), DmaFault>;
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), DmaFault>;
}

/// Some memory of a host, mapped.
#[derive(Debug, Clone)]
pub(crate) struct Host(Vec<(u64, SharedBytes)>);

impl Host {
    pub(crate) fn new(mapped: &[(u64, &SharedBytes)]) -> Host {
        Host(mapped.iter().map(|(address, memory)| (*address, (*memory).clone())).collect())
    }
}

impl HostMemory for Host {
    fn window(&mut self, address: u64, bytes: usize, access: MappingAccess) -> Result<SharedBytes, DmaFault> {
        let found = self.0.iter().find(|(start, _)| *start == address);
        found.and_then(|(_, memory)| memory.window(0, bytes)).ok_or(DmaFault { address, bytes, access })
    }

    fn read(&mut self, address: u64, to: &mut [u8]) -> Result<(), DmaFault> {
        Err(DmaFault { address, bytes: to.len(), access: MappingAccess::Read })
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), DmaFault> {
        Err(DmaFault { address, bytes: from.len(), access: MappingAccess::ReadWrite })
    }
}

/// The part of a device that a doorbell needs here.
pub trait PciDevice: Send {
    fn mapped_registers(&self, offset: u32) -> Option<SharedBytes>;
    fn write_u32(&self, offset: u32, value: u32);
}

/// A device whose registers are mapped.
#[derive(Debug, Clone)]
pub(crate) struct Registers(pub(crate) SharedBytes);

impl PciDevice for Registers {
    fn mapped_registers(&self, offset: u32) -> Option<SharedBytes> {
        let offset = offset as usize;
        self.0.window(offset, self.0.len() - offset)
    }

    fn write_u32(&self, offset: u32, value: u32) {
        self.0.store_u32(offset as usize, value, Ordering::Release);
    }
}
