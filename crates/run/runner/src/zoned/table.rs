//! The zones of one device, shared by all workers that use it, threads or processes.
//!
//! ```text
//!  words: phase │ open zones │ bytes written │ worker lost │ 3 words of each zone │ list of open zones
//!
//!  first word of a zone:
//!   bits 0-43   512-byte sectors from its start to its write pointer
//!   bit  44     open: it is written to, and counts for the limit
//!   bit  45     conventional     bit 46  unusable     bit 47  about to be reset: nobody may read
//!   bits 48-63  the worker that owns it, 0 for nobody
//! second word: capacity, bytes        third word: reads in flight
//! ```
//!
//! Only the owner of a zone changes its first word. Nobody waits while owning a zone, except for
//! the completion of an operation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use iolab_engine::{ZoneKind, ZoneStatus};
use iolab_memory::SharedRegion;

const SECTOR: u64 = 512;
const WRITTEN: u64 = (1 << 44) - 1;
const OPEN: u64 = 1 << 44;
const CONVENTIONAL: u64 = 1 << 45;
const UNUSABLE: u64 = 1 << 46;
const RESETTING: u64 = 1 << 47;
const OWNER_SHIFT: u32 = 48;

/// The most workers that can own zones.
pub(crate) const MOST_OWNERS: u64 = (1 << 16) - 1;

const PHASE: usize = 0;
const OPEN_COUNT: usize = 1;
const TOTAL: usize = 2;
const LOST: usize = 3;
const HEAD: usize = 4;
const PER_ZONE: usize = 3;

/// The phases of a table.
const UNKNOWN: u64 = 0;
const BEING_FILLED: u64 = 1;
const READY: u64 = 2;
const FAILED: u64 = 3;

/// What is known of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Zone {
    pub(crate) start_bytes: u64,
    pub(crate) capacity_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) kind: ZoneKind,
    pub(crate) is_open: bool,
}

impl Zone {
    pub(crate) fn left_bytes(&self) -> u64 {
        self.capacity_bytes.saturating_sub(self.written_bytes)
    }
}

/// The table.
#[derive(Debug, Clone)]
pub(crate) struct ZoneTable {
    words: Arc<SharedRegion<AtomicU64>>,
    start_bytes: u64,
    zone_bytes: u64,
    count: usize,
    /// Places of the list of open zones: the limit, or 0 for no limit.
    most_open: usize,
}

impl ZoneTable {
    /// The zones that overlap a range of bytes, of which nothing is known yet.
    pub(crate) fn new(start_bytes: u64, end_bytes: u64, zone_bytes: u64, most_open: u32) -> std::io::Result<ZoneTable> {
        let zone_bytes = zone_bytes.max(SECTOR);
        let start_bytes = start_bytes - start_bytes % zone_bytes;
        let count =
            usize::try_from(end_bytes.saturating_sub(start_bytes).div_ceil(zone_bytes)).unwrap_or(usize::MAX / 64);
        let most_open = (most_open as usize).min(count);
        let words = Arc::new(SharedRegion::new(HEAD + PER_ZONE * count + most_open)?);
        Ok(ZoneTable { words, start_bytes, zone_bytes, count, most_open })
    }

    /// Fills the table with what `report` appends, unless another worker has done so; waits while
    /// another one does.
    ///
    /// # Errors
    /// The report failed, here or for the worker that asked for it.
    pub(crate) fn fill(
        &self,
        report: impl FnOnce(&ZoneTable, &mut Vec<ZoneStatus>) -> Result<(), String>,
    ) -> Result<(), String> {
        let phase = &self.words[PHASE];
        loop {
            match phase.compare_exchange(UNKNOWN, BEING_FILLED, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(READY) => return Ok(()),
                Err(FAILED) => return Err("another job could not ask the device for its zones".to_owned()),
                Err(_) if self.words[LOST].load(Ordering::Acquire) > 0 => {
                    return Err("a job that asked the device for its zones was killed".to_owned());
                }
                Err(_) => std::thread::sleep(Duration::from_micros(200)),
            }
        }
        let mut zones = Vec::with_capacity(self.count);
        let reported = report(self, &mut zones).and_then(|()| self.take(&zones));
        phase.store(if reported.is_ok() { READY } else { FAILED }, Ordering::Release);
        reported
    }

    fn take(&self, zones: &[ZoneStatus]) -> Result<(), String> {
        if zones.len() != self.count {
            return Err(format!("the device reports {} zones where {} were expected", zones.len(), self.count));
        }
        let mut total = 0;
        for (number, zone) in zones.iter().enumerate() {
            if zone.start_bytes != self.start_of(number) || zone.capacity_bytes > self.zone_bytes {
                return Err(format!("the device reports a zone at byte {}, which is none", zone.start_bytes));
            }
            let kind = match zone.kind {
                ZoneKind::Sequential => 0,
                ZoneKind::Conventional => CONVENTIONAL,
                ZoneKind::Unusable => UNUSABLE,
            };
            self.first(number).store((zone.written_bytes / SECTOR) | kind, Ordering::Relaxed);
            self.words[HEAD + PER_ZONE * number + 1].store(zone.capacity_bytes, Ordering::Relaxed);
            if zone.kind == ZoneKind::Sequential {
                total += zone.written_bytes;
                if zone.written_bytes > 0 && zone.written_bytes < zone.capacity_bytes {
                    // More than the limit cannot be: the job's may be lower than the device's.
                    self.open(number);
                }
            }
        }
        self.words[TOTAL].store(total, Ordering::Relaxed);
        Ok(())
    }

    /// How a worker owns zones.
    pub(crate) fn owner(worker: u32) -> u64 {
        u64::from(worker) + 1
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn zone_bytes(&self) -> u64 {
        self.zone_bytes
    }

    /// Where a zone starts, bytes.
    pub(crate) fn start_of(&self, zone: usize) -> u64 {
        self.start_bytes + zone as u64 * self.zone_bytes
    }

    /// The zone of an offset.
    pub(crate) fn zone_of(&self, offset: u64) -> usize {
        ((offset.saturating_sub(self.start_bytes) / self.zone_bytes) as usize).min(self.count.saturating_sub(1))
    }

    fn first(&self, zone: usize) -> &AtomicU64 {
        &self.words[HEAD + PER_ZONE * zone]
    }

    fn readers(&self, zone: usize) -> &AtomicU64 {
        &self.words[HEAD + PER_ZONE * zone + 2]
    }

    pub(crate) fn look(&self, zone: usize) -> Zone {
        let word = self.first(zone).load(Ordering::SeqCst);
        Zone {
            start_bytes: self.start_of(zone),
            capacity_bytes: self.words[HEAD + PER_ZONE * zone + 1].load(Ordering::Relaxed),
            written_bytes: (word & WRITTEN) * SECTOR,
            kind: match word & (CONVENTIONAL | UNUSABLE) {
                0 => ZoneKind::Sequential,
                CONVENTIONAL => ZoneKind::Conventional,
                _ => ZoneKind::Unusable,
            },
            is_open: word & OPEN != 0,
        }
    }

    /// Bytes written of all sequential zones.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.words[TOTAL].load(Ordering::Relaxed)
    }

    /// Makes a worker the owner of a zone that has none.
    pub(crate) fn claim(&self, zone: usize, owner: u64) -> bool {
        let word = self.first(zone);
        let before = word.load(Ordering::SeqCst);
        before >> OWNER_SHIFT == 0
            && word.compare_exchange(before, before | owner << OWNER_SHIFT, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// The owner gives a zone back.
    pub(crate) fn release(&self, zone: usize) {
        self.first(zone).fetch_and(((1 << OWNER_SHIFT) - 1) & !RESETTING, Ordering::SeqCst);
    }

    /// The owner has moved the write pointer.
    pub(crate) fn set_written(&self, zone: usize, written_bytes: u64) {
        let word = self.first(zone);
        let before = word.load(Ordering::SeqCst);
        word.store(before & !WRITTEN | (written_bytes / SECTOR), Ordering::SeqCst);
        let change = written_bytes.wrapping_sub((before & WRITTEN) * SECTOR);
        self.words[TOTAL].fetch_add(change, Ordering::Relaxed);
    }

    /// The owner is about to reset a zone: `false` if somebody reads it.
    pub(crate) fn keep_readers_out(&self, zone: usize) -> bool {
        self.first(zone).fetch_or(RESETTING, Ordering::SeqCst);
        // The reads of a worker that was killed never end.
        let is_free = self.readers(zone).load(Ordering::SeqCst) == 0 || self.words[LOST].load(Ordering::Acquire) > 0;
        if !is_free {
            self.let_readers_in(zone);
        }
        is_free
    }

    /// The owner has reset a zone: it may be read again.
    pub(crate) fn let_readers_in(&self, zone: usize) {
        self.first(zone).fetch_and(!RESETTING, Ordering::SeqCst);
    }

    /// Begins a read of a zone, unless it is about to be reset.
    pub(crate) fn begin_read(&self, zone: usize) -> bool {
        self.readers(zone).fetch_add(1, Ordering::SeqCst);
        let may = self.first(zone).load(Ordering::SeqCst) & RESETTING == 0;
        if !may {
            self.end_read(zone);
        }
        may
    }

    /// A read of a zone has ended.
    pub(crate) fn end_read(&self, zone: usize) {
        self.readers(zone).fetch_sub(1, Ordering::SeqCst);
    }

    /// Opens a zone for its owner; `false` if the limit does not allow it.
    pub(crate) fn open(&self, zone: usize) -> bool {
        if self.most_open > 0 {
            let more = |open| (open < self.most_open as u64).then_some(open + 1);
            if self.words[OPEN_COUNT].fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_err() {
                return false;
            }
            // Each that counts has a place: one becomes free soon, if none is.
            let mark = zone as u64 + 1;
            while !self
                .list()
                .iter()
                .any(|place| place.compare_exchange(0, mark, Ordering::SeqCst, Ordering::SeqCst).is_ok())
            {
                std::hint::spin_loop();
            }
        }
        self.first(zone).fetch_or(OPEN, Ordering::SeqCst);
        true
    }

    /// Closes a zone for its owner.
    pub(crate) fn close(&self, zone: usize) {
        if self.first(zone).fetch_and(!OPEN, Ordering::SeqCst) & OPEN == 0 || self.most_open == 0 {
            return;
        }
        let mark = zone as u64 + 1;
        if let Some(place) = self.list().iter().find(|place| place.load(Ordering::SeqCst) == mark) {
            place.store(0, Ordering::SeqCst);
            self.words[OPEN_COUNT].fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn list(&self) -> &[AtomicU64] {
        &self.words[HEAD + PER_ZONE * self.count..]
    }

    /// The open zones, if their number is limited; `from` chooses which one comes first.
    pub(crate) fn open_zones(&self, from: usize) -> impl Iterator<Item = usize> {
        let (late, early) = self.list().split_at(from % self.most_open.max(1).min(self.list().len().max(1)));
        early.iter().chain(late).filter_map(|place| (place.load(Ordering::SeqCst) as usize).checked_sub(1))
    }

    /// The worker has ended, in whatever way: it owns nothing any more.
    pub(crate) fn release_all(&self, owner: u64, was_killed: bool) {
        if was_killed {
            self.words[LOST].store(1, Ordering::Release);
        }
        for zone in 0..self.count {
            if self.first(zone).load(Ordering::SeqCst) >> OWNER_SHIFT == owner {
                self.release(zone);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn table(zones: u64, most_open: u32) -> ZoneTable {
        let table = ZoneTable::new(MIB + 4096, MIB * (zones + 1), MIB, most_open).unwrap();
        let filled = table.fill(|table, all| {
            all.extend((0..table.count()).map(|zone| ZoneStatus {
                start_bytes: table.start_of(zone),
                capacity_bytes: MIB / 2,
                written_bytes: 0,
                kind: ZoneKind::Sequential,
            }));
            Ok(())
        });
        assert_eq!(filled, Ok(()));
        table
    }

    #[test]
    fn a_zone_has_one_owner_who_moves_its_pointer() {
        let table = table(3, 0);
        assert_eq!((table.count(), table.start_of(2), table.zone_of(3 * MIB - 1)), (3, 3 * MIB, 1));
        assert!(table.claim(1, 7) && !table.claim(1, 8) && !table.claim(1, 7));
        table.set_written(1, 8192);
        table.release(1);
        assert_eq!(
            (table.look(1).written_bytes, table.total_bytes(), table.look(1).left_bytes()),
            (8192, 8192, MIB / 2 - 8192)
        );
        assert!(table.claim(1, 8));
        table.set_written(1, 0);
        assert_eq!(table.total_bytes(), 0);
        table.release_all(8, false);
        assert!(table.claim(1, MOST_OWNERS), "the zone of an ended worker is free");
        assert_eq!(table.look(1).kind, ZoneKind::Sequential);
    }

    #[test]
    fn a_zone_that_is_read_is_not_reset_and_the_other_way_round() {
        let table = table(1, 0);
        assert!(table.claim(0, 1) && table.begin_read(0) && !table.keep_readers_out(0));
        assert!(table.begin_read(0), "a refused reset leaves no trace");
        table.end_read(0);
        table.end_read(0);
        assert!(table.keep_readers_out(0) && !table.begin_read(0));
        table.release(0);
        assert!(table.begin_read(0));
        table.release_all(9, true);
        assert!(table.claim(0, 1) && table.keep_readers_out(0), "the reads of a killed worker hold nobody back");
    }

    #[test]
    fn no_more_zones_are_open_than_allowed() {
        let table = table(4, 2);
        assert!(table.open(0) && table.open(3) && !table.open(1));
        let open = |from| table.open_zones(from).collect::<Vec<_>>();
        assert_eq!((open(0), open(1), open(2)), (vec![0, 3], vec![3, 0], vec![0, 3]));
        table.close(0);
        table.close(0);
        assert!(table.open(1) && !table.open(2) && table.look(1).is_open && !table.look(0).is_open);
    }

    #[test]
    fn zones_that_are_partly_written_are_open() {
        let table = ZoneTable::new(0, 4 * MIB, MIB, 2).unwrap();
        let written = [0, 4096, MIB, 8192];
        let filled = table.fill(|table, all| {
            all.extend((0..4).map(|zone| ZoneStatus {
                start_bytes: table.start_of(zone),
                capacity_bytes: MIB,
                written_bytes: written[zone],
                kind: ZoneKind::Sequential,
            }));
            Ok(())
        });
        assert_eq!((filled, table.open_zones(0).collect::<Vec<_>>()), (Ok(()), vec![1, 3]));
        assert!(!table.open(0));
    }

    #[test]
    fn a_report_that_does_not_fit_is_refused_for_all() {
        let table = ZoneTable::new(0, 2 * MIB, MIB, 0).unwrap();
        let short = table.fill(|_, _| Ok(()));
        assert!(short.unwrap_err().contains("0 zones where 2"));
        assert!(table.fill(|_, _| unreachable!()).unwrap_err().contains("another job"));
    }
}
