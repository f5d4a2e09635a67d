//! Whether a job may write to a file of an export: it is not there, is empty, or was made by iolab.
//! Cold.

use std::path::{Path, PathBuf};

use iolab_options::Settings;

use crate::mount::Mount;
use crate::options::Asked;

/// Why a job must not write to the file of this name; `None` if it may, or if the server cannot be
/// asked, which the job's own opening will tell.
pub(crate) fn refusal(name: &Path, options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
    if allowed.iter().any(|path| path == name) {
        return None;
    }
    let name = name.to_string_lossy();
    let asked = Asked::of(options).ok()?;
    let mount = Mount::open(&asked, 0).ok()?;
    let found = mount.look_at(&name).ok()??;
    if found.is_marked || found.size_bytes == 0 {
        return None;
    }
    Some(format!(
        "{name} on {} holds {} bytes and was not made by iolab; job {job} would overwrite it. To allow that, add \
        --allow-destroy '{name}'",
        asked.url, found.size_bytes
    ))
}
