//! A namespace: a range of the media with a format, and the state of its blocks.
//!
//! Guarantees: the data that every command needs (attachment, size, position) takes a few loads
//! without a lock. During a format, other queues see the new format or the old one, never a
//! mixture. Commands are not executed here.

mod blocks;
mod persistence;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use blocks::RangeSet;

use crate::config::FORMAT_SHIFTS;
use crate::state_file::StateCells;
use crate::zones::ZoneTable;

/// The most controllers of a subsystem: one bit for each.
pub(crate) const MOST_CONTROLLERS: u16 = 64;

/// One namespace.
#[derive(Debug)]
pub(crate) struct Namespace {
    /// Its identifier.
    pub(crate) id: u32,
    /// Where it starts on the media.
    pub(crate) base: u64,
    /// Bytes of the media reserved for it.
    most_bytes: u64,
    /// Its size.
    bytes: AtomicU64,
    is_allocated: AtomicBool,
    /// `lba_shift` of the format in use.
    shift: AtomicU64,
    /// One bit for each attached controller.
    attached: AtomicU64,
    write_protected: AtomicBool,
    /// Whether `uncorrectable` contains any blocks.
    has_uncorrectable: AtomicBool,
    uncorrectable: Mutex<RangeSet>,
    /// The zones of a zoned namespace.
    zones: Option<Mutex<ZoneTable>>,
    /// Storage for the state that survives the process. It does not include the marks of
    /// uncorrectable blocks.
    kept: Option<Mutex<StateCells>>,
}

impl Namespace {
    pub(crate) fn new(id: u32, base: u64, bytes: u64, lba_shift: u32, zones: Option<ZoneTable>) -> Namespace {
        Namespace {
            id,
            base,
            most_bytes: bytes,
            bytes: AtomicU64::new(bytes),
            is_allocated: AtomicBool::new(true),
            shift: AtomicU64::new(u64::from(lba_shift)),
            attached: AtomicU64::new(u64::MAX),
            write_protected: AtomicBool::new(false),
            has_uncorrectable: AtomicBool::new(false),
            uncorrectable: Mutex::default(),
            zones: zones.map(Mutex::new),
            kept: None,
        }
    }

    /// Log2 of the bytes of a block.
    #[inline]
    pub(crate) fn lba_shift(&self) -> u32 {
        self.shift.load(Ordering::Acquire) as u32
    }

    /// Index of the format in use.
    pub(crate) fn format_index(&self) -> u8 {
        FORMAT_SHIFTS.iter().position(|shift| *shift == self.lba_shift()).unwrap_or(0) as u8
    }

    /// The number of blocks, if a block has a size of this shift.
    #[inline]
    pub(crate) fn blocks(&self, shift: u32) -> u64 {
        self.bytes() >> shift
    }

    /// Its size.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Changes the format. Zones keep their sizes in bytes.
    pub(crate) fn set_format(&self, lba_shift: u32) {
        self.shift.store(u64::from(lba_shift), Ordering::Release);
        if let Some(mut zones) = self.zones() {
            zones.format(lba_shift);
        }
        self.clear_uncorrectable(0, u64::MAX);
        self.keep();
    }

    /// Whether a controller may use it.
    #[inline]
    pub(crate) fn is_attached(&self, controller: u16) -> bool {
        self.attached.load(Ordering::Relaxed) >> controller & 1 != 0
    }

    /// Attaches or detaches a controller; returns `false` if nothing changed.
    pub(crate) fn attach(&self, controller: u16, attached: bool) -> bool {
        let bit = 1u64 << controller;
        let before = if attached {
            self.attached.fetch_or(bit, Ordering::AcqRel)
        } else {
            self.attached.fetch_and(!bit, Ordering::AcqRel)
        };
        self.keep();
        (before & bit != 0) != attached
    }

    /// Whether it exists.
    pub(crate) fn is_allocated(&self) -> bool {
        self.is_allocated.load(Ordering::Acquire)
    }

    /// Whether its part of the media is large enough. Zones must fill the part exactly.
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        if self.is_zoned() { bytes == self.most_bytes } else { bytes <= self.most_bytes }
    }

    /// Creates it, attached to no controller.
    pub(crate) fn allocate(&self, bytes: u64, lba_shift: u32) {
        self.attached.store(0, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
        self.set_format(lba_shift);
        self.set_write_protected(false);
        self.is_allocated.store(true, Ordering::Release);
        self.keep();
    }

    /// Deletes it.
    pub(crate) fn release(&self) {
        self.attached.store(0, Ordering::Release);
        self.is_allocated.store(false, Ordering::Release);
        self.keep();
    }

    /// Whether writes are refused.
    #[inline]
    pub(crate) fn is_write_protected(&self) -> bool {
        self.write_protected.load(Ordering::Relaxed)
    }

    pub(crate) fn set_write_protected(&self, protected: bool) {
        self.write_protected.store(protected, Ordering::Relaxed);
        self.keep();
    }

    /// Whether it is zoned.
    #[inline]
    pub(crate) fn is_zoned(&self) -> bool {
        self.zones.is_some()
    }

    /// The zones of a zoned namespace.
    pub(crate) fn zones(&self) -> Option<MutexGuard<'_, ZoneTable>> {
        // A table is consistent after each step, even if a thread panicked while it held the lock.
        Some(self.zones.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The first block of a range that is marked uncorrectable.
    #[inline]
    pub(crate) fn first_uncorrectable(&self, lba: u64, blocks: u64) -> Option<u64> {
        if !self.has_uncorrectable.load(Ordering::Acquire) {
            return None;
        }
        self.ranges().first_within(lba, blocks)
    }

    /// Marks a range as uncorrectable, so that reads of it fail until it is written again.
    pub(crate) fn set_uncorrectable(&self, lba: u64, blocks: u64) {
        self.ranges().insert(lba, blocks);
        self.has_uncorrectable.store(true, Ordering::Release);
    }

    /// Records that a range was written.
    #[inline]
    pub(crate) fn clear_uncorrectable(&self, lba: u64, blocks: u64) {
        if self.has_uncorrectable.load(Ordering::Acquire) {
            let mut ranges = self.ranges();
            ranges.remove(lba, blocks);
            self.has_uncorrectable.store(!ranges.is_empty(), Ordering::Release);
        }
    }

    fn ranges(&self) -> MutexGuard<'_, RangeSet> {
        self.uncorrectable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// EUI-64: a locally administered identifier, which does not collide with those of vendors.
    pub(crate) fn eui64(&self, seed: u64) -> [u8; 8] {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(self.id));
        let mut bytes = mixed.to_be_bytes();
        bytes[0] = bytes[0] & 0xfc | 0x02;
        bytes
    }

    /// NGUID: like the UUID, with the EUI-64's vendor bits.
    pub(crate) fn nguid(&self, seed: u64) -> [u8; 16] {
        let mut bytes = self.uuid(seed.rotate_left(17));
        bytes[8..].copy_from_slice(&self.eui64(seed));
        bytes
    }

    /// UUID, version 8 (RFC 9562, section 5.8), derived from the seed and the identifier.
    pub(crate) fn uuid(&self, seed: u64) -> [u8; 16] {
        let high = (seed ^ 0x696f_6c61_6200_0000).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let low = high.rotate_left(29).wrapping_mul(0x94d0_49bb_1331_11eb).wrapping_add(u64::from(self.id));
        let mut bytes = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        bytes
    }
}
