//! Where recordings are kept: the file a user names, or a folder of their own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use iolab_recording::Recording;

/// Saves a recording where `--record` says, or under the recordings folder. Returns the file.
pub(crate) fn save(recording: &Recording, named: Option<&Path>) -> Result<PathBuf> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => {
            let folder = folder()?;
            std::fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
            folder.join(file_name(recording))
        }
    };
    write_whole(&path, &recording.to_json()).with_context(|| format!("saving the recording as {}", path.display()))?;
    Ok(path)
}

/// Writes beside the final name first, so that a crash or a full disk never leaves half a recording there. What is
/// not a regular file (a device, a pipe, a link) is written to, never replaced.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    if std::fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return std::fs::write(path, text);
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let written = std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    written
}

/// Reads a recording.
pub(crate) fn load(path: &Path) -> Result<Recording> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    Recording::from_json(&text).with_context(|| path.display().to_string())
}

/// `$IOLAB_RECORDINGS`, else the user's data folder (XDG Base Directory Specification).
fn folder() -> Result<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("IOLAB_RECORDINGS")
        .or_else(|| Some(variable("XDG_DATA_HOME")?.join("iolab/recordings")))
        .or_else(|| Some(variable("HOME")?.join(".local/share/iolab/recordings")))
        .context("no folder for recordings: set IOLAB_RECORDINGS or HOME, or name a file with --record")
}

fn file_name(recording: &Recording) -> String {
    let first = recording.plan.workers.first().map_or("run", |worker| worker.job.as_str());
    let safe: String =
        first.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).take(40).collect();
    format!("{safe}-{}.iolab", recording.started_unix_ns / 1_000_000)
}
