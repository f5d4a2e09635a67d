//! Conversions of the option table's values: one function for each type that resolving uses.
//!
//! A reading is `None` for a value of another kind, which is a mismatch between the option table
//! and its reader.

use iolab_options::{BlockSplit, Distribution, PerDirection, Percent, SizeSpec, Value};

/// Numbers for read, write and trim; `None` for omitted ones.
pub(crate) type Triple = PerDirection<Option<u64>>;

/// On or off.
pub(crate) fn flag(value: &Value) -> Option<bool> {
    if let Value::Flag(on) = value { Some(*on) } else { None }
}

/// A whole number.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(number) => Some(*number),
        // Choices such as `kb_base=1024` are numeric words.
        Value::Choice(word) => word.parse().ok(),
        _ => None,
    }
}

/// A percentage.
pub(crate) fn percent(value: &Value) -> Option<Percent> {
    if let Value::Percent(percent) = value { Some(*percent) } else { None }
}

/// A count that fits `u32`; negative numbers count as 0.
pub(crate) fn count(value: &Value) -> Option<u32> {
    integer(value).map(|number| number.clamp(0, i64::from(u32::MAX)) as u32)
}

/// Bytes.
pub(crate) fn bytes(value: &Value) -> Option<u64> {
    match value {
        Value::Size(bytes) | Value::SizeSpec(SizeSpec::Bytes(bytes)) => Some(*bytes),
        Value::Integer(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Bytes, percent or zones.
pub(crate) fn size_spec(value: &Value) -> Option<SizeSpec> {
    match value {
        Value::SizeSpec(spec) => Some(*spec),
        Value::Size(bytes) => Some(SizeSpec::Bytes(*bytes)),
        _ => None,
    }
}

/// Two bounds, bytes; a single size is both.
pub(crate) fn byte_range(value: &Value) -> Option<(u64, u64)> {
    match value {
        Value::SizeRanges([Some(range), ..]) => Some(*range),
        Value::Size(bytes) | Value::SizeSpec(SizeSpec::Bytes(bytes)) => Some((*bytes, *bytes)),
        _ => None,
    }
}

/// A time, ns.
pub(crate) fn time_ns(value: &Value) -> Option<u64> {
    if let Value::Time(ns) = value { Some(*ns) } else { None }
}

/// Two times, ns; a single time is both.
pub(crate) fn time_range_ns(value: &Value) -> Option<(u64, u64)> {
    match value {
        Value::TimeRange(range) => Some(*range),
        Value::Time(ns) => Some((*ns, *ns)),
        _ => None,
    }
}

/// A word or free text.
pub(crate) fn word(value: &Value) -> Option<String> {
    match value {
        Value::Choice(text) | Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// Whole numbers or sizes for read, write, trim.
pub(crate) fn triple(value: &Value) -> Option<Triple> {
    match value {
        Value::Integers(numbers) => Some(numbers.map(|number| number.and_then(|number| u64::try_from(number).ok()))),
        Value::Sizes(sizes) => Some(*sizes),
        _ => None,
    }
}

/// Times for read, write, trim, ns.
pub(crate) fn triple_ns(value: &Value) -> Option<Triple> {
    match value {
        Value::Times(times) => Some(*times),
        Value::Time(ns) => Some([Some(*ns), None, None]),
        _ => None,
    }
}

/// Ranges for read, write, trim, bytes.
pub(crate) fn ranges(value: &Value) -> Option<PerDirection<Option<(u64, u64)>>> {
    if let Value::SizeRanges(ranges) = value { Some(*ranges) } else { None }
}

/// Block splits for read, write, trim.
pub(crate) fn splits(value: &Value) -> Option<PerDirection<Option<Vec<BlockSplit>>>> {
    if let Value::Splits(splits) = value { Some(splits.clone()) } else { None }
}

/// Distributions for read, write, trim.
pub(crate) fn distributions(value: &Value) -> Option<PerDirection<Distribution>> {
    if let Value::Distributions(each) = value { Some(each.clone()) } else { None }
}

/// Floating-point numbers.
pub(crate) fn floats(value: &Value) -> Option<Vec<f64>> {
    if let Value::Floats(numbers) = value { Some(numbers.clone()) } else { None }
}

/// CPU numbers.
pub(crate) fn cpus(value: &Value) -> Option<Vec<usize>> {
    if let Value::Cpus(cpus) = value { Some(cpus.clone()) } else { None }
}

/// The access pattern: word, `:N` count, `:N` bytes.
pub(crate) fn pattern(value: &Value) -> Option<(String, Option<u32>, i64)> {
    match value {
        Value::Pattern { word, every, skip_bytes } => Some((word.clone(), *every, *skip_bytes)),
        _ => None,
    }
}
