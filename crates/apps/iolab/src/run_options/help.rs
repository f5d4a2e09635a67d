//! The table of run options as help and as arguments of the command tree.

use clap::{Arg, ArgAction};
use iolab_jobfile::command_line::Argument;

use super::table::{RUN_OPTIONS, RunOption};

/// The column where explanations begin.
const EXPLAINED_AT: usize = 36;

/// The options to show: those that have an effect.
fn shown() -> impl Iterator<Item = &'static RunOption> {
    RUN_OPTIONS.iter().filter(|option| option.is_supported())
}

/// A command that takes jobs, with its introduction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    about: &'static str,
    examples: &'static [&'static str],
}

pub(crate) const RUN: Program = Program {
    name: "iolab run",
    about: "Run job files, or a job described by fio-style options",
    examples: &[
        "iolab run job.fio",
        "iolab run --name=try --rw=randread --bs=4k --iodepth=16 --ioengine=io_uring --direct=1 --size=1g",
        "iolab run job.fio --vary iodepth=1,16 --repeat 7",
    ],
};

pub(crate) const PLAN: Program = Program {
    name: "iolab plan",
    about: "Show what a job would do, with every default filled in, without running it",
    examples: &["iolab plan job.fio", "iolab plan job.fio --vary iodepth=1,16"],
};

pub(crate) const FIO: Program =
    Program { name: "fio", about: "Run fio's job files (this is iolab, called as fio)", examples: &[] };

/// The usage page of `program`, in lines of at most `columns`.
pub(crate) fn usage(program: Program, columns: usize) -> String {
    let Program { name, about, examples } = program;
    let mut text = format!("{about}\n\nUsage: {name} [OPTIONS] [--JOB-OPTION=VALUE]... [JOB FILE]...\n\nOptions:\n");
    for option in shown() {
        let (name, value) = (option.shape.name, option.value_name);
        let form = match option.shape.argument {
            Argument::None => format!("--{name}"),
            Argument::Optional if value.is_empty() => format!("--{name}"),
            Argument::Optional => format!("--{name}[={value}]"),
            Argument::Required => format!("--{name}={value}"),
        };
        let letter = option.shape.letter.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
        text += &explained(&format!("  {letter}{form}"), option.summary, columns);
    }
    if !examples.is_empty() {
        text += "\nExamples:\n";
        examples.iter().for_each(|example| text += &format!("  {example}\n"));
    }
    let more = "--cmdhelp lists the job options, --cmdhelp=OPTION explains one; --enghelp lists the engines.";
    text + "\n" + &iolab_text::paragraph("", more, columns)
}

/// Puts `form` on the left and its explanation in a column on the right.
fn explained(form: &str, summary: &str, columns: usize) -> String {
    let mut text = String::new();
    let mut line = format!("{form:<EXPLAINED_AT$}");
    if form.len() >= EXPLAINED_AT {
        text = format!("{form}\n");
        line = " ".repeat(EXPLAINED_AT);
    }
    let mut is_empty = true;
    for word in summary.split(' ') {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > columns {
            text += &format!("{line}\n");
            line = " ".repeat(EXPLAINED_AT);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    text + &line + "\n"
}

/// The options as arguments of `run` and `plan`, for completions and the manual pages.
pub(crate) fn arguments() -> impl Iterator<Item = Arg> {
    shown().map(|option| {
        let argument = Arg::new(option.shape.name).long(option.shape.name).help(option.summary);
        let argument = match option.shape.letter {
            Some(letter) => argument.short(letter),
            None => argument,
        };
        match option.shape.argument {
            Argument::Required => argument.value_name(option.value_name),
            Argument::Optional if !option.value_name.is_empty() => {
                argument.value_name(option.value_name).num_args(0..=1).require_equals(true)
            }
            Argument::None | Argument::Optional => argument.action(ArgAction::SetTrue),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_its_own_command_and_keeps_within_the_terminal() {
        for program in [RUN, PLAN, FIO] {
            for columns in [80, 100, 120] {
                let page = usage(program, columns);
                assert!(page.contains(&format!("Usage: {} [OPTIONS]", program.name)), "{page}");
                let options = page.split("Examples:").next().unwrap_or_default();
                assert!(options.lines().all(|line| line.chars().count() <= columns), "{columns}: {page}");
            }
        }
    }
}
