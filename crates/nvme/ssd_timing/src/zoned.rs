//! Flash in zones that are written sequentially (Zoned Namespace Command Set, 1.1).
//!
//! ```text
//! die of a one-shot page = zone * luns_per_zone mod dies + (offset in zone / one_shot_page) mod luns_per_zone
//! write  now + firmware ─▶ link ─▶ buffer of the zone, or of all ─▶ completes (early, or when programmed)
//! read   now + firmware ─▶ die ─▶ channel, page by page, then link at once ─▶ completes
//! ```
//!
//! There is no map and no collection: the host's order of writing is that of the flash. Source:
//! NVMeVirt's zoned model (Kim et al., FAST '23). In addition, resetting a zone takes the erase
//! time on its dies, and reads above the written part cost firmware and link time only.
//!
//! Guarantees: a completion is never before its command. The model does not know zone states, the
//! host's write pointers, and the position of an append. The device manages these, refuses writes
//! out of order, and submits an append as a write at its assigned position.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::flash::Flash;
use crate::geometry::{PAGE_BYTES, PageLocation, check_flash};
use crate::parameters::error::impossible;
use crate::parameters::{Capacity, ParameterError, Parameters};
use crate::request::{CommandKind, CompletionTime, TimedCommand};
use crate::statistics::Statistics;
use crate::write_buffer::WriteBuffer;

/// The model.
#[derive(Debug, Clone)]
pub struct Zoned {
    parameters: Parameters,
    flash: Flash,
    dies: u64,
    /// The buffer of each zone, or one for all.
    buffers: Vec<WriteBuffer>,
    /// When data leaves a buffer, and the index of that buffer; earliest first.
    releases: BinaryHeap<Reverse<(u64, usize)>>,
    /// How far each zone has been written.
    written_bytes: Vec<u64>,
    now_ns: u64,
    counts: Statistics,
}

impl Zoned {
    /// A device whose zones are empty. A remainder smaller than a zone is not visible.
    ///
    /// # Errors
    /// Invalid parameters, or a capacity below one zone.
    pub fn new(parameters: &Parameters, capacity: Capacity) -> Result<Self, ParameterError> {
        check_flash(parameters)?;
        let p = parameters;
        let dies = p.channels * p.luns_per_channel;
        if p.luns_per_zone == 0 || !dies.is_multiple_of(p.luns_per_zone) {
            let reason = format!("it must divide the {dies} dies");
            return Err(impossible("luns_per_zone", p.luns_per_zone, reason));
        }
        if p.zone_bytes < p.one_shot_page_bytes || !p.zone_bytes.is_multiple_of(PAGE_BYTES) {
            return Err(impossible("zone", p.zone_bytes, "it must be a multiple of 4k and hold a one-shot page"));
        }
        let (Capacity::Visible(asked_bytes) | Capacity::Flash(asked_bytes)) = capacity;
        let zones = asked_bytes / p.zone_bytes;
        if zones == 0 {
            return Err(ParameterError::TooSmall { asked_bytes, least_bytes: p.zone_bytes, hint: "lower zone" });
        }
        if zones > 1 << 24 {
            return Err(ParameterError::TooLarge { asked_bytes, most_bytes: p.zone_bytes << 24 });
        }
        let (name, size, count) = match p.zone_write_buffer_bytes {
            0 => ("write_buffer", p.write_buffer_bytes, 1),
            size => ("zone_write_buffer", size, zones),
        };
        if size < p.one_shot_page_bytes {
            return Err(impossible(name, size, "it must hold a one-shot page"));
        }
        Ok(Self {
            flash: Flash::new(p, 1, p.channels, dies),
            dies,
            buffers: vec![WriteBuffer::new(size); count as usize],
            releases: BinaryHeap::new(),
            written_bytes: vec![0; zones as usize],
            now_ns: 0,
            counts: Statistics { lines: zones, ..Statistics::default() },
            parameters: parameters.clone(),
        })
    }

    /// The visible capacity.
    pub fn visible_bytes(&self) -> u64 {
        self.written_bytes.len() as u64 * self.parameters.zone_bytes
    }

    /// The size of a zone.
    pub fn zone_bytes(&self) -> u64 {
        self.parameters.zone_bytes
    }

    /// When a command submitted now completes. A range is cut off at the end of its zone.
    pub fn schedule(&mut self, now_ns: u64, request: &TimedCommand) -> CompletionTime {
        self.advance(now_ns);
        let zone = (request.offset_bytes / self.parameters.zone_bytes) as usize;
        let start = request.offset_bytes % self.parameters.zone_bytes;
        let end = start.saturating_add(request.length_bytes).min(self.parameters.zone_bytes);
        let exists = zone < self.written_bytes.len();
        CompletionTime::At(match request.kind {
            CommandKind::Read if exists && end > start => self.read(zone, start, end),
            CommandKind::Write if exists && end > start => match self.write(zone, start, end, request.fua) {
                Ok(target_ns) => target_ns,
                Err(not_before_ns) => {
                    self.counts.refused += 1;
                    return CompletionTime::Retry { not_before_ns };
                }
            },
            CommandKind::ZoneReset if exists => self.reset(zone),
            CommandKind::Flush if self.parameters.is_mended() => self.now_ns + self.parameters.firmware_flush_ns,
            CommandKind::Flush => self.now_ns.max(self.flash.idle_at_ns()),
            _ => self.now_ns,
        })
    }

    /// The time of the next internal event.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.releases.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Processes internal events up to `now_ns`.
    pub fn advance(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        while let Some(Reverse((at_ns, buffer))) = self.releases.peek().copied() {
            if at_ns > self.now_ns {
                break;
            }
            self.releases.pop();
            self.buffers[buffer].advance(self.now_ns);
        }
    }

    /// Ends all operations, resets the counters, and lets time restart.
    pub fn settle(&mut self) {
        self.flash.settle();
        self.releases.clear();
        for buffer in 0..self.buffers.len() {
            let zones = if self.buffers.len() == 1 { 0..self.written_bytes.len() } else { buffer..buffer + 1 };
            let kept_bytes = zones.map(|zone| self.unfinished_bytes(self.written_bytes[zone])).sum();
            self.buffers[buffer].settle(kept_bytes);
        }
        self.now_ns = 0;
        self.counts = Statistics { lines: self.counts.lines, ..Statistics::default() };
    }

    /// The counters so far. Lines are zones.
    pub fn statistics(&self) -> Statistics {
        let mut all = self.counts;
        all.free_lines = self.written_bytes.iter().filter(|written| **written == 0).count() as u64;
        for (used, size) in self.buffers.iter().map(WriteBuffer::level) {
            all.buffer_used_bytes += used;
            all.buffer_bytes += size;
        }
        all
    }

    /// The last data written to a zone that waits in a buffer until its one-shot page is full, in
    /// bytes.
    fn unfinished_bytes(&self, written: u64) -> u64 {
        if written == self.parameters.zone_bytes { 0 } else { written % self.parameters.one_shot_page_bytes }
    }

    fn buffer_of(&self, zone: usize) -> usize {
        if self.buffers.len() == 1 { 0 } else { zone }
    }

    fn release_at(&mut self, at_ns: u64, buffer: usize, bytes: u64) {
        self.buffers[buffer].release_at(at_ns, bytes);
        self.releases.push(Reverse((at_ns, buffer)));
    }

    fn spot(&self, zone: usize, offset: u64) -> PageLocation {
        let p = &self.parameters;
        let first = zone as u64 * p.luns_per_zone % self.dies;
        let die = first + offset / p.one_shot_page_bytes % p.luns_per_zone;
        PageLocation { die: die as u32, flash: (offset % p.one_shot_page_bytes / p.flash_page_bytes) as u32 }
    }

    fn read(&mut self, zone: usize, start: u64, end: u64) -> u64 {
        let bytes = end - start;
        self.counts.host_read_bytes += bytes;
        let p = &self.parameters;
        let short = bytes <= PAGE_BYTES;
        let start_ns = self.now_ns + if short { p.firmware_read_4k_ns } else { p.firmware_read_ns };
        let flash_page = p.flash_page_bytes;
        let on_flash = end.min(if p.is_mended() { self.written_bytes[zone] } else { end });
        let mut sensed_ns = start_ns;
        let mut at = start / PAGE_BYTES * PAGE_BYTES;
        while at < on_flash {
            let next = ((at / flash_page + 1) * flash_page).min(on_flash.next_multiple_of(PAGE_BYTES));
            let spot = self.spot(zone, at);
            sensed_ns = sensed_ns.max(self.flash.read_to_device(self.now_ns, start_ns, spot, next - at));
            at = next;
        }
        self.flash.link.reserve(self.now_ns, sensed_ns, bytes)
    }

    fn write(&mut self, zone: usize, start: u64, end: u64, fua: bool) -> Result<u64, u64> {
        let bytes = end - start;
        let buffer = self.buffer_of(zone);
        self.buffers[buffer].take(bytes)?;
        self.counts.host_written_bytes += bytes;
        let (one_shot, zone_bytes) = (self.parameters.one_shot_page_bytes, self.parameters.zone_bytes);
        let p = &self.parameters;
        let firmware_ns = p.firmware_write_ns + p.firmware_write_4k_ns * bytes.div_ceil(PAGE_BYTES);
        let buffered_ns = self.flash.link.reserve(self.now_ns, self.now_ns + firmware_ns, bytes);
        let mut latest_ns = buffered_ns;
        let mut first = start / one_shot * one_shot;
        while first < end {
            let last = (first + one_shot).min(zone_bytes);
            if last <= end {
                let end_ns = self.flash.program(self.now_ns, buffered_ns, self.spot(zone, first).die);
                self.release_at(end_ns, buffer, last - first);
                self.counts.flash_host_bytes += last - first;
                latest_ns = latest_ns.max(end_ns);
            }
            first = last;
        }
        self.written_bytes[zone] = self.written_bytes[zone].max(end);
        let wait = fua || !self.parameters.early_completion;
        Ok(if wait { latest_ns } else { buffered_ns })
    }

    /// Erases the zone's blocks in the background; buffered data of the zone is dropped.
    fn reset(&mut self, zone: usize) -> u64 {
        let written = std::mem::take(&mut self.written_bytes[zone]);
        let target_ns = self.now_ns + self.parameters.firmware_trim_ns;
        if written == 0 {
            return target_ns;
        }
        self.release_at(self.now_ns, self.buffer_of(zone), self.unfinished_bytes(written));
        for lun in 0..self.parameters.luns_per_zone {
            let spot = self.spot(zone, lun * self.parameters.one_shot_page_bytes);
            self.flash.erase(self.now_ns, spot.die);
        }
        self.counts.collected_lines += 1;
        self.counts.erased_blocks += self.parameters.luns_per_zone;
        target_ns
    }
}

#[cfg(test)]
mod tests;
