//! Zones that survive the process: each has a cell with its state and write pointer.
//!
//! ```text
//!  payload:  | blocks up to the write pointer, 36 bits | zone state, 4 bits |
//! ```
//!
//! Guarantees: a cell is stored with every change, before the command that caused it is answered. A
//! zone that was open is restored as closed, or as empty if nothing was written (ZNS, section
//! 2.1.1.4: the behaviour of a controller after a loss of power). The list of zones that the device
//! itself had changed is not persistent.

use iolab_nvme_spec::zone::ZoneState;

use super::{EMPTY, Zone, ZoneTable, is_active, is_open};
use crate::ConfigError;
use crate::state_file::StateCells;

const STATE_BITS: u32 = 4;

impl ZoneTable {
    /// Stores the zones in `cells` from now on.
    pub(crate) fn persisted_in(mut self, cells: StateCells) -> ZoneTable {
        self.kept = Some(cells);
        self.keep_all();
        self
    }

    /// Restores the zones from `cells`, and stores them there from now on. `lba_shift` is the size
    /// of blocks.
    pub(crate) fn restored_from(mut self, cells: StateCells, lba_shift: u32) -> Result<ZoneTable, ConfigError> {
        self.lba_shift = lba_shift;
        let capacity = self.capacity_blocks();
        for place in 0..self.zones.len() {
            let payload = cells.load(place)?;
            let (state, written) = (ZoneState((payload & 0xf) as u8), payload >> STATE_BITS);
            if written > capacity || state.name().is_none() {
                return Err(cells.invalid(place, "not a zone of this device"));
            }
            self.zones[place] = match state {
                ZoneState::EMPTY => EMPTY,
                state if is_open(state) && written == 0 => EMPTY,
                state if is_active(state) => Zone { state: ZoneState::CLOSED, written, ..EMPTY },
                state => Zone { state, written, ..EMPTY },
            };
        }
        self.open = 0;
        self.active = self.zones.iter().filter(|zone| is_active(zone.state)).count() as u32;
        Ok(self.persisted_in(cells))
    }

    /// Stores the change of a zone.
    #[inline]
    pub(super) fn keep(&self, number: usize) {
        if let Some(cells) = &self.kept {
            let Zone { state, written, .. } = self.zones[number];
            cells.store(number, written << STATE_BITS | u64::from(state.0));
        }
    }

    pub(super) fn keep_all(&self) {
        (0..self.zones.len()).for_each(|number| self.keep(number));
    }
}
