//! Which zone a write goes to.
//!
//! The zone that was drawn, if it is open or may be opened. Otherwise one of the open zones: which
//! one follows from the zone that was drawn, so that each gets its share.

use super::{Held, Placing};
use crate::hot_loop::checker::Checker;

impl<C: Checker> Placing<'_, C> {
    /// A zone for a write, which the worker then owns and which is open; `None` while there is
    /// none.
    pub(super) fn choose(&mut self, file: u32, asked: usize) -> Option<usize> {
        let table = self.files[file as usize].table.clone();
        if table.look(asked).is_open || self.may_open_more() {
            if table.claim(asked, self.owner) {
                // Its state may have changed meanwhile.
                if table.look(asked).is_open || self.open(file, asked) {
                    return Some(asked);
                }
                table.release(asked);
            } else if !self.is_limited() {
                return None;
            }
        }
        self.one_of_the_open(file, asked)
    }

    fn is_limited(&self) -> bool {
        self.plan.most_open > 0 || self.plan.job_most_open > 0
    }

    fn may_open_more(&self) -> bool {
        let most = self.plan.job_most_open as usize;
        most == 0 || self.opened.len() < most
    }

    /// Opens a zone that the worker owns.
    fn open(&mut self, file: u32, zone: usize) -> bool {
        let has_opened = self.may_open_more() && self.files[file as usize].table.open(zone);
        if has_opened && self.is_limited() {
            self.opened.push((file, zone));
        }
        has_opened
    }

    /// One of the open zones of the file that nobody writes to now.
    fn one_of_the_open(&mut self, file: u32, asked: usize) -> Option<usize> {
        let zoned = &self.files[file as usize];
        let range = zoned.first..zoned.last;
        let take = |zone: usize| {
            let is_there = range.contains(&zone) && zoned.table.claim(zone, self.owner);
            if is_there && !zoned.table.look(zone).is_open {
                zoned.table.release(zone);
                return false;
            }
            is_there
        };
        if self.plan.job_most_open == 0 {
            return zoned.table.open_zones(asked).find(|zone| take(*zone));
        }
        // With a limit of its own, a worker writes to zones that it opened itself.
        let own: usize = self.opened.len();
        let all = (0..own).map(|step| self.opened[(asked + step) % own]);
        all.filter(|(other, _)| *other == file).map(|(_, zone)| zone).find(|zone| take(*zone))
    }

    /// Closes a zone that the worker owns.
    pub(super) fn close(&mut self, held: Held) {
        self.files[held.file as usize].table.close(held.zone);
        self.opened.retain(|opened| *opened != (held.file, held.zone));
    }
}
