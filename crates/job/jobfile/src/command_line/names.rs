//! Finds the option that a (possibly abbreviated) name on the command line means.

use std::collections::BTreeMap;

use iolab_options::OptionEntry;
use iolab_text::closest;

use super::arguments::{Arguments, Token, Written};
use super::{Argument, ProgramOption};
use crate::collect::{engine_option, takes_no_value};
use crate::options::OPTIONS;
use crate::{Surroundings, find_option};

/// The meaning of a name on the command line.
#[derive(Clone)]
pub(super) enum Meaning {
    /// An option of the program.
    Program(ProgramOption),
    /// A job option or an engine's own.
    Job {
        /// Name in full.
        name: String,
        /// Whether it requires a value.
        needs_value: bool,
    },
}

impl Meaning {
    /// Whether the next argument is its value if it has none yet.
    pub(super) fn needs_value(&self) -> bool {
        match self {
            Meaning::Program(option) => option.argument == Argument::Required,
            Meaning::Job { needs_value, .. } => *needs_value,
        }
    }
}

/// All valid names: of the program, of jobs, and of the engines that the command line names.
pub(super) struct Names<'p> {
    program: &'p [ProgramOption],
    engines: Vec<&'static [OptionEntry]>,
}

impl Names<'_> {
    pub(super) fn new<'p>(
        arguments: &Arguments<'_>,
        program: &'p [ProgramOption],
        surroundings: &dyn Surroundings,
    ) -> Names<'p> {
        let mut engines = Vec::new();
        for (at, token) in arguments.tokens() {
            let Token::Option(written) = token else { continue };
            if written.name == "ioengine" {
                let engine = written.value.or_else(|| arguments.text_at(at + 1).map(str::to_owned)).unwrap_or_default();
                engines.extend(surroundings.engine_options(&engine));
            }
        }
        Names { program, engines }
    }

    /// Expands a one-letter name: `-o FILE`, `-oFILE`. If the name begins a longer one, it means
    /// the longer one, as in getopt_long_only(3).
    pub(super) fn spell_out(&self, written: &mut Written) {
        let mut letters = written.name.chars();
        let Some(first) = letters.next().filter(|_| written.single_dash) else { return };
        let attached = letters.as_str();
        if !attached.is_empty() && !self.beginning_with(&written.name).is_empty() {
            return;
        }
        let Some(option) = self.program.iter().find(|option| option.letter == Some(first)) else { return };
        if attached.is_empty() {
            option.name.clone_into(&mut written.name);
        } else if option.argument != Argument::None {
            let value = written.value.take().map(|value| format!("={value}")).unwrap_or_default();
            written.value = Some(format!("{attached}{value}"));
            option.name.clone_into(&mut written.name);
        }
    }

    /// The option meant by `name`.
    ///
    /// # Errors
    /// The reason and a suggestion, if no option or several options match.
    pub(super) fn meaning(
        &self,
        name: &str,
        surroundings: &dyn Surroundings,
    ) -> Result<Meaning, (String, Option<String>)> {
        if let Some(exact) = self.exact(name) {
            return Ok(exact);
        }
        let candidates = self.beginning_with(name);
        if candidates.len() > 1 {
            let names: Vec<String> = candidates.keys().take(8).map(|name| format!("--{name}")).collect();
            return Err((format!("`--{name}` is ambiguous"), Some(format!("it could be {}", names.join(", ")))));
        }
        if let Some(only) = candidates.into_values().next() {
            return Ok(only);
        }
        // An option of an engine that a job file may name.
        if let Some(entry) = engine_option(name, surroundings) {
            return Ok(job_meaning(entry));
        }
        let known = self.program.iter().map(|option| option.name).chain(OPTIONS.iter().map(|entry| entry.name));
        let near = closest(name, known);
        Err((format!("`--{name}` is not an option"), near.map(|near| format!("did you mean `--{near}`?"))))
    }

    fn exact(&self, name: &str) -> Option<Meaning> {
        let run = self.program.iter().find(|option| option.name == name).copied().map(Meaning::Program);
        run.or_else(|| find_option(name).map(job_meaning)).or_else(|| {
            let mut entries = self.engines.iter().flat_map(|table| table.iter());
            entries.find(|entry| entry.answers_to(name)).map(job_meaning)
        })
    }

    /// Options with a name that begins with this text, by full name.
    fn beginning_with(&self, name: &str) -> BTreeMap<&'static str, Meaning> {
        let mut found = BTreeMap::new();
        for option in self.program.iter().filter(|option| option.name.starts_with(name)) {
            found.insert(option.name, Meaning::Program(*option));
        }
        let entries = OPTIONS.iter().chain(self.engines.iter().flat_map(|table| table.iter()));
        for entry in entries {
            if entry.name.starts_with(name) || entry.aliases.iter().any(|alias| alias.starts_with(name)) {
                found.entry(entry.name).or_insert_with(|| job_meaning(entry));
            }
        }
        found
    }
}

fn job_meaning(entry: &'static OptionEntry) -> Meaning {
    Meaning::Job { name: entry.name.to_owned(), needs_value: !takes_no_value(&entry.kind) }
}
