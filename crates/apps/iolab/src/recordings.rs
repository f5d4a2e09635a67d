//! Where recordings are kept: the file a user names, or a folder of their own.
//!
//! While a run goes on, its partial recording grows beside that place, as `NAME.partial`, locked by
//! the run. It is removed when the recording has been saved; a run that was killed leaves it, and
//! the next run with the same name sets it aside as `NAME.partial.1`.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use iolab_clock::Clock;
use iolab_outputs::{Kind, Output, OutputError, Outputs, Place, make_private_folder};
use iolab_plan::Plan;
use iolab_recording::Recording;
use iolab_recording::partial::{self, Partial};

use crate::exit::Failure;

/// Names tried in a folder where runs begin in the same millisecond.
const NAMES_TRIED: u64 = 1000;
/// What messages call the outputs.
const RECORDING: &str = "the recording (--record)";
const PARTIAL: &str = "the partial recording (--record)";

/// The place of a recording, from before the run until it is saved.
#[derive(Debug)]
pub(crate) struct Keeping {
    path: PathBuf,
    /// None when the recording goes to a device or a pipe, beside which there is no place.
    partial: Option<Output>,
    stream: File,
    /// Whether the partial recording is all there is of a run that has measured something.
    precious: bool,
}

/// Whether a recording and its partial one may be written to the file that `--record` names.
pub(crate) fn judge(outputs: &mut Outputs, path: &Path) -> Result<(), OutputError> {
    if !outputs.place(path, Kind::Recording, RECORDING)?.is_stream() {
        outputs.place(&beside(path, ".partial"), Kind::Partial, PARTIAL)?;
    }
    Ok(())
}

impl Keeping {
    /// Makes the partial recording: beside the file that `--record` names, or in the recordings
    /// folder.
    pub(crate) fn begin(plan: &Plan, outputs: &mut Outputs, named: Option<&Path>) -> Result<Keeping, Failure> {
        if let Some(path) = named {
            return Keeping::begin_named(outputs, path);
        }
        let folder = folder()?;
        make_private_folder(&folder)?;
        let now_ms = Clock::monotonic().unix_ns() / 1_000_000;
        for unix_ms in now_ms..now_ms + NAMES_TRIED {
            let path = folder.join(file_name(plan, unix_ms));
            let whole = outputs.place(&path, Kind::Recording, RECORDING);
            let partial = outputs.place(&beside(&path, ".partial"), Kind::Partial, PARTIAL);
            let is_free = |place: &Result<Place, OutputError>| !matches!(place, Ok(place) if place.is_taken());
            if !is_free(&whole) || !is_free(&partial) {
                continue;
            }
            whole?;
            match Keeping::make(path, partial?) {
                Err(OutputError::Changed { .. }) => {}
                made => return Ok(made?),
            }
        }
        Err(Failure::failed(format!("iolab: {} is full of recordings of this very moment", folder.display())))
    }

    /// Beside a pipe or a device nothing can be made: of such a run, nothing is left when it is
    /// killed.
    fn begin_named(outputs: &mut Outputs, path: &Path) -> Result<Keeping, Failure> {
        if outputs.place(path, Kind::Recording, RECORDING)?.is_stream() {
            let stream = tempfile::tempfile().context("making a temporary file")?;
            return Ok(Keeping { path: path.to_owned(), partial: None, stream, precious: false });
        }
        let mut place = outputs.place(&beside(path, ".partial"), Kind::Partial, PARTIAL)?;
        set_aside(&mut place)?;
        Ok(Keeping::make(path.to_owned(), place)?)
    }

    fn make(path: PathBuf, partial: Place) -> Result<Keeping, OutputError> {
        let mut partial = partial.begin()?;
        let clone = partial.as_file().try_clone();
        let failed = |source| OutputError::Io { what: "opening", path: path.clone(), source };
        let stream = clone.map_err(failed)?;
        // Only tells readers that the run goes on; a file system without locks does without.
        let _ = stream.try_lock();
        partial.publish()?;
        Ok(Keeping { path, partial: Some(partial), stream, precious: false })
    }

    /// What the run appends to.
    pub(crate) fn stream(&self) -> Option<File> {
        self.stream.try_clone().ok()
    }

    /// Saves the recording and removes the partial one. Returns the file.
    pub(crate) fn save(mut self, outputs: &mut Outputs, recording: &Recording) -> Result<PathBuf> {
        let place = outputs.place(&self.path, Kind::Recording, RECORDING);
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

/// Gives what a killed run has left another name, unless that run is still alive.
fn set_aside(partial: &mut Place) -> Result<()> {
    let Some(old) = partial.existing() else { return Ok(()) };
    if is_locked(&old) {
        bail!("another run is recording to {}", partial.path().display());
    }
    // Of a run that was killed before it began there is nothing to keep.
    if old.metadata().is_ok_and(|metadata| metadata.len() > 0) {
        let left = partial.path().display().to_string();
        let aside = partial.set_aside()?;
        eprintln!("iolab: warning: {left}, left by a run that was killed, is now {}", aside.display());
    }
    Ok(())
}

/// Whether a run is recording to `path` right now.
pub(crate) fn is_being_recorded(path: &Path) -> bool {
    File::open(beside(path, ".partial")).is_ok_and(|partial| is_locked(&partial))
}

fn is_locked(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// `path` with more at its end.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// A recording, and what must be said with it: that it is all there is of a run that was killed.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) recording: Recording,
    pub(crate) notes: Vec<String>,
}

/// Reads a recording, or what a killed run has left of one.
pub(crate) fn load(path: &Path) -> Result<Loaded> {
    let file = iolab_bounded_read::open(path).with_context(|| format!("reading {}", path.display()))?;
    let bytes = iolab_bounded_read::read_open(&file, iolab_bounded_read::RECORDING)
        .with_context(|| format!("reading {}", path.display()))?;
    if partial::is_partial(&bytes) {
        return load_partial(&file, &bytes).with_context(|| path.display().to_string());
    }
    if bytes.is_empty() {
        bail!("{}: the file is empty: the run was killed before it began", path.display());
    }
    let text = String::from_utf8(bytes).ok().with_context(|| format!("{}: not an iolab recording", path.display()))?;
    let recording = Recording::from_json(&text).with_context(|| path.display().to_string())?;
    Ok(Loaded { recording, notes: Vec::new() })
}

fn load_partial(file: &File, bytes: &[u8]) -> Result<Loaded> {
    let partial = Partial::read(bytes)?;
    let end = if is_locked(file) { "is still going on" } else { "was killed" };
    let damage = partial.damage;
    let recording = partial.into_recording();
    let measured_ns = recording.elapsed_ns;
    let mut notes = vec![format!(
        "this run {end}: these are the intervals that were complete, up to {:.3} s after its start",
        measured_ns as f64 / 1e9
    )];
    notes.extend(damage.map(|damage| format!("its partial recording is damaged: {damage}")));
    Ok(Loaded { recording, notes })
}

/// `$IOLAB_RECORDINGS`, else the user's data folder (XDG Base Directory Specification).
pub(crate) fn folder() -> Result<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("IOLAB_RECORDINGS")
        .or_else(|| Some(variable("XDG_DATA_HOME")?.join("iolab/recordings")))
        .or_else(|| Some(variable("HOME")?.join(".local/share/iolab/recordings")))
        .context("no folder for recordings: set IOLAB_RECORDINGS or HOME, or name a file with --record")
}

fn file_name(plan: &Plan, unix_ms: u64) -> String {
    let first = plan.workers.first().map_or("run", |worker| worker.job.as_str());
    let safe: String =
        first.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).take(40).collect();
    format!("{safe}-{unix_ms}.iolab")
}
