//! `--server`: serves until a signal ends it; with `--daemonize`, in the background.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iolab_activity::Console;
use iolab_hosts::{HostAddress, JobServer, ServerRequest, SharedSecret};

use crate::exit::{ExitFailure, FAILED};
use crate::output::print;
use crate::pipeline;
use crate::run_options::Asked;

/// This program, whatever its name is and whether its file has been replaced.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// The hidden subcommand that runs one job of a client.
const INTERNAL_JOB: &str = "internal-host-job";
/// Most bytes of a file that holds the number of a process.
const MOST_PID_BYTES: u64 = 32;

/// Serves until a signal ends it.
pub(super) fn serve(asked: &Asked, address: &str, words: &[String]) -> Result<u8, ExitFailure> {
    let run = &asked.run;
    if !asked.line.files.is_empty() || asked.line.defines_jobs() {
        return Err(ExitFailure::mistake("iolab: a server takes its jobs from clients: leave out the jobs"));
    }
    if let Some(file) = &run.daemonize {
        return in_background(words, Path::new(file));
    }
    let address =
        HostAddress::parse(address).map_err(|error| ExitFailure::mistake(format!("iolab: --server: {error}")))?;
    let secret = run.secret.as_deref().map(|path| SharedSecret::read(Path::new(path))).transpose()?;
    iolab_process::count_signals();
    let server = JobServer::listen(&ServerRequest {
        address,
        secret,
        hosts: run.allow_host.clone(),
        allowed: run.allow.iter().map(PathBuf::from).collect(),
        max_jobs: run.max_jobs,
    })?;
    print(&format!("{LISTENING}{}\n", server.address()))?;
    server.serve(job_command, &StandardOutput)?;
    Ok(0)
}

/// How a server says where it listens, as fio does.
const LISTENING: &str = "fio: server listening on ";

fn job_command() -> std::io::Result<Command> {
    let mut command = Command::new(THIS_PROGRAM);
    command.arg0("iolab").arg(INTERNAL_JOB);
    Ok(command)
}

/// Runs one job for the server that started this process.
pub(crate) fn internal_job() -> Result<u8, ExitFailure> {
    let socket = std::io::stdin().as_fd().try_clone_to_owned();
    let socket = socket.map_err(|error| ExitFailure::failed(format!("iolab: {error}")))?;
    let is_socket = std::fs::metadata("/proc/self/fd/0").is_ok_and(|metadata| metadata.file_type().is_socket());
    if !is_socket {
        return Err(ExitFailure::mistake(format!("iolab: {INTERNAL_JOB} is started by servers only")));
    }
    Ok(if iolab_hosts::run_job(&pipeline::pipeline(), socket) { 0 } else { FAILED })
}

/// Serves one rank over standard input and output.
pub(crate) fn internal_rank() -> Result<u8, ExitFailure> {
    iolab_process::count_signals();
    iolab_hosts::serve_rank(job_command)?;
    Ok(0)
}

/// Starts the server as a process of its own, waits until it listens, and writes its number to
/// `file`.
fn in_background(words: &[String], file: &Path) -> Result<u8, ExitFailure> {
    let failed = |what: String| ExitFailure::failed(format!("iolab: --daemonize={}: {what}", file.display()));
    check_pid_file(file)?;
    let mut command = Command::new(THIS_PROGRAM);
    command.arg0("iolab").arg("run").args(without_daemonize(words));
    // The terminal's signals are not for it.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let mut line = String::new();
    if let Some(printed) = child.stdout.take() {
        BufReader::new(printed).read_line(&mut line).map_err(|error| failed(error.to_string()))?;
    }
    if !line.starts_with(LISTENING) {
        let status = child.wait().map_err(|error| failed(error.to_string()))?;
        let mut said = String::new();
        if let Some(mut errors) = child.stderr.take() {
            // What it said is all there is to tell; without it, its exit code tells.
            let _ = errors.read_to_string(&mut said);
        }
        let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED);
        return Err(ExitFailure { code, message: said });
    }
    if let Err(error) = std::fs::write(file, format!("{}\n", child.id())) {
        // Nobody could end a server whose number nobody knows.
        let _ = child.kill();
        return Err(failed(error.to_string()));
    }
    print(&line)?;
    Ok(0)
}

/// Refuses to write over a file that does not hold the number of a process.
fn check_pid_file(file: &Path) -> Result<(), ExitFailure> {
    let Ok(metadata) = file.metadata() else { return Ok(()) };
    let text = if metadata.is_file() && metadata.len() <= MOST_PID_BYTES {
        std::fs::read_to_string(file)
    } else {
        Ok("?".to_owned())
    };
    if text.is_ok_and(|text| text.trim().chars().all(|letter| letter.is_ascii_digit())) {
        return Ok(());
    }
    Err(ExitFailure::mistake(format!(
        "iolab: --daemonize={}: the file does not hold the number of a process: name another one",
        file.display()
    )))
}

/// The words without `--daemonize` and its value, in all its spellings.
fn without_daemonize(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.trim_start_matches('-');
        let is_option = word.starts_with('-');
        match name.split_once('=') {
            Some((name, _)) if is_option && is_daemonize(name) => {}
            None if is_option && is_daemonize(name) => drop(words.next()),
            _ => kept.push(word.clone()),
        }
    }
    kept
}

/// Whether it is the option, its letter or an abbreviation that no other option shares.
fn is_daemonize(name: &str) -> bool {
    name == "D" || name.len() >= 2 && "daemonize".starts_with(name)
}

/// What a server tells goes to standard output, as fio's does.
struct StandardOutput;

impl Console for StandardOutput {
    fn note(&self, text: &str) {
        // A reader that has gone does not end the server.
        let _ = print(&format!("{text}\n"));
    }

    fn show(&self, text: &str) {
        let _ = print(text);
    }

    fn step(&self, text: &str, _is_last: bool) {
        self.note(text);
    }

    fn status(&self, _text: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_in_the_background_is_not_told_to_go_there() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        for given in [
            &["--server=,1", "--daemonize=p", "--allow=/a"][..],
            &["--server=,1", "--daemonize", "p", "--allow=/a"],
            &["--server=,1", "-D", "p", "--allow=/a"],
            &["--server=,1", "--daemon=p", "--allow=/a"],
        ] {
            assert_eq!(without_daemonize(&words(given)), ["--server=,1", "--allow=/a"], "{given:?}");
        }
    }

    #[test]
    fn only_numbers_of_processes_are_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pid");
        assert!(check_pid_file(&path).is_ok());
        for (text, is_fine) in [("4711\n", true), ("", true), ("data", false), (&"1".repeat(40), false)] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(check_pid_file(&path).is_ok(), is_fine, "{text}");
        }
        assert!(check_pid_file(folder.path()).is_err());
    }
}
