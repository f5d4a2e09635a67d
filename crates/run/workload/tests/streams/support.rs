//! Basic plans, and streams run to their end.
use iolab_engine::{Op, OpKind};
use iolab_plan::{BlockSizes, Direction, Distribution, WorkerPlan, WorkloadPlan};
use iolab_workload::{Extent, OpBatch, OpStream, PassLimits};

pub(crate) const K: u64 = 1024;

/// fio's word for a pattern, 4 KiB blocks, everything else at its default.
pub(crate) fn plan(word: &str) -> WorkloadPlan {
    let directions = match word.trim_start_matches("rand") {
        "read" => vec![Direction::Read],
        "write" => vec![Direction::Write],
        "trim" => vec![Direction::Trim],
        "rw" => vec![Direction::Read, Direction::Write],
        "trimwrite" => vec![Direction::Write, Direction::Trim],
        other => panic!("no pattern {other}"),
    };
    let text = include_str!("../../../../contract/recording/tests/worker_plan.json");
    let mut plan = serde_json::from_str::<WorkerPlan>(text).expect("a worker's plan").workload;
    plan.pattern.word = word.to_owned();
    plan.pattern.directions = directions;
    plan.pattern.random = word.starts_with("rand");
    plan.pattern.trim_then_write = word.ends_with("trimwrite");
    (plan.seed, plan.buffer_seed, plan.file_service.open_files) = (20, 21, 0);
    plan
}

/// The same sizes for every direction, aligned to the smallest.
pub(crate) fn sized(word: &str, sizes: BlockSizes) -> WorkloadPlan {
    let align = sizes.min();
    WorkloadPlan { block_sizes: [sizes.clone(), sizes.clone(), sizes], align_bytes: [align; 3], ..plan(word) }
}

/// The same distribution for every direction.
pub(crate) fn distributed(distribution: Distribution) -> WorkloadPlan {
    let distributions = [distribution.clone(), distribution.clone(), distribution];
    WorkloadPlan { distributions, ..plan("randread") }
}

pub(crate) fn extents(lengths: &[u64]) -> Vec<Extent> {
    lengths.iter().map(|length| Extent { start_bytes: 0, length_bytes: *length }).collect()
}

/// As many bytes as the files hold.
pub(crate) fn whole(lengths: &[u64]) -> PassLimits {
    PassLimits { io_bytes: lengths.iter().sum(), io_count: None }
}

/// The rest of a pass.
pub(crate) fn drain(stream: &mut OpStream) -> Vec<Op> {
    let mut batch = OpBatch::new();
    let mut ops = Vec::new();
    while stream.fill(&mut batch) > 0 {
        ops.extend(batch.by_ref());
    }
    assert_eq!(stream.fill(&mut batch), 0, "a pass that is over stays over");
    ops
}

/// One pass over files that begin at 0.
pub(crate) fn pass(plan: &WorkloadPlan, lengths: &[u64], limits: PassLimits) -> Vec<Op> {
    drain(&mut OpStream::new(plan, &extents(lengths), limits).expect("a plan that works"))
}

/// One pass over files that begin at 0, each byte once.
pub(crate) fn whole_pass(plan: &WorkloadPlan, lengths: &[u64]) -> Vec<Op> {
    pass(plan, lengths, whole(lengths))
}

/// `r0` for a read of the first 4 KiB, `w1@2` for a write of the second in file 2, `S`, `D`, `F`
/// for syncs.
pub(crate) fn spell(ops: &[Op]) -> String {
    let spell = |op: &Op| {
        let at = if op.file == 0 { String::new() } else { format!("@{}", op.file) };
        let letter = match op.kind {
            OpKind::Read => 'r',
            OpKind::Write => 'w',
            OpKind::Trim => 't',
            OpKind::Sync => return format!("S{at}"),
            OpKind::DataSync => return format!("D{at}"),
            OpKind::SyncFileRange => return format!("F{}+{}{at}", op.offset / (4 * K), op.length / 4096),
        };
        let size = if op.length == 4096 { String::new() } else { format!("+{}", op.length) };
        format!("{letter}{}{size}{at}", op.offset / (4 * K))
    };
    ops.iter().map(spell).collect::<Vec<_>>().join(" ")
}
