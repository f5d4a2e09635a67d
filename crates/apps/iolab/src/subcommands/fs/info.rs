//! `iolab fs info`.

use std::path::PathBuf;

use crate::exit::ExitFailure;
use crate::output;

/// What to show.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    output::print(&iolab_fs_commands::info(&arguments.image, arguments.json)?)?;
    Ok(0)
}
