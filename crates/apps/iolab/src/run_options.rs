//! Options of a run as a whole: those that the command lines of `iolab run` and `fio` accept
//! besides job options.
//!
//! [`table::RUN_OPTIONS`] has one entry for each. Reading, `--help`, completions and the manual
//! page come from it. An entry that sets nothing fails a test, and an unread field is a compiler
//! warning, unless it is a list. Both are errors in CI, so that no option is silently ignored.

mod help;
mod readings;
mod table;
mod values;

use iolab_jobfile::command_line::{CommandLine, ProgramOption, ProgramSetting};
use iolab_jobfile::{Diagnostic, DiagnosticSeverity};
use iolab_resolve::Mode;

pub(crate) use help::{FIO, PLAN, Program, RUN, arguments, usage};
pub(crate) use table::RUN_OPTIONS;
pub(crate) use values::{EtaWhen, IdleProfile, OutputFormat, RunOptions, StudyWords};

use crate::exit::ExitFailure;
use readings::Refusal;
use table::{RunOption, Support};

/// The shapes of the options for the job language, in the order of the table.
pub(crate) fn shapes() -> Vec<ProgramOption> {
    RUN_OPTIONS.iter().map(|option| option.shape).collect()
}

/// What a command line asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// Options of the run as a whole.
    pub(crate) run: RunOptions,
    /// Options of jobs.
    pub(crate) line: CommandLine,
}

impl Asked {
    /// A failure that shows these findings at their places in the command line.
    pub(crate) fn refused(&self, findings: &[Diagnostic]) -> ExitFailure {
        let sources = std::slice::from_ref(&self.line.source);
        ExitFailure::mistake(iolab_jobfile::render(findings, sources, crate::printing::use_color()))
    }

    /// Refuses options of a study if there is none, instead of ignoring them silently.
    ///
    /// # Errors
    /// The first such option, and how to make a study.
    pub(crate) fn refuse_words_of_studies(&self) -> Result<(), ExitFailure> {
        refuse_without_a_study(&self.line, &self.run).map_err(|finding| self.refused(&[finding]))
    }
}

/// The result of reading the options of a command line.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) run: RunOptions,
    /// Requests that will not be fulfilled.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// Reads the options of a command line.
///
/// # Errors
/// Every refused option, with its place.
pub(crate) fn read(line: &CommandLine, mode: Mode) -> Result<Read, Vec<Diagnostic>> {
    let (mut read, mut errors) = (Read::default(), Vec::new());
    for setting in &line.program {
        let Some(option) = RUN_OPTIONS.iter().find(|option| option.shape.name == setting.name) else { continue };
        match apply(option, setting, &mut read.run, mode) {
            Ok(()) => {}
            Err(finding) if finding.severity == DiagnosticSeverity::Error => errors.push(finding),
            Err(finding) => read.warnings.push(finding),
        }
    }
    if errors.is_empty() { Ok(read) } else { Err(errors) }
}

/// Applies one option, or returns the reason why not.
fn apply(option: &RunOption, setting: &ProgramSetting, run: &mut RunOptions, mode: Mode) -> Result<(), Diagnostic> {
    let name = option.shape.name;
    let finding = |severity, reason, suggestion| Diagnostic {
        severity,
        source: 0,
        span: setting.span,
        reason: format!("--{name}{reason}"),
        suggestion,
    };
    let refused = |refusal: Refusal| {
        finding(DiagnosticSeverity::Error, format!(": {}", refusal.reason), refusal.suggestion.map(str::to_owned))
    };
    let value = setting.value.as_deref().unwrap_or_default();
    match option.support {
        Support::Full(take) => {
            *run = take(std::mem::take(run), value).map_err(refused)?;
            if let Some(vary) = run.study.vary.last_mut().filter(|_| name == "vary") {
                vary.span = setting.span;
            }
            Ok(())
        }
        Support::NothingToDo(check) => check(value).map_err(refused),
        // A script for fio continues if an option changes neither the load nor its report.
        Support::Harmless(reason) if mode == Mode::Fio => {
            Err(finding(DiagnosticSeverity::Warning, format!(" has no effect: {reason}"), None))
        }
        Support::Missing(reason) | Support::Harmless(reason) => {
            Err(finding(DiagnosticSeverity::Error, format!(" is not supported yet: {reason}"), None))
        }
    }
}

/// A table row for each option of fio's command line: whether it works.
pub(crate) fn compatibility_rows() -> String {
    let of_fio = RUN_OPTIONS.iter().filter(|option| option.shape.letter.is_some() || option.shape.name == "minimal");
    let row = |option: &RunOption| {
        let (state, why) = match option.support {
            Support::Full(_) => ("works", ""),
            Support::NothingToDo(_) => ("accepted, nothing to do", option.summary),
            Support::Harmless(reason) => ("a warning", reason),
            Support::Missing(reason) => ("refused", reason),
        };
        format!("| `--{}` | {state} | {why} |\n", option.shape.name)
    };
    of_fio.map(row).collect()
}

/// Refuses options that are useless in a study, instead of ignoring them silently.
///
/// # Errors
/// The first such option, and what to do instead.
pub(crate) fn refuse_beside_a_study(line: &CommandLine) -> Result<(), Diagnostic> {
    for setting in &line.program {
        let Some(option) = RUN_OPTIONS.iter().find(|option| option.shape.name == setting.name) else { continue };
        if let Some(instead) = option.not_in_study {
            return Err(Diagnostic {
                severity: DiagnosticSeverity::Error,
                source: 0,
                span: setting.span,
                reason: format!("--{} cannot be used with a study (--vary, --repeat …)", option.shape.name),
                suggestion: Some(instead.to_owned()),
            });
        }
    }
    Ok(())
}

/// Refuses options of a study if there is no study.
///
/// # Errors
/// The first such option, and how to make a study.
fn refuse_without_a_study(line: &CommandLine, run: &RunOptions) -> Result<(), Diagnostic> {
    if run.study.is_asked_for() {
        return Ok(());
    }
    let of_study = |setting: &&ProgramSetting| ["steady", "drive-profile", "folder"].contains(&setting.name);
    match line.program.iter().find(of_study) {
        None => Ok(()),
        Some(setting) => Err(Diagnostic {
            severity: DiagnosticSeverity::Error,
            source: 0,
            span: setting.span,
            reason: format!("--{} is for studies, but this is a single run", setting.name),
            suggestion: Some("add --repeat=7 or --vary=OPTION=VALUES to make it a study".to_owned()),
        }),
    }
}

#[cfg(test)]
mod tests;
