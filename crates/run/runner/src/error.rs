//! Why a run could not be carried out.

use std::io;
use std::path::PathBuf;

/// Why a run could not begin. Later errors are in the recording.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Shared memory, memory files or spools could not be made.
    #[error("setting up the run: {0}{advice}", advice = advice(.0))]
    SetUp(#[from] io::Error),
    /// A worker's process or thread could not be started.
    #[error("starting job {job}: {source}")]
    Start {
        /// Its job.
        job: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Files could not be laid out.
    #[error("{message}")]
    Layout {
        /// The file.
        path: PathBuf,
        /// The errno.
        errno: i32,
        /// What failed.
        message: String,
    },
}

fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => "; each job needs an open file or two: raise the limit (ulimit -n), or lower numjobs",
        _ => "",
    }
}
