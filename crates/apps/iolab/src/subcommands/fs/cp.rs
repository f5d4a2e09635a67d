//! `iolab fs cp`: copies between this machine and an image.

use std::ffi::OsString;
use std::path::PathBuf;

use iolab_fs_commands::{CopyRequest, copy};
use iolab_image::Copied;
use iolab_text::{counted, size_text};

use crate::exit::{ExitFailure, FAILED};
use crate::output;
use crate::printing::StandardError;

/// What to copy where.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Paths that begin with a colon are in the image:\n  iolab fs cp disk.img notes.txt :/            \
        into the image\n  iolab fs cp -r disk.img :/project ./copy     out of it\nFor a file on this machine whose \
        name begins with a colon, write ./:name."
)]
pub(crate) struct Arguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// One or more sources, then the destination; paths in the image begin with a colon
    #[arg(required = true, num_args = 2.., value_name = "SOURCE… DESTINATION")]
    paths: Vec<OsString>,
    /// Include directories and everything in them
    #[arg(short, long)]
    recursive: bool,
    /// Print what was copied
    #[arg(short, long)]
    verbose: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    let Arguments { image, paths, recursive, verbose } = arguments;
    // A signal ends the copy between two pieces.
    iolab_process::count_signals();
    let request = CopyRequest { image, paths, recursive: *recursive };
    let Copied { files, directories, bytes, left_out } = copy(&request, &StandardError)?;
    left_out.iter().for_each(|left_out| eprintln!("iolab: skipped {left_out}"));
    if *verbose {
        output::print(&format!(
            "{} and {}, {}\n",
            counted(files, "file"),
            counted(directories, "directory"),
            size_text(bytes)
        ))?;
    }
    // As in cp(1), skipped files mean failure.
    Ok(if left_out.is_empty() { 0 } else { FAILED })
}
