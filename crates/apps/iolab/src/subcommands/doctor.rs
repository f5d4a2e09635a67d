//! `iolab doctor [JOB]`: what this machine can and cannot do, what follows, and the command that
//! mends it.
//!
//! Ways of doing I/O are tried with a small file of the program's own, not guessed from versions.
//! Nothing of the machine is changed. With a job, only what matters for it is looked at, and
//! whether it would run.

mod engines;
mod job;
mod machine;

use std::fmt::Write;

use iolab_resolve::Mode;
use serde::Serialize;

use crate::exit::{FAILED, Failure};
use crate::output;

/// What to look at.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArguments {
    /// JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// A job, as for `iolab run`: only what matters for it, and whether it would run
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "JOB FILE | --OPTION=VALUE")]
    pub(crate) words: Vec<String>,
}

/// How well something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Standing {
    /// As it should be.
    Ok,
    /// It works, with less than could be had or with something to know.
    Limited,
    /// It does not work.
    No,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Check {
    /// What.
    pub(crate) topic: String,
    /// How it stands.
    pub(crate) status: Standing,
    /// What was found.
    pub(crate) found: String,
    /// What follows; empty when all is well.
    pub(crate) consequence: String,
    /// The command that mends it, or the words where no command does; empty when all is well.
    pub(crate) mend: String,
}

impl Check {
    pub(crate) fn ok(topic: &str, found: impl Into<String>) -> Check {
        let (topic, found) = (topic.to_owned(), found.into());
        Check { topic, status: Standing::Ok, found, consequence: String::new(), mend: String::new() }
    }

    pub(crate) fn new(status: Standing, topic: &str, found: impl Into<String>, consequence: &str, mend: &str) -> Check {
        let (topic, found) = (topic.to_owned(), found.into());
        Check { topic, status, found, consequence: consequence.to_owned(), mend: mend.to_owned() }
    }
}

/// The whole answer.
#[derive(Debug, Serialize)]
struct Answer {
    checks: Vec<Check>,
    /// Whether the job would run; nothing when no job was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_run: Option<bool>,
}

pub(crate) fn main(arguments: &DoctorArguments) -> Result<u8, Failure> {
    let answer = match &arguments.words[..] {
        [] => Answer { checks: of_machine(), would_run: None },
        words => {
            let asked = super::run::take_apart(words, Mode::Iolab)?;
            super::run::something_to_run(&asked.line)?;
            let checks = job::checks(&asked);
            let would_run = !checks.iter().any(|check| check.status == Standing::No);
            Answer { checks, would_run: Some(would_run) }
        }
    };
    if arguments.json {
        // Plain data with string keys: serialisation has no way to fail.
        output::print(&(serde_json::to_string_pretty(&answer).unwrap_or_default() + "\n"))?;
    } else {
        output::print(&text(&answer))?;
    }
    Ok(if answer.would_run == Some(false) { FAILED } else { 0 })
}

fn of_machine() -> Vec<Check> {
    [engines::all(), machine::limits(), machine::processors(), machine::devices(), machine::looking()].concat()
}

/// Whether a small job of this engine works here.
pub(crate) fn engine_works(name: &str) -> bool {
    let checks = engines::of(&[name]);
    !checks.is_empty() && checks.iter().all(|check| check.status != Standing::No)
}

fn text(answer: &Answer) -> String {
    let mut text = String::new();
    let width = answer.checks.iter().map(|check| check.topic.chars().count()).max().unwrap_or(0);
    for check in &answer.checks {
        let word = match check.status {
            Standing::Ok => "ok     ",
            Standing::Limited => "limited",
            Standing::No => "NO     ",
        };
        let gap = " ".repeat(width - check.topic.chars().count());
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{word} {}{gap}  {}", check.topic, check.found);
        for (mark, words) in [(" ", &check.consequence), (">", &check.mend)] {
            if !words.is_empty() {
                let _ = writeln!(text, "        {mark} {words}");
            }
        }
    }
    match answer.would_run {
        Some(true) => text.push_str("\nThe job would run.\n"),
        Some(false) => text.push_str("\nThe job would not run.\n"),
        None => {}
    }
    text
}

/// Text of a file of `/proc` or `/sys`, without the blanks around it.
pub(crate) fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
