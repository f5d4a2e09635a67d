//! Where the trials of a study run: on this machine, or as one run on several hosts. Everything
//! else of a study is the same: a trial is a command that leaves a recording, and its plan is known
//! before it runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iolab_activity::{Failure, FailureContext, FailureKind};
use iolab_hosts::{Launch, LaunchWay};
use iolab_pipeline::{Pipeline, PlanRequest};
use iolab_plan::Plan;
use iolab_process::INTERRUPTS;
use iolab_recording::Recording;
use iolab_study::{Study, StudyHosts};

/// Options of each trial that are not part of the study.
#[derive(Debug, Clone, Default)]
pub struct Permissions {
    /// Devices and files that may be overwritten.
    pub allow_destroy: Vec<String>,
    /// Keep the values of environment variables in the recordings.
    pub keep_secrets: bool,
}

/// Where trials run, and what they may do there.
pub(crate) struct Place<'s> {
    hosts: Option<&'s StudyHosts>,
    permissions: Permissions,
}

impl<'s> Place<'s> {
    /// The place of a study's trials. A user who names a device may write to the file that shows
    /// it.
    pub(crate) fn of(study: &'s Study, permissions: &Permissions) -> Place<'s> {
        let mut permissions = permissions.clone();
        permissions.allow_destroy.extend(study.served.as_ref().map(|device| device.file.clone()));
        Place { hosts: study.hosts.as_ref(), permissions }
    }

    /// The command that runs a job there; the job and the options of `iolab run` follow.
    pub(crate) fn command(&self) -> Result<Command, Failure> {
        let mut command = Command::new(own_path()?);
        match self.hosts {
            None => {
                command.arg("run");
            }
            Some(hosts) => {
                command.args(["hosts", "run", "--hosts", &hosts.list(), "--rsh", &hosts.shell]);
                command.arg("--dir").arg(&hosts.folder);
                if let Some(program) = &hosts.program {
                    command.arg("--program").arg(program);
                }
                if let Some(launcher) = &hosts.mpirun {
                    command.args(["--mpi", "--mpirun", launcher]);
                }
            }
        }
        Ok(command)
    }

    /// A file of the study, as the command has to name it. Over MPI, the first rank reads and
    /// writes it, in the folder of the jobs.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        let is_elsewhere = self.hosts.is_some_and(|hosts| hosts.mpirun.is_some());
        let absolute = if is_elsewhere { std::path::absolute(path).ok() } else { None };
        absolute.unwrap_or_else(|| path.to_owned())
    }

    /// The permissions as options of `iolab run`.
    pub(crate) fn permissions(&self) -> impl Iterator<Item = String> {
        let allowed = self.permissions.allow_destroy.iter().map(|path| format!("--allow-destroy={path}"));
        allowed.chain(self.permissions.keep_secrets.then(|| "--keep-secrets".to_owned()))
    }

    /// What the job of this file would do there, on all hosts.
    ///
    /// # Errors
    /// What is wrong with it, or a host that cannot be reached or refuses it.
    pub(crate) fn plan(&self, pipeline: &Pipeline<'_>, path: &str) -> Result<Plan, Failure> {
        let words = [path.to_owned()];
        let Some(hosts) = self.hosts else { return Ok(pipeline.plan_words(&words)?.plan) };
        if hosts.mpirun.is_some() {
            return self.plan_by_mpi(path);
        }
        let line = pipeline.words(&words)?;
        let named = self.permissions.allow_destroy.iter().map(PathBuf::from);
        let allowed: Vec<PathBuf> = named.chain(iolab_configuration::allow_destroy()).collect();
        let request = PlanRequest { allowed: &allowed, ..PlanRequest::of(&line) };
        let jobs = iolab_hosts::pack(pipeline, &request, &line.files, &[])?;
        let program = hosts.program.clone().map_or_else(own_path, Ok)?;
        let way = LaunchWay::through(&hosts.shell, program);
        iolab_process::raise_open_files_limit();
        let launch = Launch { hosts: hosts.ranks.clone(), way, folder: hosts.folder.clone(), jobs };
        // Ranks that are not told more do nothing, and end.
        Ok(iolab_hosts::launch(launch, &INTERRUPTS)?.plan().clone())
    }

    /// The same, if MPI starts the ranks: only they have its messages, so they are asked.
    fn plan_by_mpi(&self, path: &str) -> Result<Plan, Failure> {
        let mut command = self.command()?;
        command.args(["--plan", path]).args(self.permissions());
        let answer = command.stdin(Stdio::null()).output().context("starting the ranks")?;
        if !answer.status.success() {
            let told = String::from_utf8_lossy(&answer.stderr);
            let code = answer.status.code();
            let kind = code.and_then(FailureKind::of_exit_code).unwrap_or(FailureKind::Failed);
            return Err(Failure { kind, ..Failure::failed(told.trim().to_owned()) });
        }
        let printed = String::from_utf8_lossy(&answer.stdout);
        let plan = printed.lines().find(|line| line.starts_with('{')).unwrap_or_default();
        iolab_deserialize::json(plan.as_bytes())
            .map_err(|error| Failure::failed(format!("the plan of all ranks: {error}")))
    }
}

fn own_path() -> Result<PathBuf, Failure> {
    std::env::current_exe().context("finding this program")
}

/// Why a trial on several hosts does not count: the failure of one rank ended all of them, so what
/// they did is not what the others do in their trials.
pub(crate) fn cut_short(study: &Study, recording: &Recording) -> Option<String> {
    study.hosts.as_ref()?;
    recording.workers.iter().any(iolab_recording::WorkerRecording::has_failed).then(|| {
        let told: Vec<&str> = recording.warnings.iter().map(String::as_str).collect();
        if told.is_empty() { "a rank failed".to_owned() } else { told.join("; ") }
    })
}

/// What the commands of a study (`set_up` and its kin) are told of its hosts.
pub(crate) fn environment(study: &Study) -> Vec<(&'static str, String)> {
    let Some(hosts) = &study.hosts else { return Vec::new() };
    let mut names: Vec<&str> = Vec::new();
    for name in &hosts.ranks {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    vec![("IOLAB_HOSTS", names.join(" ")), ("IOLAB_RSH", hosts.shell.clone())]
}
