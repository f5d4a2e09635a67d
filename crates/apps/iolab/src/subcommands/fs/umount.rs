//! `iolab fs umount`: unmounts, and waits until the server has closed the image.
//!
//! umount(2) returns before a FUSE server has written everything, so opening the image right after
//! it would be too early.

use std::path::{Path, PathBuf};

use iolab_fs_commands::wait_until_closed;
use iolab_fuse::mount::{Unmounted, held_elsewhere, source_on, unmount};

use crate::exit::ExitFailure;

/// What to unmount.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Mount point
    folder: PathBuf,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    // A folder whose server has died cannot be examined: its name is used unchanged.
    let folder = arguments.folder.canonicalize().or_else(|_| std::path::absolute(&arguments.folder));
    let folder = folder.unwrap_or_else(|_| arguments.folder.clone());
    let shown = folder.display();
    let Some(image) = source_on(&folder, "logfs") else {
        return Err(ExitFailure::mistake(format!(
            "iolab: {shown}: no logfs is mounted there; `mount -t fuse.logfs` lists what is mounted"
        )));
    };
    match unmount(&folder) {
        Unmounted::Gone => {}
        Unmounted::Busy => {
            let what = "in use; `fuser -vm` shows by whom; `umount -l` detaches it and lets its users finish";
            return Err(ExitFailure::refused(format!("iolab: {shown}: {what}")));
        }
        Unmounted::Failed(reason) => return Err(ExitFailure::failed(format!("iolab: {shown}: {reason}"))),
    }
    wait_until_closed(&image, || tell_why_it_waits(&folder, &image))?;
    Ok(0)
}

/// Reports what the command is waiting for, and how to end it. A mount that other mount namespaces
/// have copied stays until all of them release it.
fn tell_why_it_waits(folder: &Path, image: &Path) {
    let shown = folder.display();
    let held = held_elsewhere(image, "logfs");
    for mount in &held {
        let (process, path) = (mount.process, mount.path.display());
        eprintln!(
            "iolab: {shown}: unmounted here, but the mount namespace of process {process} still holds it on {path}; \
            `nsenter --mount --target {process} umount {path}` ends that"
        );
    }
    if held.is_empty() {
        eprintln!(
            "iolab: {shown}: unmounted; waiting until the server has written the rest to {} and closed it. \
            If that does not end, another mount namespace (of a container, or of another user) may hold the mount: \
            unmount it there",
            image.display()
        );
    } else {
        eprintln!("iolab: {shown}: waiting until its server ends; press Ctrl-C to stop waiting");
    }
}
