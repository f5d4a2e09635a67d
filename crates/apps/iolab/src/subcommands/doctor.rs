//! `iolab doctor [JOB | DEVICE]`: the command line of `iolab-doctor`, which checks what this
//! machine can and cannot do, and what a block device is.

use std::fmt::Write;
use std::path::Path;

use iolab_doctor::{Check, CheckStatus, DeviceLayer, DeviceReport};
use iolab_observe::System;
use iolab_resolve::Mode;
use serde::Serialize;

use crate::exit::{ExitFailure, FAILED};
use crate::{output, pipeline};

/// What to look at.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArguments {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// A job as for `iolab run`: check only what matters to it, and whether it would run; or a
    /// block device (`/dev/sda`): show what it is, down to the disks below it
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "JOB FILE | --OPTION=VALUE | DEVICE")]
    pub(crate) words: Vec<String>,
}

/// The whole answer.
#[derive(Debug, Serialize)]
struct Answer {
    checks: Vec<Check>,
    /// The device that was named, and those below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    layers: Option<Vec<DeviceLayer>>,
    /// Whether the job would run; `None` if no job was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_run: Option<bool>,
}

pub(crate) fn main(arguments: &DoctorArguments) -> Result<u8, ExitFailure> {
    if let [only] = &arguments.words[..]
        && let Some(report) = iolab_doctor::of_device(&System::live(), Path::new(only))
    {
        return of_device(arguments, report);
    }
    let answer = match &arguments.words[..] {
        [] => Answer {
            checks: iolab_doctor::of_machine(iolab_engine_catalogue::engines()),
            layers: None,
            would_run: None,
        },
        words => {
            let asked = super::run::take_apart(words, Mode::Iolab)?;
            super::run::something_to_run(&asked.line)?;
            let checks = pipeline::with_request(&asked, Mode::Iolab, |request| {
                iolab_doctor::of_job(&pipeline::pipeline(), request)
            });
            let would_run = Some(iolab_doctor::would_run(&checks));
            Answer { checks, layers: None, would_run }
        }
    };
    show(arguments, &answer, "")?;
    Ok(if answer.would_run == Some(false) { FAILED } else { 0 })
}

fn of_device(arguments: &DoctorArguments, report: DeviceReport) -> Result<u8, ExitFailure> {
    let before = report.text();
    let answer = Answer { checks: report.checks, layers: Some(report.layers), would_run: None };
    show(arguments, &answer, &before)?;
    Ok(0)
}

/// Prints an answer, for people behind other text.
fn show(arguments: &DoctorArguments, answer: &Answer, before: &str) -> Result<(), ExitFailure> {
    if arguments.json {
        // Plain data with string keys: serialisation has no way to fail.
        output::print(&(iolab_text::indented(&serde_json::to_string(answer).unwrap_or_default()) + "\n"))?;
    } else {
        output::print_for_people(&(before.to_owned() + &text(answer)))?;
    }
    Ok(())
}

fn text(answer: &Answer) -> String {
    let mut text = String::new();
    let width = answer.checks.iter().map(|check| check.topic.chars().count()).max().unwrap_or(0);
    for check in &answer.checks {
        let word = match check.status {
            CheckStatus::Ok => "ok     ",
            CheckStatus::Limited => "limited",
            CheckStatus::No => "NO     ",
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
