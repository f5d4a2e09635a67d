//! `iolab fs defrag`: defragments files, at a limited rate.

use std::ffi::OsString;
use std::path::PathBuf;

use iolab_fs_commands::defragment;

use crate::exit::ExitFailure;

/// What to put together.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// Files and directories in the image, including subdirectories; by default everything
    paths: Vec<OsString>,
    /// Limit on bytes moved per second (`64m`)
    #[arg(long, value_parser = super::size)]
    rate: Option<u64>,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    defragment(&arguments.image, &arguments.paths, arguments.rate, super::say)?;
    Ok(0)
}
