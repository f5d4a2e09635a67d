//! The path of the data: job → plan → run → recording.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use iolab_activity::{Console, Failure, FailureKind};
use iolab_bounded_read::{JOB_FILE, ReadError};
use iolab_clock::Clock;
use iolab_guard::{FileSystemRoom, Guard};
use iolab_jobfile::command_line::{self, CommandLine};
use iolab_jobfile::{Diagnostic, DiagnosticSeverity, Input, JobSet, Surroundings};
use iolab_order::Gather;
use iolab_plan::{Plan, Rank};
use iolab_recording::{Recording, Redaction};
use iolab_resolve::{MachineFacts, Mode, Overrides};
use iolab_runner::{Engines, RunError, RunObserver, RunRequest, Spools, Telling};

use crate::merging::merge;
use crate::surroundings::{ImaginedFiles, ThisMachine};
use crate::{device_state, safety};

/// The program's part of runs.
#[derive(Clone, Copy)]
pub struct Pipeline<'a> {
    /// The engines of the program.
    pub engines: Engines,
    /// Whether reports of mistakes are coloured.
    pub color: bool,
    /// Receives messages about the progress.
    pub console: &'a dyn Console,
    /// What the jobs of runs tell while they work.
    pub telling: Option<&'a Telling>,
}

/// What is to be planned.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    /// Job files, and jobs as words.
    pub line: &'a CommandLine,
    /// Whose rules apply.
    pub mode: Mode,
    /// Only these sections of job files; all when there are none.
    pub sections: &'a [String],
    /// Refuse jobs that write or trim.
    pub readonly: bool,
    /// Most workers allowed.
    pub max_jobs: Option<u32>,
    /// Folder of log files with relative names.
    pub aux_path: Option<&'a str>,
    /// What may be overwritten, whatever is in it.
    pub allowed: &'a [PathBuf],
    /// Keep the values of environment variables in what is saved.
    pub keep_secrets: bool,
    /// What tells the files of this run from those of other servers of a client.
    pub client: Option<&'a str>,
    /// Which of several ranks the plan is for; `None` if the run is not one of several.
    pub rank: Option<&'a Rank>,
    /// Assume that every file and device exists and is large enough, without checking.
    pub imagines_files: bool,
    /// Write the merged files of `merge_blktrace_file`.
    pub merges: bool,
}

impl<'a> PlanRequest<'a> {
    /// A request with default settings for the run as a whole.
    pub fn of(line: &'a CommandLine) -> PlanRequest<'a> {
        PlanRequest {
            line,
            mode: Mode::Iolab,
            sections: &[],
            readonly: false,
            max_jobs: None,
            aux_path: None,
            allowed: &[],
            keep_secrets: false,
            client: None,
            rank: None,
            imagines_files: false,
            merges: false,
        }
    }
}

/// A plan and its warnings.
#[derive(Debug)]
pub struct Planned {
    /// All that the run will do.
    pub plan: Plan,
    /// The parsed jobs.
    pub jobs: JobSet,
    /// What the user should know before the run.
    pub warnings: Vec<Diagnostic>,
    /// What is removed from all saved data; its secrets are also removed from all that is shown.
    pub redaction: Redaction,
}

/// The judgement of a plan that may be run.
#[derive(Debug)]
pub struct JudgedPlan {
    /// What is overwritten anyway, because the user allowed it.
    pub accepted: Vec<String>,
    /// Judges the same files when they are opened.
    pub guard: Guard,
    /// What its files need, for those who run several plans on one file system.
    pub rooms: Vec<FileSystemRoom>,
}

impl Pipeline<'_> {
    /// Job files and command line to plan.
    ///
    /// # Errors
    /// Everything that is wrong with the jobs, as a report.
    pub fn plan(&self, request: &PlanRequest<'_>) -> Result<Planned, Failure> {
        let here = self.here().seen_by(request.rank);
        let mut jobs = self.parse(request, &self.read_inputs(&request.line.files)?, &here)?;
        self.merge_traces(request, &mut jobs)?;
        self.resolve_here(request, &here, jobs)
    }

    /// As [`Pipeline::plan`]; `None` if nothing defines a job.
    ///
    /// # Errors
    /// As [`Pipeline::plan`].
    pub fn plan_if_any(&self, request: &PlanRequest<'_>) -> Result<Option<Planned>, Failure> {
        let here = self.here().seen_by(request.rank);
        let mut jobs = self.parse(request, &self.read_inputs(&request.line.files)?, &here)?;
        self.merge_traces(request, &mut jobs)?;
        if jobs.jobs.is_empty() && request.sections.is_empty() {
            return Ok(None);
        }
        self.resolve_here(request, &here, jobs).map(Some)
    }

    /// Only merges the traces that the jobs ask to be merged (`merge_blktrace_file`). Returns how
    /// many files were written.
    ///
    /// # Errors
    /// What is wrong with the jobs or the traces, as a report.
    pub fn merge_only(&self, request: &PlanRequest<'_>) -> Result<usize, Failure> {
        let mut jobs =
            self.parse(request, &self.read_inputs(&request.line.files)?, &self.here().seen_by(request.rank))?;
        self.merge_traces(request, &mut jobs)
    }

    fn merge_traces(&self, request: &PlanRequest<'_>, jobs: &mut JobSet) -> Result<usize, Failure> {
        if request.imagines_files {
            return Ok(0);
        }
        merge(jobs, request.merges).map_err(|errors| self.mistake(&errors, &jobs.sources))
    }

    /// This machine's answers to the job language and to resolving.
    pub fn here(&self) -> ThisMachine {
        ThisMachine::new(self.engines)
    }

    fn resolve_here(&self, request: &PlanRequest<'_>, here: &ThisMachine, jobs: JobSet) -> Result<Planned, Failure> {
        let imagined = ImaginedFiles(here);
        self.resolve(request, if request.imagines_files { &imagined } else { here }, jobs)
    }

    /// Parsed jobs to plan, with what `machine` knows of files and devices.
    ///
    /// # Errors
    /// Everything that is wrong with the jobs, as a report.
    pub fn resolve(
        &self,
        request: &PlanRequest<'_>,
        machine: &dyn MachineFacts,
        jobs: JobSet,
    ) -> Result<Planned, Failure> {
        self.engines.entries().iter().for_each(|engine| (engine.allow_overwriting)(request.allowed));
        let descriptions = self.engines.descriptions();
        let resolving = iolab_resolve::ResolveRequest {
            jobs: &jobs,
            options: iolab_jobfile::OPTIONS,
            engines: &descriptions,
            machine,
            mode: request.mode,
            overrides: overrides(request),
        };
        match iolab_resolve::resolve(&resolving) {
            Ok(resolved) => {
                let warnings = jobs.warnings.iter().cloned().chain(resolved.warnings).collect();
                let redaction = if request.keep_secrets { Redaction::default() } else { redaction([&jobs]) };
                Ok(Planned { plan: resolved.plan, jobs, warnings, redaction })
            }
            Err(findings) => {
                let errors: Vec<Diagnostic> =
                    findings.into_iter().filter(|finding| finding.severity.is_error()).collect();
                // Other errors must be fixed first.
                let is_refusal = errors.iter().all(|error| error.severity == DiagnosticSeverity::Refusal);
                let kind = if is_refusal { FailureKind::Refused } else { FailureKind::Mistake };
                Err(Failure::report(kind, iolab_jobfile::render(&errors, &jobs.sources, self.color)))
            }
        }
    }

    /// Job options as words, or the name of a job file, to plan.
    ///
    /// # Errors
    /// As [`Pipeline::plan`].
    pub fn plan_words(&self, words: &[String]) -> Result<Planned, Failure> {
        self.plan(&PlanRequest::of(&self.words(words)?))
    }

    /// Job options as words, or the name of a job file, taken apart.
    ///
    /// # Errors
    /// What is wrong with the words, as a report.
    pub fn words(&self, words: &[String]) -> Result<CommandLine, Failure> {
        command_line::parse(words, &[], &self.here())
            .map_err(|failure| self.mistake(&failure.diagnostics, &failure.sources))
    }

    /// The job files of these names.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn read_inputs(&self, names: &[String]) -> Result<Vec<Input>, Failure> {
        let read = |name: &String| {
            let bytes = read_job_file(name).map_err(|error| Failure::mistake(format!("{name}: {error}")))?;
            Ok(Input { name: name.clone(), bytes })
        };
        names.iter().map(read).collect()
    }

    /// Job files and command line to job set; `surroundings` answers what they ask.
    ///
    /// # Errors
    /// What is wrong with the texts, as a report.
    pub fn parse(
        &self,
        request: &PlanRequest<'_>,
        inputs: &[Input],
        surroundings: &dyn Surroundings,
    ) -> Result<JobSet, Failure> {
        let PlanRequest { line, sections, mode, .. } = *request;
        let parsed = iolab_jobfile::ParseRequest { command_line: Some(line), files: inputs, sections };
        let mut set = iolab_jobfile::parse(&parsed, surroundings)
            .map_err(|failure| self.mistake(&failure.diagnostics, &failure.sources))?;
        if mode != Mode::Fio {
            set.warnings.extend(iolab_jobfile::without_effect(line, &set));
        }
        Ok(set)
    }

    /// Mistakes in these sources, as a report.
    pub fn mistake(&self, diagnostics: &[Diagnostic], sources: &[(String, String)]) -> Failure {
        Failure::report(FailureKind::Mistake, iolab_jobfile::render(diagnostics, sources, self.color))
    }

    /// Refuses to destroy anything that the user did not name, and to write more than there is room
    /// for.
    ///
    /// # Errors
    /// All reasons not to run.
    pub fn judge(&self, plan: &Plan, mode: Mode, allowed: &[PathBuf]) -> Result<JudgedPlan, Failure> {
        let verdict = safety::check(self.engines, plan, mode, allowed);
        if !verdict.refusals.is_empty() {
            return Err(Failure::refused(format!("refused\n  {}", verdict.refusals.join("\n  "))));
        }
        let rooms = safety::rooms(self.engines, plan);
        safety::no_room(&rooms).map_or(Ok(()), Err)?;
        Ok(JudgedPlan { accepted: verdict.warnings, guard: verdict.guard, rooms })
    }

    /// Runs a plan and returns the recording, with the entries of its logs. `guard` has judged the
    /// plan; `stream` takes the partial recording during the run.
    ///
    /// # Errors
    /// The run could not begin. Later failures are in the recording.
    pub fn run(
        &self,
        Planned { plan, redaction, .. }: &Planned,
        guard: Guard,
        stream: Option<File>,
        observer: &mut dyn RunObserver,
    ) -> Result<(Recording, Vec<Spools>), Failure> {
        iolab_process::count_signals();
        let machine = device_state::changes_device_settings(plan).then(device_state::settings_machine).transpose()?;
        let applied =
            machine.as_ref().map(|machine| device_state::apply_to(machine, plan, self.console)).transpose()?;
        let (clock, unfit) = Clock::best();
        let host = iolab_observe::System::live().host_facts(clock.name(), std::env::args().collect());
        let request = RunRequest {
            plan,
            engines: self.engines.entries(),
            guard,
            host,
            clock,
            spool_folder: std::env::temp_dir(),
            stream,
            redaction,
            interrupts: &iolab_process::INTERRUPTS,
            observer,
            supply: Some(iolab_replay::supply),
            telling: self.telling.cloned(),
        };
        let result = iolab_runner::run(request).map_err(|error| match error {
            RunError::Layout { errno, .. } => Failure::failed(redaction.text(&format!("{error} (errno {errno})"))),
            other => Failure::failed(redaction.text(&other.to_string())),
        })?;
        let mut recording = result.recording;
        recording.warnings.extend(unfit.map(|reason| format!("time stamps come from clock_gettime: {reason}")));
        if let Some(applied) = applied {
            device_state::put_back(applied, &mut recording);
        }
        recording.findings = iolab_findings::find(&recording);
        Ok((recording, result.spools))
    }
}

/// The secrets of the jobs, and the values of environment variables in them: they may be passwords.
pub fn redaction<'j>(jobs: impl IntoIterator<Item = &'j JobSet> + Clone) -> Redaction {
    let secrets = || jobs.clone().into_iter().flat_map(|jobs| &jobs.secrets);
    let secret_options = secrets().map(|one| (one.option.clone(), one.text.clone(), one.shown.clone()));
    let expansions = || jobs.clone().into_iter().flat_map(|jobs| &jobs.expansions);
    let options = expansions().map(|one| (one.option.clone(), one.text.clone(), one.written.clone()));
    let variables = expansions().flat_map(|one| one.variables.clone()).gather::<BTreeMap<_, _>>();
    Redaction::new(options, variables).and_secrets(secret_options, secrets().flat_map(|one| one.values.clone()))
}

/// The bytes of a job file; `-` is standard input.
///
/// # Errors
/// It cannot be read.
pub fn read_job_file(name: &str) -> Result<Vec<u8>, ReadError> {
    match name {
        "-" => iolab_bounded_read::read_standard_input(JOB_FILE),
        name => iolab_bounded_read::read(Path::new(name), JOB_FILE),
    }
}

fn overrides(request: &PlanRequest<'_>) -> Overrides {
    Overrides {
        readonly: request.readonly,
        only_reads_jobs: request.imagines_files,
        sections: Vec::new(),
        runtime_ns: None,
        max_jobs: request.max_jobs,
        aux_path: request.aux_path.map(str::to_owned),
        client: request.client.map(str::to_owned),
        rank: request.rank.cloned().unwrap_or_else(|| Rank::only(iolab_observe::host_name())),
        entropy: entropy(),
    }
}

/// A random seed, for `randrepeat=0`.
fn entropy() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}
