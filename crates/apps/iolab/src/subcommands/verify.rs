//! `iolab verify`: checks data after a loss of power, or a kill, against a saved state.
//!
//! The data is read by a job of the runner, with the engine that wrote it. A file that is too short
//! is not extended; the missing blocks are counted.

use std::path::{Path, PathBuf};

use iolab_resolve::Mode;
use iolab_runner::{KeptState, read_verify_state};
use iolab_text::counted;
use iolab_verify::CrashBound;

use crate::exit::{ExitFailure, FAILED};
use crate::outcomes;
use crate::pipeline;
use crate::printing;
use crate::subcommands::run;

/// Length of a read in bytes, unless verify intervals are longer.
const READ_BYTES: u64 = 64 << 10;

/// Which state, and where the data is now.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArguments {
    /// State file of a job with verify_state_save=1 and verify_policy=durable
    state: PathBuf,
    /// Where the data is now, if not where it was written: a file, a device, a name of the engine
    #[arg(short, long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Only print what each block must hold, without reading
    #[arg(long)]
    list: bool,
    /// File for the recording
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Further options of the job that reads, behind `--`: --ioengine=io_uring --iodepth=16 …
    #[arg(last = true, value_name = "--OPTION=VALUE")]
    options: Vec<String>,
}

pub(crate) fn main(arguments: &VerifyArguments) -> Result<u8, ExitFailure> {
    let mistake = |text: String| ExitFailure::mistake(format!("iolab: verify: {text}"));
    let kept = read_verify_state(&arguments.state).map_err(|error| mistake(error.to_string()))?;
    if arguments.list {
        return printing::print(&list(&kept)).map(|()| 0).map_err(ExitFailure::from);
    }
    if !kept.about.durable {
        let state = arguments.state.display();
        return Err(mistake(format!(
            "{state} does not know what was flushed: save it with verify_policy=durable, or read the file with verify_state_load=1"
        )));
    }
    let place = arguments.file.as_deref().unwrap_or(&kept.about.path);
    let end_bytes = end_of(place, kept.about.end_bytes);
    let missing = missing(&kept, end_bytes);
    if let Some((offset, blocks)) = missing {
        let (name, blocks) = (place.display(), counted(blocks, "block"));
        eprintln!(
            "iolab: verify: {name} ends at {end_bytes}: {blocks} that must be there are missing, the first at {offset}"
        );
    }
    let code = if end_bytes > kept.about.start_bytes {
        let asked = run::take_apart(&words(arguments, &kept, place, end_bytes), Mode::Iolab)?;
        let planned = pipeline::plan(&asked, Mode::Iolab)?;
        run::show_warnings(&planned);
        let recording = run::execute(&planned, &asked.run, Mode::Iolab)?;
        outcomes::show_outcomes(&recording, "iolab");
        outcomes::exit_code(&recording, Mode::Iolab)
    } else {
        0
    };
    Ok(if missing.is_some() { code.max(FAILED) } else { code })
}

/// The end of the data that can be read: a file may be shorter than what was written to it.
fn end_of(place: &Path, end_bytes: u64) -> u64 {
    match std::fs::metadata(place) {
        Ok(metadata) if metadata.is_file() => metadata.len().min(end_bytes),
        _ => end_bytes,
    }
}

/// The first block beyond the end of the file that must exist, and the number of such blocks.
fn missing(kept: &KeptState, end_bytes: u64) -> Option<(u64, u64)> {
    let behind = kept.bounds().filter(|(offset, length, bound)| offset + length > end_bytes && !bound.admits_zeroes());
    behind.fold(None, |found, (offset, ..)| Some(found.map_or((offset, 1), |(first, count)| (first, count + 1))))
}

/// One line for each range of blocks with the same requirement.
fn list(kept: &KeptState) -> String {
    let mut text = format!("{:>16} {:>16}  {}\n", "offset", "bytes", kept.about.path.display());
    let mut ranges: Vec<(u64, u64, &str)> = Vec::new();
    for (offset, length, bound) in kept.bounds().filter(|(.., bound)| *bound != CrashBound::Unknown) {
        match ranges.last_mut() {
            Some((from, bytes, words)) if *from + *bytes == offset && *words == bound.words() => *bytes += length,
            _ => ranges.push((offset, length, bound.words())),
        }
    }
    for (offset, bytes, words) in ranges {
        text.push_str(&format!("{offset:>16} {bytes:>16}  {words}\n"));
    }
    text
}

/// The job that reads, as the arguments of `iolab run`.
fn words(arguments: &VerifyArguments, kept: &KeptState, place: &Path, end_bytes: u64) -> Vec<String> {
    let about = &kept.about;
    let escaped = place.to_string_lossy().replace(':', "\\:");
    let interval = about.interval_bytes;
    let mut words = vec!["--name=verify".to_owned()];
    words.extend(about.options.iter().map(|option| format!("--{option}")));
    words.extend([
        "--rw=read".to_owned(),
        format!("--filename={escaped}"),
        format!("--offset={}", about.start_bytes),
        format!("--size={}", end_bytes - about.start_bytes),
        format!("--bs={}", (READ_BYTES / interval).max(1) * interval),
        format!("--verify_interval={interval}"),
        "--verify_state_load=1".to_owned(),
        "--verify_policy=durable".to_owned(),
        format!("--verify_state_file={}", arguments.state.display()),
        "--allow_file_create=0".to_owned(),
    ]);
    words.extend(arguments.options.iter().cloned());
    words.extend(arguments.record.iter().map(|path| format!("--record={}", path.display())));
    words
}
