//! The input of resolving, and the state that it collects.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use iolab_engine::EngineDescription;
use iolab_jobfile::JobSet;
use iolab_options::{OptionEntry, Rank};

use crate::defaults::Defaults;
use crate::findings::Findings;
use crate::machine::MachineFacts;

/// How strictly a job is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Unsupported and meaningless settings are errors.
    #[default]
    Iolab,
    /// fio mode: harmless ones are warnings.
    Fio,
}

/// Options of the command line for the run as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// `--parse-only`: jobs are read and not run. Every folder that one names is taken to exist,
    /// and the default engine stands in for one of fio's that is absent here.
    pub only_reads_jobs: bool,
    /// `--readonly`: refuse jobs that write or trim.
    pub readonly: bool,
    /// `--section`: run only sections of these names; empty: all.
    pub sections: Vec<String>,
    /// `--runtime`: replaces every job's runtime, ns.
    pub runtime_ns: Option<u64>,
    /// `--max-jobs`: most workers allowed.
    pub max_jobs: Option<u32>,
    /// `--aux-path`: directory for log files with relative names.
    pub aux_path: Option<String>,
    /// What tells the files of this run from those that others make of the same job, on a server of
    /// a client: `$clientuid`, and put in front of names by `unique_filename`.
    pub client: Option<String>,
    /// Which rank the plan is for.
    pub rank: Rank,
    /// Seed of jobs with `randrepeat=0`: fresh entropy from the caller.
    pub entropy: u64,
}

/// Everything [`crate::resolve`] looks at.
pub struct ResolveRequest<'a> {
    /// The parsed job files and command line.
    pub jobs: &'a JobSet,
    /// The job language's option table (`jobfile::OPTIONS`), for the status of each option.
    pub options: &'a [OptionEntry],
    /// The engines of this build.
    pub engines: &'a [&'static EngineDescription],
    /// Facts about paths and CPUs.
    pub machine: &'a dyn MachineFacts,
    /// How strictly to read the jobs.
    pub mode: Mode,
    /// What the command line says about the run.
    pub overrides: Overrides,
}

/// Names of the options that were looked at, if they are to be noted.
pub(crate) type Reads = Option<RefCell<BTreeSet<&'static str>>>;

/// The state shared by all jobs of a run while they are resolved.
pub(crate) struct Resolving<'a> {
    pub(crate) findings: Findings,
    pub(crate) reads: Reads,
    pub(crate) defaults: Defaults<'a>,
    /// The range of each device that jobs with `zone_reset_frequency` write to.
    pub(crate) zone_ranges: RefCell<BTreeMap<PathBuf, (u64, u64)>>,
}

impl Resolving<'_> {
    /// Notes that an option was looked at.
    pub(crate) fn note_read(&self, name: &'static str) {
        if let Some(reads) = &self.reads {
            reads.borrow_mut().insert(name);
        }
    }
}
