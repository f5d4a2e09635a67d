//! `iolab fs stat`, `cat` and `tree`.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use iolab_fs_commands::{describe_file, read_files};

use crate::exit::ExitFailure;
use crate::output;

/// What to describe.
#[derive(Debug, clap::Args)]
pub(crate) struct StatArguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// Path in the image
    path: OsString,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn stat(arguments: &StatArguments) -> Result<u8, ExitFailure> {
    output::print(&describe_file(&arguments.image, &arguments.path, arguments.json)?)?;
    Ok(0)
}

/// What to write to standard output.
#[derive(Debug, clap::Args)]
pub(crate) struct CatArguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// Paths in the image
    #[arg(required = true)]
    paths: Vec<OsString>,
    /// First byte to print
    #[arg(long, value_parser = super::size, default_value = "0")]
    offset: u64,
    /// Number of bytes; by default all that follow
    #[arg(long, value_parser = super::size)]
    length: Option<u64>,
}

pub(crate) fn cat(arguments: &CatArguments) -> Result<u8, ExitFailure> {
    read_files(&arguments.image, &arguments.paths, arguments.offset, arguments.length, pass_on)?;
    Ok(0)
}

/// Writes bytes to standard output; false when the pipe is closed.
fn pass_on(bytes: &[u8]) -> Result<bool, iolab_activity::Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(iolab_activity::Failure::failed(format!("writing to standard output: {error}"))),
    }
}

/// What to draw.
#[derive(Debug, clap::Args)]
pub(crate) struct TreeArguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// Directory in the image
    #[arg(default_value = "/")]
    path: OsString,
    /// Print file sizes
    #[arg(short, long)]
    size: bool,
}

pub(crate) fn tree(arguments: &TreeArguments) -> Result<u8, ExitFailure> {
    output::print(&iolab_fs_commands::tree(&arguments.image, &arguments.path, arguments.size)?)?;
    Ok(0)
}
