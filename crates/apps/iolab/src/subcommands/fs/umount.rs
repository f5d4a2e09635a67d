//! `iolab fs umount`: unmounts, and waits until the server has closed the image.
//!
//! umount(2) returns before a FUSE server has written everything; opening the image then would be
//! too early.

use std::path::PathBuf;

use iolab_fs_commands::wait_until_closed;
use iolab_fuse::mount::{Unmounted, source_on, unmount};

use crate::exit::ExitFailure;

/// What to unmount.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Mount point
    folder: PathBuf,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    // A folder whose server has died cannot be looked at: its name is taken as it is.
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
    wait_until_closed(&image)?;
    Ok(0)
}
