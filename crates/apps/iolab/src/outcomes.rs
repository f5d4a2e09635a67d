//! What is said of a run when it has ended, beside its report.

use iolab_recording::{Recording, WorkerOutcome, WorkerRecording};
use iolab_resolve::Mode;

use crate::exit::{FAILED, INTERRUPTED};

/// What each worker has to say that its figures do not.
pub(crate) fn show_outcomes(recording: &Recording, program: &str) {
    if recording.interrupted {
        eprintln!("{program}: interrupted: the results cover only the part that ran; run the job again for all of it");
    }
    for (plan, worker) in recording.plan.workers.iter().zip(&recording.workers) {
        match &worker.outcome {
            WorkerOutcome::Failed { errno, message } => eprintln!("{program}: {}: {message} (errno {errno})", plan.job),
            WorkerOutcome::Crashed { message, .. } => eprintln!("{program}: {}: {message}", plan.job),
            WorkerOutcome::NotRun if !recording.interrupted => {
                eprintln!("{program}: {}: did not run, because an earlier job ended the run", plan.job);
            }
            _ => {}
        }
        if program == "iolab" || !matches!(worker.outcome, WorkerOutcome::Finished) || !worker.lost.is_empty() {
            worker.notes.iter().for_each(|note| eprintln!("{program}: {}: {note}", plan.job));
        }
    }
    if program == "iolab" {
        recording.warnings.iter().filter(|warning| !recording.plan.warnings.contains(warning)).for_each(|warning| {
            eprintln!("{program}: warning: {warning}");
        });
    }
}

/// The exit code of a run: as fio, the number of failed jobs; otherwise whether one failed.
pub(crate) fn exit_code(recording: &Recording, mode: Mode) -> u8 {
    let failed = recording.workers.iter().filter(|worker: &&WorkerRecording| worker.has_failed()).count();
    match (recording.interrupted, mode) {
        (true, _) => INTERRUPTED,
        (false, Mode::Fio) => failed.min(255) as u8,
        (false, Mode::Iolab) if failed > 0 => FAILED,
        (false, Mode::Iolab) => 0,
    }
}
