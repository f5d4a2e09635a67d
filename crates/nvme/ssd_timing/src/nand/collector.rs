//! Collection: empties a line by moving its valid pages, and erases it.
//!
//! ```text
//! row 0   flash page 0 of every die      read what is valid of it, write it where collection writes
//! row 1   flash page 1 of every die
//! ...     after the last row each die erases its block
//! ```
//!
//! After a victim is emptied, the host may write as many pages as were invalid in it before the
//! next victim is emptied. In the compatible fidelity, a whole line is emptied at once when few
//! lines are free. In the mended fidelity, a row is emptied for each share of those pages, so that
//! host commands can run in between. Data is programmed after the reads of the next row, so that
//! dies need not wait for each other. While the device is idle, rows are emptied one after the
//! other.
//!
//! Guarantees: collection ends, because a victim has an invalid page. It loses no data, because
//! lines assert that they are empty when they are erased. It does not know when the device is idle.

use super::partition::{Collection, Partition, Unprogrammed};
use crate::flash::Flash;
use crate::geometry::{PAGE_BYTES, PageLocation};

impl Collection {
    /// Ends all reads, and lets time start again.
    pub(super) fn settle(&mut self) {
        self.read_ns = 0;
    }

    /// The share of the next row. All shares together equal the number of invalid pages, so that
    /// free pages do not decrease.
    fn credits_of_row(&self, rows: u32) -> i64 {
        let up_to = |row: u32| self.invalid * i64::from(row) / i64::from(rows);
        up_to(self.next_row + 1) - up_to(self.next_row)
    }
}

impl Partition {
    /// Whether the idle device should collect, up to this many free lines.
    pub(super) fn wants_idle_collection(&self, below: u64) -> bool {
        // Collecting lines that are almost all valid would wear the flash without benefit.
        let most_valid = self.geometry.pages_per_line / 8 * 7;
        self.job.is_some() || (self.lines.free_count() < below && self.lines.has_victim(most_valid))
    }

    /// Collects one row while idle. Returns when it ends.
    pub(super) fn collect_row_idle(&mut self, flash: &mut Flash, now_ns: u64) -> u64 {
        if self.job.is_none() {
            self.start_job(self.geometry.pages_per_line / 8 * 7);
        }
        let (end_ns, was_last) = self.collect_row(flash, now_ns);
        self.taken.collected_idle += u64::from(was_last);
        end_ns
    }

    /// Runs the collection that the host's writes have to wait for. Returns how many pages the host
    /// may write before the next call.
    pub(super) fn collect_for_host(&mut self, flash: &mut Flash, now_ns: u64) -> i64 {
        let few = self.lines.free_count() <= self.collect_below;
        if !few || (self.job.is_none() && !self.start_job(self.geometry.pages_per_line)) {
            // NVMeVirt continues with the pages gained from its last victim, so it may notice late
            // that few lines are free.
            let row = i64::from(self.geometry.dies * self.geometry.flash_pages);
            return if self.mended { row } else { self.refill };
        }
        if !self.paced {
            while self.job.is_some() {
                self.collect_row(flash, now_ns);
            }
            return self.refill;
        }
        let mut credits = 0;
        while let (0, Some(job)) = (credits, self.job) {
            credits = job.credits_of_row(self.geometry.flash_per_block);
            self.collect_row(flash, now_ns);
        }
        credits
    }

    /// Chooses a victim.
    fn start_job(&mut self, most_valid: u32) -> bool {
        let written = self.written();
        let Some(line) = self.lines.take_victim(written, most_valid) else { return false };
        let invalid = i64::from(self.geometry.pages_per_line - self.lines.valid(line));
        self.refill = invalid;
        self.job = Some(Collection { line, next_row: 0, invalid, read_ns: 0 });
        true
    }

    /// Empties the next row of the job's line. Returns when the last of its operations ends, and
    /// whether the line is now free.
    fn collect_row(&mut self, flash: &mut Flash, now_ns: u64) -> (u64, bool) {
        let Some(mut job) = self.job else { return (now_ns, false) };
        let row = job.next_row;
        job.next_row += 1;
        let is_last = job.next_row == self.geometry.flash_per_block;
        let luns = self.geometry.dies / self.geometry.channels;
        let mut end_ns = now_ns;
        for channel in 0..self.geometry.channels {
            for lun in 0..luns {
                let spot = PageLocation { die: lun * self.geometry.channels + channel, flash: row };
                end_ns = end_ns.max(self.collect_flash_page(flash, now_ns, &mut job, spot));
                if is_last {
                    end_ns = end_ns.max(flash.erase(now_ns, self.device_die(spot.die)));
                }
            }
        }
        end_ns = end_ns.max(self.program_before(flash, now_ns, row, is_last));
        if is_last {
            self.lines.make_free(job.line);
            self.taken.collected += 1;
        }
        self.job = (!is_last).then_some(job);
        (end_ns, is_last)
    }

    /// Programs the data read in the rows before `row`, and in `row` as well if it is the last one.
    fn program_before(&mut self, flash: &mut Flash, now_ns: u64, row: u32, is_last: bool) -> u64 {
        let mut end_ns = now_ns;
        self.waiting.retain(|waiting| {
            let keep = waiting.row == row && !is_last;
            if !keep {
                end_ns = end_ns.max(flash.program(now_ns, waiting.read_ns.max(now_ns), waiting.die));
            }
            keep
        });
        end_ns
    }

    /// Reads the valid part of one flash page and writes it elsewhere. Returns when the last
    /// operation ends.
    fn collect_flash_page(&mut self, flash: &mut Flash, now_ns: u64, job: &mut Collection, spot: PageLocation) -> u64 {
        let first = job.line * self.geometry.pages_per_line + self.geometry.first_page(spot);
        let pages = first..first + self.geometry.flash_pages;
        let valid = pages.clone().filter(|page| self.valid_owner(*page).is_some()).count() as u64;
        if valid == 0 {
            return now_ns;
        }
        let on_device = PageLocation { die: self.device_die(spot.die), ..spot };
        let read_ns = flash.read_to_device(now_ns, now_ns, on_device, valid * PAGE_BYTES);
        job.read_ns = job.read_ns.max(read_ns);
        let mut end_ns = read_ns;
        for page in pages {
            let Some(logical) = self.valid_owner(page) else { continue };
            let new = self.relocate(page, logical);
            if !self.ends_one_shot(new) {
                continue;
            }
            let die = self.spot(new).die;
            if self.mended {
                self.waiting.push(Unprogrammed { row: spot.flash, die, read_ns: job.read_ns });
            } else {
                // NVMeVirt programs at once, without waiting for the read data.
                end_ns = end_ns.max(flash.program(now_ns, now_ns, die));
            }
        }
        end_ns
    }
}
