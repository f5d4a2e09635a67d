//! The zones of one namespace: states, write pointers, and limits on open and active zones (ZNS,
//! section 2.1).
//!
//! ```text
//!           write, open                    finish, last block written
//!  Empty ───────────────▶ Open (implicit or explicit) ───────────────▶ Full
//!    ▲                        │ close    ▲ write, open                   │
//!    │                        ▼          │                               │
//!    └──────── reset ────── Closed ──────┴──────── reset ◀───────────────┘
//! ```
//!
//! Guarantees: the counts of open and active zones match the states. A refused request has changed
//! nothing. When a write needs to open a zone and the limit of open zones is reached, an implicitly
//! opened zone is closed.
//!
//! This module knows neither data nor time. Zone random write areas are not supported.

mod actions;
mod persistence;
mod report;

use std::collections::BTreeSet;

use iolab_nvme_spec::Status;
use iolab_nvme_spec::zone::ZoneState;

pub(crate) use report::Report;

use crate::command_error::{CommandError, place};
use crate::config::ZoneLayout;
use crate::state_file::StateCells;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Zone {
    state: ZoneState,
    /// Blocks from the start of the zone to the write pointer.
    written: u64,
    /// The count of openings when the zone was opened: the oldest implicitly opened zone is closed
    /// first.
    opened: u64,
}

const EMPTY: Zone = Zone { state: ZoneState::EMPTY, written: 0, opened: 0 };

fn is_open(state: ZoneState) -> bool {
    matches!(state, ZoneState::IMPLICITLY_OPENED | ZoneState::EXPLICITLY_OPENED)
}

fn is_active(state: ZoneState) -> bool {
    is_open(state) || state == ZoneState::CLOSED
}

/// The zones.
#[derive(Debug)]
pub(crate) struct ZoneTable {
    layout: ZoneLayout,
    zones: Vec<Zone>,
    lba_shift: u32,
    open: u32,
    active: u32,
    openings: u64,
    /// Zones that the device itself has changed, for the log page.
    changed: BTreeSet<u64>,
    /// Storage for states and write pointers that survive the process.
    kept: Option<StateCells>,
}

/// A checked write and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ZoneWrite {
    zone: usize,
    blocks: u64,
    /// The first block.
    pub(crate) lba: u64,
}

/// The kind of write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// At the block that the command names.
    Named,
    /// At the write pointer of the zone that the command names.
    Append,
}

impl ZoneTable {
    /// A table with all zones empty.
    pub(crate) fn new(layout: ZoneLayout, bytes: u64, lba_shift: u32) -> ZoneTable {
        let zones = vec![EMPTY; (bytes / layout.zone_bytes) as usize];
        ZoneTable { layout, zones, lba_shift, open: 0, active: 0, openings: 0, changed: BTreeSet::new(), kept: None }
    }

    /// A table with all zones full, as after a host has written everything.
    pub(crate) fn filled(mut self) -> ZoneTable {
        let written = self.capacity_blocks();
        self.zones.fill(Zone { state: ZoneState::FULL, written, ..EMPTY });
        self
    }

    /// Empties all zones, as a format does.
    pub(crate) fn format(&mut self, lba_shift: u32) {
        let kept = self.kept.take();
        *self = ZoneTable::new(self.layout, self.layout.zone_bytes * self.zones.len() as u64, lba_shift);
        self.kept = kept;
        self.keep_all();
    }

    pub(crate) fn layout(&self) -> ZoneLayout {
        self.layout
    }

    /// Blocks between zone starts.
    pub(crate) fn zone_blocks(&self) -> u64 {
        self.layout.zone_bytes >> self.lba_shift
    }

    fn capacity_blocks(&self) -> u64 {
        self.layout.capacity_bytes >> self.lba_shift
    }

    fn start(&self, zone: usize) -> u64 {
        zone as u64 * self.zone_blocks()
    }

    fn zone_of(&self, lba: u64) -> Result<usize, CommandError> {
        let zone = (lba / self.zone_blocks()) as usize;
        if zone < self.zones.len() {
            return Ok(zone);
        }
        Err(CommandError::permanent(Status::LBA_OUT_OF_RANGE).at(place::CDW10, 0).on_block(lba))
    }

    /// Whether a range may be read: offline zones have no data (ZNS, section 2.1.1.2).
    pub(crate) fn check_read(&self, lba: u64, blocks: u64) -> Result<(), CommandError> {
        let (first, last) = (self.zone_of(lba)?, self.zone_of(lba + blocks.max(1) - 1)?);
        let offline = (first..=last).find(|zone| self.zones[*zone].state == ZoneState::OFFLINE);
        let refused = |zone| CommandError::permanent(Status::ZONE_OFFLINE).on_block(lba.max(self.start(zone)));
        offline.map_or(Ok(()), |zone| Err(refused(zone)))
    }

    /// Checks whether a range may be written now, and where (ZNS, sections 2.1.1.3 and 3.4.1).
    /// Changes nothing.
    pub(crate) fn check_write(&self, lba: u64, blocks: u64, placement: Placement) -> Result<ZoneWrite, CommandError> {
        let number = self.zone_of(lba)?;
        let zone = self.zones[number];
        let start = self.start(number);
        let refuse = |status| Err(CommandError::permanent(status).at(place::CDW10, 0).on_block(lba));
        if placement == Placement::Append && lba != start {
            return refuse(Status::INVALID_FIELD);
        }
        match zone.state {
            ZoneState::FULL => return refuse(Status::ZONE_FULL),
            ZoneState::READ_ONLY => return refuse(Status::ZONE_READ_ONLY),
            ZoneState::OFFLINE => return refuse(Status::ZONE_OFFLINE),
            _ => {}
        }
        let pointer = start + zone.written;
        let lba = if placement == Placement::Append { pointer } else { lba };
        if lba - start + blocks > self.capacity_blocks() {
            return refuse(Status::ZONE_BOUNDARY_ERROR);
        }
        if lba != pointer {
            return refuse(Status::ZONE_INVALID_WRITE);
        }
        self.check_opening(number)?;
        Ok(ZoneWrite { zone: number, blocks, lba })
    }

    /// Executes what [`ZoneTable::check_write`] allowed: opens the zone, advances its write
    /// pointer, and marks it full at its end.
    pub(crate) fn commit_write(&mut self, write: ZoneWrite) {
        if !is_open(self.zones[write.zone].state) {
            self.open_zone(write.zone, ZoneState::IMPLICITLY_OPENED);
        }
        let zone = &mut self.zones[write.zone];
        zone.written += write.blocks;
        if zone.written >= self.layout.capacity_bytes >> self.lba_shift {
            self.set_state(write.zone, ZoneState::FULL);
        }
        self.keep(write.zone);
    }

    /// Whether the limits allow the zone to be open.
    fn check_opening(&self, number: usize) -> Result<(), CommandError> {
        let state = self.zones[number].state;
        let (open, active) = (u32::from(!is_open(state)), u32::from(!is_active(state)));
        if self.layout.max_active > 0 && self.active + active > self.layout.max_active {
            return Err(CommandError::transient(Status::TOO_MANY_ACTIVE_ZONES));
        }
        let has_room = self.layout.max_open == 0 || self.open + open <= self.layout.max_open;
        if !has_room && self.oldest_implicit().is_none() {
            return Err(CommandError::transient(Status::TOO_MANY_OPEN_ZONES));
        }
        Ok(())
    }

    /// The implicitly opened zone to close when another one must be opened.
    fn oldest_implicit(&self) -> Option<usize> {
        let implicit = self.zones.iter().enumerate().filter(|(_, zone)| zone.state == ZoneState::IMPLICITLY_OPENED);
        implicit.min_by_key(|(_, zone)| zone.opened).map(|(number, _)| number)
    }

    /// Opens a zone that [`ZoneTable::check_opening`] has allowed.
    fn open_zone(&mut self, number: usize, state: ZoneState) {
        let must_close =
            !is_open(self.zones[number].state) && self.layout.max_open > 0 && self.open >= self.layout.max_open;
        if must_close && let Some(oldest) = self.oldest_implicit() {
            self.set_state(oldest, ZoneState::CLOSED);
        }
        self.openings += 1;
        self.zones[number].opened = self.openings;
        self.set_state(number, state);
    }

    fn set_state(&mut self, number: usize, state: ZoneState) {
        let before = std::mem::replace(&mut self.zones[number].state, state);
        self.open = self.open + u32::from(is_open(state)) - u32::from(is_open(before));
        self.active = self.active + u32::from(is_active(state)) - u32::from(is_active(before));
        self.keep(number);
    }

    /// Puts a zone into a state on behalf of the device (read-only or offline, as worn flash does).
    /// Hosts find it in the log of changed zones. `false` if there is no such zone.
    pub(crate) fn force(&mut self, number: u64, state: ZoneState) -> bool {
        let Ok(index) = usize::try_from(number) else { return false };
        if index >= self.zones.len() {
            return false;
        }
        self.set_state(index, state);
        self.changed.insert(self.start(index));
        true
    }

    /// Start blocks of the zones that changed since the last call.
    pub(crate) fn take_changed(&mut self, retain: bool) -> BTreeSet<u64> {
        if retain { self.changed.clone() } else { std::mem::take(&mut self.changed) }
    }
}

#[cfg(test)]
mod tests;
