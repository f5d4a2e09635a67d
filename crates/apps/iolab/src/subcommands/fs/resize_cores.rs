//! `iolab fs resize-cores`.

use std::path::PathBuf;

use iolab_fs_commands::resize_cores;

use crate::exit::ExitFailure;
use crate::output;

/// The new number of domains.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// New number of domains
    domains: u32,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    output::print(&resize_cores(&arguments.image, arguments.domains, arguments.json)?)?;
    Ok(0)
}
