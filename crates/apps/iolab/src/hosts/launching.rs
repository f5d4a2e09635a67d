//! `iolab hosts run`: one rank on each host, through a remote shell, and the report of all here.

use std::path::PathBuf;

use iolab_hosts::{Hosts, Launch, LaunchWay, RANK_WORD};
use iolab_process::INTERRUPTS;
use iolab_resolve::Mode;

use super::arguments::LaunchArguments;
use super::clients::{follow, refuse_words_of_one_host};
use super::host_list::hosts;
use super::mpi;
use crate::exit::ExitFailure;
use crate::output::print;
use crate::run_options::Asked;
use crate::{pipeline, subcommands};

/// Runs a job on several hosts.
pub(crate) fn launch(arguments: &LaunchArguments) -> Result<u8, ExitFailure> {
    let hosts = hosts(&arguments.hosts)?;
    let asked = asked(&arguments.words)?;
    if arguments.mpi.launcher().is_some() && (arguments.show || !asked.run.study.is_asked_for()) {
        return mpi::launch(arguments, &hosts);
    }
    let shell = &arguments.shell;
    let program = shell.program()?;
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
    let started = started(&asked, hosts, way, shell.folder()?)?;
    if arguments.plan {
        // Ranks that are not told more do nothing, and end.
        return print_plan(&started);
    }
    follow(started, &asked, Mode::Iolab)
}

/// Prints what all ranks would do, in one line.
fn print_plan(hosts: &Hosts) -> Result<u8, ExitFailure> {
    let plan = serde_json::to_string(hosts.plan()).map_err(|error| ExitFailure::failed(format!("iolab: {error}")))?;
    print(&(plan + "\n"))?;
    Ok(0)
}

/// Runs a study, each of whose trials is a run on the hosts.
fn study(arguments: &LaunchArguments, asked: &Asked, hosts: Vec<String>) -> Result<u8, ExitFailure> {
    if arguments.socket.is_some() {
        return Err(ExitFailure::mistake(
            "iolab: MPI starts the ranks of one run, and a study has many: start it with `iolab hosts run --mpi --hosts=LIST`",
        ));
    }
    if arguments.plan {
        return Err(ExitFailure::mistake("iolab: --plan is for one run; `iolab plan` tells what a study would run"));
    }
    subcommands::study::from_words::run(asked, Some(arguments.shell.of_study(hosts, &arguments.mpi)?))
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
