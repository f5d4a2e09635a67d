//! `iolab man`: manual pages, one for each command; those of `run` and `plan` have every job
//! option.

use anyhow::Context;
use clap::Command;
use clap_mangen::Man;
use iolab_outputs::{OutputKind, make_folder};

use crate::arguments::{ManArguments, command_tree};
use crate::exit::ExitFailure;
use crate::outputs;

pub(crate) fn main(arguments: &ManArguments) -> Result<u8, ExitFailure> {
    let mut tree = command_tree().disable_help_subcommand(true);
    tree.build();
    let Some(folder) = &arguments.folder else {
        let command = find(&tree, &arguments.command)?;
        crate::output::print(&page(command)?)?;
        return Ok(0);
    };
    make_folder(folder)?;
    let mut outputs = outputs::beside(arguments.force, []);
    for command in all(&tree) {
        let path = folder.join(file_name(command));
        outputs.place(&path, OutputKind::Report, "a manual page (--folder)")?.write(page(command)?.as_bytes())?;
    }
    Ok(0)
}

/// Finds the command that the words name.
fn find<'a>(tree: &'a Command, words: &[String]) -> Result<&'a Command, ExitFailure> {
    let mut command = tree;
    for word in words {
        let Some(next) = command.find_subcommand(word) else {
            let known: Vec<&str> = visible(command).map(Command::get_name).collect();
            let has =
                if known.is_empty() { "has no commands".to_owned() } else { format!("has: {}", known.join(", ")) };
            let asked = command.get_bin_name().unwrap_or("iolab");
            return Err(ExitFailure::mistake(format!("iolab: {asked} has no command `{word}`; it {has}")));
        };
        command = next;
    }
    Ok(command)
}

/// A command and all commands below it.
fn all(command: &Command) -> Vec<&Command> {
    std::iter::once(command).chain(visible(command).flat_map(all)).collect()
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

/// The title of a page, such as `iolab-fs-mkfs`; other pages refer to it by this name.
fn title(command: &Command) -> String {
    command.get_bin_name().unwrap_or_else(|| command.get_name()).replace(' ', "-")
}

fn file_name(command: &Command) -> String {
    format!("{}.1", title(command))
}

fn page(command: &Command) -> Result<String, ExitFailure> {
    let mut page = Vec::new();
    Man::new(command.clone()).title(title(command)).render(&mut page).context("rendering the manual page")?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Command {
        let mut tree = command_tree().disable_help_subcommand(true);
        tree.build();
        tree
    }

    /// Every command has a page under its own name, with its usage.
    #[test]
    fn every_command_has_a_page_with_its_usage() {
        let tree = tree();
        let commands = all(&tree);
        assert!(commands.len() > visible(&tree).count() + 20, "{}", commands.len());
        let mut names: Vec<String> = commands.iter().map(|command| file_name(command)).collect();
        for command in commands {
            let page = page(command).expect("a page");
            let title = title(command);
            assert!(page.contains(&format!(".TH {title} 1")), "{title}: {page}");
            assert!(page.contains(".SH SYNOPSIS"), "{title}");
        }
        names.sort_unstable();
        names.dedup();
        assert!(names.contains(&"iolab-fs-mkfs.1".to_owned()) && names.contains(&"iolab.1".to_owned()), "{names:?}");
    }

    #[test]
    fn a_command_that_there_is_not_is_told_with_those_there_are() {
        let words = ["fs".to_owned(), "mkfsx".to_owned()];
        let failure = find(&tree(), &words).expect_err("no such command");
        assert!(failure.message.contains("iolab fs has no command `mkfsx`; it has: mkfs"), "{}", failure.message);
    }
}
