//! `iolab fs mkdir`, `rm` and `mv`.

use std::ffi::OsString;
use std::path::PathBuf;

use iolab_fs_commands::{make_directories, remove_paths, rename};
use iolab_logfs::Occupied;

use crate::exit::Failure;

/// What to make.
#[derive(Debug, clap::Args)]
pub(crate) struct MkdirArguments {
    /// Regular file or block device
    image: PathBuf,
    /// Paths inside of the image
    #[arg(required = true)]
    paths: Vec<OsString>,
    /// Parents, too; a directory that exists already is no error
    #[arg(short, long)]
    parents: bool,
}

pub(crate) fn mkdir(arguments: &MkdirArguments) -> Result<u8, Failure> {
    make_directories(&arguments.image, &arguments.paths, arguments.parents)?;
    Ok(0)
}

/// What to remove.
#[derive(Debug, clap::Args)]
pub(crate) struct RmArguments {
    /// Regular file or block device
    image: PathBuf,
    /// Paths inside of the image
    #[arg(required = true)]
    paths: Vec<OsString>,
    /// Directories with all that is in them
    #[arg(short, long)]
    recursive: bool,
    /// What does not exist is no error
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn rm(arguments: &RmArguments) -> Result<u8, Failure> {
    remove_paths(&arguments.image, &arguments.paths, arguments.recursive, arguments.force)?;
    Ok(0)
}

/// What to rename.
#[derive(Debug, clap::Args)]
pub(crate) struct MvArguments {
    /// Regular file or block device
    image: PathBuf,
    /// Path inside of the image
    from: OsString,
    /// New path inside of the image; a directory takes it in
    to: OsString,
    /// Do not replace what exists
    #[arg(short, long)]
    no_clobber: bool,
}

pub(crate) fn mv(arguments: &MvArguments) -> Result<u8, Failure> {
    let occupied = if arguments.no_clobber { Occupied::Refuse } else { Occupied::Replace };
    rename(&arguments.image, &arguments.from, &arguments.to, occupied)?;
    Ok(0)
}
