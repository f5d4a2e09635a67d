//! A worker's passes, one after the other, and what is done between them.

use iolab_engine::Lane;
use iolab_measure::Recorder;
use iolab_memory::PoolView;
use iolab_plan::WorkerPlan;

use crate::hot_loop::HotLoop;
use crate::hot_loop::checker::Checker;
use crate::open_files::OpenFiles;
use crate::pacing::Pacer;
use crate::task::Task;
use crate::trouble::Fatal;
use crate::watch::Stop;

/// Opens a lane on files and buffers.
pub(crate) type Reopen<'a, L> = &'a dyn Fn(&OpenFiles, PoolView) -> Result<L, Fatal>;

/// Why a loop ended, and when.
pub(crate) type Ended = (Stop, u64);

/// Runs pass after pass, each followed by `after`, until none is left or something else ends them.
pub(crate) fn all_passes<L: Lane, R: Recorder, P: Pacer, C: Checker>(
    task: &Task<'_>,
    hot: &mut HotLoop<'_, L, R, P, C>,
    files: &mut OpenFiles,
    open: Reopen<'_, L>,
    after: &mut impl FnMut(&mut HotLoop<'_, L, R, P, C>, &OpenFiles, Ended, u64) -> Result<Ended, Fatal>,
) -> Ended {
    let plan = task.plan;
    let pauses = pauses_between_passes::<C>(plan);
    let mut ended = hot.run();
    for pass in 0.. {
        match after(hot, files, ended, pass) {
            Ok(later) => ended = later,
            Err(fatal) => {
                hot.trouble.end(fatal.errno, fatal.message);
                break;
            }
        }
        for complaint in hot.checker.settle() {
            hot.trouble.mismatch(complaint);
        }
        if ended.0 != Stop::StreamOver || !pauses || hot.trouble.is_fatal() || !hot.watch.take_pass() {
            break;
        }
        if plan.layout.unlink_each_loop {
            // A lane may hold the files themselves, registered or mapped, instead of their
            // descriptors.
            match files.renew(plan, task.guard).and_then(|()| open(files, hot.pool.view())) {
                Ok(lane) => hot.lane = lane,
                Err(fatal) => {
                    hot.trouble.end(fatal.errno, fatal.message);
                    break;
                }
            }
        }
        hot.stream.restart();
        if let Some(paced) = hot.pacer.paced() {
            paced.begin_pass();
        }
        ended = hot.run();
    }
    ended
}

/// Whether there is something to do between two passes.
pub(crate) fn pauses_between_passes<C: Checker>(plan: &WorkerPlan) -> bool {
    plan.layout.unlink_each_loop || C::FILLS
}
