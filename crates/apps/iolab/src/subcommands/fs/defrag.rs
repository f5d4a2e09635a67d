//! `iolab fs defrag`: puts the content of files together, at no more than a given rate.

use std::ffi::OsString;
use std::path::PathBuf;

use iolab_fs_commands::defragment;

use crate::exit::Failure;

/// What to put together.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Regular file or block device
    image: PathBuf,
    /// Files and directories inside of the image, with all that is below them; everything when
    /// there are none
    paths: Vec<OsString>,
    /// Most bytes to move in a second: 64m
    #[arg(long, value_parser = super::size)]
    rate: Option<u64>,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, Failure> {
    defragment(&arguments.image, &arguments.paths, arguments.rate, super::say)?;
    Ok(0)
}
