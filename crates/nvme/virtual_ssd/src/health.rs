//! Counters of a drive, and values that a test may set.
//!
//! Guarantees: counting costs a load and a store in a cache line that only one thread writes; a sum
//! is never torn. `admin/logs` writes the log page.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Counters of one dispatcher. Only that dispatcher adds to them.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Counters {
    read_commands: AtomicU64,
    write_commands: AtomicU64,
    /// In units of 512 bytes.
    read_units: AtomicU64,
    write_units: AtomicU64,
    media_errors: AtomicU64,
}

/// There is only one writer, so a load and a store suffice. Several writers would need an atomic
/// addition.
#[inline]
fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
}

impl Counters {
    #[inline]
    pub(crate) fn count_read(&self, bytes: u64) {
        add(&self.read_commands, 1);
        add(&self.read_units, bytes >> 9);
    }

    #[inline]
    pub(crate) fn count_write(&self, bytes: u64) {
        add(&self.write_commands, 1);
        add(&self.write_units, bytes >> 9);
    }

    #[cold]
    pub(crate) fn count_media_error(&self) {
        add(&self.media_errors, 1);
    }
}

/// Sums over everything that hosts did to a subsystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HealthTotals {
    /// Read and Compare commands that the media served.
    pub read_commands: u64,
    /// Write, Write Zeroes, Zone Append and Copy commands that the media served.
    pub write_commands: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Commands that ended with a media error.
    pub media_errors: u64,
}

/// Counters and values of a subsystem.
#[derive(Debug)]
pub(crate) struct Health {
    dispatchers: Mutex<Vec<Arc<Counters>>>,
    /// In kelvins.
    pub(crate) temperature: AtomicU16,
    /// In percent.
    pub(crate) spare: AtomicU8,
    /// In percent.
    pub(crate) used: AtomicU8,
    pub(crate) power_cycles: AtomicU64,
    pub(crate) unsafe_shutdowns: AtomicU64,
}

impl Default for Health {
    fn default() -> Health {
        Health {
            dispatchers: Mutex::default(),
            temperature: AtomicU16::new(273 + 40),
            spare: AtomicU8::new(100),
            used: AtomicU8::new(0),
            power_cycles: AtomicU64::new(1),
            unsafe_shutdowns: AtomicU64::new(0),
        }
    }
}

impl Health {
    /// Adds counters for another dispatcher. They remain in the sums after it has ended.
    pub(crate) fn counters(&self) -> Arc<Counters> {
        let counters = Arc::new(Counters::default());
        self.dispatchers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&counters));
        counters
    }

    pub(crate) fn totals(&self) -> HealthTotals {
        let mut totals = HealthTotals::default();
        for counters in self.dispatchers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            totals.read_commands += counters.read_commands.load(Ordering::Relaxed);
            totals.write_commands += counters.write_commands.load(Ordering::Relaxed);
            totals.read_bytes += counters.read_units.load(Ordering::Relaxed) << 9;
            totals.written_bytes += counters.write_units.load(Ordering::Relaxed) << 9;
            totals.media_errors += counters.media_errors.load(Ordering::Relaxed);
        }
        totals
    }
}
