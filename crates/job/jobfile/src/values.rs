//! Parses one option's text into a typed value, by the option's [`ValueKind`].
//!
//! Guarantees: every character of the text is accounted for, and a refusal names the wrong part.
//! Nonsense that fio silently accepts (`8q` as 8, percentages beyond 100) is refused.
//! [`default_value`] parses the text of a default in the same way. Rules that involve a second
//! option belong to `resolve`.

mod bytes;
mod canonical;
mod checked;
mod cpus;
mod distribution;
mod expression;
mod numbers;
mod pattern;
mod piece;
mod splits;
mod words;

use iolab_options::{AUTOMATIC, DefaultValue, OptionEntry, TimeUnit, Value, ValueKind};
use iolab_units::KbBase;

pub use bytes::pattern_bytes;
pub use canonical::canonical;
pub(crate) use pattern::PATTERNS;
pub(crate) use piece::Piece;

/// Why a value was refused, and which part of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError {
    /// Byte range of the offending part within the value's text.
    pub range: (usize, usize),
    /// What is wrong, in a sentence without full stop.
    pub reason: String,
    /// What to write instead, if there is a good guess.
    pub suggestion: Option<String>,
}

/// The rules for parsing numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct NumberRules {
    /// Meaning of `k`, `m`, ….
    pub kb_base: KbBase,
    /// Arithmetic is accepted without parentheses, as in fio once `$ncpus` and similar have been
    /// replaced.
    pub bare_arithmetic: bool,
}

/// Parses `text` as a value of `kind`; `None` is a name without `=`.
///
/// # Errors
/// The text is not a value of that kind, or is out of bounds.
pub fn parse_value(kind: &ValueKind, text: Option<&str>, rules: NumberRules) -> Result<Value, ValueError> {
    let Some(text) = text else {
        return match kind {
            ValueKind::Switch => Ok(Value::Flag(true)),
            ValueKind::OptionalText => Ok(Value::Text(String::new())),
            _ => Err(ValueError {
                range: (0, 0),
                reason: "a value is missing".to_owned(),
                suggestion: matches!(kind, ValueKind::Bool).then(|| "write `=1` or `=0` after it".to_owned()),
            }),
        };
    };
    let whole = Piece::whole(text).trim();
    if whole.is_empty() {
        return Err(whole.refuse("the value is empty"));
    }
    let control = |(_, letter): &(usize, char)| letter.is_control() && *letter != '\t';
    if let (false, Some((at, letter))) = (
        matches!(kind, ValueKind::Text | ValueKind::OptionalText | ValueKind::JobText),
        whole.text.char_indices().find(control),
    ) {
        return Err(whole
            .sub(at, at + letter.len_utf8())
            .refuse("there is a line break or another control character in it"));
    }
    by_kind(kind, whole, rules)
}

fn by_kind(kind: &ValueKind, whole: Piece<'_>, rules: NumberRules) -> Result<Value, ValueError> {
    match kind {
        ValueKind::Text | ValueKind::OptionalText | ValueKind::JobText => Ok(Value::Text(whole.text.to_owned())),
        ValueKind::Switch | ValueKind::Bool => words::flag(whole),
        ValueKind::Choice(choices) => words::choice(whole, choices),
        ValueKind::Words(known) => words::list(whole, known),
        ValueKind::Pattern => pattern::pattern(whole, rules),
        ValueKind::Integer { min, max } => Ok(Value::Integer(numbers::integer(whole, (*min, *max), rules)?)),
        ValueKind::Integers { min, max } => {
            numbers::triple(whole, |part| numbers::integer(part, (*min, *max), rules)).map(Value::Integers)
        }
        ValueKind::Percent => numbers::share(whole, rules).map(Value::Percent),
        ValueKind::Size => Ok(Value::Size(numbers::bytes(whole, rules)?)),
        ValueKind::SizeOrPercent => numbers::size_spec(whole, rules).map(Value::SizeSpec),
        ValueKind::Sizes => numbers::triple(whole, |part| numbers::bytes(part, rules)).map(Value::Sizes),
        ValueKind::SizeRange => {
            numbers::size_range(whole, rules, true).map(|range| Value::SizeRanges([Some(range); 3]))
        }
        ValueKind::SizeRanges => {
            numbers::triple(whole, |part| numbers::size_range(part, rules, false)).map(Value::SizeRanges)
        }
        ValueKind::Time { unit } => Ok(Value::Time(numbers::time(whole, *unit, rules)?)),
        ValueKind::Times { unit } => times(whole, *unit, rules),
        ValueKind::TimeRange { unit } => time_range(whole, *unit, rules),
        ValueKind::Splits => splits::splits(whole, rules).map(Value::Splits),
        ValueKind::Floats { most, min, max } => numbers::floats(whole, *most, (*min, *max)).map(Value::Floats),
        ValueKind::Distribution => distribution::distributions(whole, rules).map(Value::Distributions),
        ValueKind::CpuList => cpus::list(whole).map(Value::Cpus),
        ValueKind::CpuMask => cpus::mask(whole).map(Value::Cpus),
        ValueKind::BytePattern => bytes::value(whole),
        ValueKind::SyncFileRange => checked::sync_file_range(whole, rules),
        ValueKind::FileService => checked::file_service(whole, rules),
        ValueKind::SteadyState => checked::steady_state(whole, rules),
        ValueKind::ErrorNumbers => checked::error_numbers(whole),
        ValueKind::BufferMemory => checked::buffer_memory(whole),
        ValueKind::NumaMemory => checked::numa_memory(whole),
    }
}

fn times(whole: Piece<'_>, unit: TimeUnit, rules: NumberRules) -> Result<Value, ValueError> {
    let each = numbers::triple(whole, |part| numbers::time(part, unit, rules))?;
    Ok(match each {
        [Some(read), Some(write), Some(trim)] if read == write && write == trim => Value::Time(read),
        _ => Value::Times(each),
    })
}

fn time_range(whole: Piece<'_>, unit: TimeUnit, rules: NumberRules) -> Result<Value, ValueError> {
    let (min, max) = numbers::time_range(whole, unit, rules)?;
    Ok(if min == max { Value::Time(min) } else { Value::TimeRange((min, max)) })
}

/// The value of an absent option; `None` if no text of its own states it.
pub fn default_value(entry: &OptionEntry) -> Option<Value> {
    match entry.default {
        DefaultValue::Text(text) => parse_value(&entry.kind, Some(text), NumberRules::default()).ok(),
        DefaultValue::Automatic => Some(Value::Text(AUTOMATIC.to_owned())),
        DefaultValue::SameAs(_) | DefaultValue::Derived(_) | DefaultValue::Absent => None,
    }
}

#[cfg(test)]
mod tests;
