//! `iolab fs umount`: unmounts, and waits until the server has closed the image.
//!
//! umount(2) returns before a FUSE server has written its last; whoever opens the image then would
//! be too early.

use std::path::{Path, PathBuf};
use std::time::Duration;

use iolab_fuse::mount::{Unmounted, source_on, unmount};
use iolab_image::{Access, ImageError, Lock};

use crate::exit::Failure;

/// What to unmount.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Folder that it is mounted on
    folder: PathBuf,
}

/// Looks at the image until it is closed.
const LOOKS: u32 = 6000;
const PAUSE: Duration = Duration::from_millis(10);

pub(crate) fn main(arguments: &Arguments) -> Result<u8, Failure> {
    // A folder whose server has died cannot be looked at: its name is taken as it is.
    let folder = arguments.folder.canonicalize().or_else(|_| std::path::absolute(&arguments.folder));
    let folder = folder.unwrap_or_else(|_| arguments.folder.clone());
    let shown = folder.display();
    let Some(image) = source_on(&folder, "logfs") else {
        return Err(Failure::mistake(format!(
            "iolab: {shown}: no logfs is mounted there; `mount -t fuse.logfs` lists what is mounted"
        )));
    };
    match unmount(&folder) {
        Unmounted::Gone => {}
        Unmounted::Busy => {
            let what =
                "in use; `fuser -vm` shows by whom; `umount -l` detaches it and lets its users finish";
            return Err(Failure::refused(format!("iolab: {shown}: {what}")));
        }
        Unmounted::Failed(reason) => return Err(Failure::failed(format!("iolab: {shown}: {reason}"))),
    }
    wait_for(&image)
}

/// Waits until nobody writes to the image any more.
fn wait_for(image: &Path) -> Result<u8, Failure> {
    for _ in 0..LOOKS {
        match Lock::take(image, Access::Read) {
            Err(ImageError::InUse { .. }) => std::thread::sleep(PAUSE),
            // An image that is gone meanwhile is closed, too.
            Ok(_) | Err(ImageError::Missing(_)) => return Ok(0),
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::failed(format!("iolab: {}: unmounted, but its server is still running", image.display())))
}
