//! The table of run options as help and as arguments of the command tree.

use clap::{Arg, ArgAction};
use iolab_jobfile::command_line::Argument;

use super::table::{RUN_OPTIONS, RunOption};

/// Options that do something: those that others know and that are missing here are no help.
fn shown() -> impl Iterator<Item = &'static RunOption> {
    RUN_OPTIONS.iter().filter(|option| option.is_supported())
}

/// The usage page of `program`.
pub(crate) fn usage(program: &str) -> String {
    let mut text = format!("{program} [options] [job options] [job files]\n");
    for option in shown() {
        let (name, value) = (option.shape.name, option.value_name);
        let form = match option.shape.argument {
            Argument::None => format!("--{name}"),
            Argument::Optional if value.is_empty() => format!("--{name}"),
            Argument::Optional => format!("--{name}[={value}]"),
            Argument::Required => format!("--{name}={value}"),
        };
        text.push_str(&format!("  {form:<32} {}\n", option.summary));
    }
    text.push_str("\nJob options are listed by --cmdhelp, engines by --enghelp.\n");
    text
}

/// The options as arguments of `run` and `plan`, for completions and the manual page.
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
