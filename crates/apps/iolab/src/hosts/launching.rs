//! `iolab hosts run`: one rank on each host, through a remote shell or MPI, and the report of all
//! here.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use iolab_hosts::{Hosts, Launch, LaunchWay, RANK_WORD};
use iolab_process::INTERRUPTS;
use iolab_resolve::Mode;

use super::arguments::LaunchArguments;
use super::clients::{follow, refuse_words_of_one_host};
use super::host_list::hosts;
use crate::exit::ExitFailure;
use crate::output::print;
use crate::run_options::Asked;
use crate::{pipeline, subcommands};

/// The program that MPI starts.
const MPI_PROGRAM: &str = "iolab-rank";
/// How long `mpirun` waits between asking ranks to end and killing them, s: they save their results
/// meanwhile.
const MPI_PATIENCE: &str = "3";

/// Runs a job on several hosts.
pub(crate) fn launch(arguments: &LaunchArguments) -> Result<u8, ExitFailure> {
    let hosts = hosts(&arguments.hosts)?;
    if arguments.mpi {
        return by_mpi(arguments, &hosts);
    }
    let asked = asked(&arguments.words)?;
    let shell = &arguments.shell;
    let program = shell.program.clone().map_or_else(own_path, Ok)?;
    if arguments.show {
        for host in &hosts {
            print(&format!("{} {host} {} {RANK_WORD}\n", shell.rsh, program.display()))?;
        }
        return Ok(0);
    }
    if asked.run.study.is_asked_for() {
        return study(arguments, &asked, hosts);
    }
    let way = match &arguments.socket {
        Some(path) => LaunchWay::Socket(path.clone()),
        None => LaunchWay::through(&shell.rsh, program),
    };
    follow(started(&asked, hosts, way, shell.folder()?)?, &asked, Mode::Iolab)
}

/// Runs a study, each of whose trials is a run on the hosts.
fn study(arguments: &LaunchArguments, asked: &Asked, hosts: Vec<String>) -> Result<u8, ExitFailure> {
    if arguments.socket.is_some() {
        return Err(ExitFailure::mistake(
            "iolab: MPI starts the ranks of one run, and a study has many: run it with `iolab hosts run --hosts=LIST`",
        ));
    }
    subcommands::study::from_words::run(asked, Some(arguments.shell.of_study(hosts)?))
}

/// Takes the words of a run or a study on several hosts apart.
pub(super) fn asked(words: &[String]) -> Result<Asked, ExitFailure> {
    let asked = subcommands::run::take_apart(words, Mode::Iolab)?;
    check(&asked)?;
    asked.refuse_words_of_studies()?;
    Ok(asked)
}

/// Starts the ranks of a job, and waits for their plans.
pub(super) fn started(
    asked: &Asked,
    hosts: Vec<String>,
    way: LaunchWay,
    folder: PathBuf,
) -> Result<Hosts, ExitFailure> {
    let jobs = pipeline::with_request(asked, Mode::Iolab, |request| {
        iolab_hosts::pack(&pipeline::pipeline(), request, &asked.line.files, &[])
    })?;
    iolab_process::raise_open_files_limit();
    iolab_process::count_signals();
    Ok(iolab_hosts::launch(Launch { hosts, way, folder, jobs }, &INTERRUPTS)?)
}

/// Refuses what is not for several hosts, instead of ignoring it.
fn check(asked: &Asked) -> Result<(), ExitFailure> {
    let run = &asked.run;
    subcommands::run::something_to_run(&asked.line)?;
    if run.server.is_some() || !run.clients.is_empty() || !run.remote_config.is_empty() || run.secret.is_some() {
        return Err(ExitFailure::mistake(
            "iolab: hosts run starts the ranks itself: leave out --server, --client and what belongs to them",
        ));
    }
    refuse_words_of_one_host(asked, "hosts run")
}

pub(super) fn own_path() -> Result<PathBuf, ExitFailure> {
    std::env::current_exe()
        .map_err(|error| ExitFailure::failed(format!("iolab: its own path: {error}; name it with --program=PATH")))
}

/// Becomes `mpirun`.
fn by_mpi(arguments: &LaunchArguments, hosts: &[String]) -> Result<u8, ExitFailure> {
    let words = mpi_words(arguments, hosts)?;
    if arguments.show {
        print(&format!("mpirun {}\n", words.join(" ")))?;
        return Ok(0);
    }
    let error = Command::new("mpirun").args(&words).exec();
    Err(ExitFailure::failed(format!("iolab: mpirun: {error}; install MPI, or leave out --mpi to use a remote shell")))
}

/// What follows `mpirun`.
fn mpi_words(arguments: &LaunchArguments, hosts: &[String]) -> Result<Vec<String>, ExitFailure> {
    let mut slots: Vec<String> = Vec::new();
    for run in hosts.chunk_by(|one, other| one == other) {
        slots.push(format!("{}:{}", run[0], run.len()));
    }
    let program = match &arguments.shell.program {
        Some(program) => program.clone(),
        None => own_path()?
            .parent()
            .map(|folder| folder.join(MPI_PROGRAM))
            .filter(|path| path.exists())
            .unwrap_or_else(|| MPI_PROGRAM.into()),
    };
    let ranks = hosts.len().to_string();
    let slots = slots.join(",");
    let mut words = vec!["--host", &slots, "-np", &ranks, "--mca", "odls_base_sigkill_timeout", MPI_PATIENCE]
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    if let Some(folder) = &arguments.shell.dir {
        words.extend(["--wdir".to_owned(), folder.display().to_string()]);
    }
    words.extend([program.display().to_string(), "run".to_owned()]);
    words.extend(arguments.words.iter().cloned());
    Ok(words)
}
