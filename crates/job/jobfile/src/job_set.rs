//! The result of parsing.

use iolab_options::{OptionEntry, Rank, Settings};

use crate::secrets::SecretSetting;

/// All sections of all job files and of the command line, in order.
#[derive(Debug, Clone, Default)]
pub struct JobSet {
    /// `(name, text)` of everything that was read, with asterisks in the place of secrets; spans
    /// and settings refer to it by index.
    pub sources: Vec<(String, String)>,
    /// The options of `[global]` sections and of the command line before the first job, merged in
    /// order.
    pub global: Settings,
    /// The jobs, in order.
    pub jobs: Vec<JobSection>,
    /// Warnings: the job can run, but the user should know.
    pub warnings: Vec<Diagnostic>,
    /// Settings that hold values of environment variables.
    pub expansions: Vec<Expansion>,
    /// Settings that hold secrets.
    pub secrets: Vec<SecretSetting>,
}

/// A setting whose text contains `${NAME}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expansion {
    /// Canonical name of the option.
    pub option: String,
    /// The text as written.
    pub written: String,
    /// The text with the values inserted.
    pub text: String,
    /// The variables, with their values.
    pub variables: Vec<(String, String)>,
}

/// One job section.
#[derive(Debug, Clone, Default)]
pub struct JobSection {
    /// Section name (or `--name`).
    pub name: String,
    /// The global options in force at the section's position, overlaid with its own.
    pub settings: Settings,
    /// Its own options alone.
    pub own: Settings,
    /// The engine's own options in force (globals overlaid with the section's).
    pub engine_settings: Settings,
    /// The first section of a further job file: fio puts a stonewall between files.
    pub begins_file: bool,
    /// Source and byte range of the header.
    pub source: usize,
    /// Byte range of the header.
    pub span: (usize, usize),
}

/// The parser's access to its environment, so that it does no I/O itself.
pub trait Surroundings {
    /// Text of an included file, named relative to `from` (the including file's name).
    fn include(&self, name: &str, from: &str) -> Result<String, String>;
    /// An environment variable.
    fn variable(&self, name: &str) -> Option<String>;
    /// What the keywords of values stand for.
    fn keywords(&self) -> KeywordFacts;
    /// The option table of an engine, by name or alias; `None` if there is no such engine.
    fn engine_options(&self, engine: &str) -> Option<&'static [OptionEntry]>;
    /// Names of all engines, so that a misplaced engine option can be traced to its engine.
    fn engine_names(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// What keywords stand for in values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeywordFacts {
    /// `$ncpus`: CPUs online.
    pub cpus: u64,
    /// `$pagesize`, bytes.
    pub page_bytes: u64,
    /// `$mb_memory`: memory, MiB.
    pub memory_mib: u64,
    /// `$rank`, `$ranks` and `$host`.
    pub rank: Rank,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiagnosticSeverity {
    /// The job cannot run.
    Error,
    /// The job must not run: something would be destroyed.
    Refusal,
    /// The job can run, but the user should know.
    Warning,
    /// The job can run. The note is not printed if standard error must stay empty, as with fio.
    Note,
}

impl DiagnosticSeverity {
    /// Whether it prevents the job from running.
    pub fn is_error(self) -> bool {
        matches!(self, DiagnosticSeverity::Error | DiagnosticSeverity::Refusal)
    }
}

/// One finding about the user's text: place, reason, suggestion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity.
    pub severity: DiagnosticSeverity,
    /// Index into [`JobSet::sources`].
    pub source: usize,
    /// Byte range in it.
    pub span: (usize, usize),
    /// What is wrong, in a sentence.
    pub reason: String,
    /// What to write instead, if there is a good guess.
    pub suggestion: Option<String>,
}

/// All errors, with the texts that they refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseFailure {
    /// `(name, text)`, as in [`JobSet::sources`].
    pub sources: Vec<(String, String)>,
    /// At least one error; warnings too.
    pub diagnostics: Vec<Diagnostic>,
}
