//! One option's text to one typed value, by the option's [`Kind`].
//!
//! Guarantees: every character of the text is accounted for; a refusal names the part that is
//! wrong. Where fio swallows nonsense (`8q` as 8, percentages beyond 100) the text is refused. No
//! defaults and no rules that involve a second option: those belong to `resolve`.

mod bytes;
mod canonical;
mod checked;
mod cpus;
mod default;
mod distribution;
mod errno;
mod expression;
mod numbers;
mod pattern;
mod piece;
mod splits;
mod words;

use iolab_options::{Kind, TimeUnit, Value};
use iolab_units::KbBase;

pub use canonical::canonical;
pub use default::default_value;
pub use errno::errno_by_name;
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

/// How numbers are read.
#[derive(Debug, Clone, Copy, Default)]
pub struct NumberRules {
    /// Meaning of `k`, `m`, ….
    pub kb_base: KbBase,
    /// Arithmetic is understood without parentheses, as fio does once `$ncpus` and the like have
    /// been replaced.
    pub bare_arithmetic: bool,
}

/// Reads `text` as a value of `kind`; `None` is a name without `=`.
///
/// # Errors
/// The text is not a value of that kind, or out of its bounds.
pub fn parse_value(kind: &Kind, text: Option<&str>, rules: NumberRules) -> Result<Value, ValueError> {
    let Some(text) = text else {
        return match kind {
            Kind::Switch => Ok(Value::Flag(true)),
            _ => Err(ValueError {
                range: (0, 0),
                reason: "a value is missing".to_owned(),
                suggestion: matches!(kind, Kind::Bool).then(|| "write `=1` or `=0` after it".to_owned()),
            }),
        };
    };
    let whole = Piece::whole(text).trim();
    if whole.is_empty() {
        return Err(whole.refuse("the value is empty"));
    }
    let control = |(_, letter): &(usize, char)| letter.is_control() && *letter != '\t';
    if let (false, Some((at, letter))) = (matches!(kind, Kind::Text), whole.text.char_indices().find(control)) {
        return Err(whole
            .sub(at, at + letter.len_utf8())
            .refuse("there is a line break or another control character in it"));
    }
    by_kind(kind, whole, rules)
}

fn by_kind(kind: &Kind, whole: Piece<'_>, rules: NumberRules) -> Result<Value, ValueError> {
    match kind {
        Kind::Text => Ok(Value::Text(whole.text.to_owned())),
        Kind::Switch | Kind::Bool => words::flag(whole),
        Kind::Choice(choices) => words::choice(whole, choices),
        Kind::Words(known) => words::list(whole, known),
        Kind::Pattern => pattern::pattern(whole, rules),
        Kind::Integer { min, max } => Ok(Value::Integer(numbers::integer(whole, (*min, *max), rules)?)),
        Kind::Integers { min, max } => {
            numbers::triple(whole, |part| numbers::integer(part, (*min, *max), rules)).map(Value::Integers)
        }
        Kind::Percent => numbers::share(whole, rules).map(Value::Percent),
        Kind::Size => Ok(Value::Size(numbers::bytes(whole, rules)?)),
        Kind::SizeOrPercent => numbers::size_spec(whole, rules).map(Value::SizeSpec),
        Kind::Sizes => numbers::triple(whole, |part| numbers::bytes(part, rules)).map(Value::Sizes),
        Kind::SizeRange => numbers::size_range(whole, rules, true).map(|range| Value::SizeRanges([Some(range); 3])),
        Kind::SizeRanges => {
            numbers::triple(whole, |part| numbers::size_range(part, rules, false)).map(Value::SizeRanges)
        }
        Kind::Time { unit } => Ok(Value::Time(numbers::time(whole, *unit, rules)?)),
        Kind::Times { unit } => times(whole, *unit, rules),
        Kind::TimeRange { unit } => time_range(whole, *unit, rules),
        Kind::Splits => splits::splits(whole, rules).map(Value::Splits),
        Kind::Floats { most, min, max } => numbers::floats(whole, *most, (*min, *max)).map(Value::Floats),
        Kind::Distribution => distribution::distributions(whole, rules).map(Value::Distributions),
        Kind::CpuList => cpus::list(whole).map(Value::Cpus),
        Kind::CpuMask => cpus::mask(whole).map(Value::Cpus),
        Kind::BytePattern => bytes::pattern(whole).map(Value::Bytes),
        Kind::SyncFileRange => checked::sync_file_range(whole, rules),
        Kind::FileService => checked::file_service(whole, rules),
        Kind::SteadyState => checked::steady_state(whole, rules),
        Kind::ErrorNumbers => checked::error_numbers(whole),
        Kind::BufferMemory => checked::buffer_memory(whole),
        Kind::NumaMemory => checked::numa_memory(whole),
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

#[cfg(test)]
mod tests;
