//! Job text to a job set, for options and values that the tests use.

use iolab_jobfile::{JobSection, JobSet};
use iolab_options::{BlockSplit, Distribution, OptionEntry, Setting, Settings, SizeSpec, SplitShare, Status, Value};

static OPTIONS: [OptionEntry; 3] = [
    OptionEntry { name: "verify", default: "0", status: Status::NotYetChangesData, ..OptionEntry::BLANK },
    OptionEntry { name: "flow", default: "0", status: Status::NotYet, ..OptionEntry::BLANK },
    OptionEntry { name: "gtod_cpu", status: Status::NoEffect("the clock is cheap"), ..OptionEntry::BLANK },
];

pub(crate) fn options() -> &'static [OptionEntry] {
    &OPTIONS
}

/// Reads `[section]` and `name=value` lines; a line `---` begins a new job file.
pub(crate) fn jobs(text: &str) -> JobSet {
    let mut set = JobSet { sources: vec![("job.fio".into(), text.to_owned())], ..JobSet::default() };
    let mut begins_file = false;
    let mut at = 0;
    let mut in_global = false;
    for line in text.split_inclusive('\n') {
        let span = (at, at + line.trim_end().len());
        at += line.len();
        let line = line.trim();
        if line == "---" {
            begins_file = true;
        } else if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            in_global = name == "global";
            if !in_global {
                let settings = set.global.clone();
                let begins_file = std::mem::take(&mut begins_file);
                set.jobs.push(JobSection { name: name.into(), settings, begins_file, span, ..JobSection::default() });
            }
        } else if !line.is_empty() {
            let (name, text) = line.split_once('=').unwrap_or((line, ""));
            let setting = Setting { value: value(name, text), text: text.to_owned(), source: 0, span };
            let section = set.jobs.last_mut();
            match section.filter(|_| !in_global) {
                Some(section) => put(section, name, setting),
                None => set.global.set(name, setting),
            }
        }
    }
    set
}

fn put(section: &mut JobSection, name: &str, setting: Setting) {
    let into: &mut Settings = match name {
        "hipri" | "uncached" | "sqthread_poll_cpu" => &mut section.engine_settings,
        _ => &mut section.settings,
    };
    into.set(name, setting.clone());
    section.own.set(name, setting);
}

fn value(name: &str, text: &str) -> Value {
    match name {
        "bs" | "ba" => Value::Sizes(triple(text, number)),
        "rate" | "rate_iops" | "rate_min" | "rate_iops_min" | "percentage_random" => {
            Value::Integers(triple(text, |part| number(part) as i64))
        }
        "bsrange" => Value::SizeRanges(triple(text, range)),
        "bssplit" => Value::Splits(triple(text, splits)),
        "size" | "io_size" | "offset" | "offset_increment" | "zoneskip" => {
            Value::SizeSpec(match text.strip_suffix('%') {
                Some(percent) => SizeSpec::Percent(percent.parse::<u32>().expect("percent") * 100),
                None => SizeSpec::Bytes(number(text)),
            })
        }
        "rw" => pattern(text),
        "runtime" | "ramp_time" => Value::Time(number(text) * 1_000_000_000),
        "thinktime" | "thinktime_spin" => Value::Time(number(text) * 1_000),
        "percentile_list" => Value::Floats(text.split(':').map(|part| part.parse().expect("number")).collect()),
        "random_distribution" => {
            let theta = text.strip_prefix("zipf:").expect("zipf").parse().expect("theta");
            Value::Distributions(std::array::from_fn(|_| Distribution::Zipf { theta, center: None }))
        }
        "buffer_pattern" => Value::Bytes(text.as_bytes().to_vec()),
        "cpus_allowed" => {
            let (low, high) = range(text);
            Value::Cpus((low as usize..=high as usize).collect())
        }
        _ if text.is_empty() && !name.starts_with("write_") => Value::Flag(true),
        _ => match text.parse::<i64>() {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Text(text.to_owned()),
        },
    }
}

fn triple<T>(text: &str, one: impl Fn(&str) -> T) -> [Option<T>; 3] {
    let mut parts = text.split(',');
    std::array::from_fn(|_| parts.next().filter(|part| !part.is_empty()).map(&one))
}

fn number(text: &str) -> u64 {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1 << 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1 << 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().unwrap_or_else(|_| panic!("{text} is no number")) * factor
}

fn range(text: &str) -> (u64, u64) {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    (number(low), number(high))
}

fn splits(text: &str) -> Vec<BlockSplit> {
    let part = |part: &str| {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let share = share.parse().map_or(SplitShare::Remainder, SplitShare::Percent);
        BlockSplit { bytes: number(size), share }
    };
    text.split(':').map(part).collect()
}

fn pattern(text: &str) -> Value {
    let (word, suffix) = text.split_once(':').unwrap_or((text, ""));
    let every = suffix.parse().ok();
    let skip_bytes = match suffix.strip_prefix('-') {
        Some(back) => -(number(back) as i64),
        None if every.is_none() && !suffix.is_empty() => number(suffix) as i64,
        None => 0,
    };
    Value::Pattern { word: word.into(), every, skip_bytes }
}
