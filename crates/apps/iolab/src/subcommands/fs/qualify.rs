//! `iolab fs qualify`: finds which operations of a file system are asynchronous.

use std::path::PathBuf;

use iolab_fs_commands::{qualify_folder, qualify_json, qualify_text};
use iolab_logfs_bench::QualifyOptions;

use crate::exit::ExitFailure;
use crate::output;

/// What to try, and where.
#[derive(Debug, clap::Args)]
#[command(after_help = "An operation blocks if the thread gives up the processor while it submits (io_submit or \
        io_uring_enter); io_uring may also hand operations to worker threads of the kernel. Both are counted by \
        context switches, as Seastar's fsqual does.")]
pub(crate) struct Arguments {
    /// Folder of the file system; gets a temporary file
    folder: PathBuf,
    /// Operations per case
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    operations: u32,
    /// Bytes per operation
    #[arg(long, value_parser = super::size, default_value = "4k")]
    unit: u64,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    let unit = u32::try_from(arguments.unit).ok().filter(|unit| (512..=1 << 24).contains(unit));
    let unit_bytes = unit.ok_or_else(|| ExitFailure::mistake("iolab: --unit: expected 512 to 16m".to_owned()))?;
    // The cases with several operations at once need whole groups.
    let options = QualifyOptions { operations: arguments.operations.next_multiple_of(4), unit_bytes };
    let found = qualify_folder(&arguments.folder, &options)?;
    output::print(&match arguments.json {
        true => format!("{:#}\n", qualify_json(&found)),
        false => qualify_text(&found),
    })?;
    Ok(0)
}
