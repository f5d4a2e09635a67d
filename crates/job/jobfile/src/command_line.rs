//! fio's command line taken apart: options of the program, job options, job files.
//!
//! `--opt=value`, `-opt=value` and `--opt value` are equivalent. A name may be abbreviated if it
//! stays unambiguous. `--name` begins a job, and job options before the first `--name` are global.
//! Unlike in fio, an engine's own option may precede `--ioengine`. This module opens and prints
//! nothing.

mod arguments;
mod names;
mod program;
mod quote;

use iolab_options::{NotALine, job_line};

use crate::job_set::ParseFailure;
use crate::raw::{Assignment, Document, Scope, Section};
use crate::secret_names::SecretNames;
use crate::{Diagnostic, DiagnosticSeverity, Surroundings};
use arguments::{Arguments, Token, Written};
use names::{Meaning, Names};

pub use program::{Argument, ProgramOption, ProgramSetting};
pub(crate) use quote::quote;

/// The parsed command line.
#[derive(Debug, Clone, Default)]
pub struct CommandLine {
    /// Options of the program, in order.
    pub program: Vec<ProgramSetting>,
    /// Job files, in order; `-` is standard input.
    pub files: Vec<String>,
    /// For each job file, how many of the options of the program stand before it.
    pub options_before_files: Vec<usize>,
    /// `("command line", its text)`, with asterisks in the place of secrets: the source that spans
    /// within it refer to.
    pub source: (String, String),
    /// Job options, in sections.
    pub(crate) document: Document,
}

impl CommandLine {
    /// Whether the command line itself defines a job (`--name`).
    pub fn defines_jobs(&self) -> bool {
        self.document.sections.iter().any(|section| section.scope == Scope::Job)
    }

    /// The first job that the command line defines.
    pub fn first_job(&self) -> Option<&str> {
        self.document.sections.iter().find(|section| section.scope == Scope::Job).map(|section| section.name.as_str())
    }

    /// The job options of the command line as words of a command line.
    pub fn job_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for section in &self.document.sections {
            // The name of a global section is not among its options.
            let begins_global = section.scope == Scope::Global && !words.is_empty();
            words.extend(begins_global.then(|| format!("--name={}", section.name)));
            words.extend(section.assignments.iter().map(|Assignment { name, value, .. }| match value {
                Some(value) => format!("--{name}={value}"),
                None => format!("--{name}"),
            }));
        }
        words
    }

    /// The job options of the command line as the text of a job file; empty when there are none.
    ///
    /// # Errors
    /// A name or a value that a job file cannot hold.
    pub fn job_text(&self) -> Result<String, NotALine> {
        let mut text = String::new();
        for section in &self.document.sections {
            if section.name.contains(|letter: char| letter.is_control() || "[];#".contains(letter)) {
                let reason = "a name has no brackets, no `;`, no `#` and no control characters there";
                return Err(NotALine { setting: format!("--name={}", section.name.escape_debug()), reason });
            }
            text += &format!("[{}]\n", section.name);
            for assignment in section.assignments.iter().filter(|assignment| assignment.name != "name") {
                text += &job_line(&assignment.name, assignment.value.as_deref())?;
            }
        }
        Ok(text)
    }
}

/// Parses the arguments (without the program's name). `program` lists the options that are not part
/// of the job language.
///
/// # Errors
/// All mistakes found. The only source of the failure is the command line itself.
pub fn parse(
    arguments: &[String],
    program: &[ProgramOption],
    surroundings: &dyn Surroundings,
) -> Result<CommandLine, ParseFailure> {
    let arguments = Arguments::new(arguments);
    let names = Names::new(&arguments, program, surroundings);
    let mut builder = Builder { line: CommandLine::default(), errors: Vec::new() };
    builder.line.source = ("command line".to_owned(), arguments.without_secrets(&SecretNames::new(surroundings)));
    let mut at = 0;
    while let Some(token) = arguments.token(at) {
        at += 1;
        match token {
            Token::File(name) => builder.file(name),
            Token::EndOfOptions => {
                arguments.rest(at).for_each(|name| builder.file(name));
                break;
            }
            Token::Option(mut written) => {
                names.spell_out(&mut written);
                match names.meaning(&written.name, surroundings) {
                    Ok(meaning) => {
                        if written.value.is_none() && meaning.needs_value() && arguments.add_next(&mut written, at) {
                            at += 1;
                        }
                        builder.option(meaning, written);
                    }
                    Err((reason, suggestion)) => builder.refuse(written.name_span, reason, suggestion),
                }
            }
        }
    }
    builder.finish()
}

struct Builder {
    line: CommandLine,
    errors: Vec<Diagnostic>,
}

impl Builder {
    fn refuse(&mut self, span: (usize, usize), reason: String, suggestion: Option<String>) {
        self.errors.push(Diagnostic { severity: DiagnosticSeverity::Error, source: 0, span, reason, suggestion });
    }

    fn file(&mut self, name: String) {
        self.line.files.push(name);
        self.line.options_before_files.push(self.line.program.len());
    }

    fn option(&mut self, meaning: Meaning, written: Written) {
        match meaning {
            Meaning::Program(option) => self.program_option(option, written),
            Meaning::Job { name, needs_value } => self.job_option(name, needs_value, written),
        }
    }

    fn program_option(&mut self, option: ProgramOption, written: Written) {
        let name = option.name;
        let span = if written.value.is_some() { written.value_span } else { written.span() };
        match (option.argument, &written.value) {
            (Argument::None, Some(_)) => self.refuse(span, format!("--{name} takes no value"), None),
            (Argument::Required, None) => self.refuse(span, format!("--{name} needs a value"), None),
            _ => self.line.program.push(ProgramSetting { name, value: written.value, span }),
        }
    }

    fn job_option(&mut self, name: String, needs_value: bool, written: Written) {
        if needs_value && written.value.is_none() {
            return self.refuse(written.span(), format!("--{name} needs a value"), Some(format!("write `--{name}=…`")));
        }
        let sections = &mut self.line.document.sections;
        if name == "name" {
            let name = written.value.clone().unwrap_or_default();
            let global = name.starts_with("global");
            let (scope, span) = (if global { Scope::Global } else { Scope::Job }, written.span());
            sections.push(Section { scope, name, source: 0, span, assignments: Vec::new() });
            if global {
                // The section's own name, not a name for the following jobs.
                return;
            }
        } else if sections.is_empty() {
            let (scope, name, span) = (Scope::Global, "global".to_owned(), written.span());
            sections.push(Section { scope, name, source: 0, span, assignments: Vec::new() });
        }
        if let Some(section) = sections.last_mut() {
            let Written { value, name_span, value_span, .. } = written;
            section.assignments.push(Assignment { name, value, source: 0, name_span, value_span });
        }
    }

    fn finish(self) -> Result<CommandLine, ParseFailure> {
        if self.errors.is_empty() {
            return Ok(self.line);
        }
        Err(ParseFailure { sources: vec![self.line.source], diagnostics: self.errors })
    }
}

#[cfg(test)]
mod tests;
