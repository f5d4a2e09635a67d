//! Which engine a section names, its own options with their defaults, and what it cannot do.

use iolab_engine::EngineDescription;
use iolab_jobfile::{JobSection, Severity};
use iolab_options::{Direction, Kind, OptionEntry, Setting, Settings, TimeUnit, Value};
use iolab_plan::EnginePlan;

use crate::findings::Findings;
use crate::job::Job;
use crate::{Reads, Request, numbers};

/// fio's engine when the job names none.
const DEFAULT_ENGINE: &str = "psync";

/// The description of the engine the section names.
pub(crate) fn find(
    request: &Request<'_>,
    findings: &Findings,
    reads: &Reads,
    section: &JobSection,
) -> Option<&'static EngineDescription> {
    reads.borrow_mut().insert("ioengine");
    let setting = section.settings.get("ioengine");
    let name = match setting.map(|setting| &setting.value) {
        Some(Value::Text(name) | Value::Choice(name)) => name.as_str(),
        _ => DEFAULT_ENGINE,
    };
    let found = request.engines.iter().find(|engine| engine.name == name || engine.aliases.contains(&name));
    if found.is_none() {
        let known: Vec<&str> = request.engines.iter().map(|engine| engine.name).collect();
        let place = setting.map_or((section.source, section.span), |setting| (setting.source, setting.span));
        let reason = format!("there is no I/O engine {name} in this build");
        findings.add(Severity::Error, place, reason, &format!("engines: {}", known.join(", ")));
    }
    found.copied()
}

/// The engine of the plan: its own options as set, and the defaults of the others.
pub(crate) fn resolve(job: &Job<'_>) -> EnginePlan {
    let mut options = Settings::default();
    for entry in job.engine.options {
        if let Some(setting) = job.section.engine_settings.get(entry.name) {
            options.set(entry.name, setting.clone());
        } else if let Some(value) = default_value(entry) {
            options.set(entry.name, Setting { value, text: entry.default.to_owned(), source: 0, span: (0, 0) });
        }
    }
    EnginePlan { name: job.engine.name.to_owned(), options }
}

/// The value that an entry's default text stands for; `None` where it has none or is of a composite kind.
fn default_value(entry: &OptionEntry) -> Option<Value> {
    let text = entry.default;
    if text.is_empty() {
        return None;
    }
    match entry.kind {
        Kind::Text => Some(Value::Text(text.to_owned())),
        Kind::Switch | Kind::Bool => numbers::integer(text).map(|number| Value::Flag(number != 0)),
        Kind::Integer { .. } => {
            numbers::integer(text).or_else(|| numbers::size(text).map(|size| size as i64)).map(Value::Integer)
        }
        Kind::Size => numbers::size(text).map(Value::Size),
        Kind::Time { unit } => {
            let unit_ns = match unit {
                TimeUnit::Seconds => 1_000_000_000,
                TimeUnit::Milliseconds => 1_000_000,
                TimeUnit::Microseconds => 1_000,
            };
            numbers::time_ns(text, unit_ns).map(Value::Time)
        }
        Kind::Choice(choices) => {
            let choice = choices.iter().find(|choice| choice.name == text || choice.aliases.contains(&text));
            choice.map(|choice| Value::Choice(choice.name.to_owned()))
        }
        _ => None,
    }
}

/// Refuses what the engine cannot do.
pub(crate) fn check(job: &Job<'_>, directions: &[Direction], direct: bool) {
    let can = job.engine.capabilities;
    let name = job.engine.name;
    if directions.contains(&Direction::Trim) && !can.trims {
        job.error(
            "rw",
            format!("engine {name} cannot trim"),
            "use an engine that trims (see `iolab engines`), or a read or write pattern",
        );
    }
    if direct && !can.direct {
        let at = if job.has("direct") { "direct" } else { "buffered" };
        job.error(at, format!("engine {name} cannot do direct I/O"), "leave out direct=1, or choose another engine");
    }
}
