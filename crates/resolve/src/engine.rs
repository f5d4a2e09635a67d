//! Which engine a section names, its own options with their defaults, and what it cannot do.

use iolab_engine::EngineDescription;
use iolab_jobfile::{JobSection, NumberRules, Severity, parse_value};
use iolab_options::{AUTOMATIC, Direction, OptionEntry, Setting, Settings, Value};
use iolab_plan::EnginePlan;

use crate::findings::Findings;
use crate::job::Job;
use crate::{Reads, Request};

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

/// The value that an entry's default text stands for; `None` where it has none.
fn default_value(entry: &OptionEntry) -> Option<Value> {
    let text = Some(entry.default).filter(|text| !text.is_empty())?;
    if text == AUTOMATIC {
        return Some(Value::Text(text.to_owned()));
    }
    parse_value(&entry.kind, Some(text), NumberRules::default()).ok()
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
        let at = ["direct", "buffered", "atomic"].into_iter().find(|name| job.has(name)).unwrap_or("direct");
        job.error(at, format!("engine {name} cannot do direct I/O"), "leave out direct=1, or choose another engine");
    }
    if direct && job.on("bs_unaligned") {
        job.warn("bs_unaligned", "devices refuse direct I/O of unaligned sizes", "leave out bs_unaligned or direct=1");
    }
}
