//! Whether a job may write to a logical unit: judged by what is on it. Cold.

use std::path::{Path, PathBuf};

use iolab_guard::{SIGNATURE_BYTES, signatures};
use iolab_options::Settings;

use crate::client::first_bytes;
use crate::session::Session;
use crate::url::UnitUrl;

/// Why a job must not write to the unit of this name; `None` if it may, or if it cannot be opened,
/// which its own opening will tell.
pub(crate) fn refusal(name: &Path, options: &Settings, job: &str, allowed: &[PathBuf]) -> Option<String> {
    let text = name.to_string_lossy();
    let url: UnitUrl = text.parse().ok()?;
    let is_named = |path: &PathBuf| path.to_string_lossy().parse().is_ok_and(|named: UnitUrl| named == url);
    if allowed.iter().any(is_named) {
        return None;
    }
    let session = Session::open(&text, options).ok()?;
    let what = match first_bytes(&session, SIGNATURE_BYTES) {
        Ok(start) => match signatures(&start) {
            found if found.is_empty() => return None,
            found => format!("it holds {}", found.join(" and ")),
        },
        Err(why) => format!("cannot examine it: {why}"),
    };
    Some(format!("{url}: {what}; job {job} would overwrite it. To allow that, add --allow-destroy '{url}'"))
}
