//! Sizes of operations and alignment of their offsets: `bs`, `bsrange`, `bssplit`, `ba`.
//!
//! As in fio, `bssplit` overrides `bsrange`, which overrides `bs`.

use iolab_options::{BlockSplit, Direction, PerDirection, SplitShare};
use iolab_plan::{BlockSizes, Pattern};

use crate::job::Job;
use crate::readings;
use crate::request::Mode;

/// Largest operation, bytes: lengths are 32-bit numbers.
const MAX_BLOCK: u64 = 1 << 31;

/// Sizes and alignments, per direction.
pub(crate) struct Blocks {
    pub(crate) sizes: PerDirection<BlockSizes>,
    pub(crate) align_bytes: PerDirection<u64>,
    pub(crate) unaligned: bool,
    pub(crate) by_randomness: bool,
    /// Ranges of each trim, if it has several; the size is that of all of them.
    pub(crate) trim_ranges: Option<u32>,
}

impl Blocks {
    /// Smallest size of any direction, used or not: what fio calls the minimum block size of the
    /// job.
    pub(crate) fn min(&self) -> u64 {
        self.sizes.iter().fold(u64::MAX, |least, sizes| least.min(sizes.min()))
    }

    /// Whether the directions a job uses have one size each, the same for all.
    pub(crate) fn fixed(&self, directions: &[Direction]) -> bool {
        let sizes: Vec<&BlockSizes> = directions.iter().map(|direction| &self.sizes[direction.index()]).collect();
        sizes.iter().all(|size| size.min() == size.max() && size.min() == sizes[0].min())
    }
}

/// Resolves sizes and alignments.
pub(crate) fn resolve(job: &Job<'_>, pattern: &Pattern) -> Blocks {
    let plain = job.triple("bs");
    let ranges = job.given_each("bsrange", readings::ranges);
    let splits = job.given_each("bssplit", readings::splits);
    let sizes = std::array::from_fn(|index| {
        if let Some(parts) = &splits[index] {
            return split(parts);
        }
        match ranges[index] {
            Some((min, max)) => range(job, min, max),
            None => BlockSizes::Fixed(plain[index]),
        }
    });
    warn_of_unused(job, &splits, &ranges);
    check_bounds(job, pattern, &sizes);
    let unaligned = job.on("bs_unaligned");
    let align_bytes = align(job, pattern, &sizes);
    let by_randomness = job.on("bs_is_seq_rand");
    let mut blocks = Blocks { align_bytes, unaligned, by_randomness, sizes, trim_ranges: None };
    if job.count("num_range") > 1 {
        trim_ranges(job, pattern, &mut blocks);
    }
    blocks
}

/// `num_range`: an operation is as long as all ranges of a trim.
fn trim_ranges(job: &Job<'_>, pattern: &Pattern, blocks: &mut Blocks) {
    let (count, trim) = (job.count("num_range"), Direction::Trim.index());
    let range_bytes = blocks.sizes[trim].min();
    let bytes = range_bytes.saturating_mul(u64::from(count));
    let able = job.request.engines.iter().filter(|engine| engine.capabilities.trims_ranges);
    let able = able.map(|engine| format!("ioengine={}", engine.name)).collect::<Vec<_>>().join(" or ");
    let able = format!("use {able}, or remove num_range");
    let others = ["random_distribution", "percentage_random", "zonemode", "verify", "read_iolog", "sprandom"];
    let (reason, suggestion) = if pattern.directions != [Direction::Trim] {
        (format!("num_range is for trims, and rw is {}", pattern.word), "use rw=trim or rw=randtrim")
    } else if !job.engine.capabilities.trims_ranges {
        let reason = format!("{} trims one range at a time", job.engine.name);
        (reason, able.as_str())
    } else if !blocks.fixed(&pattern.directions) || blocks.align_bytes[trim] != range_bytes || pattern.every > 1 {
        ("num_range needs one block size, which is also the alignment of offsets".to_owned(), "for example bs=64k")
    } else if bytes > MAX_BLOCK {
        (format!("{count} ranges of {range_bytes} bytes are more than 2 GiB"), "use a smaller bs or num_range")
    } else if let Some(name) = others.into_iter().find(|name| job.has(name)) {
        (format!("num_range and {name} cannot be combined: both decide what is trimmed"), "use one of them")
    } else if job.word("io_submit_mode") == "offload" {
        ("num_range cannot be combined with io_submit_mode=offload".to_owned(), "use one of them")
    } else {
        blocks.sizes[trim] = BlockSizes::Fixed(bytes);
        blocks.align_bytes[trim] = bytes;
        blocks.trim_ranges = Some(count);
        return;
    };
    job.error("num_range", reason, suggestion);
}

fn warn_of_unused<A, B>(job: &Job<'_>, splits: &PerDirection<Option<A>>, ranges: &PerDirection<Option<B>>) {
    let winner = match (splits.iter().all(Option::is_some), ranges.iter().all(Option::is_some)) {
        (true, _) => "bssplit",
        (false, true) => "bsrange",
        _ => return,
    };
    for loser in ["bs", "bsrange"] {
        if loser != winner && job.section.own.has(loser) {
            job.warn(loser, format!("{loser} has no effect, because {winner} is set"), "");
        }
    }
}

fn range(job: &Job<'_>, min: u64, max: u64) -> BlockSizes {
    if min > max {
        job.error(
            "bsrange",
            format!("in the range {min}-{max}, the first size is larger than the second"),
            "give the smaller size first",
        );
    }
    if min == max { BlockSizes::Fixed(min) } else { BlockSizes::Range { min, max: max.max(min) } }
}

/// Assigns a percentage to each entry. Entries without one share the rest equally; the last of them
/// gets the remainder. The parser ensures that the sum is 100.
fn split(parts: &[BlockSplit]) -> BlockSizes {
    let given = |part: &BlockSplit| if let SplitShare::Percent(share) = part.share { u32::from(share) } else { 0 };
    let mut left = 100u32.saturating_sub(parts.iter().map(given).sum());
    let mut open = parts.iter().filter(|part| part.share == SplitShare::Remainder).count() as u32;
    let mut shares = Vec::with_capacity(parts.len());
    for part in parts {
        let share = match part.share {
            SplitShare::Percent(share) => u32::from(share),
            SplitShare::Remainder => {
                let share = left / open;
                left -= share;
                open -= 1;
                share
            }
        };
        if share > 0 {
            shares.push((part.bytes, share));
        }
    }
    if let [(bytes, _)] = shares[..] { BlockSizes::Fixed(bytes) } else { BlockSizes::Split(shares) }
}

fn check_bounds(job: &Job<'_>, pattern: &Pattern, sizes: &PerDirection<BlockSizes>) {
    let at = ["bssplit", "bsrange", "bs"].into_iter().find(|name| job.has(name)).unwrap_or("bs");
    for direction in &pattern.directions {
        let size = &sizes[direction.index()];
        if size.min() == 0 {
            job.error(at, format!("the block size for {}s is 0", direction.name()), "for example bs=4k");
        }
        if size.max() > MAX_BLOCK {
            job.error(
                at,
                format!("the block size for {}s is {} bytes; the limit is 2 GiB", direction.name(), size.max()),
                "",
            );
        }
    }
}

/// `ba`; the smallest size by default, and always in sequential patterns.
fn align(job: &Job<'_>, pattern: &Pattern, sizes: &PerDirection<BlockSizes>) -> PerDirection<u64> {
    let given = job.given_each("ba", readings::triple);
    if job.has("ba") && !pattern.random && job.request.mode == Mode::Iolab {
        job.warn("ba", "blockalign (ba) has no effect in sequential patterns", "");
    }
    std::array::from_fn(|index| match given[index] {
        Some(bytes) if bytes > 0 && pattern.random => bytes,
        _ => sizes[index].min(),
    })
}
