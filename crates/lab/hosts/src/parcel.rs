//! The jobs of a client on their way to a server: texts, and the client's answers to what the job
//! language asks: included files and environment variables.
//!
//! The client parses the jobs once itself. So it reports mistakes with its own colours before
//! anything is sent, and it learns which answers the server will need. Facts about processors and
//! memory are the server's own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use iolab_activity::Failure;
use iolab_jobfile::{Input, JobSet, KeywordFacts, Surroundings};
use iolab_options::OptionEntry;
use iolab_pipeline::{Pipeline, PlanRequest};
use iolab_resolve::Mode;
use serde::{Deserialize, Serialize};

/// The jobs of one client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobParcel {
    /// fio's rules apply.
    pub(crate) as_fio: bool,
    /// Job options of the command line, as words.
    pub(crate) words: Vec<String>,
    /// Job files.
    pub(crate) files: Vec<ParcelFile>,
    /// Job files that the server has (`--remote-config`).
    pub(crate) remote_files: Vec<String>,
    /// The number of the server, and how many there are: its rank.
    pub(crate) rank: (u32, u32),
    /// The folder of the jobs; the server's own if there is none.
    pub(crate) folder: Option<PathBuf>,
    /// Only these sections of job files.
    pub(crate) sections: Vec<String>,
    /// Refuse jobs that write.
    pub(crate) readonly: bool,
    /// Most workers.
    pub(crate) max_jobs: Option<u32>,
    /// What may be overwritten, whatever is in it, if the server allows it at all.
    pub(crate) allow_destroy: Vec<PathBuf>,
    /// The client's environment, as far as the jobs name it.
    pub(crate) variables: BTreeMap<String, String>,
    /// Files that job files include.
    pub(crate) includes: Vec<Included>,
}

/// A job file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ParcelFile {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// An included file, or why it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Included {
    name: String,
    from: String,
    text: Result<String, String>,
}

/// Jobs that are ready to be sent, and what the client must know of them.
#[derive(Debug)]
pub struct PackedJobs {
    pub(crate) parcel: JobParcel,
    pub(crate) jobs: JobSet,
}

/// Packs the jobs of a command line; `files` are the local job files, `remote_files` those of the
/// server.
///
/// # Errors
/// What is wrong with the jobs.
pub fn pack(
    pipeline: &Pipeline<'_>,
    request: &PlanRequest<'_>,
    files: &[String],
    remote_files: &[String],
) -> Result<PackedJobs, Failure> {
    let inputs = pipeline.read_inputs(files)?;
    let here = pipeline.here();
    let (noted_variables, noted_includes) = (RefCell::<BTreeMap<_, _>>::default(), RefCell::<Vec<_>>::default());
    let include = |name: &str, from: &str| {
        let text = here.include(name, from);
        let included = Included { name: name.to_owned(), from: from.to_owned(), text: text.clone() };
        noted_includes.borrow_mut().push(included);
        text
    };
    let variable = |name: &str| {
        let value = here.variable(name)?;
        noted_variables.borrow_mut().insert(name.to_owned(), value.clone());
        Some(value)
    };
    let noting = Answers { here: &here, include: &include, variable: &variable };
    let jobs = pipeline.parse(request, &inputs, &noting)?;
    let text = |input: Input| {
        let text = String::from_utf8(input.bytes);
        let text = text.map_err(|_| Failure::mistake(format!("{}: not a job file (not UTF-8)", input.name)))?;
        Ok::<_, Failure>(ParcelFile { name: input.name, text })
    };
    let parcel = JobParcel {
        as_fio: request.mode == Mode::Fio,
        words: request.line.job_words(),
        files: inputs.into_iter().map(text).collect::<Result<_, _>>()?,
        remote_files: remote_files.to_vec(),
        rank: (0, 1),
        folder: None,
        sections: request.sections.to_vec(),
        readonly: request.readonly,
        max_jobs: request.max_jobs,
        allow_destroy: request.allowed.to_vec(),
        variables: noted_variables.take(),
        includes: noted_includes.take(),
    };
    Ok(PackedJobs { parcel, jobs })
}

/// Facts of this machine, with somebody else's answers about files and variables.
pub(crate) struct Answers<'a> {
    pub(crate) here: &'a dyn Surroundings,
    pub(crate) include: &'a dyn Fn(&str, &str) -> Result<String, String>,
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Surroundings for Answers<'_> {
    fn include(&self, name: &str, from: &str) -> Result<String, String> {
        (self.include)(name, from)
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name)
    }

    fn keywords(&self) -> KeywordFacts {
        self.here.keywords()
    }

    fn engine_options(&self, engine: &str) -> Option<&'static [OptionEntry]> {
        self.here.engine_options(engine)
    }

    fn engine_names(&self) -> Vec<&'static str> {
        self.here.engine_names()
    }
}

impl JobParcel {
    /// The client's answer about a file that a job file includes.
    pub(crate) fn included(&self, name: &str, from: &str) -> Option<Result<String, String>> {
        self.includes.iter().find(|one| one.name == name && one.from == from).map(|included| included.text.clone())
    }

    /// The client's answer about a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }
}
