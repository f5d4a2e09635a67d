//! `--client`: the jobs run on servers, and their reports are made here.

use std::path::Path;

use iolab_hosts::{HostJobs, Hosts, SharedSecret};
use iolab_process::INTERRUPTS;
use iolab_recording::Recording;
use iolab_resolve::Mode;

use super::targets::{Target, targets};
use crate::exit::ExitFailure;
use crate::outcomes::{exit_code, show_outcomes};
use crate::pipeline;
use crate::reported::Reported;
use crate::run_options::Asked;

/// Runs as a client.
pub(super) fn run(asked: &Asked, mode: Mode) -> Result<u8, ExitFailure> {
    refuse_words_of_one_host(asked, "--client")?;
    let secret = asked.run.secret.as_deref().map(|path| SharedSecret::read(Path::new(path))).transpose()?;
    let mut hosts = Vec::new();
    for Target { servers, files, remote_files } in targets(&asked.line)? {
        for address in servers {
            let jobs = pipeline::with_request(asked, mode, |request| {
                iolab_hosts::pack(&pipeline::pipeline(), request, &files, &remote_files)
            })?;
            hosts.push(HostJobs { address, jobs });
        }
    }
    iolab_process::count_signals();
    let hosts = iolab_hosts::connect(hosts, secret.as_ref(), &INTERRUPTS)?;
    follow(hosts, asked, mode)
}

/// From accepted jobs to the report.
pub(super) fn follow(hosts: Hosts, asked: &Asked, mode: Mode) -> Result<u8, ExitFailure> {
    let Some(recording) = recording_of(hosts, asked, mode)? else { return Ok(0) };
    show_outcomes(&recording, if mode == Mode::Fio { "fio" } else { "iolab" });
    Ok(exit_code(&recording, mode))
}

/// From accepted jobs to their recording, which is kept and reported; `None` if nothing is to run.
pub(super) fn recording_of(hosts: Hosts, asked: &Asked, mode: Mode) -> Result<Option<Recording>, ExitFailure> {
    let said = hosts.warnings();
    if mode == Mode::Iolab {
        crate::printing::complain(&said);
    }
    if asked.run.warnings_fatal && !said.is_empty() {
        return Err(ExitFailure::mistake("warnings are fatal (--warnings-fatal)"));
    }
    if asked.run.parse_only {
        return Ok(None);
    }
    let (plan, redaction) = (hosts.plan().clone(), hosts.redaction().clone());
    let reported =
        Reported { plan: &plan, redaction: &redaction, run: &asked.run, mode, format: None, preface: String::new() };
    reported.around(|_, observer, _| Ok(hosts.run(observer, &INTERRUPTS)?)).map(Some)
}

/// What belongs to runs on this machine is refused, not ignored.
pub(super) fn refuse_words_of_one_host(asked: &Asked, with: &str) -> Result<(), ExitFailure> {
    let run = &asked.run;
    for (option, is_given) in [
        ("--daemonize", run.daemonize.is_some()),
        ("--allow", !run.allow.is_empty()),
        ("--allow-host", !run.allow_host.is_empty()),
    ] {
        if is_given {
            return Err(ExitFailure::mistake(format!("iolab: {option} is for servers, and does not go with {with}")));
        }
    }
    if !run.debug.is_empty() {
        return Err(ExitFailure::mistake(format!("iolab: --debug tells of this machine, and does not go with {with}")));
    }
    if run.idle_profile.is_some() {
        return Err(ExitFailure::mistake(format!(
            "iolab: --idle-prof measures this machine, and does not go with {with}: run the jobs on the host itself",
        )));
    }
    if run.showcmd {
        return Err(ExitFailure::mistake(format!("iolab: --showcmd does not go with {with}: try the job file alone")));
    }
    for (option, is_given) in [("--rank", run.rank.is_some()), ("--start-at", run.start_at_unix_ns.is_some())] {
        if is_given {
            let reason = "ranks and their start are arranged then";
            return Err(ExitFailure::mistake(format!("iolab: {option} does not go with {with}: {reason}")));
        }
    }
    Ok(())
}
