//! Turns raw sections into typed settings: looks up names, expands and parses values, and applies
//! globals to jobs.
//!
//! The order of options within a section does not matter, except that the last of equal ones wins.
//! `kb_base` and `ioengine` are looked up first, because they determine how the others are parsed.

use std::cell::RefCell;

use iolab_options::{DefaultValue, OptionEntry, Setting, Settings, Value, ValueKind};
use iolab_order::Arrange;
use iolab_text::closest;
use iolab_units::KbBase;

use crate::expand::{Expanded, expand};
use crate::job_set::ParseFailure;
use crate::options::{find_option, suggest};
use crate::raw::{Assignment, Document, Scope, Section};
use crate::secrets::SecretSetting;
use crate::values::{NumberRules, ValueError, parse_value};
use crate::{Diagnostic, DiagnosticSeverity, Expansion, JobSection, JobSet, Surroundings};

/// Errors beyond this many are dropped: the file is probably not a job file.
pub(crate) const MOST_ERRORS: usize = 200;

/// Options of globals in force.
#[derive(Default, Clone)]
struct Globals {
    settings: Settings,
    /// Names that the job table lacks: options of the engines that the jobs use.
    for_engines: Vec<EngineCandidate>,
}

/// A global option that must belong to some engine.
#[derive(Clone)]
struct EngineCandidate {
    assignment: Assignment,
    kb_base: KbBase,
    /// Index into [`Collector::unclaimed`].
    claim: usize,
}

/// Builds the job set section by section.
pub(crate) struct Collector<'a> {
    surroundings: &'a dyn Surroundings,
    set: JobSet,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    globals: Globals,
    /// Per global engine option: the assignment and whether an engine has taken it.
    unclaimed: Vec<(Assignment, bool)>,
    expansions: RefCell<Vec<Expansion>>,
    secrets: RefCell<Vec<SecretSetting>>,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(surroundings: &'a dyn Surroundings, diagnostics: Vec<Diagnostic>) -> Self {
        let (set, globals, unclaimed) = Default::default();
        let errors = diagnostics.iter().filter(|finding| finding.severity == DiagnosticSeverity::Error).count();
        let (expansions, secrets) = Default::default();
        Collector { surroundings, set, diagnostics, errors, globals, unclaimed, expansions, secrets }
    }

    /// As in fio, every job file begins with no options set.
    pub(crate) fn forget_globals(&mut self) {
        self.globals = Globals::default();
    }

    /// Collects one file; `further` marks all but the first.
    pub(crate) fn document(&mut self, document: &Document, further: bool) {
        let mut begins_file = further;
        for section in &document.sections {
            match section.scope {
                Scope::Global => self.global(section),
                Scope::Job => {
                    self.job(section, begins_file);
                    begins_file = false;
                }
            }
        }
    }

    /// Returns the finished set, or all errors.
    pub(crate) fn finish(mut self, sources: Vec<(String, String)>) -> Result<JobSet, ParseFailure> {
        for (assignment, claimed) in std::mem::take(&mut self.unclaimed) {
            if !claimed {
                self.unknown_option(&assignment, None);
            }
        }
        // Sorted in the order of the text, not of discovery.
        self.diagnostics.arrange_by_key(|finding| (finding.source, finding.span));
        if self.diagnostics.iter().any(|diagnostic| diagnostic.severity == DiagnosticSeverity::Error) {
            return Err(ParseFailure { sources, diagnostics: self.diagnostics });
        }
        self.set.sources = sources;
        self.set.warnings = self.diagnostics;
        self.set.expansions = self.expansions.into_inner();
        self.set.secrets = self.secrets.into_inner();
        Ok(self.set)
    }

    fn global(&mut self, section: &Section) {
        let kb_base = self.kb_base_of(section);
        for assignment in &section.assignments {
            match find_option(&assignment.name) {
                Some(entry) => {
                    if let Some(setting) = self.setting(entry, assignment, kb_base) {
                        self.globals.settings.set(entry.name, setting.clone());
                        self.set.global.set(entry.name, setting);
                    }
                }
                None => {
                    let claim = self.unclaimed.len();
                    self.unclaimed.push((assignment.clone(), false));
                    let candidate = EngineCandidate { assignment: assignment.clone(), kb_base, claim };
                    self.globals.for_engines.push(candidate);
                }
            }
        }
        // Options of the engine that the globals themselves name are valid even if no job uses that
        // engine.
        if self.globals.settings.has("ioengine") {
            let engine = self.engine_of(None);
            self.claim_for(&engine);
        }
    }

    fn job(&mut self, section: &Section, begins_file: bool) {
        let kb_base = self.kb_base_of(section);
        let engine = self.engine_of(Some(section));
        let engine_table = self.surroundings.engine_options(&engine);
        let mut job = JobSection {
            name: section.name.clone(),
            settings: self.globals.settings.clone(),
            own: Settings::default(),
            engine_settings: self.claim_for(&engine),
            begins_file,
            source: section.source,
            span: section.span,
        };
        for assignment in &section.assignments {
            if let Some(entry) = find_option(&assignment.name) {
                if let Some(setting) = self.setting(entry, assignment, kb_base) {
                    job.own.set(entry.name, setting);
                }
            } else if let Some(entry) = find_in(engine_table, &assignment.name) {
                if let Some(setting) = self.setting(entry, assignment, kb_base) {
                    job.engine_settings.set(entry.name, setting);
                }
            } else {
                // The options of an unknown engine cannot be checked; `resolve` refuses the engine.
                if engine_table.is_some() {
                    self.unknown_option(assignment, Some(&engine));
                } else {
                    self.doubtful_option(assignment, &engine);
                }
            }
        }
        job.settings.overlay(&job.own);
        self.check_name(&job);
        self.set.jobs.push(job);
    }

    /// Reports have a line for each job, and rows with its name.
    fn check_name(&mut self, job: &JobSection) {
        let other = job.settings.get("name").map_or("", |setting| setting.text.as_str());
        if [job.name.as_str(), other].iter().any(|name| name.contains(char::is_control)) {
            let reason = "the name of a job has no line breaks and no other control characters".to_owned();
            let (severity, source, span) = (DiagnosticSeverity::Error, job.source, job.span);
            self.report(Diagnostic { severity, source, span, reason, suggestion: None });
        }
    }

    /// Settings of the global engine options that this engine has.
    fn claim_for(&mut self, engine: &str) -> Settings {
        let mut settings = Settings::default();
        let table = self.surroundings.engine_options(engine);
        for candidate in self.globals.for_engines.clone() {
            let (seen, claimed) = (table.is_some(), self.unclaimed[candidate.claim].1);
            if let Some(entry) = find_in(table, &candidate.assignment.name) {
                self.unclaimed[candidate.claim].1 = true;
                match self.read(entry, &candidate.assignment, candidate.kb_base) {
                    Ok(setting) => settings.set(entry.name, setting),
                    // Reported only for the first job that takes it.
                    Err(_) if claimed => {}
                    Err(finding) => self.report(finding),
                }
            } else if !seen && !claimed {
                self.unclaimed[candidate.claim].1 = true;
                self.doubtful_option(&candidate.assignment, engine);
            }
        }
        settings
    }

    /// The setting, or `None` after the error was reported.
    fn setting(&mut self, entry: &OptionEntry, assignment: &Assignment, kb_base: KbBase) -> Option<Setting> {
        self.read(entry, assignment, kb_base).map_err(|finding| self.report(finding)).ok()
    }

    fn read(&self, entry: &OptionEntry, assignment: &Assignment, kb_base: KbBase) -> Result<Setting, Diagnostic> {
        let expanded = assignment.value.as_deref().map(|raw| expand(raw, self.surroundings));
        self.note_expansion(entry, assignment, expanded.as_ref());
        if let (Some(written), Some(expanded)) = (&assignment.value, &expanded) {
            self.secrets.borrow_mut().extend(SecretSetting::of(entry, written, &expanded.text));
        }
        let bare_arithmetic = expanded.as_ref().is_some_and(|expanded| expanded.keywords);
        let text = expanded.as_ref().map(|expanded| expanded.text.as_str());
        match parse_value(&entry.kind, text, NumberRules { kb_base, bare_arithmetic }) {
            Ok(value) => Ok(Setting {
                value,
                text: text.unwrap_or_default().to_owned(),
                source: assignment.source,
                span: assignment.span(),
            }),
            Err(error) => Err(refusal(entry, assignment, expanded.as_ref(), error)),
        }
    }

    /// Records which settings hold values of environment variables.
    fn note_expansion(&self, entry: &OptionEntry, assignment: &Assignment, expanded: Option<&Expanded>) {
        let Some(expanded) = expanded.filter(|expanded| !expanded.used.is_empty()) else { return };
        self.expansions.borrow_mut().push(Expansion {
            option: entry.name.to_owned(),
            written: assignment.value.clone().unwrap_or_default(),
            text: expanded.text.clone(),
            variables: expanded.used.clone(),
        });
    }

    /// `kb_base` in force in a section, at any position in it.
    fn kb_base_of(&self, section: &Section) -> KbBase {
        let own = section.assignments.iter().rev().find(|assignment| assignment.name == "kb_base");
        let text = match own {
            Some(assignment) => assignment.value.as_deref().map(|raw| expand(raw, self.surroundings).text),
            None => self.globals.settings.get("kb_base").map(|setting| setting.text.clone()),
        };
        let text = text.as_deref().unwrap_or_else(|| default_text("kb_base"));
        if text == "1000" { KbBase::K1000 } else { KbBase::K1024 }
    }

    /// Name of the engine in force in a section (of the globals with `None`).
    fn engine_of(&self, section: Option<&Section>) -> String {
        let own = section
            .and_then(|section| section.assignments.iter().rev().find(|assignment| assignment.name == "ioengine"));
        let text = match own {
            Some(assignment) => assignment.value.as_deref().map(|raw| expand(raw, self.surroundings).text),
            None => self.globals.settings.get("ioengine").map(|setting| setting.text.clone()),
        };
        text.unwrap_or_else(|| default_text("ioengine").to_owned()).trim().to_owned()
    }

    /// Keeps a finding, unless there are too many errors already.
    fn report(&mut self, finding: Diagnostic) {
        if self.errors < MOST_ERRORS {
            self.errors += usize::from(finding.severity == DiagnosticSeverity::Error);
            self.diagnostics.push(finding);
        }
    }

    fn unknown_option(&mut self, assignment: &Assignment, engine: Option<&str>) {
        if self.errors >= MOST_ERRORS {
            return;
        }
        let name = assignment.name.as_str();
        let table = engine.and_then(|engine| self.surroundings.engine_options(engine)).unwrap_or(&[]);
        let owners = engine_owners(name, self.surroundings);
        let suggestion = if owners.is_empty() {
            let near = closest(name, table.iter().map(|entry| entry.name)).or_else(|| suggest(name));
            near.map(|near| format!("did you mean `{near}`?"))
        } else {
            Some(format!("it is an option of the engine {}; set ioengine to that engine", owners.join(", ")))
        };
        let reason = match engine {
            Some(engine) => format!("`{name}` is neither a job option nor an option of the engine {engine}"),
            None => format!("`{name}` is neither a job option nor an option of an engine used here"),
        };
        let (source, span, severity) = (assignment.source, assignment.name_span, DiagnosticSeverity::Error);
        self.report(Diagnostic { severity, source, span, reason, suggestion });
    }

    /// An option that may belong to an engine that is not known here.
    fn doubtful_option(&mut self, assignment: &Assignment, engine: &str) {
        self.report(Diagnostic {
            severity: DiagnosticSeverity::Warning,
            source: assignment.source,
            span: assignment.name_span,
            reason: format!(
                "`{}` is not a job option, and the engine `{engine}` is unknown, so it cannot be an option of it either",
                assignment.name
            ),
            suggestion: suggest(&assignment.name).map(|near| format!("did you mean `{near}`?")),
        });
    }
}

fn find_in(table: Option<&'static [OptionEntry]>, name: &str) -> Option<&'static OptionEntry> {
    table?.iter().find(|entry| entry.answers_to(name))
}

/// Turns a refused value into a finding. It points at the refused part if the source contains the
/// text as it was parsed.
fn refusal(entry: &OptionEntry, assignment: &Assignment, expanded: Option<&Expanded>, error: ValueError) -> Diagnostic {
    let text = expanded.map(|expanded| expanded.text.as_str());
    let literal = text == assignment.value.as_deref();
    let (begin, end) = assignment.value_span;
    // The text of a quoted argument is shorter than its range on the command line.
    let spelt = literal && text.is_some_and(|text| text.len() == end - begin);
    let span = match spelt {
        true if error.range.1 > error.range.0 => (begin + error.range.0, begin + error.range.1),
        _ if end > begin => (begin, end),
        _ => assignment.span(),
    };
    let reason = match text {
        Some(text) if !literal && !entry.is_secret => format!("{}={text}: {}", entry.name, error.reason),
        _ => format!("{}: {}", entry.name, error.reason),
    };
    let unset = expanded.and_then(|expanded| expanded.unset.first());
    let suggestion = match unset {
        Some(name) => Some(format!("the environment variable {name} is not set")),
        None => error.suggestion.or_else(|| quotes_advice(text)),
    };
    Diagnostic { severity: DiagnosticSeverity::Error, source: assignment.source, span, reason, suggestion }
}

/// Job files have no quotes: they would be part of the value.
fn quotes_advice(text: Option<&str>) -> Option<String> {
    let text = text?.trim();
    let quoted = text.len() > 1 && text.starts_with(['"', '\'']) && text.ends_with(['"', '\'']);
    quoted.then(|| "write the value without quotes".to_owned())
}

/// An option of this name, of any engine that has one.
pub(crate) fn engine_option(name: &str, surroundings: &dyn Surroundings) -> Option<&'static OptionEntry> {
    surroundings.engine_names().into_iter().find_map(|engine| find_in(surroundings.engine_options(engine), name))
}

/// Engines (at most three) that have an option of this name.
fn engine_owners(name: &str, surroundings: &dyn Surroundings) -> Vec<&'static str> {
    let has = |engine: &&str| find_in(surroundings.engine_options(engine), name).is_some();
    surroundings.engine_names().into_iter().filter(has).take(3).collect()
}

/// The default of an option that this reader itself needs before it parses the others.
fn default_text(name: &str) -> &'static str {
    match find_option(name).map(|entry| entry.default) {
        Some(DefaultValue::Text(text)) => text,
        _ => "",
    }
}

/// Whether a name without a value is valid for an option of this kind.
pub(crate) fn takes_no_value(kind: &ValueKind) -> bool {
    matches!(kind, ValueKind::Switch)
}

/// The text of a setting as on a command line; `None` for a switch without a value.
pub(crate) fn written_value(setting: &Setting) -> Option<&str> {
    match (&setting.value, setting.text.as_str()) {
        (Value::Flag(true), "") => None,
        (_, text) => Some(text),
    }
}
