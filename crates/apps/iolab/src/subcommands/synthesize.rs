//! `iolab synthesize`: the command line of `iolab-synthesize`, which makes a job from a trace.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use iolab_bounded_read::JOB_FILE;
use iolab_outputs::OutputKind;
use iolab_synthesize::{JobTextRequest, ModelRequest, ProcessorLoad, ProgramModel, RoleRules, TraceStretch, job_text};
use iolab_trace::Ordered;

use super::capture::trace_file::{open, unreadable};
use crate::exit::ExitFailure;
use crate::outputs;
use crate::printing::{complain_for_people, print};

/// How many operations may end during another one before the order is lost.
const WINDOW: usize = 1 << 14;

/// Of which trace, and what is known beside it.
#[derive(Debug, clap::Args)]
pub(crate) struct SynthesizeArguments {
    /// Trace, from `iolab capture`
    trace: PathBuf,
    /// Write the job to this file instead of standard output
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Let the job replace a file that iolab did not write
    #[arg(long)]
    force: bool,
    /// Folder for the files of the job, as it is written into the job
    #[arg(long, default_value = ".")]
    directory: String,
    /// How long the job runs
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    runtime: u64,
    /// Use this part of the trace (seconds from its start) instead of its longest steady part
    #[arg(long, value_name = "FROM-UNTIL", value_parser = stretch)]
    window: Option<TraceStretch>,
    /// Number of commits that the program reported for the traced time; one sync may cover several
    #[arg(long, value_name = "COUNT")]
    commits: Option<u64>,
    /// TOML file with the roles of files whose paths do not show them
    #[arg(long, value_name = "FILE")]
    roles: Option<PathBuf>,
}

/// Parses a part of a trace, such as `12.5-40`.
pub(crate) fn stretch(text: &str) -> Result<TraceStretch, String> {
    let wanted = || "write two numbers of seconds, the second larger, as in 12.5-40".to_owned();
    let (from, until) = text.split_once('-').ok_or_else(wanted)?;
    let ns = |text: &str| text.trim().parse::<f64>().ok().filter(|s| (0.0..1e8).contains(s)).map(|s| (s * 1e9) as u64);
    match (ns(from), ns(until)) {
        (Some(from_ns), Some(until_ns)) if from_ns < until_ns => Ok(TraceStretch { from_ns, until_ns }),
        _ => Err(wanted()),
    }
}

pub(crate) fn main(arguments: &SynthesizeArguments) -> Result<u8, ExitFailure> {
    let rules = match &arguments.roles {
        None => RoleRules::default(),
        Some(path) => {
            let bytes = iolab_bounded_read::read(path, JOB_FILE).map_err(|error| unreadable(path, error))?;
            RoleRules::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| unreadable(path, error))?
        }
    };
    let request = ModelRequest { rules, stretch: arguments.window, commits: arguments.commits };
    let model = model_of(&arguments.trace, &request)?;
    let name = arguments.trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let said = JobTextRequest { trace: &name, directory: &arguments.directory, runtime_s: arguments.runtime };
    let text = job_text(&model, &said);
    if let Some(disturbance) = model.load().and_then(ProcessorLoad::disturbance) {
        complain_for_people(&format!("iolab: synthesize: {disturbance}\n"));
    }
    let Some(path) = &arguments.output else {
        print(&text)?;
        return Ok(0);
    };
    let mut outputs = outputs::beside(arguments.force, [(arguments.trace.as_path(), "the trace")]);
    outputs.place(path, OutputKind::Report, "the job (-o)")?.write(text.as_bytes())?;
    let names: Vec<&str> = model.sections.iter().map(|section| section.name.as_str()).collect();
    let path = path.display();
    eprintln!(
        "{path}: {}; `iolab validate {path} {}` says how near it comes",
        names.join(", "),
        arguments.trace.display()
    );
    Ok(0)
}

/// Reads a trace twice and models the program.
pub(crate) fn model_of(path: &Path, request: &ModelRequest) -> Result<ProgramModel, ExitFailure> {
    let ordered = || -> Result<Ordered<BufReader<File>>, ExitFailure> { Ok(Ordered::new(open(path)?, WINDOW)) };
    ProgramModel::of(&mut ordered()?, &mut ordered()?, request).map_err(|error| unreadable(path, error))
}
