//! `iolab fs dump-log`: every frame and record of the metadata log, even of damaged images.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use iolab_fs_commands::{dump_line_json, dump_line_text, dump_log};
use iolab_logfs::DumpLine;

use crate::exit::ExitFailure;

/// What to show.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// Domain whose log to print
    #[arg(long, default_value_t = 0)]
    domain: u32,
    /// Print only frames, not their records
    #[arg(long)]
    frames: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut written = Ok(());
    let ended = dump_log(&arguments.image, arguments.domain, |line: DumpLine| {
        if arguments.frames && line.kind == "record" {
            return;
        }
        let text = if arguments.json { dump_line_json(&line).to_string() } else { dump_line_text(&line) };
        // After a failure, nothing more is written; the log ends soon anyway.
        if written.is_ok() {
            written = writeln!(out, "{}", crate::printing::shown(&text));
        }
    });
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            return Err(ExitFailure::failed(format!("iolab: writing to standard output: {error}")));
        }
        _ => {}
    }
    ended?;
    Ok(0)
}
