//! Namespaces that survive the process: format, size, write protection, attachment.
//!
//! ```text
//!  cell 0:  bit 0 exists, bit 1 write protected, bits 8 to 15 log2 of the block size
//!  cell 1:  size, in pieces of 512 bytes
//!  cells 2 and 3:  which controllers are attached, 32 of them each
//! ```
//!
//! Guarantees: every change stores the cells. If the process is killed between two stores, a
//! namespace may be attached to no controller, but never has a size that does not fit its format.
//! Marks of uncorrectable blocks are not persistent.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use super::Namespace;
use crate::ConfigError;
use crate::config::FORMAT_SHIFTS;
use crate::state_file::StateFile;

/// The size is stored in units of this shift.
const PIECE_SHIFT: u32 = 9;
const EXISTS: u64 = 1;
const PROTECTED: u64 = 2;

impl Namespace {
    /// Stores the namespace in `state` from now on. If `state` already contains it, it is restored.
    pub(crate) fn persisted_in(mut self, state: &Arc<StateFile>, restored: bool) -> Result<Namespace, ConfigError> {
        let place = self.id as usize - 1;
        let (cells, zone_cells) = (state.namespace(place), state.zones(place));
        let zones = self.zones.take().map(|zones| zones.into_inner().unwrap_or_else(PoisonError::into_inner));
        let zones = if restored {
            let (flags, pieces) = (cells.load(0)?, cells.load(1)?);
            let shift = (flags >> 8 & 0xff) as u32;
            if !FORMAT_SHIFTS.contains(&shift) || pieces << PIECE_SHIFT > self.most_bytes {
                return Err(cells.invalid(0, "not a namespace of this device"));
            }
            self.shift = u64::from(shift).into();
            self.bytes = (pieces << PIECE_SHIFT).into();
            self.is_allocated = (flags & EXISTS != 0).into();
            self.write_protected = (flags & PROTECTED != 0).into();
            self.attached = (cells.load(2)? | cells.load(3)? << 32).into();
            zones.map(|zones| zones.restored_from(zone_cells, shift)).transpose()?
        } else {
            zones.map(|zones| zones.persisted_in(zone_cells))
        };
        self.zones = zones.map(Mutex::new);
        self.kept = Some(Mutex::new(cells));
        self.keep();
        Ok(self)
    }

    /// Stores a change.
    pub(super) fn keep(&self) {
        let Some(kept) = &self.kept else { return };
        let cells = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let attached = self.attached.load(Ordering::Acquire);
        cells.store(1, self.bytes() >> PIECE_SHIFT);
        cells.store(2, attached & 0xffff_ffff);
        cells.store(3, attached >> 32);
        let exists = if self.is_allocated() { EXISTS } else { 0 };
        let protected = if self.is_write_protected() { PROTECTED } else { 0 };
        cells.store(0, exists | protected | u64::from(self.lba_shift()) << 8);
    }
}
