//! Dies, their channels, and the link to the host: computes the end of each flash operation.
//!
//! ```text
//! read     | die: sense tR |chunk|chunk|           program  |transfer| die: tPROG |
//! channel                  |chunk|chunk|           channel  |transfer|
//! link                           |chunk|chunk|
//! ```
//!
//! A die does one thing at a time. It is free again when its last chunk has left it, or when it has
//! programmed or erased. Source: NVMeVirt's NAND model (Kim et al., FAST '23, section 3.3). Not
//! modelled here: where pages are stored, and suspending a program for a read.

use crate::geometry::{PAGE_BYTES, PageLocation};
use crate::link::Link;
use crate::parameters::Parameters;

/// Kinds of flash pages by the bits of a cell: LSB, MSB, CSB, and one more for cells of four bits.
const KINDS: usize = 4;

#[derive(Debug, Clone)]
pub(crate) struct Flash {
    free_at_ns: Vec<u64>,
    channels: Vec<Link>,
    /// For each die.
    channel_of: Vec<u16>,
    pub(crate) link: Link,
    sense_4k_ns: [u64; KINDS],
    sense_ns: [u64; KINDS],
    cell_bits: u32,
    program_ns: u64,
    erase_ns: u64,
    one_shot_bytes: u64,
    chunk_bytes: u64,
}

impl Flash {
    /// `groups` of dies, each with `channels` and `dies`. The channel varies fastest.
    pub(crate) fn new(parameters: &Parameters, groups: u64, channels: u64, dies: u64) -> Self {
        let p = parameters;
        let new_link = if p.is_mended() { Link::exact } else { Link::compatible };
        let channel = new_link(p.channel_mib_per_second, p.firmware_channel_4k_ns);
        let channel_of = (0..groups * dies).map(|die| (die / dies * channels + die % dies % channels) as u16).collect();
        Self {
            free_at_ns: vec![0; (groups * dies) as usize],
            channels: vec![channel; (groups * channels) as usize],
            channel_of,
            link: new_link(p.pcie_mib_per_second, 0),
            sense_4k_ns: [p.read_4k_lsb_ns, p.read_4k_msb_ns, p.read_4k_csb_ns, p.read_4k_csb_ns],
            sense_ns: [p.read_lsb_ns, p.read_msb_ns, p.read_csb_ns, p.read_csb_ns],
            cell_bits: p.cell_bits as u32,
            program_ns: p.program_ns,
            erase_ns: p.erase_ns,
            one_shot_bytes: p.one_shot_page_bytes,
            chunk_bytes: p.channel_chunk_bytes,
        }
    }

    /// Reads `bytes` of one flash page for the host, through the channel and the link.
    #[inline]
    pub(crate) fn read_to_host(&mut self, now_ns: u64, start_ns: u64, spot: PageLocation, bytes: u64) -> u64 {
        self.read(now_ns, start_ns, spot, bytes, true)
    }

    /// Reads `bytes` of one flash page into the device's memory.
    pub(crate) fn read_to_device(&mut self, now_ns: u64, start_ns: u64, spot: PageLocation, bytes: u64) -> u64 {
        self.read(now_ns, start_ns, spot, bytes, false)
    }

    #[inline(always)]
    fn read(&mut self, now_ns: u64, start_ns: u64, spot: PageLocation, bytes: u64, to_host: bool) -> u64 {
        let die = spot.die as usize;
        let kind = (spot.flash % self.cell_bits) as usize;
        let sense_ns = if bytes == PAGE_BYTES { self.sense_4k_ns[kind] } else { self.sense_ns[kind] };
        let mut left_die_ns = self.free_at_ns[die].max(start_ns) + sense_ns;
        let mut end_ns = left_die_ns;
        let channel = &mut self.channels[usize::from(self.channel_of[die])];
        let mut left = bytes;
        while left > 0 {
            let chunk = left.min(self.chunk_bytes);
            left_die_ns = channel.reserve(now_ns, left_die_ns, chunk);
            end_ns = if to_host { self.link.reserve(now_ns, left_die_ns, chunk) } else { left_die_ns };
            left -= chunk;
        }
        self.free_at_ns[die] = left_die_ns;
        end_ns
    }

    /// Transfers and programs one one-shot page.
    pub(crate) fn program(&mut self, now_ns: u64, start_ns: u64, die: u32) -> u64 {
        let die = die as usize;
        let start_ns = self.free_at_ns[die].max(start_ns);
        let channel = &mut self.channels[usize::from(self.channel_of[die])];
        let end_ns = channel.reserve(now_ns, start_ns, self.one_shot_bytes) + self.program_ns;
        self.free_at_ns[die] = end_ns;
        end_ns
    }

    /// Erases one block.
    pub(crate) fn erase(&mut self, start_ns: u64, die: u32) -> u64 {
        let free_at_ns = &mut self.free_at_ns[die as usize];
        *free_at_ns = start_ns.max(*free_at_ns) + self.erase_ns;
        *free_at_ns
    }

    #[cfg(test)]
    pub(crate) fn die_times(&self) -> &[u64] {
        &self.free_at_ns
    }

    /// Resets all times: all operations have ended, and time starts again.
    pub(crate) fn settle(&mut self) {
        self.free_at_ns.fill(0);
        self.channels.iter_mut().for_each(Link::clear);
        self.link.clear();
    }

    /// When the last die is free.
    pub(crate) fn idle_at_ns(&self) -> u64 {
        self.free_at_ns.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets;

    #[test]
    fn a_read_is_the_sum_of_its_steps() {
        let parameters = presets::SAMSUNG_970_PRO_NVMEVIRT.parameters();
        let mut flash = Flash::new(&parameters, 4, 2, 4);
        let lsb = flash.read_to_host(0, 21_500, PageLocation { die: 0, flash: 0 }, 4096);
        assert_eq!(lsb, 21_500 + 29_760 + 32 * 152 + 32 * 36);
        let msb = flash.read_to_host(0, 21_500, PageLocation { die: 3, flash: 1 }, 4096);
        assert_eq!(msb, 21_500 + 41_760 + 32 * 152 + 32 * 36);
    }

    #[test]
    fn a_die_does_one_thing_at_a_time() {
        let parameters = presets::SAMSUNG_970_PRO.parameters();
        let mut flash = Flash::new(&parameters, 1, 2, 4);
        let mut last = 0;
        for round in 0..200 {
            let end = match round % 3 {
                0 => flash.read_to_device(0, 0, PageLocation { die: 1, flash: round }, 8192),
                1 => flash.program(0, 0, 1),
                _ => flash.erase(0, 1),
            };
            assert!(end > last, "{end} after {last}");
            last = end;
        }
        assert_eq!(flash.idle_at_ns(), last);
    }
}
