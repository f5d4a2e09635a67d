//! `sprandom`: bring an SSD into the steady state of random writes.

use iolab_options::Direction;
use iolab_plan::{FilePlan, Pattern, SprandomPlan};

use crate::blocks::Blocks;
use crate::job::Job;
use crate::readings;
use crate::sizes::Extents;

/// The pass, if the job asks for one, and the bytes that it writes.
pub(crate) fn resolve(
    job: &Job<'_>,
    pattern: &Pattern,
    blocks: &Blocks,
    extents: &mut Extents,
) -> Option<SprandomPlan> {
    let plan = SprandomPlan {
        over_provisioning: job.value("spr_op", readings::floats).first().copied().unwrap_or(0.0),
        regions: job.count("spr_num_regions"),
        cache_bytes: job.bytes("spr_cs"),
    };
    if !job.on("sprandom") {
        let words = ["spr_op", "spr_num_regions", "spr_cs"];
        if let Some(name) = words.into_iter().find(|name| job.has(name)) {
            job.warn_always(name, format!("{name} has no effect without sprandom"), "add sprandom=1");
        }
        return None;
    }
    if !check(job, pattern, blocks, &plan) || !extents.files.iter().all(|file| check_regions(job, blocks, &plan, file))
    {
        return None;
    }
    if job.has("io_size") {
        let reason = "io_size has no effect with sprandom, which writes the whole flash once";
        job.warn_always("io_size", reason, "remove it");
    }
    let block_bytes = blocks.min();
    let writes = extents.files.iter().map(|file| plan.writes(file.length_bytes / block_bytes));
    extents.io_bytes = writes.fold(0_u64, |sum, writes| sum.saturating_add(writes.saturating_mul(block_bytes)));
    Some(plan)
}

/// Whether the pattern is one that leads to the steady state of random writes.
fn check(job: &Job<'_>, pattern: &Pattern, blocks: &Blocks, plan: &SprandomPlan) -> bool {
    let write = Direction::Write.index();
    if pattern.directions != [Direction::Write] || !pattern.random || pattern.every > 1 {
        let reason = format!("sprandom conditions a drive by random writes, and rw is {}", pattern.word);
        job.error("sprandom", reason, "use rw=randwrite");
    } else if !blocks.fixed(&pattern.directions) || blocks.align_bytes[write] != blocks.min() {
        let reason = "sprandom needs one block size, which is also the alignment of offsets";
        job.error("sprandom", reason, "for example bs=4k, without bssplit, bsrange and another blockalign");
    } else if job.has("random_generator") && job.word("random_generator") != "lfsr" {
        let reason = "sprandom visits each block once, which this random_generator does not";
        job.error("random_generator", reason, "remove random_generator, or use random_generator=lfsr");
    } else if plan.over_provisioning <= 0.0 {
        let reason =
            "without over-provisioning, random writes have no steady state: a drive needs spare flash to clean";
        job.error("spr_op", reason, "for example spr_op=0.07, which enterprise drives have");
    } else {
        return combines(job);
    }
    false
}

/// Whether nothing else decides where writes go.
fn combines(job: &Job<'_>) -> bool {
    let others = ["random_distribution", "percentage_random", "zonemode", "read_iolog"];
    let Some(name) = others.into_iter().find(|name| job.has(name)) else { return true };
    job.error(name, format!("{name} cannot be combined with sprandom: both decide where writes go"), "use one of them");
    false
}

/// Whether the regions of a file hold enough writes.
fn check_regions(job: &Job<'_>, blocks: &Blocks, plan: &SprandomPlan, file: &FilePlan) -> bool {
    let count = file.length_bytes / blocks.min();
    let region_writes = plan.writes(count) / u64::from(plan.regions);
    let reason = if plan.regions < 2 {
        "sprandom needs at least two regions: what one holds is made invalid by the next".to_owned()
    } else if region_writes < 2 {
        format!("{} has {count} blocks, too few for {} regions", file.path.display(), plan.regions)
    } else if region_writes.saturating_mul(blocks.min()) <= plan.cache_bytes {
        format!(
            "a region has {} bytes, and spr_cs={} would hold all of it",
            region_writes.saturating_mul(blocks.min()),
            plan.cache_bytes
        )
    } else {
        return true;
    };
    let suggestion = if plan.regions < 2 { "for example spr_num_regions=100" } else { "use fewer spr_num_regions" };
    job.error("spr_num_regions", reason, suggestion);
    false
}
