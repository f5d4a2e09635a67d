//! From raw sections to typed settings: names are looked up, values expanded and read, globals laid under jobs.
//!
//! The order of options within a section does not matter, except that the last of equal ones wins: `kb_base` and
//! `ioengine` are looked for first, since they decide how the others are read.

use iolab_options::{Kind, OptionEntry, Setting, Settings, Value};
use iolab_units::KbBase;

use crate::expand::expand;
use crate::options::{find_option, suggest};
use crate::parse::Failure;
use crate::raw::{Assignment, Document, Scope, Section};
use crate::suggest::closest;
use crate::values::{NumberRules, parse_value};
use crate::{Diagnostic, JobSection, JobSet, Severity, Surroundings};

/// The engine of a job that names none, as in fio.
const DEFAULT_ENGINE: &str = "psync";
/// Engines asked when an unknown option may belong to another one, for the message.
const KNOWN_ENGINES: &[&str] = &[
    "io_uring",
    "libaio",
    "pvsync2",
    "psync",
    "sync",
    "mmap",
    "posixaio",
    "null",
    "cpuio",
    "exec",
    "nvme",
    "logfs",
    "io_uring_cmd",
    "filecreate",
    "falloc",
    "splice",
    "sg",
    "spdk",
    "net",
    "rbd",
];

/// Options of globals in force.
#[derive(Default, Clone)]
struct Globals {
    settings: Settings,
    /// Names the job table lacks: options of whichever engine the jobs use.
    for_engines: Vec<EngineCandidate>,
}

/// A global option that must turn out to be some engine's.
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
    globals: Globals,
    /// Per global engine option: the assignment and whether an engine has taken it.
    unclaimed: Vec<(Assignment, bool)>,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(surroundings: &'a dyn Surroundings, diagnostics: Vec<Diagnostic>) -> Self {
        let (set, globals, unclaimed) = Default::default();
        Collector { surroundings, set, diagnostics, globals, unclaimed }
    }

    /// What fio does between job files: every file begins with nothing set.
    pub(crate) fn forget_globals(&mut self) {
        self.globals = Globals::default();
    }

    /// Takes in one file; `further` marks all but the first.
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

    /// The finished set, or everything that is wrong.
    pub(crate) fn finish(mut self, sources: Vec<(String, String)>) -> Result<JobSet, Failure> {
        for (assignment, claimed) in std::mem::take(&mut self.unclaimed) {
            if !claimed {
                self.unknown_option(&assignment, None);
            }
        }
        if self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
            return Err(Failure { sources, diagnostics: self.diagnostics });
        }
        self.set.sources = sources;
        self.set.warnings = self.diagnostics;
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
        // Options of the engine that the globals themselves name are known good even if no job uses that engine.
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
                // With an unknown engine, nothing can be said of its options; `resolve` refuses the engine.
                if engine_table.is_some() {
                    self.unknown_option(assignment, Some(&engine));
                } else {
                    self.doubtful_option(assignment, &engine);
                }
            }
        }
        job.settings.overlay(&job.own);
        self.set.jobs.push(job);
    }

    /// Settings of the global engine options that this engine has.
    fn claim_for(&mut self, engine: &str) -> Settings {
        let mut settings = Settings::default();
        let table = self.surroundings.engine_options(engine);
        for candidate in self.globals.for_engines.clone() {
            let (seen, claimed) = (table.is_some(), self.unclaimed[candidate.claim].1);
            if let Some(entry) = find_in(table, &candidate.assignment.name) {
                self.unclaimed[candidate.claim].1 = true;
                // A value that does not parse is reported for the first job that takes it only.
                let before = self.diagnostics.len();
                if let Some(setting) = self.setting(entry, &candidate.assignment, candidate.kb_base) {
                    settings.set(entry.name, setting);
                }
                if claimed {
                    self.diagnostics.truncate(before);
                }
            } else if !seen && !claimed {
                self.unclaimed[candidate.claim].1 = true;
                self.doubtful_option(&candidate.assignment, engine);
            }
        }
        settings
    }

    fn setting(&mut self, entry: &OptionEntry, assignment: &Assignment, kb_base: KbBase) -> Option<Setting> {
        let expanded = assignment.value.as_deref().map(|raw| expand(raw, self.surroundings));
        let keywords = expanded.as_ref().is_some_and(|expanded| expanded.keywords);
        let text = expanded.as_ref().map(|expanded| expanded.text.as_str());
        let rules = NumberRules { kb_base, bare_arithmetic: keywords };
        match parse_value(&entry.kind, text, rules) {
            Ok(value) => Some(Setting {
                value,
                text: text.unwrap_or_default().to_owned(),
                source: assignment.source,
                span: assignment.span(),
            }),
            Err(error) => {
                let literal = text == assignment.value.as_deref() && text.is_some();
                let (begin, end) = assignment.value_span;
                let span = match (literal, assignment.value.is_some()) {
                    (true, _) if error.range.1 > error.range.0 => (begin + error.range.0, begin + error.range.1),
                    (_, true) if end > begin => (begin, end),
                    _ => assignment.span(),
                };
                let unset = expanded.as_ref().and_then(|expanded| expanded.unset.first());
                let suggestion = match unset {
                    Some(name) => Some(format!("the environment variable {name} is not set")),
                    None => error.suggestion,
                };
                let reason = match literal || text.is_none() {
                    true => format!("{}: {}", entry.name, error.reason),
                    false => format!("{}={}: {}", entry.name, text.unwrap_or_default(), error.reason),
                };
                self.error(assignment.source, span, reason, suggestion);
                None
            }
        }
    }

    /// `kb_base` in force in a section, wherever in it the option stands.
    fn kb_base_of(&self, section: &Section) -> KbBase {
        let own = section.assignments.iter().rev().find(|assignment| assignment.name == "kb_base");
        let text = match own {
            Some(assignment) => assignment.value.as_deref().map(|raw| expand(raw, self.surroundings).text),
            None => self.globals.settings.get("kb_base").map(|setting| setting.text.clone()),
        };
        if text.as_deref() == Some("1000") { KbBase::K1000 } else { KbBase::K1024 }
    }

    /// Name of the engine in force in a section (of the globals with `None`).
    fn engine_of(&self, section: Option<&Section>) -> String {
        let own = section
            .and_then(|section| section.assignments.iter().rev().find(|assignment| assignment.name == "ioengine"));
        let text = match own {
            Some(assignment) => assignment.value.as_deref().map(|raw| expand(raw, self.surroundings).text),
            None => self.globals.settings.get("ioengine").map(|setting| setting.text.clone()),
        };
        text.map_or_else(|| DEFAULT_ENGINE.to_owned(), |text| text.trim().to_owned())
    }

    fn error(&mut self, source: usize, span: (usize, usize), reason: String, suggestion: Option<String>) {
        self.diagnostics.push(Diagnostic { severity: Severity::Error, source, span, reason, suggestion });
    }

    fn unknown_option(&mut self, assignment: &Assignment, engine: Option<&str>) {
        let name = assignment.name.as_str();
        let table = engine.and_then(|engine| self.surroundings.engine_options(engine)).unwrap_or(&[]);
        let owners = engine_owners(name, self.surroundings);
        let suggestion = if owners.is_empty() {
            let near = closest(name, table.iter().map(|entry| entry.name)).or_else(|| suggest(name));
            near.map(|near| format!("did you mean `{near}`?"))
        } else {
            Some(format!("it belongs to the engine {}; set ioengine accordingly", owners.join(", ")))
        };
        let reason = match engine {
            Some(engine) => format!("`{name}` is neither a job option nor an option of the engine {engine}"),
            None => format!("`{name}` is neither a job option nor an option of an engine used here"),
        };
        self.error(assignment.source, assignment.name_span, reason, suggestion);
    }

    /// An option that may belong to an engine that is not known here.
    fn doubtful_option(&mut self, assignment: &Assignment, engine: &str) {
        self.diagnostics.push(Diagnostic {
            severity: Severity::Warning,
            source: assignment.source,
            span: assignment.name_span,
            reason: format!(
                "`{}` is no job option; the engine `{engine}` it may belong to is unknown",
                assignment.name
            ),
            suggestion: suggest(&assignment.name).map(|near| format!("did you mean `{near}`?")),
        });
    }
}

fn find_in(table: Option<&'static [OptionEntry]>, name: &str) -> Option<&'static OptionEntry> {
    table?.iter().find(|entry| entry.answers_to(name))
}

/// Engines (at most three) that have an option of this name.
pub(crate) fn engine_owners(name: &str, surroundings: &dyn Surroundings) -> Vec<&'static str> {
    let owners = KNOWN_ENGINES.iter().filter(|engine| find_in(surroundings.engine_options(engine), name).is_some());
    owners.copied().take(3).collect()
}

/// Whether a bare name may stand for an option of this kind.
pub(crate) fn takes_no_value(kind: &Kind) -> bool {
    matches!(kind, Kind::Switch)
}

/// The text of a setting as it would stand on a command line; `None` for a bare switch.
pub(crate) fn written_value(setting: &Setting) -> Option<&str> {
    match (&setting.value, setting.text.as_str()) {
        (Value::Flag(true), "") => None,
        (_, text) => Some(text),
    }
}
