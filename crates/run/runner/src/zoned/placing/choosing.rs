//! Which zone a write goes to.
//!
//! The zone that was drawn, if it is open or may be opened. Otherwise one of the open zones: which
//! one follows from the zone that was drawn, so that each gets its share. Zones that were partly
//! written before the run are open, and so are those that an ended worker has left so: the device
//! counts them.

use super::{Held, Placing};
use crate::hot_loop::checker::Checker;

/// How often a write waits for an open zone in the range of the job before it fails: for about ten
/// seconds.
const PATIENCE: u32 = 200_000;

/// The answer to a write.
pub(super) enum Choice {
    /// This zone, which is open, and which the worker owns.
    Zone(usize),
    /// None now.
    Later,
    /// None: all zones that may be open are outside of the range of the job.
    Never,
}

impl<C: Checker> Placing<'_, C> {
    /// A zone for a write.
    pub(super) fn choose(&mut self, file: u32, asked: usize) -> Choice {
        let table = self.files[file as usize].table.clone();
        self.forget_closed(file);
        if self.may_use(file, asked, table.look(asked).is_open) {
            if table.claim(asked, self.owner) {
                // Its state may have changed meanwhile.
                let is_open = table.look(asked).is_open;
                if self.may_use(file, asked, is_open) && (is_open || table.open(asked)) {
                    return self.chosen(file, asked);
                }
                table.release(asked);
            } else if self.plan.most_open == 0 && self.plan.job_most_open == 0 {
                return Choice::Later;
            }
        }
        if let Some(zone) = self.one_of_the_open(file, asked) {
            return self.chosen(file, zone);
        }
        let zoned = &self.files[file as usize];
        if table.open_zones(asked).any(|zone| (zoned.first..zoned.last).contains(&zone)) {
            return Choice::Later;
        }
        self.fruitless += 1;
        if self.fruitless > PATIENCE { Choice::Never } else { Choice::Later }
    }

    fn chosen(&mut self, file: u32, zone: usize) -> Choice {
        self.fruitless = 0;
        if self.plan.job_most_open > 0 && !self.opened.contains(&(file, zone)) {
            self.opened.push((file, zone));
        }
        Choice::Zone(zone)
    }

    /// Whether the worker's own limit allows it to write to a zone.
    fn may_use(&self, file: u32, zone: usize, is_open: bool) -> bool {
        let most = self.plan.job_most_open as usize;
        most == 0 || self.opened.len() < most || (is_open && self.opened.contains(&(file, zone)))
    }

    /// One of the open zones of the file that nobody writes to now.
    fn one_of_the_open(&self, file: u32, asked: usize) -> Option<usize> {
        let zoned = &self.files[file as usize];
        let take = |zone: &usize| {
            let is_there = (zoned.first..zoned.last).contains(zone)
                && self.may_use(file, *zone, true)
                && zoned.table.claim(*zone, self.owner);
            if is_there && !zoned.table.look(*zone).is_open {
                zoned.table.release(*zone);
                return false;
            }
            is_there
        };
        if self.plan.most_open > 0 {
            return zoned.table.open_zones(asked).find(take);
        }
        // Without a limit for all, there is no list for all.
        let own: usize = self.opened.len();
        let all = (0..own).map(|step| self.opened[(asked + step) % own]);
        all.filter(|(other, _)| *other == file).map(|(_, zone)| zone).find(take)
    }

    /// Forgets zones that other workers have filled.
    fn forget_closed(&mut self, file: u32) {
        if self.plan.job_most_open > 0 && self.opened.len() >= self.plan.job_most_open as usize {
            let table = &self.files[file as usize].table;
            self.opened.retain(|(other, zone)| *other != file || table.look(*zone).is_open);
        }
    }

    /// Closes a zone that the worker owns.
    pub(super) fn close(&mut self, held: Held) {
        self.files[held.file as usize].table.close(held.zone);
        self.opened.retain(|opened| *opened != (held.file, held.zone));
    }
}
