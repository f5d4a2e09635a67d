//! The reader's view of one worker's job section: typed values, the place of each, and where findings go.
//!
//! Every name that is asked for is recorded, so that a test can tell which options nobody reads. A value of
//! another kind than its reader expects is a slip between the option table and this crate; it becomes an error
//! that says so (never a panic on a user's job), and the same test finds it.

use iolab_engine::EngineDescription;
use iolab_jobfile::{JobSection, Severity};
use iolab_options::{BlockSplit, Distribution, PerDirection, Setting, SizeSpec, Value};

use crate::directions::inherit;
use crate::findings::{Findings, Place};
use crate::{Mode, Reads, Request};

/// The phrase by which tests recognise a reader that expects another kind than the table gives.
pub(crate) const WRONG_KIND: &str = "holds a value of an unexpected kind";

/// One worker's section while it is being resolved.
pub(crate) struct Job<'a> {
    pub(crate) request: &'a Request<'a>,
    pub(crate) findings: &'a Findings,
    pub(crate) reads: &'a Reads,
    pub(crate) section: &'a JobSection,
    pub(crate) engine: &'static EngineDescription,
    /// Number of the worker in the whole run.
    pub(crate) number: u32,
    /// Which clone of its section.
    pub(crate) clone: u32,
}

impl<'a> Job<'a> {
    /// The setting, recorded as read.
    pub(crate) fn setting(&self, name: &'static str) -> Option<&'a Setting> {
        self.reads.borrow_mut().insert(name);
        self.section.settings.get(name)
    }

    /// Whether the user set it.
    pub(crate) fn has(&self, name: &'static str) -> bool {
        self.setting(name).is_some()
    }

    /// The text as written; empty if absent or bare.
    pub(crate) fn written(&self, name: &'static str) -> &'a str {
        self.setting(name).map_or("", |setting| setting.text.as_str())
    }

    fn convert<T>(&self, name: &'static str, convert: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        let setting = self.setting(name)?;
        let converted = convert(&setting.value);
        if converted.is_none() {
            self.error(name, format!("{name} {WRONG_KIND}: {:?}", setting.value), "report this as a defect of iolab");
        }
        converted
    }

    /// On or off.
    pub(crate) fn flag(&self, name: &'static str) -> Option<bool> {
        self.convert(name, |value| match value {
            Value::Flag(on) => Some(*on),
            _ => None,
        })
    }

    /// Whether it is set and on.
    pub(crate) fn on(&self, name: &'static str) -> bool {
        self.flag(name).unwrap_or(false)
    }

    /// A whole number.
    pub(crate) fn integer(&self, name: &'static str) -> Option<i64> {
        self.convert(name, |value| match value {
            Value::Integer(number) => Some(*number),
            // Choices such as `kb_base=1024` are words that are numbers.
            Value::Choice(word) => word.parse().ok(),
            _ => None,
        })
    }

    /// A count that fits `u32`; negative numbers count as 0.
    pub(crate) fn count(&self, name: &'static str) -> Option<u32> {
        self.integer(name).map(|number| number.clamp(0, i64::from(u32::MAX)) as u32)
    }

    /// Bytes.
    pub(crate) fn bytes(&self, name: &'static str) -> Option<u64> {
        self.convert(name, |value| match value {
            Value::Size(bytes) | Value::SizeSpec(SizeSpec::Bytes(bytes)) => Some(*bytes),
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        })
    }

    /// Bytes or percent; zones are refused, since no zoned device is driven.
    pub(crate) fn size_spec(&self, name: &'static str) -> Option<SizeSpec> {
        let spec = self.convert(name, |value| match value {
            Value::SizeSpec(spec) => Some(*spec),
            Value::Size(bytes) => Some(SizeSpec::Bytes(*bytes)),
            _ => None,
        })?;
        if let SizeSpec::Zones(zones) = spec {
            self.error(
                name,
                format!("{name}={zones}z counts in zones, which need a zoned device"),
                "give bytes or a percentage",
            );
            return None;
        }
        Some(spec)
    }

    /// Two bounds, bytes; a single size is both.
    pub(crate) fn byte_range(&self, name: &'static str) -> Option<(u64, u64)> {
        self.convert(name, |value| match value {
            Value::SizeRanges([Some(range), ..]) => Some(*range),
            Value::Size(bytes) | Value::SizeSpec(SizeSpec::Bytes(bytes)) => Some((*bytes, *bytes)),
            _ => None,
        })
    }

    /// A time, ns.
    pub(crate) fn time_ns(&self, name: &'static str) -> Option<u64> {
        self.convert(name, |value| if let Value::Time(ns) = value { Some(*ns) } else { None })
    }

    /// Two times, ns; a single time is both.
    pub(crate) fn time_range_ns(&self, name: &'static str) -> Option<(u64, u64)> {
        self.convert(name, |value| match value {
            Value::TimeRange(range) => Some(*range),
            Value::Time(ns) => Some((*ns, *ns)),
            _ => None,
        })
    }

    /// A word or free text.
    pub(crate) fn word(&self, name: &'static str) -> Option<String> {
        self.convert(name, |value| match value {
            Value::Choice(text) | Value::Text(text) => Some(text.clone()),
            _ => None,
        })
    }

    /// Free text, `None` if absent or empty.
    pub(crate) fn text(&self, name: &'static str) -> Option<String> {
        self.word(name).filter(|text| !text.is_empty())
    }

    /// A word with an optional `:suffix`; a choice finds its suffix in the text as written.
    pub(crate) fn word_and_suffix(&self, name: &'static str) -> Option<(String, Option<String>)> {
        let word = self.word(name)?;
        if let Some((word, suffix)) = word.split_once(':') {
            return Some((word.to_owned(), Some(suffix.to_owned())));
        }
        let suffix = self.written(name).split_once(':').map(|(_, suffix)| suffix.to_owned());
        Some((word, suffix))
    }

    /// Whole numbers for read, write, trim; gaps filled.
    pub(crate) fn triple(&self, name: &'static str) -> PerDirection<Option<u64>> {
        let given = self.convert(name, |value| match value {
            Value::Integers(numbers) => {
                Some(numbers.map(|number| number.and_then(|number| u64::try_from(number).ok())))
            }
            Value::Sizes(sizes) => Some(*sizes),
            _ => None,
        });
        inherit(given.unwrap_or([None; 3]), self.written(name))
    }

    /// Times for read, write, trim, ns; gaps filled.
    pub(crate) fn triple_ns(&self, name: &'static str) -> PerDirection<Option<u64>> {
        let given = self.convert(name, |value| match value {
            Value::Times(times) => Some(*times),
            Value::Time(ns) => Some([Some(*ns), None, None]),
            _ => None,
        });
        inherit(given.unwrap_or([None; 3]), self.written(name))
    }

    /// Ranges for read, write, trim; gaps filled.
    pub(crate) fn ranges(&self, name: &'static str) -> PerDirection<Option<(u64, u64)>> {
        let given = self.convert(name, |value| match value {
            Value::SizeRanges(ranges) => Some(*ranges),
            _ => None,
        });
        inherit(given.unwrap_or([None; 3]), self.written(name))
    }

    /// Block splits for read, write, trim; gaps filled.
    pub(crate) fn splits(&self, name: &'static str) -> PerDirection<Option<Vec<BlockSplit>>> {
        let given = self.convert(name, |value| match value {
            Value::Splits(splits) => Some(splits.clone()),
            _ => None,
        });
        inherit(given.unwrap_or([None, None, None]), self.written(name))
    }

    /// Distributions for read, write, trim.
    pub(crate) fn distributions(&self, name: &'static str) -> Option<PerDirection<Distribution>> {
        self.convert(name, |value| match value {
            Value::Distributions(each) => Some(each.clone()),
            _ => None,
        })
    }

    /// Floating-point numbers.
    pub(crate) fn floats(&self, name: &'static str) -> Option<&'a [f64]> {
        self.convert(name, |value| match value {
            Value::Floats(numbers) => Some(numbers.as_slice()),
            _ => None,
        })
    }

    /// CPU numbers.
    pub(crate) fn cpus(&self, name: &'static str) -> Option<Vec<usize>> {
        self.convert(name, |value| match value {
            Value::Cpus(cpus) => Some(cpus.clone()),
            _ => None,
        })
    }

    /// Literal bytes.
    pub(crate) fn pattern_bytes(&self, name: &'static str) -> Option<Vec<u8>> {
        self.convert(name, |value| match value {
            Value::Bytes(bytes) => Some(bytes.clone()),
            _ => None,
        })
    }

    /// The access pattern: word, `:N` count, `:N` bytes.
    pub(crate) fn pattern(&self, name: &'static str) -> Option<(String, Option<u32>, i64)> {
        self.convert(name, |value| match value {
            Value::Pattern { word, every, skip_bytes } => Some((word.clone(), *every, *skip_bytes)),
            _ => None,
        })
    }

    /// Of two options, the one that takes effect when each overrides the other: the section's own before an
    /// inherited one, else the later in the text.
    pub(crate) fn later(&self, one: &'static str, other: &'static str) -> Option<&'static str> {
        match (self.setting(one), self.setting(other)) {
            (None, None) => None,
            (Some(_), None) => Some(one),
            (None, Some(_)) => Some(other),
            (Some(a), Some(b)) => {
                let rank = |name, setting: &Setting| (self.section.own.has(name), setting.source, setting.span.0);
                Some(if rank(one, a) > rank(other, b) { one } else { other })
            }
        }
    }

    /// Where the setting stands, or the section's header.
    pub(crate) fn place(&self, name: &str) -> Place {
        match self.section.settings.get(name).or_else(|| self.section.engine_settings.get(name)) {
            Some(setting) => (setting.source, setting.span),
            None => (self.section.source, self.section.span),
        }
    }

    /// The job cannot run.
    pub(crate) fn error(&self, name: &str, reason: impl Into<String>, suggestion: &str) {
        self.findings.add(Severity::Error, self.place(name), reason.into(), suggestion);
    }

    /// It can, and the user should know.
    pub(crate) fn warn(&self, name: &str, reason: impl Into<String>, suggestion: &str) {
        let severity = if self.request.mode == Mode::Fio { Severity::Note } else { Severity::Warning };
        self.findings.add(severity, self.place(name), reason.into(), suggestion);
    }

    /// Part of what the job asks for will not happen: said in every mode.
    pub(crate) fn warn_always(&self, name: &str, reason: impl Into<String>, suggestion: &str) {
        self.findings.add(Severity::Warning, self.place(name), reason.into(), suggestion);
    }

    /// fio tolerates it: an error for iolab, a warning when reading as fio.
    pub(crate) fn refuse_unless_fio(&self, name: &str, reason: impl Into<String>, suggestion: &str) {
        match self.request.mode {
            Mode::Iolab => self.error(name, reason, suggestion),
            Mode::Fio => self.warn(name, reason, suggestion),
        }
    }
}
