//! `iolab fs ls`.

use std::ffi::OsString;
use std::path::PathBuf;

use iolab_fs_commands::{ListRequest, list};

use crate::exit::Failure;
use crate::output;

/// What to list.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Regular file or block device
    image: PathBuf,
    /// Path inside of the image
    #[arg(default_value = "/")]
    path: OsString,
    /// Kind, mode, links, owner, group, size and time of each
    #[arg(short = 'l', long)]
    long: bool,
    /// What is in directories, too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// A JSON object for each, on a line of its own
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, Failure> {
    let Arguments { image, path, long, recursive, json } = arguments;
    output::print(&list(&ListRequest { image, path, long: *long, recursive: *recursive, json: *json })?)?;
    Ok(0)
}
