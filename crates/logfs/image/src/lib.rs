//! Images of logfs on this machine: a regular file or a block device, opened so that no other
//! process writes to it meanwhile.
//!
//! ```text
//!  path ─▶ lock ─▶ block device ─(reading only: overlay)─▶ Disk ─▶ executor ─▶ Volume
//! ```
//!
//! Reading never changes the image: opening a file system writes, and those writes stay in memory
//! ([`Overlay`]). A writer has exclusive access: the file is locked (flock(2)), and a block device
//! is opened exclusively (open(2), `O_EXCL`), which fails if it is mounted. [`objections`] lists
//! what speaks against overwriting an image; the caller decides. Nothing here prints.

mod copy;
mod counted;
mod error;
mod image;
mod lock;
mod overlay;
mod target;
mod within;

pub use copy::{
    Copied, CopyError, CopyProgress, CopySource, CopyTarget, from_host, from_host_told, to_host, to_host_told,
};
pub use error::ImageError;
pub use image::Image;
pub use lock::{ImageAccess, Lock};
pub use overlay::Overlay;
pub use target::{Objection, make_file, objections, user};
pub use within::{move_within, remove_tree, remove_unfinished};
