//! `--enghelp`: the engines of a build, one engine with its options, or one option, as text.

use iolab_options::OptionEntry;
use iolab_text::closest;

use super::options::{describe, line};

/// The data about an engine that help needs.
#[derive(Debug, Clone, Copy)]
pub struct EngineHelp<'a> {
    /// Its name.
    pub name: &'a str,
    /// Other names.
    pub aliases: &'a [&'a str],
    /// A summary of one line.
    pub summary: &'a str,
    /// Its own options.
    pub options: &'static [OptionEntry],
}

/// `--enghelp`: all engines for an empty request, one engine's options for `ENGINE`, one of them
/// for `ENGINE,OPTION`.
///
/// # Errors
/// What is unknown, in a sentence.
pub fn enghelp(request: &str, engines: &[EngineHelp<'_>]) -> Result<String, String> {
    if request.is_empty() {
        return Ok(engines.iter().map(|engine| line(engine.name, engine.summary)).collect());
    }
    let (name, option) = match request.split_once(',') {
        Some((name, option)) => (name, Some(option)),
        None => (request, None),
    };
    let found = engines.iter().find(|engine| engine.name == name || engine.aliases.contains(&name));
    let Some(engine) = found else {
        return Err(unknown("engine", name, engines.iter().map(|engine| engine.name)));
    };
    match option {
        None if engine.options.is_empty() => {
            Ok(format!("{}: {}\nIt has no options of its own.\n", engine.name, engine.summary))
        }
        None => Ok(engine.options.iter().map(|entry| line(entry.name, entry.summary)).collect()),
        Some(option) => match engine.options.iter().find(|entry| entry.answers_to(option)) {
            Some(entry) => Ok(describe(entry)),
            None => Err(unknown("option of this engine", option, engine.options.iter().map(|entry| entry.name))),
        },
    }
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match closest(name, known) {
        Some(near) => format!("`{name}` is not an {what}; did you mean `{near}`?"),
        None => format!("`{name}` is not an {what}"),
    }
}
