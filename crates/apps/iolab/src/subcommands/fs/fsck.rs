//! `iolab fs fsck`: exit codes are those of fsck(8).

use std::path::PathBuf;

use iolab_fs_commands::{CHECK_IMPOSSIBLE, CheckRequest, FsError, check};

use crate::exit::ExitFailure;
use crate::output;
use crate::printing::StandardError;

/// What to check.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// Repair what can be repaired; without this option, nothing is changed
    #[arg(long, short)]
    repair: bool,
    /// Also read all file data and verify its checksums; errors found there cannot be repaired
    #[arg(long)]
    content: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    let Arguments { image, repair, content, json } = arguments;
    let request = CheckRequest { image, repair: *repair, content: *content, json: *json };
    let checked = check(&request, &StandardError);
    let (code, text) =
        checked.map_err(|error| ExitFailure { code: CHECK_IMPOSSIBLE, ..ExitFailure::from(FsError::from(error)) })?;
    output::print(&text)?;
    Ok(code)
}
