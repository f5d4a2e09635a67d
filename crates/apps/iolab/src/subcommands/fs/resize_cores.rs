//! `iolab fs resize-cores`.

use std::path::PathBuf;

use iolab_fs_commands::resize_cores;

use crate::exit::Failure;
use crate::output;

/// How many domains there shall be.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Regular file or block device
    image: PathBuf,
    /// Parts of the disk for one processor core each
    domains: u32,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, Failure> {
    output::print(&resize_cores(&arguments.image, arguments.domains, arguments.json)?)?;
    Ok(0)
}
