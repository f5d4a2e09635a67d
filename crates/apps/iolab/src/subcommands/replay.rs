//! `iolab replay`: runs a trace as a job of the common runner.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use iolab_order::Gather;
use iolab_plan::Plan;
use iolab_resolve::Mode;
use iolab_text::counted;

use crate::exit::ExitFailure;
use crate::outcomes;
use crate::pipeline;
use crate::subcommands::run;

/// What to replay, where, and how fast.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArguments {
    /// Trace of `iolab capture`, iolog of fio, text of strace, or the files of one blktrace
    #[arg(required = true)]
    trace: Vec<PathBuf>,
    /// Recreate the files of the trace below this folder
    #[arg(short, long, value_name = "FOLDER")]
    directory: Option<PathBuf>,
    /// Replay operations on FROM, or on files below it, on TO: a file, a folder or a device
    #[arg(short, long, value_name = "FROM=TO")]
    map: Vec<String>,
    /// Replay on the files of the trace themselves; those that no job of iolab made also need
    /// --allow-destroy
    #[arg(long)]
    in_place: bool,
    /// Speed relative to the trace: 2 is twice as fast
    #[arg(long, value_name = "FACTOR", default_value = "1", conflicts_with = "as_fast_as_possible")]
    speed: String,
    /// Ignore the times of the trace and keep only its order
    #[arg(long, visible_alias = "afap")]
    as_fast_as_possible: bool,
    /// Leave out operations of these kinds: read, write, trim, sync
    #[arg(long, value_name = "KIND,…")]
    skip: Option<String>,
    /// Engine; by default io_uring if operations of one thread overlap in the trace, else psync
    #[arg(long, value_name = "ENGINE")]
    ioengine: Option<String>,
    /// Overwrite this file or device, whatever is on it
    #[arg(long, value_name = "PATH")]
    allow_destroy: Vec<String>,
    /// File for the recording
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Let outputs replace files that iolab did not write
    #[arg(long)]
    force: bool,
    /// Further options of jobs, behind `--`: --direct=1 --runtime=60 …
    #[arg(last = true, value_name = "--OPTION=VALUE")]
    options: Vec<String>,
}

pub(crate) fn main(arguments: &ReplayArguments) -> Result<u8, ExitFailure> {
    let asked = run::take_apart(&words(arguments)?, Mode::Iolab)?;
    let planned = pipeline::plan(&asked, Mode::Iolab)?;
    run::show_warnings(&planned);
    all_are_named(arguments, &planned.plan)?;
    let recording = run::execute(&planned, &asked.run, Mode::Iolab)?;
    outcomes::show_outcomes(&recording, "iolab");
    Ok(outcomes::exit_code(&recording, Mode::Iolab))
}

/// With `--map` alone, a file that no map names would be replayed in its place, for example the
/// program's libraries. The user has to ask for that explicitly.
fn all_are_named(arguments: &ReplayArguments, plan: &Plan) -> Result<(), ExitFailure> {
    let is_told = arguments.directory.is_some() || arguments.in_place || arguments.ioengine.as_deref() == Some("null");
    if arguments.map.is_empty() || is_told {
        return Ok(());
    }
    let places: Vec<&str> = arguments.map.iter().filter_map(|map| Some(map.split_once('=')?.1)).collect();
    let files = plan.workers.iter().flat_map(|worker| &worker.files);
    let others: BTreeSet<&Path> = files
        .map(|file| file.path.as_path())
        .filter(|path| !places.iter().any(|place| path.starts_with(place)))
        .gather();
    let Some(first) = others.first() else { return Ok(()) };
    let more = match others.len() - 1 {
        0 => String::new(),
        count => format!(" and {}", counted(count as u64, "other file")),
    };
    Err(ExitFailure::mistake(format!(
        "iolab: replay: no --map names {}{more}: add --directory FOLDER, which makes such files anew, or --in-place, which replays on them where they are",
        first.display()
    )))
}

/// The job, as the arguments of `iolab run`.
fn words(arguments: &ReplayArguments) -> Result<Vec<String>, ExitFailure> {
    let mistake = |text: &str| ExitFailure::mistake(format!("iolab: replay: {text}"));
    let to_null = arguments.ioengine.as_deref() == Some("null");
    if arguments.directory.is_none() && arguments.map.is_empty() && !arguments.in_place && !to_null {
        return Err(mistake(
            "say where: --directory FOLDER makes the files of the trace anew, --map FROM=TO replays on other files or devices, --in-place on the same",
        ));
    }
    let escaped = |text: &str| text.replace(':', "\\:");
    let traces: Vec<String> = arguments.trace.iter().map(|path| escaped(&path.to_string_lossy())).collect();
    let mut words = vec!["--name=replay".to_owned(), format!("--read_iolog={}", traces.join(":"))];
    words.push("--group_reporting=1".to_owned());
    words.push(format!("--ioengine={}", engine(arguments)?));
    if let Some(folder) = &arguments.directory {
        words.push(format!("--directory={}", escaped(&folder.to_string_lossy())));
    }
    if !arguments.map.is_empty() {
        let maps: Vec<String> = arguments.map.iter().map(|map| escaped(map)).collect();
        words.push(format!("--replay_map={}", maps.join(":")));
    }
    if arguments.as_fast_as_possible {
        words.push("--replay_no_stall=1".to_owned());
    } else {
        let factor = arguments.speed.parse::<f64>().ok().filter(|factor| (0.01..=1e6).contains(factor));
        let percent =
            factor.ok_or_else(|| mistake(&format!("--speed {} is not a factor: 0.01 to 1000000", arguments.speed)))?;
        words.push(format!("--replay_time_scale={}", (percent * 100.0).round()));
    }
    words.extend(arguments.skip.iter().map(|kinds| format!("--replay_skip={kinds}")));
    words.extend(arguments.options.iter().cloned());
    words.extend(arguments.allow_destroy.iter().map(|target| format!("--allow-destroy={target}")));
    words.extend(arguments.record.iter().map(|path| format!("--record={}", path.display())));
    if arguments.force {
        words.push("--force".to_owned());
    }
    Ok(words)
}

/// The requested engine, or the simplest one that can do what the trace does.
fn engine(arguments: &ReplayArguments) -> Result<String, ExitFailure> {
    if let Some(engine) = &arguments.ioengine {
        return Ok(engine.clone());
    }
    let overlap =
        iolab_replay::overlaps(&arguments.trace).map_err(|reason| ExitFailure::mistake(format!("iolab: {reason}")))?;
    Ok(if overlap { "io_uring" } else { "psync" }.to_owned())
}
