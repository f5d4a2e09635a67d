//! Where recordings are kept: the file a user names, or a folder of their own.
//!
//! While a run goes on, its partial recording grows beside that place, as `NAME.partial`, locked by the run. It is
//! removed when the recording has been saved; a run that was killed leaves it.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use iolab_bounded_read::RECORDING;
use iolab_clock::Clock;
use iolab_plan::Plan;
use iolab_recording::Recording;
use iolab_recording::partial::{self, Partial};

/// Names tried in a folder where runs begin in the same millisecond.
const NAMES_TRIED: u64 = 1000;

/// The place of a recording, from before the run until it is saved.
#[derive(Debug)]
pub(crate) struct Keeping {
    path: PathBuf,
    /// None when the recording goes to a device or a pipe, beside which there is no place.
    partial: Option<PathBuf>,
    stream: File,
    /// Whether the partial recording is all there is of a run that has measured something.
    precious: bool,
}

impl Keeping {
    /// Makes the partial recording: beside the file that `--record` names, or in the recordings folder.
    pub(crate) fn begin(plan: &Plan, named: Option<&Path>) -> Result<Keeping> {
        if let Some(path) = named {
            return Keeping::begin_named(path);
        }
        let folder = folder()?;
        std::fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let now_ms = Clock::monotonic().unix_ns() / 1_000_000;
        for unix_ms in now_ms..now_ms + NAMES_TRIED {
            let path = folder.join(file_name(plan, unix_ms));
            match Keeping::make(path.clone(), beside(&path, ".partial")) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => return made.with_context(|| format!("making a file in {}", folder.display())),
            }
        }
        bail!("{} is full of recordings of this very moment", folder.display())
    }

    /// Where nothing can be made beside the file, a killed run leaves nothing; whether the recording itself can be
    /// written is seen when it is.
    fn begin_named(path: &Path) -> Result<Keeping> {
        let special = std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        let partial = beside(path, ".partial");
        if !special {
            clear_away(&partial)?;
            match Keeping::make(path.to_owned(), partial.clone()) {
                Ok(keeping) => return Ok(keeping),
                Err(error) => eprintln!("iolab: warning: no partial recording {}: {error}", partial.display()),
            }
        }
        let stream = tempfile::tempfile().context("making a temporary file")?;
        Ok(Keeping { path: path.to_owned(), partial: None, stream, precious: false })
    }

    fn make(path: PathBuf, partial: PathBuf) -> io::Result<Keeping> {
        let stream = OpenOptions::new().read(true).append(true).create_new(true).open(&partial)?;
        // Only tells readers that the run goes on; a file system without locks does without.
        let _ = stream.try_lock();
        Ok(Keeping { path, partial: Some(partial), stream, precious: false })
    }

    /// What the run appends to.
    pub(crate) fn stream(&self) -> Option<File> {
        self.stream.try_clone().ok()
    }

    /// Saves the recording and removes the partial one. Returns the file.
    pub(crate) fn save(mut self, recording: &Recording) -> Result<PathBuf> {
        let written = write_whole(&self.path, &recording.to_json());
        self.precious = written.is_err();
        written.with_context(|| match &self.partial {
            Some(left) => format!("saving the recording as {} ({} is left)", self.path.display(), left.display()),
            None => format!("saving the recording as {}", self.path.display()),
        })?;
        Ok(self.path.clone())
    }
}

/// Writes beside the final name first, so that a crash or a full disk never leaves half a recording there. What is
/// not a regular file (a device, a pipe, a link) is written to, never replaced.
fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    if std::fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return std::fs::write(path, text);
    }
    let unfinished = beside(path, ".new");
    let written = std::fs::write(&unfinished, text).and_then(|()| std::fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    written
}

impl Drop for Keeping {
    fn drop(&mut self) {
        if let Some(partial) = self.partial.as_ref().filter(|_| !self.precious) {
            // One that cannot be removed does no harm.
            let _ = std::fs::remove_file(partial);
        }
    }
}

/// Removes what a killed run has left, unless the run is still alive.
fn clear_away(partial: &Path) -> Result<()> {
    let old = match File::open(partial) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        old => old.with_context(|| format!("opening {}", partial.display()))?,
    };
    if is_locked(&old) {
        bail!("another run is recording to {}", partial.display());
    }
    eprintln!("iolab: warning: replacing {}, left by a run that was killed", partial.display());
    std::fs::remove_file(partial).with_context(|| format!("removing {}", partial.display()))
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
    let bytes =
        iolab_bounded_read::read_open(&file, RECORDING).with_context(|| format!("reading {}", path.display()))?;
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
