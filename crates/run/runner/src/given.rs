//! What a worker receives from outside instead of deriving it from its plan: the operations of a
//! trace, and recorded arrivals.

use iolab_bounded_read::{ARRIVALS, ReadError};
use iolab_plan::{ArrivalsPlan, arrivals_checksum, parse_arrivals};

use crate::feed::FeedSource;
use crate::open_files;
use crate::pacing::following::Following;
use crate::pacing::schedule::Schedule;
use crate::task::Task;
use crate::trouble::Fatal;

/// The operations of the trace, if the worker replays one.
pub(crate) fn supplied(task: &Task<'_>) -> Result<Option<(FeedSource, Following)>, Fatal> {
    let Some(replay) = &task.plan.replay else { return Ok(None) };
    let refused = |message| Fatal { errno: libc::EINVAL, message };
    let supply = task.supply.ok_or_else(|| refused("this program does not replay traces".to_owned()))?;
    let supplied = supply(task.plan).map_err(refused)?;
    let progress = task.progress.ok_or_else(|| refused("a replay needs a run".to_owned()))?;
    let span_ns = (replay.span_ns as f64 / replay.rules.speed) as u64;
    let (mut source, following) =
        Following::of(supplied, task.plan.number as usize, progress.clone(), task.plan.queue.depth as usize, span_ns);
    source.prime();
    Ok(Some((source, following)))
}

/// The arrivals of the file that the plan names, if the file has not changed.
pub(crate) fn read_arrivals(plan: &ArrivalsPlan) -> Result<Schedule, Fatal> {
    let unreadable = |error| match error {
        ReadError::System(error) => open_files::fatal(&plan.path, &error),
        refused => Fatal { errno: libc::EINVAL, message: format!("{}: {refused}", plan.path) },
    };
    let text = iolab_bounded_read::read_text(plan.path.as_ref(), ARRIVALS).map_err(unreadable)?;
    let changed = || Fatal { errno: libc::ESTALE, message: format!("{} changed since the run was planned", plan.path) };
    if arrivals_checksum(&text) != plan.checksum {
        return Err(changed());
    }
    let times_ns = parse_arrivals(&text).map_err(|_| changed())?;
    Ok(Schedule::of_arrivals(times_ns, plan.repeat))
}
