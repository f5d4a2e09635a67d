//! The end of a worker: takes its figures, removes its files, runs its last command.

use iolab_measure::Recorder;
use iolab_process::Usage;
use iolab_recording::WorkerRecording;

use crate::cpu_use;
use crate::open_files::OpenFiles;
use crate::task::Task;
use crate::trouble::Fatal;
use crate::watch::Watch;

pub(crate) fn close<R: Recorder>(
    mut recorder: R,
    watch: &Watch<'_>,
    end_ns: u64,
    used: Usage,
    recording: &mut WorkerRecording,
) {
    let (from_ns, used_before) = watch.measured_from();
    recorder.finish(end_ns);
    recording.steady = watch.steady();
    if watch.is_measuring() {
        recording.runtime_ns = end_ns.saturating_sub(from_ns);
        recorder.write_to(recording.runtime_ns, recording);
        recording.cpu = cpu_use::between(&used_before, &used);
    } else {
        recording.notes.push("the job ended before ramp_time was over, so nothing was measured".to_owned());
    }
}

pub(crate) fn finish_up(task: &Task<'_>, files: &OpenFiles, recording: &mut WorkerRecording) -> Result<(), Fatal> {
    if task.plan.layout.unlink {
        files.remove(task.plan, task.guard)?;
    }
    if let Some(command) = &task.plan.process.exec_postrun {
        recording.notes.extend(crate::attributes::run_command(command)?);
    }
    Ok(())
}
