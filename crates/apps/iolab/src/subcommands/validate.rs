//! `iolab validate`: the command line of `iolab-validate`, which compares a job with the
//! application that it stands for.

use std::path::{Path, PathBuf};

use iolab_synthesize::{ModelRequest, TraceStretch};
use iolab_validate::{Application, Fingerprint, RateSource, TurnsRequest, Validation, take_turns};

use super::synthesize::{model_of, stretch};
use crate::exit::{ExitFailure, INTERRUPTED};
use crate::pipeline;
use crate::printing::print;

/// Which job, and what it is held against.
#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArguments {
    /// Job file, as `iolab synthesize` makes it
    job: PathBuf,
    /// Trace of the application; the job is traced too, and the two traces are compared
    #[arg(required_unless_present = "against")]
    trace: Option<PathBuf>,
    /// Run the job and this command in turns, without a tracer, and compare their rates
    #[arg(long, value_name = "COMMAND")]
    against: Option<String>,
    /// How many times each runs
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000), requires = "against")]
    blocks: u32,
    /// Text before the rate in the command's output; pgbench's and sysbench's are known
    #[arg(long, value_name = "TEXT", requires = "against")]
    says: Option<String>,
    /// Commits that the command makes in each run, if its output shows no rate
    #[arg(long, value_name = "COUNT", requires = "against", conflicts_with = "says")]
    commits: Option<u64>,
    /// Use this part of the trace, as for synthesize
    #[arg(long, value_name = "FROM-UNTIL", value_parser = stretch, requires = "trace")]
    window: Option<TraceStretch>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &ValidateArguments) -> Result<u8, ExitFailure> {
    let mut validation = Validation::default();
    let job = arguments.job.display().to_string();
    let words = [job.clone()];
    if let Some(command) = &arguments.against {
        let rate = match (&arguments.says, arguments.commits) {
            (Some(text), _) => RateSource::Says(text.clone()),
            (_, Some(count)) => RateSource::Commits(count),
            _ => RateSource::Known,
        };
        let application = Application { command: command.clone(), rate };
        let request = TurnsRequest { words: &words, application: Some(&application), blocks: arguments.blocks };
        let Some((runs, observed)) = take_turns(&pipeline::pipeline(), &request)? else { return Ok(INTERRUPTED) };
        validation.add_blocks(&runs, &observed);
    }
    if let Some(trace) = &arguments.trace {
        let request = ModelRequest { stretch: arguments.window, ..ModelRequest::default() };
        let theirs = model_of(trace, &request)?;
        let each = commits_per_sync(&job)?;
        let folder = tempfile::tempdir().map_err(|error| ExitFailure::failed(format!("iolab: validate: {error}")))?;
        let ours = model_of(&traced(&job, folder.path())?, &ModelRequest::default())?;
        validation.add_fingerprints(&Fingerprint::of(&ours, each), &Fingerprint::of(&theirs, each));
    }
    print(&if arguments.json { validation.json() } else { validation.text() })?;
    Ok(0)
}

/// How many commits a sync of the job stands for.
fn commits_per_sync(job: &str) -> Result<f64, ExitFailure> {
    let planned = pipeline::pipeline().plan_words(&[job.to_owned()])?;
    Ok(planned.plan.workers.iter().find_map(|worker| worker.measurement.commits_per_sync).unwrap_or(1.0))
}

/// Runs the job under the tracer; returns the path of the trace.
fn traced(job: &str, folder: &Path) -> Result<PathBuf, ExitFailure> {
    let failed = |what: String| ExitFailure::failed(format!("iolab: validate: {what}"));
    let program = std::env::current_exe().map_err(|error| failed(format!("this program's file: {error}")))?;
    let path = folder.join("job.trace");
    let report = folder.join("report");
    let kept = [("--output", report), ("--record", folder.join("job.iolab"))];
    let kept = kept.iter().map(|(option, path)| format!("{option}={}", path.display()));
    let own = [program.display().to_string(), "run".to_owned(), "--no-db".to_owned()];
    let words: Vec<String> = own.into_iter().chain(kept).chain([job.to_owned()]).collect();
    let file = std::fs::File::create(&path).map_err(|error| failed(format!("{}: {error}", path.display())))?;
    let output = Box::new(std::io::BufWriter::new(file));
    iolab_process::count_signals();
    let captured = iolab_capture::capture(iolab_capture::CaptureRequest { command: &words, output, anonymous: false })
        .map_err(|error| failed(error.to_string()))?;
    match captured.status {
        Some(0) => Ok(path),
        _ => Err(failed(format!("the job {} under the tracer", captured.end.outcome))),
    }
}
