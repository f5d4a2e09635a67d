//! `iolab hosts run`: one rank on each host, through a remote shell or MPI, and the report of all
//! here.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use iolab_hosts::{Hosts, Launch, LaunchWay};
use iolab_process::INTERRUPTS;
use iolab_resolve::Mode;

use super::arguments::LaunchArguments;
use super::clients::{follow, refuse_words_of_one_host};
use super::serving::INTERNAL_RANK;
use crate::exit::ExitFailure;
use crate::output::print;
use crate::run_options::Asked;
use crate::{pipeline, subcommands};

/// Most ranks of a run.
const MOST_RANKS: usize = 10_000;
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
    let program = arguments.program.clone().map_or_else(own_path, Ok)?;
    let words: Vec<String> = arguments.rsh.split_whitespace().map(str::to_owned).collect();
    if arguments.show {
        for host in &hosts {
            print(&format!("{} {host} {} {INTERNAL_RANK}\n", words.join(" "), program.display()))?;
        }
        return Ok(0);
    }
    let way = match &arguments.socket {
        Some(path) => LaunchWay::Socket(path.clone()),
        None => LaunchWay::Shell { words, program, arguments: vec![INTERNAL_RANK.to_owned()] },
    };
    let folder = match &arguments.dir {
        Some(folder) => folder.clone(),
        None => std::env::current_dir()
            .map_err(|error| ExitFailure::failed(format!("iolab: the working folder: {error}")))?,
    };
    follow(started(&asked, hosts, way, folder)?, &asked, Mode::Iolab)
}

/// Takes the words of a job for several hosts apart.
pub(super) fn asked(words: &[String]) -> Result<Asked, ExitFailure> {
    let asked = subcommands::run::take_apart(words, Mode::Iolab)?;
    check(&asked)?;
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
    if run.study.is_asked_for() {
        return Err(ExitFailure::mistake("iolab: a study runs on one machine: run the job once on the hosts"));
    }
    asked.refuse_words_of_studies()?;
    if run.server.is_some() || !run.clients.is_empty() || !run.remote_config.is_empty() || run.secret.is_some() {
        return Err(ExitFailure::mistake(
            "iolab: hosts run starts the ranks itself: leave out --server, --client and what belongs to them",
        ));
    }
    refuse_words_of_one_host(asked, "hosts run")
}

/// The host of each rank.
pub(super) fn hosts(list: &str) -> Result<Vec<String>, ExitFailure> {
    let wrong = |what: String| ExitFailure::mistake(format!("iolab: --hosts={list}: {what}"));
    let text = if Path::new(list).is_file() {
        let text = iolab_bounded_read::read_text(Path::new(list), iolab_bounded_read::HOST_LIST);
        text.map_err(|error| wrong(error.to_string()))?
    } else {
        list.to_owned()
    };
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let words = lines.flat_map(|line| line.split(|letter: char| letter == ',' || letter.is_whitespace()));
    let mut hosts = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let (host, count) = match word.rsplit_once(':') {
            Some((host, count)) => {
                let count = count.parse().ok().filter(|count| (1..=MOST_RANKS).contains(count));
                (host, count.ok_or_else(|| wrong(format!("`{word}`: after the colon stands the number of ranks")))?)
            }
            None => (word, 1),
        };
        if host.is_empty() || host.starts_with('-') {
            return Err(wrong(format!("`{word}` names no host")));
        }
        hosts.extend(std::iter::repeat_n(host.to_owned(), count));
    }
    match hosts.len() {
        0 => Err(wrong("no host is named; write a,b,c:2".to_owned())),
        1..=MOST_RANKS => Ok(hosts),
        many => Err(wrong(format!("{many} ranks are more than {MOST_RANKS}"))),
    }
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
    let program = match &arguments.program {
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
    if let Some(folder) = &arguments.dir {
        words.extend(["--wdir".to_owned(), folder.display().to_string()]);
    }
    words.extend([program.display().to_string(), "run".to_owned()]);
    words.extend(arguments.words.iter().cloned());
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_counted_and_wrong_ones_refused() {
        for (list, ranks) in
            [("a", "a"), ("a,b,c:2", "a b c c"), (" a:1, b ", "a b"), ("node[1].x:3", "node[1].x node[1].x node[1].x")]
        {
            assert_eq!(hosts(list).unwrap().join(" "), ranks, "{list}");
        }
        for (list, said) in [
            ("", "no host"),
            (",", "no host"),
            ("a:0", "number of ranks"),
            ("a:x", "number of ranks"),
            (":2", "names no host"),
            ("-oProxyCommand=x", "names no host"),
            ("a:9999,b:2", "10001 ranks"),
        ] {
            assert!(hosts(list).unwrap_err().message.contains(said), "{list}");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hosts");
        std::fs::write(&file, "a:2 # the first\nb\n").unwrap();
        assert_eq!(hosts(&file.display().to_string()).unwrap(), ["a", "a", "b"]);
    }
}
