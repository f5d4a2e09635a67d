//! Several hosts on the command line: fio's client and server (`--server`, `--daemonize`,
//! `--client`, `--remote-config`, and what iolab adds to make them safe), and `iolab hosts run`.

mod arguments;
mod clients;
mod host_list;
mod io500;
mod launching;
mod mpi;
mod serving;
mod targets;

use iolab_resolve::Mode;

use crate::exit::ExitFailure;
use crate::run_options::Asked;

pub(crate) use arguments::{HostsAction, MergeArguments, StudyHostArguments};
pub(crate) use io500::{Io500Arguments, io500};
pub(crate) use launching::launch;
pub(crate) use serving::{internal_job, internal_rank};

/// Whether a command line without a subcommand is one of a server or a client.
pub(crate) fn begins_with_hosts(word: &str) -> bool {
    ["--server", "--client"]
        .iter()
        .any(|option| word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
}

/// Serves or runs as a client, if the command line asks for it. Returns the exit code then.
///
/// # Errors
/// What is wrong with the words, or what failed.
pub(crate) fn run(asked: &Asked, words: &[String], mode: Mode) -> Result<Option<u8>, ExitFailure> {
    let run = &asked.run;
    if run.study.is_asked_for() {
        // Studies refuse these words.
        return Ok(None);
    }
    asked.refuse_words_of_studies()?;
    let is_client = !run.clients.is_empty();
    match (&run.server, is_client) {
        (Some(_), true) => Err(ExitFailure::mistake("iolab: --server and --client exclude each other")),
        (Some(address), false) => serving::serve(asked, address, words).map(Some),
        (None, true) => clients::run(asked, mode).map(Some),
        (None, false) => {
            let server_only = [
                ("--daemonize", run.daemonize.is_some()),
                ("--allow", !run.allow.is_empty()),
                ("--allow-host", !run.allow_host.is_empty()),
            ];
            if let Some((option, _)) = server_only.into_iter().find(|(_, is_given)| *is_given) {
                return Err(ExitFailure::mistake(format!("iolab: {option} is for servers: add --server")));
            }
            if !run.remote_config.is_empty() {
                return Err(ExitFailure::mistake(
                    "iolab: --remote-config names a job file of a server: add --client=HOST",
                ));
            }
            if run.secret.is_some() {
                return Err(ExitFailure::mistake("iolab: --secret is for --server and --client"));
            }
            Ok(None)
        }
    }
}
