//! Which operations the worker performs, in which mix and order.

use iolab_options::{Direction, Distribution, PerDirection, Percent};
use iolab_plan::{
    FilePlan, Pattern, RandomGenerator, RandomMap, SyncCadence, SyncFileRangePlan, WorkloadPlan, ZonePlan,
};

use crate::blocks::Blocks;
use crate::job::Job;
use crate::request::Mode;
use crate::seeds::{Purpose, derive};
use crate::{distribution, pacing, priorities, readings, zones};

/// Largest number of blocks in the random map: 4 GiB of bits.
const MOST_MAPPED_BLOCKS: u64 = 1 << 35;

/// Resolves the stream.
pub(crate) fn resolve(
    job: &Job<'_>,
    pattern: Pattern,
    blocks: Blocks,
    files: &[FilePlan],
    zoned: Option<ZonePlan>,
) -> WorkloadPlan {
    let distributions = distribution::offsets(job, pattern.random);
    let generator = generator(job, &pattern, &blocks);
    let random_map = random_map(job, &pattern, &blocks, &distributions);
    let own_priorities = priorities::resolve(job, &pattern, &blocks);
    let random_map = affordable_map(job, &pattern, &blocks, files, random_map);
    WorkloadPlan {
        seed: derive(job, Purpose::Stream),
        buffer_seed: derive(job, Purpose::Buffers),
        read_percent: read_percent(job),
        random_percent: random_percent(job),
        mix_by_rate: mix_by_rate(job, &pattern, &blocks),
        mix_process: pacing::process(job),
        block_sizes: blocks.sizes,
        align_bytes: blocks.align_bytes,
        unaligned_sizes: blocks.unaligned,
        sizes_by_randomness: blocks.by_randomness,
        distributions,
        random_map,
        generator,
        file_service: distribution::files(job, files.len()),
        sync: sync(job),
        stride: zones::stride(job),
        trim_ranges: blocks.trim_ranges,
        sprandom: None,
        zones: zoned,
        priorities: own_priorities,
        pattern,
    }
}

/// `rwmixread` or 100 - `rwmixwrite`, whichever is given later.
fn read_percent(job: &Job<'_>) -> Percent {
    let (read, write) = (mix_percent(job, "rwmixread"), mix_percent(job, "rwmixwrite"));
    let winner = job.later("rwmixread", "rwmixwrite");
    if let (Some(read), Some(write), Some(winner)) = (read, write, winner)
        && read != write.rest()
    {
        job.warn(
            winner,
            format!("rwmixread={read} and rwmixwrite={write} do not add up to 100; {winner} is later, so it counts"),
            "",
        );
    }
    match (winner, write) {
        (Some("rwmixwrite"), Some(write)) => write.rest(),
        _ => read.unwrap_or_else(|| job.value("rwmixread", readings::percent)),
    }
}

/// One share of a mix, if the user gave it; in fio mode without its fraction.
fn mix_percent(job: &Job<'_>, name: &'static str) -> Option<Percent> {
    let given = job.given(name, readings::percent)?;
    if job.request.mode == Mode::Iolab || given.as_whole().is_some() {
        return Some(given);
    }
    let cut = given.cut();
    job.warn_always(
        name,
        format!("{name}={given} counts as {cut}: fio takes whole percentages and cuts off the rest"),
        "run the job with iolab run, which takes the fraction",
    );
    Some(cut)
}

fn random_percent(job: &Job<'_>) -> PerDirection<u32> {
    job.triple("percentage_random").map(|percent| percent.min(100) as u32)
}

/// The desired operations per second of each direction, if a mix has a rate for each.
fn mix_by_rate(job: &Job<'_>, pattern: &Pattern, blocks: &Blocks) -> Option<PerDirection<u64>> {
    let iops = job.triple("rate_iops");
    let bytes = job.triple("rate");
    if pattern.directions != [Direction::Read, Direction::Write] {
        return None;
    }
    let wanted: PerDirection<u64> = std::array::from_fn(|index| {
        let mean_bytes = blocks.sizes[index].min().midpoint(blocks.sizes[index].max()).max(1);
        let by_bytes = Some(bytes[index]).filter(|rate| *rate > 0).map(|rate| (rate / mean_bytes).max(1));
        Some(iops[index]).filter(|rate| *rate > 0).or(by_bytes).unwrap_or(0)
    });
    (wanted[0] > 0 && wanted[1] > 0).then_some([wanted[0], wanted[1], 0])
}

fn generator(job: &Job<'_>, pattern: &Pattern, blocks: &Blocks) -> RandomGenerator {
    if job.word("random_generator") != "lfsr" {
        return RandomGenerator::Default;
    }
    if pattern.random && !blocks.fixed(&pattern.directions) {
        job.warn(
            "random_generator",
            "lfsr visits each block once only if all operations have the same size",
            "use one block size, or the default generator",
        );
    }
    RandomGenerator::Lfsr
}

/// Off when requested, and where a map is meaningless: skewed offsets, and offsets finer or coarser
/// than blocks.
fn random_map(job: &Job<'_>, pattern: &Pattern, blocks: &Blocks, spread: &PerDirection<Distribution>) -> RandomMap {
    let skewed = pattern.directions.iter().any(|direction| spread[direction.index()] != Distribution::Uniform);
    let own_alignment = pattern.directions.iter().any(|direction| {
        let index = direction.index();
        blocks.align_bytes[index] != blocks.sizes[index].min()
    });
    let asked = job.on("norandommap");
    if pattern.random && own_alignment && !asked {
        job.warn(
            "ba",
            "blockalign (ba) differs from the smallest block size, which turns off the random map: blocks may repeat",
            "set norandommap if you mean that",
        );
    }
    if asked || (pattern.random && (skewed || own_alignment)) { RandomMap::Off } else { RandomMap::On }
}

/// A map costs one bit per block: if it is too large, it is refused, or dropped if `softrandommap`
/// allows it.
fn affordable_map(job: &Job<'_>, pattern: &Pattern, blocks: &Blocks, files: &[FilePlan], map: RandomMap) -> RandomMap {
    let soft = job.on("softrandommap");
    let count = files.iter().map(|file| file.length_bytes / blocks.min().max(1)).fold(0u64, u64::saturating_add);
    if map == RandomMap::Off || !pattern.random || count <= MOST_MAPPED_BLOCKS {
        return map;
    }
    let reason = format!("a map of {count} blocks would take {} GiB of memory per worker", count >> 33);
    if soft {
        job.warn("softrandommap", format!("{reason}; blocks may be visited more than once"), "");
    } else {
        job.error("rw", reason, "set norandommap, or softrandommap, or use larger blocks");
    }
    RandomMap::Off
}

fn sync(job: &Job<'_>) -> SyncCadence {
    SyncCadence {
        fsync_every: job.count("fsync"),
        fdatasync_every: job.count("fdatasync"),
        barrier_every: job.count("write_barrier"),
        file_range: file_range(job),
    }
}

/// `wait_before,write,wait_after:8`, checked by the parser; the bits are those of
/// `sync_file_range(2)`.
fn file_range(job: &Job<'_>) -> Option<SyncFileRangePlan> {
    let text = job.text("sync_file_range")?;
    let (words, every) = text.rsplit_once(':').unwrap_or((&text, "1"));
    let bit = |word: &str| match word.trim() {
        "wait_before" => 1,
        "write" => 2,
        _ => 4,
    };
    let flags = words.split(',').map(bit).fold(0, |flags, bit| flags | bit);
    let every = every.trim().parse::<u32>().unwrap_or(1);
    (every > 0).then_some(SyncFileRangePlan { flags, every })
}
