//! Where recordings are kept: in the file that the user names, or in the recordings folder.
//!
//! During a run, its partial recording grows beside that place, as `NAME.partial`, locked by the
//! run. It is removed when the recording has been saved. A killed run leaves it, and the next run
//! with the same name renames it to `NAME.partial.1`.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use iolab_activity::{Console, Failure, FailureContext};
use iolab_bounded_read::ReadError;
use iolab_clock::Clock;
use iolab_configuration::UserSetting;
use iolab_outputs::{Output, OutputError, OutputKind, OutputPlace, Outputs, make_private_folder};
use iolab_plan::Plan;
use iolab_recording::Recording;
use iolab_recording::partial::{self, Partial};

/// Names tried in a folder where runs begin in the same millisecond.
const NAMES_TRIED: u64 = 1000;
/// What messages call the outputs.
const RECORDING: &str = "the recording (--record)";
const PARTIAL: &str = "the partial recording (--record)";

/// The file of a recording, from before the run until it is saved.
#[derive(Debug)]
pub struct Keeping {
    path: PathBuf,
    /// `None` if the recording goes to a device or a pipe, which has no place beside it.
    partial: Option<Output>,
    stream: File,
    /// Whether only the partial recording exists of a run that has measured something.
    precious: bool,
}

/// Whether a recording and its partial one may be written to the file that `--record` names.
///
/// # Errors
/// Why not.
pub fn judge(outputs: &mut Outputs, path: &Path) -> Result<(), OutputError> {
    if !outputs.place(path, OutputKind::Recording, RECORDING)?.is_stream() {
        outputs.place(&beside(path, ".partial"), OutputKind::Partial, PARTIAL)?;
    }
    Ok(())
}

impl Keeping {
    /// Makes the partial recording: beside the file that `--record` names, or in the recordings
    /// folder.
    ///
    /// # Errors
    /// It cannot be made there.
    pub fn begin(
        plan: &Plan,
        outputs: &mut Outputs,
        named: Option<&Path>,
        console: &dyn Console,
    ) -> Result<Keeping, Failure> {
        if let Some(path) = named {
            return Keeping::begin_named(outputs, path, console);
        }
        let folder = folder()?;
        make_private_folder(&folder)?;
        let now_ms = Clock::monotonic().unix_ns() / 1_000_000;
        for unix_ms in now_ms..now_ms + NAMES_TRIED {
            let path = folder.join(file_name(plan, unix_ms));
            let whole = outputs.place(&path, OutputKind::Recording, RECORDING);
            let partial = outputs.place(&beside(&path, ".partial"), OutputKind::Partial, PARTIAL);
            let is_free = |place: &Result<OutputPlace, OutputError>| !matches!(place, Ok(place) if place.is_taken());
            if !is_free(&whole) || !is_free(&partial) {
                continue;
            }
            whole?;
            match Keeping::make(path, partial?) {
                Err(OutputError::Changed { .. }) => {}
                made => return Ok(made?),
            }
        }
        Err(Failure::failed(format!("{} is full of recordings of this very moment", folder.display())))
    }

    /// Nothing can be made beside a pipe or a device: a killed run of this kind leaves nothing.
    fn begin_named(outputs: &mut Outputs, path: &Path, console: &dyn Console) -> Result<Keeping, Failure> {
        if outputs.place(path, OutputKind::Recording, RECORDING)?.is_stream() {
            let stream = tempfile::tempfile().context("making a temporary file")?;
            return Ok(Keeping { path: path.to_owned(), partial: None, stream, precious: false });
        }
        let mut place = outputs.place(&beside(path, ".partial"), OutputKind::Partial, PARTIAL)?;
        set_aside(&mut place, console)?;
        Ok(Keeping::make(path.to_owned(), place)?)
    }

    fn make(path: PathBuf, partial: OutputPlace) -> Result<Keeping, OutputError> {
        let mut partial = partial.begin()?;
        let clone = partial.as_file().try_clone();
        let failed = |source| OutputError::Io { what: "opening", path: path.clone(), source };
        let stream = clone.map_err(failed)?;
        // The lock only tells readers that the run is in progress; without locks in the file
        // system, there is none.
        let _ = stream.try_lock();
        partial.publish()?;
        Ok(Keeping { path, partial: Some(partial), stream, precious: false })
    }

    /// Where the run appends to, if others can find it there.
    pub fn partial_path(&self) -> Option<&Path> {
        self.partial.as_ref().map(Output::path)
    }

    /// What the run appends to.
    pub fn stream(&self) -> Option<File> {
        self.stream.try_clone().ok()
    }

    /// Where the partial recording grows, if it has a place of its own.
    pub fn partial(&self) -> Option<&Path> {
        self.partial.as_ref().map(Output::path)
    }

    /// Saves the recording and removes the partial one. Returns the file.
    ///
    /// # Errors
    /// It cannot be written; the partial one is left.
    pub fn save(mut self, outputs: &mut Outputs, recording: &Recording) -> Result<PathBuf, Failure> {
        let place = outputs.place(&self.path, OutputKind::Recording, RECORDING);
        let written = place.and_then(|place| place.write(recording.to_json().as_bytes()));
        self.precious = written.is_err();
        written.with_context(|| match &self.partial {
            Some(left) => {
                format!("saving the recording as {} ({} is left)", self.path.display(), left.path().display())
            }
            None => format!("saving the recording as {}", self.path.display()),
        })?;
        Ok(self.path.clone())
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        if let Some(partial) = self.partial.take().filter(|_| !self.precious) {
            partial.remove();
        }
    }
}

/// Renames the file of a killed run, unless that run is still alive.
fn set_aside(partial: &mut OutputPlace, console: &dyn Console) -> Result<(), Failure> {
    let Some(old) = partial.existing() else { return Ok(()) };
    if is_locked(&old) {
        return Err(Failure::failed(format!("another run is recording to {}", partial.path().display())));
    }
    // A run that was killed before it began has nothing to keep.
    if old.metadata().is_ok_and(|metadata| metadata.len() > 0) {
        let left = partial.path().display().to_string();
        let aside = partial.set_aside()?;
        console.note(&format!("warning: {left}, left by a killed run, was renamed to {}", aside.display()));
    }
    Ok(())
}

/// Whether a run holds the lock of its file.
pub(crate) fn is_locked(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// `path` with a suffix.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// A recording, with a note if it is the partial one of a killed run.
#[derive(Debug)]
pub struct Loaded {
    /// The recording.
    pub recording: Recording,
    /// What readers must know beside it.
    pub notes: Vec<String>,
}

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file.
    #[error("reading {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: ReadError,
    },
    /// What is in it.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl LoadError {
    /// The reason without the name of the file.
    pub fn reason(&self) -> String {
        match self {
            LoadError::Unreadable { source, .. } => source.to_string(),
            LoadError::Damaged { reason, .. } => reason.clone(),
        }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        Failure::mistake(error.to_string())
    }
}

/// Reads a recording, or the partial one of a killed run.
///
/// # Errors
/// It cannot be read, or is no recording.
pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    let unreadable = |source| LoadError::Unreadable { path: path.to_owned(), source };
    let damaged = |reason: String| LoadError::Damaged { path: path.to_owned(), reason };
    let file = iolab_bounded_read::open(path).map_err(unreadable)?;
    let bytes = iolab_bounded_read::read_open(&file, iolab_bounded_read::RECORDING).map_err(unreadable)?;
    if partial::is_partial(&bytes) {
        return load_partial(&file, &bytes).map_err(damaged);
    }
    if bytes.is_empty() {
        return Err(damaged("the file is empty: the run was killed before it started".to_owned()));
    }
    let text = String::from_utf8(bytes).map_err(|_| damaged("not an iolab recording".to_owned()))?;
    let recording = Recording::from_json(&text).map_err(|error| damaged(error.to_string()))?;
    Ok(Loaded { recording, notes: Vec::new() })
}

fn load_partial(file: &File, bytes: &[u8]) -> Result<Loaded, String> {
    let partial = Partial::read(bytes).map_err(|error| error.to_string())?;
    let end = if is_locked(file) { "is still going on" } else { "was killed" };
    let damage = partial.damage;
    let recording = partial.into_recording();
    let measured_ns = recording.elapsed_ns;
    let mut notes = vec![format!(
        "this run {end}: the report covers its complete intervals, up to {:.3} s after the start",
        measured_ns as f64 / 1e9
    )];
    notes.extend(damage.map(|damage| format!("the end of its recording is missing or damaged: {damage}")));
    Ok(Loaded { recording, notes })
}

/// The user's `recordings`, else the user's data folder (XDG Base Directory Specification).
///
/// # Errors
/// There is no such folder.
pub fn folder() -> Result<PathBuf, Failure> {
    let none =
        || Failure::failed("no folder for recordings: set IOLAB_RECORDINGS or HOME, or name a file with --record");
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    iolab_configuration::folder(UserSetting::Recordings)
        .or_else(|| Some(variable("XDG_DATA_HOME")?.join("iolab/recordings")))
        .or_else(|| Some(variable("HOME")?.join(".local/share/iolab/recordings")))
        .ok_or_else(none)
}

fn file_name(plan: &Plan, unix_ms: u64) -> String {
    let first = plan.workers.first().map_or("run", |worker| worker.job.as_str());
    let safe: String =
        first.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).take(40).collect();
    format!("{safe}-{unix_ms}.iolab")
}
