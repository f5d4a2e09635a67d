//! `iolab fs mkdir`, `rm` and `mv`.

use std::ffi::OsString;
use std::path::PathBuf;

use iolab_fs_commands::{make_directories, remove_paths, rename};
use iolab_logfs::Occupied;

use crate::exit::ExitFailure;

/// What to make.
#[derive(Debug, clap::Args)]
pub(crate) struct MkdirArguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// Paths in the image
    #[arg(required = true)]
    paths: Vec<OsString>,
    /// Create parent directories as needed; ignore directories that exist
    #[arg(short, long)]
    parents: bool,
}

pub(crate) fn mkdir(arguments: &MkdirArguments) -> Result<u8, ExitFailure> {
    make_directories(&arguments.image, &arguments.paths, arguments.parents)?;
    Ok(0)
}

/// What to remove.
#[derive(Debug, clap::Args)]
pub(crate) struct RmArguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// Paths in the image
    #[arg(required = true)]
    paths: Vec<OsString>,
    /// Include directories and everything in them
    #[arg(short, long)]
    recursive: bool,
    /// Ignore files that do not exist
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn rm(arguments: &RmArguments) -> Result<u8, ExitFailure> {
    remove_paths(&arguments.image, &arguments.paths, arguments.recursive, arguments.force)?;
    Ok(0)
}

/// What to rename.
#[derive(Debug, clap::Args)]
pub(crate) struct MvArguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// Path in the image
    from: OsString,
    /// New path in the image; into an existing directory the file is moved
    to: OsString,
    /// Do not overwrite existing files
    #[arg(short, long)]
    no_clobber: bool,
}

pub(crate) fn mv(arguments: &MvArguments) -> Result<u8, ExitFailure> {
    let occupied = if arguments.no_clobber { Occupied::Refuse } else { Occupied::Replace };
    rename(&arguments.image, &arguments.from, &arguments.to, occupied)?;
    Ok(0)
}
