//! Prints values as the shortest text that parses to the same value.

use iolab_options::{BlockSplit, Distribution, PerDirection, SizeSpec, SplitShare, Value, ZoneShare};
use iolab_units::{format_bytes, format_ns};

/// The canonical text of a value, in the notation of `kb_base=1024`.
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Choice(text) => text.clone(),
        Value::Flag(on) => u8::from(*on).to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Integers(each) => triple(each, i64::to_string),
        Value::Percent(percent) => percent.to_string(),
        Value::Size(bytes) => format_bytes(*bytes),
        Value::SizeSpec(spec) => size_spec(*spec),
        Value::Sizes(each) => triple(each, |bytes| format_bytes(*bytes)),
        Value::SizeRanges(each) => triple(each, size_range),
        Value::Splits(each) => triple(each, |splits| joined(splits, ':', split)),
        Value::Time(ns) => format_ns(*ns),
        Value::Times(each) => triple(each, |ns| format_ns(*ns)),
        Value::TimeRange((min, max)) => format!("{}-{}", format_ns(*min), format_ns(*max)),
        Value::Pattern { word, every, skip_bytes } => pattern(word, *every, *skip_bytes),
        Value::Floats(numbers) => joined(numbers, ':', f64::to_string),
        Value::Distributions(each) => distributions(each),
        Value::Cpus(cpus) => ranges(cpus),
        Value::Bytes(bytes) => format!("0x{}", joined_plain(bytes)),
    }
}

fn joined<T>(items: &[T], separator: char, one: impl Fn(&T) -> String) -> String {
    let parts: Vec<String> = items.iter().map(one).collect();
    parts.join(&separator.to_string())
}

fn joined_plain(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn triple<T: PartialEq>(each: &PerDirection<Option<T>>, one: impl Fn(&T) -> String) -> String {
    let text = |slot: &Option<T>| slot.as_ref().map(&one).unwrap_or_default();
    if each[0] == each[1] && each[1] == each[2] {
        return text(&each[0]);
    }
    format!("{},{},{}", text(&each[0]), text(&each[1]), text(&each[2]))
}

fn size_spec(spec: SizeSpec) -> String {
    match spec {
        SizeSpec::Bytes(bytes) => format_bytes(bytes),
        SizeSpec::Percent(hundredths) => format!("{}%", f64::from(hundredths) / 100.0),
        SizeSpec::Zones(zones) => format!("{zones}z"),
    }
}

fn size_range((min, max): &(u64, u64)) -> String {
    // A single size parses as a range wherever it was accepted as one.
    if min == max {
        return format_bytes(*min);
    }
    format!("{}-{}", format_bytes(*min), format_bytes(*max))
}

fn split(split: &BlockSplit) -> String {
    match split.share {
        SplitShare::Percent(percent) => format!("{}/{percent}", format_bytes(split.bytes)),
        SplitShare::Remainder => format!("{}/", format_bytes(split.bytes)),
    }
}

fn pattern(word: &str, every: Option<u32>, skip_bytes: i64) -> String {
    match (every, skip_bytes) {
        (Some(every), _) => format!("{word}:{every}"),
        (None, 0) => word.to_owned(),
        (None, bytes) if bytes < 0 => format!("{word}:-{}", format_bytes(bytes.unsigned_abs())),
        (None, bytes) => format!("{word}:{}", format_bytes(bytes.unsigned_abs())),
    }
}

fn distributions(each: &PerDirection<Distribution>) -> String {
    if each[0] == each[1] && each[1] == each[2] {
        return distribution(&each[0]);
    }
    joined(each, ',', distribution)
}

fn distribution(distribution: &Distribution) -> String {
    let centred = |word: &str, number: f64, center: Option<f64>| match center {
        Some(center) => format!("{word}:{number}:{center}"),
        None => format!("{word}:{number}"),
    };
    match distribution {
        Distribution::Uniform => "random".to_owned(),
        Distribution::Zipf { theta, center } => centred("zipf", *theta, *center),
        Distribution::Pareto { h, center } => centred("pareto", *h, *center),
        Distribution::Normal { deviation_percent, center } => centred("normal", *deviation_percent, *center),
        Distribution::Zoned(zones) => {
            let one = |zone: &ZoneShare| format!("{}/{}", zone.access_percent, zone.size_percent);
            format!("zoned:{}", joined(zones, ':', one))
        }
        Distribution::ZonedAbsolute(zones) => {
            let one = |zone: &ZoneShare| format!("{}/{}", zone.access_percent, format_bytes(zone.size_bytes));
            format!("zoned_abs:{}", joined(zones, ':', one))
        }
        Distribution::Sequence { blocks, .. } => format!("sequence:{}", joined(blocks, ',', u64::to_string)),
    }
}

/// `0-3,5`.
fn ranges(cpus: &[usize]) -> String {
    let runs = cpus.chunk_by(|left, right| left + 1 == *right);
    let parts: Vec<String> = runs
        .map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect();
    parts.join(",")
}
