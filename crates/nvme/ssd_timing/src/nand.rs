//! Flash behind a page-mapping translation layer: a conventional SSD.
//!
//! ```text
//! read   now + firmware ─▶ die senses ─▶ channel ─▶ link ─▶ completes
//! write  now + firmware ─▶ link ─▶ buffer ─▶ completes (early)
//!                                    └─ one-shot page full ─▶ channel ─▶ program ─▶ room in the buffer
//!                                    └─ few free lines ─▶ collection occupies dies
//! ```
//!
//! Logical pages are distributed over partitions in turn. Each partition has its own channels,
//! dies, map and lines. Source: NVMeVirt (Kim et al., "NVMeVirt: A Versatile Software-defined
//! Virtual NVMe Device", FAST '23). The compatible fidelity computes the same times to the
//! nanosecond. The mended fidelity differs where NVMeVirt's model is unrealistic:
//!
//! - Reads of pages that were never written take firmware and link time instead of none.
//! - Blocks have the same size on small and on large devices. A device that is too small for them
//!   still reads and ages like a large one.
//! - Links of any bandwidth are exact. Blocks take time to erase. Collection proceeds in rows
//!   between commands, and programs the data it has read.
//! - Flush and FUA put data on flash if the buffer is volatile. Partial pages are read before
//!   they are written.
//! - Deallocation and idle-time collection exist.
//!
//! Guarantees: a completion is never before its command; equal commands at equal times have equal
//! completions. Data, wear-out, read retries, SLC caches, and thermal and power states are not
//! modelled.

mod collector;
mod lines;
mod partition;

use partition::{Partition, Programmed};

use crate::flash::Flash;
use crate::geometry::{Geometry, PAGE_BYTES};
use crate::parameters::{Capacity, ParameterError, Parameters};
use crate::request::{CommandKind, CompletionTime, TimedCommand};
use crate::statistics::Statistics;
use crate::write_buffer::WriteBuffer;

/// The model.
#[derive(Debug, Clone)]
pub struct Nand {
    parameters: Parameters,
    geometry: Geometry,
    flash: Flash,
    buffer: WriteBuffer,
    partitions: Vec<Partition>,
    mended: bool,
    now_ns: u64,
    /// When the last program of host data ends.
    programmed_ns: u64,
    /// When idle-time collection does its next row, if no command comes before.
    idle_at_ns: u64,
    counts: Statistics,
}

/// Whole and partial pages of a range.
#[derive(Debug, Clone, Copy)]
struct Pages {
    first: u64,
    last: u64,
    bytes: u64,
}

impl Nand {
    /// A fresh device.
    ///
    /// # Errors
    /// Invalid parameters, or a capacity that does not fit them.
    pub fn new(parameters: &Parameters, capacity: Capacity) -> Result<Self, ParameterError> {
        let geometry = Geometry::new(parameters, capacity)?;
        let make = |number| Partition::new(parameters, geometry, number);
        let timed = Parameters { erase_ns: geometry.erase_ns(parameters.erase_ns), ..parameters.clone() };
        Ok(Self {
            flash: Flash::new(&timed, geometry.partitions, geometry.channels.into(), geometry.dies.into()),
            buffer: WriteBuffer::new(parameters.write_buffer_bytes),
            partitions: (0..geometry.partitions as u32).map(make).collect(),
            mended: parameters.is_mended(),
            now_ns: 0,
            programmed_ns: 0,
            idle_at_ns: u64::MAX,
            counts: Statistics::default(),
            parameters: parameters.clone(),
            geometry,
        })
    }

    /// The visible capacity.
    pub fn visible_bytes(&self) -> u64 {
        self.geometry.visible_bytes
    }

    /// Returns when a command submitted now completes. Time does not go back: an earlier `now_ns`
    /// counts as the latest one so far.
    #[inline]
    pub fn schedule(&mut self, now_ns: u64, request: &TimedCommand) -> CompletionTime {
        self.advance(now_ns);
        let pages = self.pages(request);
        let target_ns = match (request.kind, pages) {
            (CommandKind::Flush, _) => self.flush(),
            (CommandKind::Read, Some(pages)) => self.read(pages),
            (CommandKind::Write, Some(pages)) => match self.write(pages, request) {
                Ok(target_ns) => target_ns,
                Err(not_before_ns) => {
                    self.counts.refused += 1;
                    return CompletionTime::Retry { not_before_ns };
                }
            },
            (CommandKind::Trim | CommandKind::WriteZeroes, Some(pages)) => self.trim(pages, request),
            (_, None) | (CommandKind::ZoneReset, _) => self.now_ns,
        };
        if self.parameters.idle_collect_below_lines > 0 && self.mended {
            let busy_ns = if self.idle_at_ns == u64::MAX { 0 } else { self.idle_at_ns };
            self.idle_at_ns = busy_ns.max(target_ns + self.parameters.idle_before_collect_ns);
        }
        CompletionTime::At(target_ns)
    }

    /// The time of the next internal event.
    pub fn next_event_ns(&self) -> Option<u64> {
        let release = self.buffer.next_release_ns();
        let idle = (self.idle_at_ns != u64::MAX && self.wants_idle_collection()).then_some(self.idle_at_ns);
        release.into_iter().chain(idle).min()
    }

    /// Processes internal events up to `now_ns`.
    #[inline]
    pub fn advance(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        self.buffer.advance(self.now_ns);
        if self.idle_at_ns <= self.now_ns {
            self.collect_while_idle();
        }
    }

    /// Ends all operations, resets the counters, and lets time restart.
    pub fn settle(&mut self) {
        self.flash.settle();
        self.partitions.iter_mut().for_each(Partition::settle);
        self.buffer.settle(self.partitions.iter().map(Partition::buffered_bytes).sum());
        (self.now_ns, self.programmed_ns, self.idle_at_ns) = (0, 0, u64::MAX);
        self.counts = Statistics::default();
    }

    /// The counters so far.
    pub fn statistics(&self) -> Statistics {
        let mut all = self.counts;
        for partition in &self.partitions {
            let taken = partition.taken;
            all.flash_host_bytes += taken.host * PAGE_BYTES;
            all.flash_moved_bytes += taken.moved * PAGE_BYTES;
            all.flash_filler_bytes += taken.filler * PAGE_BYTES;
            all.trimmed_bytes += taken.trimmed * PAGE_BYTES;
            all.collected_lines += taken.collected;
            all.collected_idle_lines += taken.collected_idle;
            all.erased_blocks += taken.collected * u64::from(self.geometry.dies);
            all.most_erases = all.most_erases.max(partition.lines.most_erases().into());
            all.free_lines += partition.lines.free_count();
            all.lines += partition.lines.count() as u64;
        }
        (all.buffer_used_bytes, all.buffer_bytes) = self.buffer.level();
        all
    }

    /// The pages of a request, limited to the visible capacity. `None` if none are left.
    fn pages(&self, request: &TimedCommand) -> Option<Pages> {
        let end = request.offset_bytes.saturating_add(request.length_bytes).min(self.geometry.visible_bytes);
        let bytes = end.checked_sub(request.offset_bytes).filter(|bytes| *bytes > 0)?;
        Some(Pages { first: request.offset_bytes / PAGE_BYTES, last: (end - 1) / PAGE_BYTES, bytes })
    }

    fn read(&mut self, pages: Pages) -> u64 {
        self.counts.host_read_bytes += pages.bytes;
        let partitions = self.geometry.partitions;
        let short = pages.bytes <= PAGE_BYTES * partitions;
        let firmware_ns = if short { self.parameters.firmware_read_4k_ns } else { self.parameters.firmware_read_ns };
        let start_ns = self.now_ns + firmware_ns;
        // NVMeVirt omits the firmware's time if nothing is mapped.
        let mut latest_ns = if self.mended { start_ns } else { self.now_ns };
        let mut unmapped = 0;
        if pages.first == pages.last {
            let partition = &self.partitions[(pages.first % partitions) as usize];
            if let Some(page) = partition.lookup(pages.first / partitions) {
                return self.flash.read_to_host(self.now_ns, start_ns, partition.spot(page), PAGE_BYTES);
            }
        }
        let streams = partitions.min(pages.last - pages.first + 1);
        for first in pages.first..pages.first + streams {
            latest_ns = latest_ns.max(self.read_stream(start_ns, first, pages.last, &mut unmapped));
        }
        if self.mended && unmapped > 0 {
            let end_ns = self.flash.link.reserve(self.now_ns, start_ns, unmapped * PAGE_BYTES);
            latest_ns = latest_ns.max(end_ns);
        }
        latest_ns
    }

    /// Reads the pages of one partition: adjacent pages in a flash page are sensed once.
    fn read_stream(&mut self, start_ns: u64, first: u64, last: u64, unmapped: &mut u64) -> u64 {
        let partitions = self.geometry.partitions;
        let partition = &self.partitions[(first % partitions) as usize];
        let flash_pages = self.geometry.flash_pages;
        let now_ns = self.now_ns;
        let mut latest_ns = 0;
        let mut run: Option<(u32, u64)> = None;
        for logical in first / partitions..=first / partitions + (last - first) / partitions {
            match (partition.lookup(logical), &mut run) {
                (None, _) => *unmapped += 1,
                (Some(page), Some((start, count))) if page / flash_pages == *start / flash_pages => *count += 1,
                (Some(page), run) => {
                    if let Some((start, count)) = run.replace((page, 1)) {
                        let end = self.flash.read_to_host(now_ns, start_ns, partition.spot(start), count * PAGE_BYTES);
                        latest_ns = latest_ns.max(end);
                    }
                }
            }
        }
        if let Some((start, count)) = run {
            let end_ns = self.flash.read_to_host(now_ns, start_ns, partition.spot(start), count * PAGE_BYTES);
            latest_ns = latest_ns.max(end_ns);
        }
        latest_ns
    }

    fn write(&mut self, pages: Pages, request: &TimedCommand) -> Result<u64, u64> {
        let whole_bytes = (pages.last - pages.first + 1) * PAGE_BYTES;
        // NVMeVirt takes the bytes of the request, but releases whole pages.
        self.buffer.take(if self.mended { whole_bytes } else { pages.bytes })?;
        self.counts.host_written_bytes += pages.bytes;
        let p = &self.parameters;
        let firmware_ns = p.firmware_write_ns + p.firmware_write_4k_ns * pages.bytes.div_ceil(PAGE_BYTES);
        let buffered_ns = self.flash.link.reserve(self.now_ns, self.now_ns + firmware_ns, pages.bytes);
        if self.mended && whole_bytes != pages.bytes {
            self.read_partial_pages(pages, request);
        }
        let mut latest_ns = buffered_ns;
        for page in pages.first..=pages.last {
            let partition = &mut self.partitions[(page % self.geometry.partitions) as usize];
            let logical = page / self.geometry.partitions;
            if let Some(done) = partition.write(&mut self.flash, self.now_ns, buffered_ns, logical) {
                latest_ns = latest_ns.max(self.programmed(done));
            }
        }
        let early = self.parameters.early_completion;
        if self.mended && self.parameters.volatile_cache && request.fua {
            return Ok(latest_ns.max(self.finish_one_shots(buffered_ns, Some(pages))));
        }
        // A buffer that survives a loss of power counts as the medium: FUA is satisfied when the
        // data is in it.
        let wait = if self.mended { !early } else { request.fua || !early };
        Ok(if wait { latest_ns } else { buffered_ns })
    }

    /// Reads the rest of partly written pages, which is needed before they are programmed.
    fn read_partial_pages(&mut self, pages: Pages, request: &TimedCommand) {
        let starts_inside = !request.offset_bytes.is_multiple_of(PAGE_BYTES);
        let ends_inside = !(request.offset_bytes + pages.bytes).is_multiple_of(PAGE_BYTES);
        let first = starts_inside.then_some(pages.first);
        let last = (ends_inside && (pages.first != pages.last || !starts_inside)).then_some(pages.last);
        for page in first.into_iter().chain(last) {
            let partition = &self.partitions[(page % self.geometry.partitions) as usize];
            if let Some(old) = partition.lookup(page / self.geometry.partitions) {
                self.flash.read_to_device(self.now_ns, self.now_ns, partition.spot(old), PAGE_BYTES);
            }
        }
    }

    fn programmed(&mut self, done: Programmed) -> u64 {
        self.buffer.release_at(done.end_ns, done.bytes);
        self.programmed_ns = self.programmed_ns.max(done.end_ns);
        done.end_ns
    }

    /// Programs the buffered data of unfinished one-shot pages, either of the partitions of `pages`
    /// or of all partitions.
    fn finish_one_shots(&mut self, start_ns: u64, pages: Option<Pages>) -> u64 {
        let all = self.geometry.partitions;
        let (first, count) = pages.map_or((0, all), |pages| (pages.first, (pages.last - pages.first + 1).min(all)));
        let mut latest_ns = start_ns;
        for page in first..first + count {
            let partition = &mut self.partitions[(page % all) as usize];
            if let Some(done) = partition.finish_one_shot(&mut self.flash, self.now_ns, start_ns) {
                latest_ns = latest_ns.max(self.programmed(done));
            }
        }
        latest_ns
    }

    fn flush(&mut self) -> u64 {
        if !self.mended {
            return self.now_ns.max(self.flash.idle_at_ns());
        }
        let start_ns = self.now_ns + self.parameters.firmware_flush_ns;
        if !self.parameters.volatile_cache {
            return start_ns;
        }
        self.finish_one_shots(start_ns, None).max(self.programmed_ns)
    }

    /// Deallocates whole pages only. NVMeVirt has no such command; in the compatible fidelity it
    /// does nothing.
    fn trim(&mut self, pages: Pages, request: &TimedCommand) -> u64 {
        if !self.mended {
            return self.now_ns;
        }
        let first = request.offset_bytes.div_ceil(PAGE_BYTES);
        let end = (request.offset_bytes + pages.bytes) / PAGE_BYTES;
        // Of the pages below n, partition p has this many: those of the form p + k * partitions.
        let partitions = self.geometry.partitions;
        let share = |n: u64, p: u64| (n + partitions - 1 - p) / partitions;
        for (number, partition) in (0..).zip(&mut self.partitions) {
            partition.trim(share(first, number)..share(end, number));
        }
        self.now_ns + self.parameters.firmware_trim_ns
    }

    fn wants_idle_collection(&self) -> bool {
        let below = self.parameters.idle_collect_below_lines;
        self.partitions.iter().any(|partition| partition.wants_idle_collection(below))
    }

    /// Collects rows of all partitions that need it, up to the present: partitions work in
    /// parallel, rows one after the other.
    fn collect_while_idle(&mut self) {
        let below = self.parameters.idle_collect_below_lines;
        while self.idle_at_ns <= self.now_ns {
            let at_ns = self.idle_at_ns;
            // If no partition needs it, nothing happens before the next command.
            self.idle_at_ns = u64::MAX;
            for partition in self.partitions.iter_mut().filter(|one| one.wants_idle_collection(below)) {
                let end_ns = partition.collect_row_idle(&mut self.flash, at_ns);
                self.idle_at_ns = if self.idle_at_ns == u64::MAX { end_ns } else { self.idle_at_ns.max(end_ns) };
            }
        }
    }
}

#[cfg(test)]
mod tests;
