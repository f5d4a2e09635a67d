//! `iolab fs ls`.

use std::ffi::OsString;
use std::path::PathBuf;

use iolab_fs_commands::{ListRequest, list};

use crate::exit::ExitFailure;
use crate::output;

/// What to list.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// Path in the image
    #[arg(default_value = "/")]
    path: OsString,
    /// Show type, mode, links, owner, group, size and time
    #[arg(short = 'l', long)]
    long: bool,
    /// List subdirectories recursively
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    let Arguments { image, path, long, recursive, json } = arguments;
    output::print(&list(&ListRequest { image, path, long: *long, recursive: *recursive, json: *json })?)?;
    Ok(0)
}
