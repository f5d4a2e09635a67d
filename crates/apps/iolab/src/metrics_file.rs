//! `--metrics`: a textfile of OpenMetrics for node_exporter's collector, replaced while a run or a
//! study goes on.
//!
//! ```text
//!  this program ── partial recording ──▶ follower ── every second, by rename ──▶ FILE
//!               └── the last text, when the run is over ────────────────────────▶ FILE
//! ```
//!
//! A reader finds a whole text at any moment: the file is written under another name and renamed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use iolab_archive::running::{Allowance, RunReader, RunningFile, running, stay_away_from};
use iolab_clock::{Clock, thread_processor_ns};
use iolab_outputs::{OutputError, OutputKind, Outputs};
use iolab_recording::Recording;
use iolab_report::{openmetrics, openmetrics_of_runs};

use crate::exit::ExitFailure;
use crate::follower::{Followed, Follower, ends_within};
use crate::outputs;

/// What the file is, in messages.
pub(crate) const METRICS: &str = "the metrics";
/// Time between two texts, ns.
const BETWEEN_NS: u64 = 1_000_000_000;
/// Time between two looks as long as nothing is known, ns.
const FIRST_NS: u64 = 50_000_000;

/// The textfile of a run, from its beginning to its end.
#[derive(Debug)]
pub(crate) struct MetricsFile<'a> {
    path: &'a Path,
    follower: Follower,
}

impl<'a> MetricsFile<'a> {
    /// Checks the file, and starts its follower.
    pub(crate) fn begin(
        outputs: &mut Outputs,
        path: &'a Path,
        followed: Followed<'_>,
        force: bool,
    ) -> Result<MetricsFile<'a>, ExitFailure> {
        outputs.place(path, OutputKind::Report, METRICS)?;
        Ok(MetricsFile { path, follower: Follower::metrics(followed, path, force)? })
    }

    /// Writes the last text, that of the whole run.
    pub(crate) fn finish(self, outputs: &mut Outputs, recording: &Recording) -> Result<(), OutputError> {
        // Before the last text: its follower must not replace that.
        drop(self.follower);
        write(outputs, self.path, &openmetrics(recording))
    }
}

/// Replaces the file.
pub(crate) fn write(outputs: &mut Outputs, path: &Path, text: &str) -> Result<(), OutputError> {
    outputs.place(path, OutputKind::Report, METRICS)?.write(text.as_bytes())
}

/// Which runs, and where their metrics go.
#[derive(Debug, clap::Args)]
pub(crate) struct FollowArguments {
    /// The textfile
    to: PathBuf,
    /// The partial recording of a run
    #[arg(long, value_name = "FILE")]
    follow: Option<PathBuf>,
    /// The folder of a study's trials
    #[arg(long, value_name = "FOLDER", conflicts_with = "follow")]
    trials: Option<PathBuf>,
    /// Replace a file that iolab did not write
    #[arg(long)]
    force: bool,
}

/// The follower: writes the file until the program that started it ends.
pub(crate) fn follow(arguments: &FollowArguments) -> Result<u8, ExitFailure> {
    // The program that started this one decides what a signal means.
    iolab_process::count_signals();
    let clock = Clock::monotonic();
    let mut runs = Runs::default();
    let mut allowance = Allowance::default();
    let mut rest_ns = FIRST_NS;
    loop {
        let is_last = ends_within(rest_ns);
        let begun_ns = thread_processor_ns();
        if let Some(text) = runs.look(arguments) {
            write(&mut outputs::beside(arguments.force, []), &arguments.to, &text)?;
            let now_ns = clock.now_ns();
            allowance.take(now_ns, thread_processor_ns().saturating_sub(begun_ns));
            rest_ns = allowance.rest_ns(now_ns).max(BETWEEN_NS);
        }
        if is_last {
            return Ok(0);
        }
    }
}

/// The runs that are followed, by name.
#[derive(Default)]
struct Runs {
    readers: BTreeMap<String, RunReader>,
}

impl Runs {
    /// Reads what is new. Returns the text if anything is known.
    fn look(&mut self, arguments: &FollowArguments) -> Option<String> {
        if let Some(path) = &arguments.follow {
            let run = RunningFile::at(path.clone())?;
            self.open(&run);
            let recording = self.recordings().pop()?.1;
            return Some(openmetrics(&recording));
        }
        let going_on = running(arguments.trials.as_deref()?);
        // What has ended stays until something begins: a collector may come between two trials.
        if !going_on.is_empty() {
            self.readers.retain(|name, _| going_on.iter().any(|run| run.name == *name));
        }
        going_on.iter().for_each(|run| self.open(run));
        let recordings = self.recordings();
        let runs: Vec<(&str, &Recording)> = recordings.iter().map(|(name, one)| (name.as_str(), one)).collect();
        (!runs.is_empty()).then(|| openmetrics_of_runs(&runs, going_on.len(), env!("CARGO_PKG_VERSION")))
    }

    fn open(&mut self, run: &RunningFile) {
        if self.readers.contains_key(&run.name) {
            return;
        }
        let Some(mut reader) = RunReader::open(&run.path) else { return };
        reader.read();
        if let Some(start) = reader.growing.start() {
            stay_away_from(&start.plan);
        }
        self.readers.insert(run.name.clone(), reader);
    }

    /// The recordings of all runs so far, with findings.
    fn recordings(&mut self) -> Vec<(String, Recording)> {
        let mut all = Vec::new();
        for (name, reader) in &mut self.readers {
            reader.read();
            if let Some(mut recording) = reader.growing.recording() {
                recording.findings = iolab_findings::find(&recording);
                all.push((name.clone(), recording));
            }
        }
        all
    }
}
