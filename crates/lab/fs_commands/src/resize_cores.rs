//! Changes the number of domains of an image; no content moves.

use std::path::Path;

use iolab_activity::Failure;
use iolab_image::{Image, ImageAccess};
use iolab_logfs::{Error, Resized};
use iolab_text::counted;
use serde_json::json;

use crate::FsError;

/// Gives an image this many domains, and reports what changed, as text or as JSON.
///
/// # Errors
/// It cannot be done; the message says how many domains the image has.
pub fn resize_cores(path: &Path, domains: u32, json: bool) -> Result<String, FsError> {
    let mut image = Image::open(path, ImageAccess::Write)?;
    let resized = image.run(async |disk, _| iolab_logfs::resize_cores(&disk, domains).await)?;
    let place = path.display();
    let resized = resized.map_err(|error| match error {
        Error::Unusable(_) => Failure::mistake(format!("{place}: {error}; nothing was changed")),
        Error::Corrupt(_) => {
            Failure::failed(format!("{place}: {error}; nothing was changed (`iolab fs fsck {place}`)"))
        }
        Error::NoSpace => Failure::failed(format!("{place}: too full for this many domains; nothing was changed")),
        _ => Failure::failed(format!("{place}: {error}; the image has either the old or the new number of domains")),
    })?;
    Ok(if json { as_json(&resized) } else { as_text(path, &resized) })
}

fn as_text(path: &Path, resized: &Resized) -> String {
    let Resized { before, after, inodes, moved_inodes, moved_clusters } = resized;
    let image = path.display();
    format!(
        "{image}: changed from {before} to {}; {moved_inodes} of {} and {} changed their domain\n",
        counted((*after).into(), "domain"),
        counted(*inodes, "inode"),
        counted(*moved_clusters, "cluster")
    )
}

fn as_json(resized: &Resized) -> String {
    let value = json!({
        "domains_before": resized.before,
        "domains": resized.after,
        "inodes": resized.inodes,
        "moved_inodes": resized.moved_inodes,
        "moved_clusters": resized.moved_clusters,
    });
    format!("{value:#}\n")
}
