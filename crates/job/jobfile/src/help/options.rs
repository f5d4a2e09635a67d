//! `--cmdhelp`: one line for each option, or the full description of one.

use iolab_options::{DefaultValue, OptionEntry, SupportStatus, TimeUnit, ValueKind};

use crate::values::PATTERNS;
use crate::{OPTIONS, find_option};

/// Column at which summaries begin.
const SUMMARY_COLUMN: usize = 30;

/// One line for every job option, in the order of the table.
pub fn cmdhelp_all() -> String {
    OPTIONS.iter().map(|entry| line(entry.name, entry.summary)).collect()
}

/// The full description of the option `name` (or alias), or of every option for `all`; `None` if
/// there is none.
pub fn cmdhelp(name: &str) -> Option<String> {
    if name == "all" { Some(cmdhelp_all()) } else { find_option(name).map(describe) }
}

/// `name   : summary`.
pub(super) fn line(name: &str, summary: &str) -> String {
    format!("{name:<SUMMARY_COLUMN$}: {summary}\n")
}

/// The full description of one option, for people.
pub fn describe(entry: &OptionEntry) -> String {
    let mut text = line(entry.name, entry.summary);
    let mut field = |name: &str, value: &str| text.push_str(&format!("{name:>20}: {value}\n"));
    for alias in entry.aliases {
        field("alias", alias);
    }
    field("type", &kind_words(&entry.kind));
    field(
        "default",
        &match entry.default {
            DefaultValue::Absent => "no default".to_owned(),
            default => default.to_string(),
        },
    );
    for (word, summary) in choices(&entry.kind) {
        field("value", &format!("{word:<14} {summary}"));
    }
    if entry.is_secret {
        field("secret", "neither shown nor saved");
    }
    if !entry.accepts.is_empty() {
        let examples: Vec<String> = entry.accepts.iter().map(|(text, _)| format!("{}={text}", entry.name)).collect();
        field("examples", &examples.join("  "));
    }
    if let Some(state) = status_words(entry.status) {
        field("state", &state);
    }
    if !entry.details.is_empty() {
        text.push('\n');
        text.push_str(entry.details);
        text.push('\n');
    }
    text
}

/// Words and meanings of a kind that accepts one of several words.
pub(super) fn choices(kind: &ValueKind) -> Vec<(String, &'static str)> {
    let list = match kind {
        ValueKind::Choice(choices) => *choices,
        ValueKind::Pattern => PATTERNS,
        _ => return Vec::new(),
    };
    let word = |name: &str, aliases: &[&str]| {
        if aliases.is_empty() { name.to_owned() } else { format!("{name} ({})", aliases.join(", ")) }
    };
    list.iter().map(|choice| (word(choice.name, choice.aliases), choice.summary)).collect()
}

/// Why an option has no effect, if it has none.
pub(super) fn status_words(status: SupportStatus) -> Option<String> {
    match status {
        SupportStatus::Supported => None,
        SupportStatus::NoEffect(reason) => Some(format!("accepted, without effect: {reason}")),
        SupportStatus::Refused(reason) => Some(format!("refused: {reason}")),
    }
}

/// The accepted text of a kind, in words.
pub(super) fn kind_words(kind: &ValueKind) -> String {
    let bounds = |min: i64, max: i64| match (min, max) {
        (i64::MIN, i64::MAX) => String::new(),
        (_, i64::MAX) => format!(", at least {min}"),
        _ => format!(", {min} to {max}"),
    };
    let words = match kind {
        ValueKind::Text => "text",
        ValueKind::OptionalText => "text, or nothing",
        ValueKind::JobText => "text; %n is the name of the job, %r its runtime in seconds",
        ValueKind::Switch => "switch: alone, or =0 or =1",
        ValueKind::Bool => "0 or 1",
        ValueKind::Integer { min, max } => return format!("whole number{}", bounds(*min, *max)),
        ValueKind::Integers { min, max } => return format!("whole number[,number][,number]{}", bounds(*min, *max)),
        ValueKind::Percent => "percentage, 0 to 100, with up to three decimals",
        ValueKind::Size => "size in bytes, with unit",
        ValueKind::SizeOrPercent => "size in bytes with unit, percentage or zones (10%, 3z)",
        ValueKind::Sizes => "size[,size][,size]",
        ValueKind::SizeRange => "size or range of sizes (min-max)",
        ValueKind::SizeRanges => "range[,range][,range] of sizes (min-max)",
        ValueKind::Splits => "size/percent:size/percent…[,…][,…]",
        ValueKind::Time { unit } => return format!("time; a bare number counts {}", unit_words(*unit)),
        ValueKind::Times { unit } => return format!("time[,time][,time]; a bare number counts {}", unit_words(*unit)),
        ValueKind::TimeRange { unit } => {
            return format!("time or range (min-max); a bare number counts {}", unit_words(*unit));
        }
        ValueKind::Choice(_) => "one of the words below",
        ValueKind::Pattern => "access pattern with optional :N",
        ValueKind::Floats { most: 1, min, max } => return format!("number, {min} to {max}"),
        ValueKind::Floats { most, min, max } => {
            return format!("up to {most} numbers separated by `:`, {min} to {max}");
        }
        ValueKind::Distribution => "distribution[,distribution][,distribution]",
        ValueKind::CpuList => "list of numbers (0,2-4)",
        ValueKind::CpuMask => "bit mask (3, 0xff)",
        ValueKind::BytePattern => "bytes: \"text\", 0xhex, decimal, 'file'",
        ValueKind::SyncFileRange => "step[,step]:writes",
        ValueKind::FileService => "word with optional :number",
        ValueKind::SteadyState => "criterion:limit",
        ValueKind::ErrorNumbers => "error:error…[,…][,…]",
        ValueKind::NumaMemory => "policy with optional :nodes",
        ValueKind::BufferMemory => "kind of memory with optional :path",
        ValueKind::Words(words) => return format!("comma list of {}", words.join(", ")),
    };
    words.to_owned()
}

fn unit_words(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Seconds => "seconds",
        TimeUnit::Milliseconds => "milliseconds",
        TimeUnit::Microseconds => "microseconds",
    }
}
