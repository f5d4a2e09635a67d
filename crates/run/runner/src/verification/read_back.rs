//! The reads after a pass of writes.

use std::sync::Arc;

use iolab_engine::Lane;
use iolab_measure::Recorder;
use iolab_plan::WorkerPlan;
use iolab_verify::{Beside, GenerationMap, ReadBack, ReadKnown, simulate};
use iolab_workload::{OpBatch, OpStream, Source};

use crate::choice;
use crate::hot_loop::HotLoop;
use crate::open_files::OpenFiles;
use crate::pacing::Pacer;
use crate::trouble::Fatal;
use crate::verification::share::VerifyShare;
use crate::verification::verifier::{Verifier, Verifies};
use crate::watch::Stop;

/// The job's own operations, with verification and discards between them if it asks for any.
pub(crate) fn with_verification(stream: OpStream, plan: &WorkerPlan) -> OpStream {
    let Some(verify) = &plan.verify else { return stream };
    if verify.backlog.is_none() && verify.trim.is_none() {
        return stream;
    }
    let beside = Beside::new(stream, verify.backlog, verify.trim, plan.workload.seed);
    OpStream::from(Box::new(beside) as Box<dyn Source>)
}

/// A stream without operations.
pub(crate) fn nothing() -> OpStream {
    OpStream::from(Box::new(Nothing) as Box<dyn Source>)
}

/// Reads of everything that an earlier run is known to have written.
pub(crate) fn known(plan: &WorkerPlan, share: &VerifyShare) -> OpStream {
    everything(plan, Arc::clone(&share.maps))
}

/// Reads of everything that is known to be in the files.
fn everything(plan: &WorkerPlan, maps: Arc<[GenerationMap]>) -> OpStream {
    let ends = plan.files.iter().map(|file| file.start_bytes + file.length_bytes).collect();
    let source = ReadKnown::new(maps, ends, plan.buffers.slot_bytes);
    OpStream::from(Box::new(source) as Box<dyn Source>)
}

struct Nothing;

impl Source for Nothing {
    fn fill(&mut self, out: &mut OpBatch) {
        out.clear();
    }

    fn restart(&mut self) {}

    fn memory_bytes(&self) -> usize {
        0
    }
}

/// What `verify_only` expects: the maps as the preceding run left them. Returns the number of
/// writes of its last pass.
pub(crate) fn expect(
    verifier: &mut Verifier<'_>,
    plan: &WorkerPlan,
    share: &VerifyShare,
    syncs: bool,
) -> Result<u64, Fatal> {
    let mut stream = choice::stream_of(plan, syncs)?;
    let limits = &plan.limits;
    // The writes of other jobs, and the number of passes within a time limit, are unknown.
    let exactly = share.alone && !limits.time_based && limits.runtime_ns.is_none();
    verifier.expect_earlier_run(exactly);
    Ok(simulate(&mut stream, &share.maps, if exactly { limits.loops.max(1) } else { 1 }))
}

/// Reads back the data of a pass: `writes` of pass number `pass`. Returns why it ended, and when.
pub(crate) fn read_back<'a, L: Lane, R: Recorder, P: Pacer, C: Verifies<'a>>(
    hot: &mut HotLoop<'_, L, R, P, C>,
    plan: &WorkerPlan,
    files: &OpenFiles,
    writes: u64,
    pass: u64,
    syncs: bool,
) -> Result<(Stop, u64), Fatal> {
    files.settle(plan)?;
    let reads = if plan.workload.zones.is_some() {
        // Writes went elsewhere than the stream says.
        let maps = hot.checker.verifier().maps();
        everything(plan, maps)
    } else {
        let mut stream = choice::stream_of(plan, syncs)?;
        (0..pass).for_each(|_| stream.restart());
        let source = ReadBack::new(stream, hot.checker.verifier().maps(), writes);
        OpStream::from(Box::new(source) as Box<dyn Source>)
    };
    let load = std::mem::replace(&mut hot.stream, reads);
    hot.batch = OpBatch::new();
    // Without a time limit: everything written is verified.
    let limits = hot.watch.lift_limits();
    let ended = hot.run();
    hot.watch.restore_limits(limits);
    hot.stream = load;
    hot.batch = OpBatch::new();
    hot.checker.verifier().end_read_back();
    Ok(ended)
}
