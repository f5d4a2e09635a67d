//! The memory of buffers and the content of writes.

use std::path::Path;

use iolab_jobfile::pattern_bytes;
use iolab_options::Value;
use iolab_plan::{BufferContent, BufferMemory, BufferPlan, WorkerPlan, WorkloadPlan};

use crate::job::Job;
use crate::readings;

/// Resolves memory and content.
pub(crate) fn resolve(job: &Job<'_>, workload: &WorkloadPlan) -> BufferPlan {
    let pattern = pattern(job).filter(|bytes| !bytes.is_empty());
    let compress = percent(job, "buffer_compress_percentage");
    let dedupe = percent(job, "dedupe_percentage");
    let zero_asked = job.on("zero_buffers");
    let all_zero = pattern.is_none() && (zero_asked || (compress == 100 && dedupe == 0));
    let compress = Some(compress).filter(|percent| (1..100).contains(percent) && !all_zero);
    let scramble = job.given("scramble_buffers", readings::flag);
    // A plain pattern stays unchanged; compressed or repeated content must differ from write to
    // write.
    let refill = match (&pattern, compress.is_some() || dedupe > 0) {
        (_, true) => true,
        (Some(_), false) => false,
        (None, false) => job.on("refill_buffers"),
    };
    job.setting("refill_buffers");
    if pattern.is_some() && zero_asked {
        job.warn("zero_buffers", "zero_buffers has no effect, because buffer_pattern is set", "");
    }
    let plain_content = pattern.is_none() && compress.is_none() && dedupe == 0;
    let scramble = match scramble {
        Some(on) => on && !refill && plain_content,
        None => !refill && plain_content && !all_zero,
    };
    let content = match pattern {
        Some(bytes) => BufferContent::Pattern(bytes),
        None if all_zero => BufferContent::Zero,
        None => BufferContent::Random,
    };
    BufferPlan {
        slot_bytes: slot_bytes(workload),
        offset_bytes: offset(job),
        memory: memory(job),
        content,
        refill,
        scramble,
        compress_percent: compress,
        compress_chunk_bytes: job.bytes_or_default("buffer_compress_chunk"),
        dedupe_percent: dedupe,
        dedupe_working_set_percent: working_set(job, dedupe),
        // Known when all workers are.
        dedupe_seeds: if is_global(job, dedupe) { vec![workload.buffer_seed] } else { Vec::new() },
    }
}

/// `dedupe_global`.
fn is_global(job: &Job<'_>, dedupe: u32) -> bool {
    let global = job.on("dedupe_global");
    if global && (dedupe == 0 || job.word("dedupe_mode") != "working_set") {
        let reason = "dedupe_global shares working sets, so it needs dedupe_percentage and dedupe_mode=working_set";
        job.error("dedupe_global", reason, "add dedupe_percentage=30 and dedupe_mode=working_set");
    }
    global
}

/// Tells the workers with `dedupe_global` of each other.
pub(crate) fn share_working_sets(workers: &mut [WorkerPlan]) {
    let seeds: Vec<u64> = workers.iter().flat_map(|worker| worker.buffers.dedupe_seeds.iter().copied()).collect();
    for worker in workers.iter_mut().filter(|worker| !worker.buffers.dedupe_seeds.is_empty()) {
        worker.buffers.dedupe_seeds.clone_from(&seeds);
    }
}

/// `buffer_pattern`, with the bytes of the files that it names.
fn pattern(job: &Job<'_>) -> Option<Vec<u8>> {
    let text = match job.given("buffer_pattern", |value| Some(value.clone()))? {
        Value::Bytes(bytes) => return Some(bytes),
        _ => job.written("buffer_pattern"),
    };
    let read = pattern_bytes(text, &mut |name, most| job.request.machine.content(Path::new(name), most));
    read.map_err(|error| job.error("buffer_pattern", error.reason, error.suggestion.as_deref().unwrap_or(""))).ok()
}

fn percent(job: &Job<'_>, name: &'static str) -> u32 {
    job.count(name).min(100)
}

fn slot_bytes(workload: &WorkloadPlan) -> u64 {
    let sizes = &workload.block_sizes;
    let used = workload.pattern.directions.iter().map(|direction| sizes[direction.index()].max()).max().unwrap_or(0);
    if workload.sizes_by_randomness { used.max(sizes[0].max()).max(sizes[1].max()) } else { used }
}

fn offset(job: &Job<'_>) -> u64 {
    let bytes = job.bytes("iomem_align");
    if bytes > 0 && !bytes.is_power_of_two() {
        job.error("iomem_align", format!("iomem_align={bytes} is not a power of two"), "for example 512 or 4k");
    }
    bytes
}

fn working_set(job: &Job<'_>, dedupe: u32) -> Option<u32> {
    let working_set = job.word("dedupe_mode") == "working_set";
    let share = percent(job, "dedupe_working_set_percentage");
    (working_set && dedupe > 0).then_some(share)
}

/// `mem=`, checked by the parser, with fio's rule that a mapped file is shared for `mmapshared` and
/// `mmaphuge`.
fn memory(job: &Job<'_>) -> BufferMemory {
    let page_bytes =
        job.given("hugepage-size", readings::bytes).unwrap_or_else(|| job.request.machine.huge_page_bytes());
    let (kind, path) = job.word_and_suffix("mem");
    let path = path.filter(|path| !path.is_empty());
    match (kind.as_str(), path) {
        ("shm" | "mmapshared", None) => BufferMemory::Shared,
        ("shmhuge" | "mmaphuge", None) => BufferMemory::Huge { page_bytes },
        (kind @ ("mmap" | "mmapshared" | "mmaphuge"), Some(path)) => {
            BufferMemory::File { path, shared: kind != "mmap" }
        }
        _ => BufferMemory::Anonymous,
    }
}
