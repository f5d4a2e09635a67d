//! What is to be resolved, and what is gathered while it is.

use std::cell::RefCell;
use std::collections::BTreeSet;

use iolab_engine::EngineDescription;
use iolab_jobfile::JobSet;
use iolab_options::OptionEntry;

use crate::defaults::Defaults;
use crate::findings::Findings;
use crate::machine::MachineFacts;

/// How strictly a job is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// What iolab does not do, and what cannot be meant, is an error.
    #[default]
    Iolab,
    /// As fio: what does no harm is a warning.
    Fio,
}

/// What the command line says about the run as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
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
    /// How strictly to read.
    pub mode: Mode,
    /// What the command line says about the run.
    pub overrides: Overrides,
}

/// What all jobs of a run share while they are resolved.
pub(crate) struct Resolving {
    pub(crate) findings: Findings,
    /// Names of options that were looked at, for the test that every supported option is.
    pub(crate) reads: RefCell<BTreeSet<&'static str>>,
    pub(crate) defaults: Defaults,
}
