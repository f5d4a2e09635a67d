//! Whether a job may write to an image: judged by what is on it. Cold.

use std::path::{Path, PathBuf};

use iolab_guard::{SIGNATURE_BYTES, signatures};
use iolab_options::Settings;

use crate::cluster::{Image, ImageAccess};

/// Why a job must not write to the image of this name; `None` if it may, or if it cannot be opened,
/// which its own opening will tell.
pub(crate) fn refusal(name: &Path, options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
    if allowed.iter().any(|path| path == name) {
        return None;
    }
    let name = name.to_string_lossy();
    let image = Image::open(&name, options, ImageAccess::ReadOnly).ok()?;
    let mut start = vec![0; SIGNATURE_BYTES];
    let what = match image.read(0, &mut start) {
        Ok(bytes) => match signatures(&start[..bytes]) {
            found if found.is_empty() => return None,
            found => format!("it holds {}", found.join(" and ")),
        },
        Err(error) => format!("cannot examine it: {}", error.message),
    };
    Some(format!("image {name}: {what}; job {job} would overwrite it. To allow that, add --allow-destroy '{name}'"))
}
