//! One translation layer: which page holds which part of the host's data, and where the next page
//! is written.
//!
//! ```text
//! map[logical page] = physical page + 1        0 is unmapped
//! back[physical page] = logical page + 1       0 is filler; older entries stay when their page became invalid
//! a physical page is valid if and only if map[back[page]] is this page
//! ```
//!
//! Both tables are zeroed memory, which the system provides on first access. A device therefore
//! costs 8 bytes for each 4 KiB that was ever written, whatever its capacity.
//!
//! Guarantees: each mapped logical page has exactly one valid physical page; collection moves valid
//! pages before their line is erased. The write buffer, and splitting commands into pages, are
//! handled elsewhere.

use std::ops::Range;

use super::lines::Lines;
use crate::flash::Flash;
use crate::geometry::{Geometry, PAGE_BYTES, PageLocation};
use crate::parameters::Parameters;

/// The number of logical pages that are counted together, so that deallocating an empty drive costs
/// almost nothing.
const STRETCH_PAGES: u64 = 4096;

/// The position of the next page to write: one for the host and one for collection.
#[derive(Debug, Clone, Copy)]
pub(super) struct WritePointer {
    line: u32,
    next: u32,
}

/// A one-shot page filled with the host's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Programmed {
    pub(super) end_ns: u64,
    /// Bytes that then leave the write buffer.
    pub(super) bytes: u64,
}

/// Written pages by reason, and collected lines.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PageCounts {
    pub(super) host: u64,
    pub(super) moved: u64,
    pub(super) filler: u64,
    pub(super) trimmed: u64,
    pub(super) collected: u64,
    pub(super) collected_idle: u64,
}

/// A line that is being emptied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Collection {
    pub(super) line: u32,
    pub(super) next_row: u32,
    /// Pages of the line that were invalid when it was chosen.
    pub(super) invalid: i64,
    /// When all data read so far is in memory.
    pub(super) read_ns: u64,
}

/// A one-shot page of moved data that is not programmed yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unprogrammed {
    pub(super) row: u32,
    pub(super) die: u32,
    /// When its data has been read.
    pub(super) read_ns: u64,
}

/// One translation layer.
#[derive(Debug, Clone)]
pub(super) struct Partition {
    pub(super) geometry: Geometry,
    first_die: u32,
    map: Vec<u32>,
    /// How many pages of each stretch are mapped.
    mapped: Vec<u32>,
    back: Vec<u32>,
    pub(super) lines: Lines,
    host: WritePointer,
    collector: WritePointer,
    /// Host pages of the one-shot page that is being filled.
    buffered: u32,
    /// Pages that the host may write before collection is checked again.
    credits: i64,
    /// The value to which the compatible fidelity resets the credits: the invalid pages of the last
    /// victim.
    pub(super) refill: i64,
    pub(super) job: Option<Collection>,
    pub(super) waiting: Vec<Unprogrammed>,
    pub(super) taken: PageCounts,
    /// All pages ever written, by the host and by collection: the clock of the cost-benefit policy.
    written: u64,
    pub(super) collect_below: u64,
    pub(super) paced: bool,
    pub(super) mended: bool,
}

impl Partition {
    pub(super) fn new(parameters: &Parameters, geometry: Geometry, number: u32) -> Self {
        let mut lines = Lines::new(geometry.lines, geometry.pages_per_line, parameters.victim_policy);
        let host = WritePointer { line: lines.open(), next: 0 };
        let collector = WritePointer { line: lines.open(), next: 0 };
        let pages = geometry.lines as usize * geometry.pages_per_line as usize;
        Self {
            geometry,
            first_die: number * geometry.dies,
            map: vec![0; geometry.visible_pages as usize],
            mapped: vec![0; geometry.visible_pages.div_ceil(STRETCH_PAGES) as usize],
            back: vec![0; pages],
            lines,
            host,
            collector,
            buffered: 0,
            credits: i64::from(geometry.pages_per_line),
            refill: i64::from(geometry.pages_per_line),
            job: None,
            waiting: Vec::new(),
            taken: PageCounts::default(),
            written: 0,
            collect_below: parameters.collect_below_lines,
            paced: parameters.paced_collection && parameters.is_mended(),
            mended: parameters.is_mended(),
        }
    }

    /// The physical page of a logical one.
    pub(super) fn lookup(&self, logical: u64) -> Option<u32> {
        self.map[logical as usize].checked_sub(1)
    }

    /// The logical page whose valid data a physical page holds.
    pub(super) fn valid_owner(&self, page: u32) -> Option<u64> {
        let logical = self.back[page as usize].checked_sub(1)?;
        (self.map[logical as usize] == page + 1).then_some(u64::from(logical))
    }

    /// The location of a page on the device.
    pub(super) fn spot(&self, page: u32) -> PageLocation {
        let spot = self.geometry.spot(page);
        PageLocation { die: self.first_die + spot.die, ..spot }
    }

    /// The number of a die on the device.
    pub(super) fn device_die(&self, die: u32) -> u32 {
        self.first_die + die
    }

    /// All pages written so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Clears pending programs of collection, and resets the counters.
    pub(super) fn settle(&mut self) {
        self.waiting.clear();
        self.taken = PageCounts::default();
        if let Some(job) = &mut self.job {
            job.settle();
        }
    }

    /// Writes one logical page, whose data is in the buffer at `start_ns`.
    pub(super) fn write(&mut self, flash: &mut Flash, now_ns: u64, start_ns: u64, logical: u64) -> Option<Programmed> {
        if !self.forget(logical) {
            self.mapped[(logical / STRETCH_PAGES) as usize] += 1;
        }
        self.taken.host += 1;
        let page = self.place(true, logical);
        self.buffered += 1;
        let programmed = self.ends_one_shot(page).then(|| self.program(flash, now_ns, start_ns, page));
        self.spend(flash, now_ns);
        programmed
    }

    /// Pads the unfinished one-shot page and programs it. `None` if it contains no page of the
    /// host.
    pub(super) fn finish_one_shot(&mut self, flash: &mut Flash, now_ns: u64, start_ns: u64) -> Option<Programmed> {
        if self.buffered == 0 {
            return None;
        }
        loop {
            let page = self.page_of(self.host);
            self.back[page as usize] = 0;
            self.taken.filler += 1;
            self.advance(true);
            let programmed = self.ends_one_shot(page).then(|| self.program(flash, now_ns, start_ns, page));
            self.spend(flash, now_ns);
            if programmed.is_some() {
                return programmed;
            }
        }
    }

    /// Deallocates logical pages. Stretches without mapped pages are skipped.
    pub(super) fn trim(&mut self, logical: Range<u64>) {
        let mut at = logical.start;
        while at < logical.end {
            let stretch = at / STRETCH_PAGES;
            let end = ((stretch + 1) * STRETCH_PAGES).min(logical.end);
            for page in at..end {
                if self.mapped[stretch as usize] == 0 {
                    break;
                }
                if self.forget(page) {
                    self.map[page as usize] = 0;
                    self.mapped[stretch as usize] -= 1;
                    self.taken.trimmed += 1;
                }
            }
            at = end;
        }
    }

    /// Moves a valid page to collection's write position. Returns the new page.
    pub(super) fn relocate(&mut self, page: u32, logical: u64) -> u32 {
        let written = self.written();
        self.lines.remove_valid(page / self.geometry.pages_per_line, written);
        self.taken.moved += 1;
        self.place(false, logical)
    }

    /// Whether a page is the last of its one-shot page.
    pub(super) fn ends_one_shot(&self, page: u32) -> bool {
        (page + 1).is_multiple_of(self.geometry.one_shot_pages)
    }

    /// Bytes of the write buffer that wait until their one-shot page is full.
    pub(super) fn buffered_bytes(&self) -> u64 {
        u64::from(self.buffered) * PAGE_BYTES
    }

    fn program(&mut self, flash: &mut Flash, now_ns: u64, start_ns: u64, page: u32) -> Programmed {
        let bytes = self.buffered_bytes();
        self.buffered = 0;
        Programmed { end_ns: flash.program(now_ns, start_ns, self.spot(page).die), bytes }
    }

    /// Invalidates the old page. Returns whether there was one.
    fn forget(&mut self, logical: u64) -> bool {
        let old = self.lookup(logical);
        if let Some(page) = old {
            let written = self.written();
            self.lines.remove_valid(page / self.geometry.pages_per_line, written);
        }
        old.is_some()
    }

    /// Assigns the next page at the write pointer of the host or of collection to a logical page.
    fn place(&mut self, for_host: bool, logical: u64) -> u32 {
        let pen = if for_host { self.host } else { self.collector };
        let page = self.page_of(pen);
        self.map[logical as usize] = page + 1;
        self.back[page as usize] = logical as u32 + 1;
        self.written += 1;
        self.lines.add_valid(pen.line, self.written);
        self.advance(for_host);
        page
    }

    fn page_of(&self, pen: WritePointer) -> u32 {
        pen.line * self.geometry.pages_per_line + pen.next
    }

    fn advance(&mut self, for_host: bool) {
        let pen = if for_host { &mut self.host } else { &mut self.collector };
        pen.next += 1;
        if pen.next == self.geometry.pages_per_line {
            self.lines.close(pen.line);
            *pen = WritePointer { line: self.lines.open(), next: 0 };
            let pages = self.lines.count() * self.geometry.pages_per_line as usize;
            if pages > self.back.len() {
                self.back.resize(pages, 0);
            }
        }
    }

    /// Counts a page taken for the host. Collection may have to run before the next one.
    fn spend(&mut self, flash: &mut Flash, now_ns: u64) {
        self.credits -= 1;
        if self.credits <= 0 {
            self.credits += self.collect_for_host(flash, now_ns);
        }
    }
}
