//! The engine that a section names, its own options with their defaults, and its limits.

use iolab_engine::EngineDescription;
use iolab_jobfile::{DiagnosticSeverity, JobSection, default_value};
use iolab_options::{Direction, OptionEntry, Setting, Settings, Value, ValueKind};

use iolab_plan::EnginePlan;

use crate::absent_engines::why_absent;
use crate::job::Job;
use crate::readings;
use crate::request::{ResolveRequest, Resolving};

/// The description of the engine the section names.
pub(crate) fn find(
    request: &ResolveRequest<'_>,
    resolving: &Resolving<'_>,
    section: &JobSection,
) -> Option<&'static EngineDescription> {
    const OPTION: &str = "ioengine";
    resolving.note_read(OPTION);
    let setting = section.settings.get(OPTION);
    let value = setting.map(|setting| &setting.value).or_else(|| resolving.defaults.value(OPTION));
    let name = value.and_then(readings::word).unwrap_or_default();
    let named = |name: &str| {
        request.engines.iter().find(|engine| engine.name == name || engine.aliases.contains(&name)).copied()
    };
    let found = named(&name);
    let place = setting.map_or((section.source, section.span), |setting| (setting.source, setting.span));
    if found.is_none()
        && let Some(why) = why_absent(&name)
    {
        let reason = format!("fio has the I/O engine `{name}`, iolab does not: {why}");
        // Where jobs are only read, the rest of one is checked with the default engine, as fio does
        // whose build lacks an engine.
        let stands_in = resolving.defaults.value(OPTION).and_then(readings::word);
        let stands_in = stands_in.filter(|_| request.overrides.only_reads_jobs).and_then(|name| named(&name));
        let severity = if stands_in.is_some() { DiagnosticSeverity::Warning } else { DiagnosticSeverity::Error };
        let known: Vec<&str> = request.engines.iter().map(|engine| engine.name).collect();
        resolving.findings.add(severity, place, reason, &format!("engines: {}", known.join(", ")));
        return stands_in;
    }
    if found.is_none() {
        let known: Vec<&str> = request.engines.iter().map(|engine| engine.name).collect();
        let reason = format!("unknown I/O engine `{name}`");
        let names = request
            .engines
            .iter()
            .flat_map(|engine| std::iter::once(engine.name).chain(engine.aliases.iter().copied()));
        let near = iolab_text::closest(&name, names).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        resolving.findings.add(
            DiagnosticSeverity::Error,
            place,
            reason,
            &format!("{near}engines: {}", known.join(", ")),
        );
    }
    found
}

/// The engine of the plan: its own options as set, and the defaults of the others.
pub(crate) fn resolve(job: &Job<'_>) -> EnginePlan {
    let mut options = Settings::default();
    let atomic = job.on("atomic");
    for entry in job.engine.options {
        if entry.name == OptionEntry::ATOMIC.name {
            let text = u8::from(atomic).to_string();
            options.set(entry.name, Setting { value: Value::Flag(atomic), text, source: 0, span: (0, 0) });
        } else if let Some(setting) = job.section.engine_settings.get(entry.name) {
            options.set(entry.name, setting.clone());
        } else if let Some(value) = default_value(entry) {
            options.set(entry.name, Setting { value, text: entry.default.to_string(), source: 0, span: (0, 0) });
        }
        if entry.kind == ValueKind::JobText
            && let Some(setting) = options.get(entry.name)
            && let Value::Text(text) = &setting.value
        {
            let value = Value::Text(of_job(job, text));
            options.set(entry.name, Setting { value, ..setting.clone() });
        }
    }
    let traits = Some(job.engine.capabilities.traits(&options));
    EnginePlan { name: job.engine.name.to_owned(), options, traits }
}

/// The text with the job's name and runtime in place; see [`ValueKind::JobText`].
fn of_job(job: &Job<'_>, text: &str) -> String {
    let seconds = job.runtime_ns().unwrap_or(0) / 1_000_000_000;
    text.replace("%r", &seconds.to_string()).replace("%n", &job.section.name)
}

/// Refuses operations that the engine does not support.
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
        job.error(at, format!("engine {name} cannot do direct I/O"), "remove direct=1, or choose another engine");
    }
    if job.on("atomic") && !job.engine.options.iter().any(|entry| entry.name == OptionEntry::ATOMIC.name) {
        let able: Vec<&str> = job
            .request
            .engines
            .iter()
            .filter(|engine| engine.options.iter().any(|entry| entry.name == OptionEntry::ATOMIC.name))
            .map(|engine| engine.name)
            .collect();
        let reason = format!("engine {name} cannot write atomically");
        job.error("atomic", reason, &format!("engines that can: {}", able.join(", ")));
    }
    if direct && job.on("bs_unaligned") {
        job.warn("bs_unaligned", "direct I/O needs aligned sizes", "remove bs_unaligned or direct=1");
    }
}
