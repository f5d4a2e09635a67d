//! Parses job files and the command line into a [`JobSet`].

use iolab_text::closest;

use crate::collect::Collector;
use crate::command_line::CommandLine;
use crate::job_set::ParseFailure;
use crate::options::find_option;
use crate::raw::{Assignment, Document, Scope};
use crate::reader::Reader;
use crate::secret_names::SecretNames;
use crate::{Diagnostic, DiagnosticSeverity, JobSet, Surroundings};

/// One job file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Input {
    /// Its name, for messages and for includes relative to it; `-` for standard input.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The input of parsing.
#[derive(Debug, Clone, Copy, Default)]
pub struct ParseRequest<'a> {
    /// The command line, if there is one. Its jobs come first, and its global options apply to the
    /// first job file.
    pub command_line: Option<&'a CommandLine>,
    /// The job files, in order, as [`CommandLine::files`] names them.
    pub files: &'a [Input],
    /// The only sections of job files to read (`--section`); empty: all.
    pub sections: &'a [String],
}

/// Parses job files and command line.
///
/// As in fio, options on the command line before the first `--name` apply to the jobs of the
/// command line and of the first job file. A job file's `[global]` sections apply to that file
/// only. [`ParseRequest::sections`] selects among the sections of job files.
///
/// # Errors
/// All mistakes found, not only the first.
pub fn parse(request: &ParseRequest<'_>, surroundings: &dyn Surroundings) -> Result<JobSet, ParseFailure> {
    let mut sources = Vec::new();
    let mut diagnostics = Vec::new();
    let mut written = Document::default();
    if let Some(command_line) = request.command_line {
        sources.push(command_line.source.clone());
        written = command_line.document.clone();
    }
    let mut reader = Reader { sources: &mut sources, diagnostics: &mut diagnostics, surroundings };
    let mut files: Vec<Document> = request.files.iter().map(|file| reader.read(&file.name, &file.bytes)).collect();
    let names = SecretNames::new(surroundings);
    // The command line hides its own.
    let first = usize::from(request.command_line.is_some());
    sources[first..].iter_mut().for_each(|(_, text)| names.hide_in_file(text));
    select(&mut files, request.sections, &mut diagnostics, request.command_line);

    let mut collector = Collector::new(surroundings, diagnostics);
    collector.document(&written, false);
    for (position, file) in files.iter().enumerate() {
        if position > 0 {
            collector.forget_globals();
        }
        collector.document(file, position > 0);
    }
    collector.finish(sources)
}

/// Warnings of options of the command line that the job files set for every job. As in fio, options
/// of the command line are only defaults for the jobs of a file; but somebody who writes one before
/// the name of a file expects it to win.
pub fn without_effect(command_line: &CommandLine, set: &JobSet) -> Vec<Diagnostic> {
    // The command line is the first source.
    let has_no_effect = |assignment: &&Assignment| {
        let name = assignment.name.as_str();
        let in_force = set.jobs.iter().filter_map(|job| match find_option(name) {
            Some(entry) => job.settings.get(entry.name),
            None => job.engine_settings.get(name),
        });
        let sources: Vec<usize> = in_force.map(|setting| setting.source).collect();
        !sources.is_empty() && !sources.contains(&0)
    };
    let globals = command_line.document.sections.iter().filter(|section| section.scope == Scope::Global);
    let given = globals.flat_map(|section| &section.assignments);
    let warning = |assignment: &Assignment| Diagnostic {
        severity: DiagnosticSeverity::Warning,
        source: 0,
        span: assignment.name_span,
        reason: format!("--{} has no effect: the job file sets it for every job", assignment.name),
        suggestion: Some("change it in the job file: options on the command line are defaults for its jobs".to_owned()),
    };
    given.filter(has_no_effect).map(warning).collect()
}

/// Drops the jobs that `--section` does not name.
fn select(
    files: &mut [Document],
    selection: &[String],
    diagnostics: &mut Vec<Diagnostic>,
    command_line: Option<&CommandLine>,
) {
    if selection.is_empty() {
        return;
    }
    let jobs = || files.iter().flat_map(|file| &file.sections).filter(|section| section.scope == Scope::Job);
    for wanted in selection {
        if !jobs().any(|section| section.name == *wanted) {
            let near = closest(wanted, jobs().map(|section| section.name.as_str()));
            // `--section` can only be on the command line, which is the first source.
            let written = command_line.and_then(|line| line.source.1.find(wanted.as_str())).unwrap_or(0);
            diagnostics.push(Diagnostic {
                severity: DiagnosticSeverity::Error,
                source: 0,
                span: (written, written + wanted.len()),
                reason: format!("no job file has the section `{wanted}` (--section)"),
                suggestion: near.map(|name| format!("did you mean `{name}`?")),
            });
        }
    }
    for file in files {
        file.sections.retain(|section| section.scope == Scope::Global || selection.contains(&section.name));
    }
}
