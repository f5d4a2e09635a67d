//! The size and the structure of the flash. They are checked once, so that nothing can be out of
//! range later.
//!
//! ```text
//! device    = partitions x lines
//! line      = the blocks with one number on all dies of a partition
//! word line = one one-shot page on every die:   die 0 | die 1 | ... | die d-1     (channels vary fastest)
//! page      = 4 KiB, numbered in the order of writing: line, word line, die, page within the one-shot page
//! ```
//!
//! Guarantees: a geometry holds its visible capacity, with enough spare lines that collection
//! always finds a line with an invalid page. Times are not computed here.

use crate::link::compatible_credits;
use crate::parameters::error::impossible;
use crate::parameters::{Capacity, ParameterError, Parameters};

/// The unit of mapping.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// The minimum number of lines of a mended geometry.
const LEAST_LINES: u64 = 32;

/// With fewer lines than this, blocks shrink, because few lines make spare flash coarse.
const GOOD_LINES: u64 = 128;

/// Lines that must be left when the visible capacity is stored: two that are being written, those
/// that collection keeps free, and one and a half for unwritten parts.
const LINES_BEYOND_THRESHOLD: u64 = 4;

/// The shape of one partition; all partitions are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) partitions: u64,
    /// Channels of a partition.
    pub(crate) channels: u32,
    /// Dies of a partition.
    pub(crate) dies: u32,
    /// Mapping pages in a flash page.
    pub(crate) flash_pages: u32,
    /// Mapping pages in a one-shot page.
    pub(crate) one_shot_pages: u32,
    /// Flash pages of a block.
    pub(crate) flash_per_block: u32,
    pub(crate) pages_per_line: u32,
    pub(crate) lines: u32,
    /// The most pages of a partition that the host sees.
    pub(crate) visible_pages: u64,
    /// The visible capacity of the device.
    pub(crate) visible_bytes: u64,
    /// The size of a block, and its size on a larger device.
    shrunk: (u64, u64),
}

/// The location of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageLocation {
    /// Die within the partition.
    pub(crate) die: u32,
    /// Flash page within the block.
    pub(crate) flash: u32,
}

impl Geometry {
    /// Computes the geometry for a capacity.
    pub(crate) fn new(parameters: &Parameters, capacity: Capacity) -> Result<Self, ParameterError> {
        check_flash(parameters)?;
        let partitions = parameters.partitions;
        if partitions == 0 || !parameters.channels.is_multiple_of(partitions) {
            return Err(impossible("partitions", partitions, "it must divide the number of channels"));
        }
        if parameters.spare_percent > 400 {
            return Err(impossible("spare", parameters.spare_percent, "it must be at most 400 percent"));
        }
        // With a single line, both the host and collection could need it before the victim is
        // empty.
        if !(2..=64).contains(&parameters.collect_below_lines) {
            let reason = "between 2 and 64 lines have to be kept free";
            return Err(impossible("collect_below", parameters.collect_below_lines, reason));
        }
        check_buffer(parameters, partitions)?;
        if parameters.blocks_per_lun > 0 {
            Self::with_fixed_blocks(parameters, capacity)
        } else {
            Self::with_fixed_block_size(parameters, capacity)
        }
    }

    /// NVMeVirt's geometry: a fixed number of blocks, of any size.
    fn with_fixed_blocks(parameters: &Parameters, capacity: Capacity) -> Result<Self, ParameterError> {
        let scale = 100 + parameters.spare_percent;
        let (asked, flash) = match capacity {
            Capacity::Flash(bytes) => (bytes, bytes),
            Capacity::Visible(bytes) => (bytes, checked_scale(bytes, scale, 100)?),
        };
        let dies = parameters.channels / parameters.partitions * parameters.luns_per_channel;
        let blocks = parameters.blocks_per_lun;
        let block = (flash / parameters.partitions).div_ceil(blocks * dies);
        let one_shots = block.div_ceil(parameters.one_shot_page_bytes).max(1);
        let visible = match capacity {
            Capacity::Flash(bytes) => bytes / scale * 100 + bytes % scale * 100 / scale,
            Capacity::Visible(bytes) => bytes,
        };
        let made = Self::cut(parameters, one_shots, blocks, visible / PAGE_BYTES * PAGE_BYTES, asked)?;
        let least = (parameters.collect_below_lines + LINES_BEYOND_THRESHOLD) * u64::from(made.pages_per_line);
        let room = blocks * u64::from(made.pages_per_line);
        if visible < PAGE_BYTES || made.visible_pages + least > room {
            let least_bytes = asked.max(PAGE_BYTES) * (made.visible_pages + least).div_ceil(room).max(2);
            let hint = "raise blocks_per_lun or spare";
            return Err(ParameterError::TooSmall { asked_bytes: asked, least_bytes, hint });
        }
        Ok(made)
    }

    /// The mended geometry: blocks of one size, as many as needed.
    fn with_fixed_block_size(parameters: &Parameters, capacity: Capacity) -> Result<Self, ParameterError> {
        let scale = 100 + parameters.spare_percent;
        let partitions = parameters.partitions;
        let dies = parameters.channels / partitions * parameters.luns_per_channel;
        let word_line = dies * parameters.one_shot_page_bytes;
        let (asked, flash) = match capacity {
            Capacity::Flash(bytes) => (bytes, bytes),
            Capacity::Visible(bytes) => (bytes, checked_scale(bytes, scale, 100)?),
        };
        let share = flash / partitions;
        let wanted = (parameters.block_bytes / parameters.one_shot_page_bytes).max(1);
        // The number of word lines in which every kind of flash page occurs equally often.
        let cycle = cycle(parameters);
        if share < word_line * LEAST_LINES * cycle {
            let least = word_line * LEAST_LINES * cycle * partitions;
            let least_bytes = match capacity {
                Capacity::Flash(_) => least,
                Capacity::Visible(_) => (least * 100).div_ceil(scale),
            };
            let hint = "lower channels, luns_per_channel or one_shot_page for a smaller device";
            return Err(ParameterError::TooSmall { asked_bytes: asked, least_bytes, hint });
        }
        let fitting = (share / (word_line * GOOD_LINES) / cycle * cycle).max(cycle);
        let one_shots = wanted.div_ceil(cycle).saturating_mul(cycle).min(fitting);
        let line = word_line * one_shots;
        let reserve = parameters.collect_below_lines + LINES_BEYOND_THRESHOLD;
        // Free lines, and the unwritten rest of the two lines being written, do not count as spare
        // flash. On a small device they would be most of it. But a small device should have the
        // write amplification of a large one.
        let working = parameters.collect_below_lines + 1;
        let (lines, visible) = match capacity {
            Capacity::Visible(bytes) => {
                let least = bytes.div_ceil(partitions).div_ceil(line) + reserve;
                ((share.div_ceil(line) + working).max(least), bytes / PAGE_BYTES * PAGE_BYTES)
            }
            Capacity::Flash(_) => {
                let lines = share / line;
                let most = lines.saturating_sub(reserve) * line * partitions;
                let usable = lines.saturating_sub(working) * line * partitions;
                let nominal = usable / scale * 100 + usable % scale * 100 / scale;
                (lines, nominal.min(most) / PAGE_BYTES * PAGE_BYTES)
            }
        };
        if visible == 0 {
            let least_bytes = line * (reserve + 1) * partitions;
            return Err(ParameterError::TooSmall { asked_bytes: asked, least_bytes, hint: "lower collect_below" });
        }
        let made = Self::cut(parameters, one_shots, lines, visible, asked)?;
        Ok(Self { shrunk: (one_shots.min(wanted), wanted), ..made })
    }

    /// The time of an erase. If blocks were shrunk for a small device, an erase takes a
    /// proportional time, so that the speed is that of a large device.
    pub(crate) fn erase_ns(&self, block_erase_ns: u64) -> u64 {
        block_erase_ns * self.shrunk.0 / self.shrunk.1
    }

    fn cut(
        parameters: &Parameters,
        one_shots: u64,
        lines: u64,
        visible_bytes: u64,
        asked_bytes: u64,
    ) -> Result<Self, ParameterError> {
        let channels = parameters.channels / parameters.partitions;
        let dies = channels * parameters.luns_per_channel;
        let one_shot_pages = parameters.one_shot_page_bytes / PAGE_BYTES;
        let pages_per_line = one_shots * dies * one_shot_pages;
        // A page number and "unmapped" share 32 bits.
        let most = u64::from(u32::MAX - 1);
        if pages_per_line > most || lines.saturating_mul(pages_per_line) > most {
            let most_bytes = most.saturating_mul(PAGE_BYTES * parameters.partitions);
            return Err(ParameterError::TooLarge { asked_bytes, most_bytes });
        }
        let per_one_shot = parameters.one_shot_page_bytes / parameters.flash_page_bytes;
        Ok(Self {
            partitions: parameters.partitions,
            channels: channels as u32,
            dies: dies as u32,
            flash_pages: (parameters.flash_page_bytes / PAGE_BYTES) as u32,
            one_shot_pages: one_shot_pages as u32,
            flash_per_block: (one_shots * per_one_shot) as u32,
            pages_per_line: pages_per_line as u32,
            lines: lines as u32,
            visible_pages: (visible_bytes / PAGE_BYTES).div_ceil(parameters.partitions),
            visible_bytes,
            shrunk: (1, 1),
        })
    }

    /// The location of page `page` of a partition.
    pub(crate) fn spot(&self, page: u32) -> PageLocation {
        let within = page % self.pages_per_line;
        let one_shot = within / self.one_shot_pages;
        let word_line = one_shot / self.dies;
        let in_one_shot = within % self.one_shot_pages / self.flash_pages;
        let flash = word_line * (self.one_shot_pages / self.flash_pages) + in_one_shot;
        PageLocation { die: one_shot % self.dies, flash }
    }

    /// The first page, within its line, of flash page `flash` of the block on `die`.
    pub(crate) fn first_page(&self, spot: PageLocation) -> u32 {
        let per_one_shot = self.one_shot_pages / self.flash_pages;
        let one_shot = spot.flash / per_one_shot * self.dies + spot.die;
        one_shot * self.one_shot_pages + spot.flash % per_one_shot * self.flash_pages
    }
}

/// The number of word lines after which the kinds of flash pages repeat.
fn cycle(parameters: &Parameters) -> u64 {
    let per_one_shot = parameters.one_shot_page_bytes / parameters.flash_page_bytes;
    if per_one_shot.is_multiple_of(parameters.cell_bits) { 1 } else { parameters.cell_bits }
}

fn checked_scale(bytes: u64, multiply: u64, divide: u64) -> Result<u64, ParameterError> {
    let most_bytes = u64::MAX / multiply;
    let scaled = bytes.checked_mul(multiply).map(|scaled| scaled.div_ceil(divide));
    scaled.ok_or(ParameterError::TooLarge { asked_bytes: bytes, most_bytes })
}

/// Parameters that every model with flash checks.
pub(crate) fn check_flash(parameters: &Parameters) -> Result<(), ParameterError> {
    for (name, value) in [("channels", parameters.channels), ("luns_per_channel", parameters.luns_per_channel)] {
        if !(1..=1024).contains(&value) {
            return Err(impossible(name, value, "it must be between 1 and 1024"));
        }
    }
    if !(1..=4).contains(&parameters.cell_bits) {
        return Err(impossible("cell_bits", parameters.cell_bits, "it must be between 1 and 4 bits"));
    }
    let (flash, one_shot) = (parameters.flash_page_bytes, parameters.one_shot_page_bytes);
    if flash == 0 || !flash.is_multiple_of(PAGE_BYTES) || flash > 1 << 24 {
        return Err(impossible("flash_page", flash, "it must be a multiple of 4k and at most 16m"));
    }
    if one_shot == 0 || !one_shot.is_multiple_of(flash) || one_shot > 1 << 26 {
        return Err(impossible("one_shot_page", one_shot, "it must be a multiple of flash_page and at most 64m"));
    }
    let chunk = parameters.channel_chunk_bytes;
    if !chunk.is_multiple_of(PAGE_BYTES) || chunk == 0 {
        return Err(impossible("channel_chunk", chunk, "it must be a multiple of 4k"));
    }
    let bandwidths =
        [("channel_bandwidth", parameters.channel_mib_per_second), ("pcie_bandwidth", parameters.pcie_mib_per_second)];
    for (name, value) in bandwidths {
        if !(1..=1_000_000).contains(&value) {
            return Err(impossible(name, value, "it must be between 1 and 1000000 MiB/s"));
        }
        if !parameters.is_mended() && compatible_credits(value).1 == 0 {
            return Err(impossible(name, value, "NVMeVirt's slots would have no credits; use fidelity=mended"));
        }
    }
    Ok(())
}

/// Refuses a buffer that the unfinished one-shot pages could fill, because it would never release
/// anything.
fn check_buffer(parameters: &Parameters, partitions: u64) -> Result<(), ParameterError> {
    let unfinished = parameters.one_shot_page_bytes.saturating_mul(partitions);
    if parameters.write_buffer_bytes < 2 * unfinished {
        let reason = format!("each partition needs room for two one-shot pages: at least {}", 2 * unfinished);
        return Err(impossible("write_buffer", parameters.write_buffer_bytes, reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compatible(flash: u64) -> Geometry {
        Geometry::new(&crate::presets::SAMSUNG_970_PRO_NVMEVIRT.parameters(), Capacity::Flash(flash)).unwrap()
    }

    #[test]
    fn nvmevirts_blocks_depend_on_the_capacity() {
        let small = compatible(4 << 30);
        assert_eq!((small.lines, small.flash_per_block, small.pages_per_line), (8192, 1, 32));
        assert_eq!(small.visible_bytes >> 20, 3828);
        assert_eq!(compatible(32 << 30).flash_per_block, 8);
    }

    #[test]
    fn mended_blocks_do_not() {
        let parameters = crate::presets::SAMSUNG_970_PRO.parameters();
        let make = |bytes| Geometry::new(&parameters, Capacity::Visible(bytes)).unwrap();
        assert_eq!(make(8 << 30).flash_per_block, make(1 << 40).flash_per_block);
        // Even on a device too small for that, all kinds of pages occur.
        assert!(make(64 << 20).flash_per_block.is_multiple_of(2));
    }

    #[test]
    fn flash_that_is_given_is_not_exceeded() {
        let parameters = crate::presets::SAMSUNG_970_PRO.parameters();
        for mib in [80, 500, 4096, 100_000] {
            let flash = mib << 20;
            let made = Geometry::new(&parameters, Capacity::Flash(flash)).unwrap();
            let cut = made.partitions * u64::from(made.lines) * u64::from(made.pages_per_line) * PAGE_BYTES;
            assert!(cut <= flash && made.visible_bytes * 107 / 100 < cut, "{mib}: {made:?}");
            assert!(made.visible_bytes > flash * 8 / 10, "{mib}: {made:?}");
        }
    }

    #[test]
    fn pages_and_spots_are_the_same_thing() {
        let geometry = compatible(32 << 30);
        for page in 0..geometry.pages_per_line {
            let spot = geometry.spot(page + 7 * geometry.pages_per_line);
            let first = geometry.first_page(spot);
            assert!((first..first + geometry.flash_pages).contains(&page), "{page}");
        }
    }

    #[test]
    fn bad_shapes_are_refused() {
        let refuse = |name: &str, text: &str, capacity: Capacity| {
            let mut parameters = crate::presets::SAMSUNG_970_PRO.parameters();
            parameters.set(name, text).unwrap();
            Geometry::new(&parameters, capacity).unwrap_err().to_string()
        };
        let enough = Capacity::Visible(1 << 30);
        for (name, text) in [
            ("partitions", "3"),
            ("partitions", "0"),
            ("channels", "0"),
            ("luns_per_channel", "0"),
            ("cell_bits", "0"),
            ("cell_bits", "5"),
            ("flash_page", "6k"),
            ("flash_page", "0"),
            ("one_shot_page", "48k"),
            ("one_shot_page", "0"),
            ("channel_chunk", "0"),
            ("channel_bandwidth", "0"),
            ("pcie_bandwidth", "0"),
            ("write_buffer", "64k"),
            ("spare", "1000"),
            ("collect_below", "1"),
        ] {
            let message = refuse(name, text, enough);
            assert!(message.contains(name) && message.contains("cannot be"), "{name}={text}: {message}");
        }
        assert!(refuse("cell_bits", "2", Capacity::Visible(1 << 20)).contains("at least"));
        assert!(refuse("cell_bits", "2", Capacity::Visible(0)).contains("at least"));
        assert!(refuse("cell_bits", "2", Capacity::Visible(1 << 50)).contains("too many"));
        assert!(refuse("cell_bits", "2", Capacity::Visible(u64::MAX)).contains("too many"));
        let mut compatible = crate::presets::SAMSUNG_970_PRO_NVMEVIRT.parameters();
        for text in ["30", "7813"] {
            compatible.set("pcie_bandwidth", text).unwrap();
            let error = Geometry::new(&compatible, Capacity::Flash(4 << 30)).unwrap_err();
            assert!(error.to_string().contains("no credits"), "{error}");
        }
        assert!(refuse("blocks_per_lun", "4", enough).contains("raise blocks_per_lun"));
    }
}
