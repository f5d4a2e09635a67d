//! The end of a worker: flushes and removes its files, takes its figures, runs its last command.

use iolab_plan::Reach;
use iolab_process::{Usage, thread_usage};
use iolab_recording::{State, WorkerRecording};

use crate::cpu_use;
use crate::open_files::OpenFiles;
use crate::pacing::Paced;
use crate::task::Task;
use crate::trouble::{Fatal, Trouble};
use crate::watch::Watch;

/// How the files were flushed after the last operation.
pub(crate) struct Flushed {
    /// When the measured part ended: with the last operation, or with the flush if the job asked
    /// for one.
    pub(crate) end_ns: u64,
    /// What the thread had used of the processor until then.
    used: Usage,
    /// Whether the data of all writes is on the device.
    pub(crate) is_durable: bool,
    result: Result<(), Fatal>,
}

/// Flushes the files if the job asks for it.
pub(crate) fn flush(task: &Task<'_>, files: &OpenFiles, mut end_ns: u64) -> Flushed {
    let plan = task.plan;
    let mut used = thread_usage();
    task.worker_control.set_state(State::Finishing);
    let result = files.flush(&plan.layout);
    let mut is_durable = false;
    if plan.layout.end_fsync || plan.layout.fsync_on_close || plan.layout.end_syncfs {
        (end_ns, used) = (task.clock.now_ns(), thread_usage());
        // This does not flush engines that open their own devices.
        is_durable = result.is_ok() && plan.engine.traits().reach == Reach::BlockLayer;
    }
    Flushed { end_ns, used, is_durable, result }
}

/// Adds what was lost, and what the lane noted during the run.
pub(crate) fn add_notes(recording: &mut WorkerRecording, lost: Option<String>, of_lane: &[String]) {
    if let Some(missing) = lost {
        recording.note_lost(&missing);
    }
    let late = of_lane.iter().filter(|note| !recording.notes.contains(note)).cloned();
    let late: Vec<String> = late.collect();
    recording.notes.extend(late);
}

/// Adds the errors of operations. Returns the one that ended the job.
pub(crate) fn add_trouble(recording: &mut WorkerRecording, trouble: Trouble<'_>) -> Option<Fatal> {
    let (fatal, errors, notes) = trouble.into_parts();
    recording.errors = errors;
    recording.notes.extend(notes);
    fatal
}

/// Adds how long the measured part was, and what it used of the processor. Returns whether there
/// was one.
pub(crate) fn add_times(recording: &mut WorkerRecording, watch: &Watch<'_>, flushed: &Flushed) -> bool {
    let (from_ns, used_before) = watch.measured_from();
    recording.steady = watch.steady();
    if watch.is_measuring() {
        recording.runtime_ns = flushed.end_ns.saturating_sub(from_ns);
        recording.cpu = cpu_use::between(&used_before, &flushed.used);
    } else {
        recording.notes.push("the job ended before ramp_time was over, so nothing was measured".to_owned());
    }
    watch.is_measuring()
}

/// Adds what the pacer knows, and finishes the files.
///
/// # Errors
/// The error that ended the job, which is the first that the user should see; else that of a flush
/// or of the last steps.
pub(crate) fn finish(
    task: &Task<'_>,
    files: &OpenFiles,
    recording: &mut WorkerRecording,
    (watch, flushed, fatal, mut paced): (&Watch<'_>, Flushed, Option<Fatal>, Option<&mut Paced>),
) -> Result<(), Fatal> {
    if watch.is_measuring() {
        recording.schedule = paced.as_mut().and_then(|paced| paced.recording(flushed.end_ns));
        recording.notes.extend(recording.saturation());
        recording.drift = paced.as_mut().and_then(|paced| paced.drift());
    }
    let fed = paced.and_then(Paced::take_trouble);
    let fatal = fatal.or_else(|| fed.map(|message| Fatal { errno: libc::EIO, message }));
    let tidied = finish_up(task, files, recording);
    fatal.map_or(Ok(()), Err)?;
    flushed.result?;
    tidied
}

fn finish_up(task: &Task<'_>, files: &OpenFiles, recording: &mut WorkerRecording) -> Result<(), Fatal> {
    if task.plan.layout.unlink {
        files.remove(task.plan, task.guard)?;
    }
    if let Some(command) = &task.plan.process.exec_postrun {
        recording.notes.extend(crate::attributes::run_command(command)?);
    }
    Ok(())
}
