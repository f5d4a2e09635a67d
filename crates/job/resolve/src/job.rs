//! The reader's view of one worker's job section: typed values, the place of each, and where
//! findings go.
//!
//! An option that is left out reads as its entry in the option table says: no reader names a
//! default. [`Job::given`] is for what has none, and for rules about what the user said.
//!
//! Every name that is asked for is recorded, so that a test can tell which options nobody reads. A
//! value of another kind than its reader expects, and a default that is not there, are mismatches
//! between the option table and this crate; they become an error that says so (never a panic on a
//! user's job), and the same test finds it.

use std::collections::BTreeMap;

use iolab_engine::EngineDescription;
use iolab_jobfile::{DiagnosticSeverity, JobSection};
use iolab_options::{Distribution, PerDirection, Setting, Settings, SizeSpec, Value};

use crate::findings::Place;
use crate::readings;
use crate::readings::Triple;
use crate::request::{Mode, ResolveRequest, Resolving};

/// The phrases by which tests recognise a reader that expects something else than the table gives.
pub(crate) const WRONG_KIND: &str = "has a value of an unexpected kind";
pub(crate) const NO_DEFAULT: &str = "has a default of an unexpected kind";

/// The message for a bug of ours.
const OUR_DEFECT: &str = "this is a bug in iolab; please report it";

/// One worker's section while it is being resolved.
pub(crate) struct Job<'a> {
    pub(crate) request: &'a ResolveRequest<'a>,
    pub(crate) resolving: &'a Resolving,
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
        self.resolving.reads.borrow_mut().insert(name);
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

    /// What the user set, as one of the [`readings`]; `None` if nothing.
    pub(crate) fn given<T>(&self, name: &'static str, reading: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        let setting = self.setting(name)?;
        let read = reading(&setting.value);
        if read.is_none() {
            self.error(name, format!("{name} {WRONG_KIND}: `{}`", setting.text), OUR_DEFECT);
        }
        read
    }

    /// What the option's entry says of it when it is left out.
    fn default<T: Default>(&self, name: &'static str, reading: impl Fn(&'a Value) -> Option<T>) -> T {
        if let Some(other) = self.resolving.defaults.same_as(name) {
            return self.value(other, reading);
        }
        let value = self.resolving.defaults.value(name);
        value.and_then(reading).unwrap_or_else(|| {
            self.error(name, format!("{name} {NO_DEFAULT}"), OUR_DEFECT);
            T::default()
        })
    }

    /// What the user set, or the default.
    pub(crate) fn value<T: Default>(&self, name: &'static str, reading: impl Fn(&'a Value) -> Option<T>) -> T {
        if self.has(name) { self.given(name, reading).unwrap_or_default() } else { self.default(name, reading) }
    }

    /// Whether it is on.
    pub(crate) fn on(&self, name: &'static str) -> bool {
        self.value(name, readings::flag)
    }

    /// A whole number.
    pub(crate) fn integer(&self, name: &'static str) -> i64 {
        self.value(name, readings::integer)
    }

    /// A count that fits `u32`; negative numbers count as 0.
    pub(crate) fn count(&self, name: &'static str) -> u32 {
        self.value(name, readings::count)
    }

    /// Bytes.
    pub(crate) fn bytes(&self, name: &'static str) -> u64 {
        self.value(name, readings::bytes)
    }

    /// Bytes; the default where the user says 0.
    pub(crate) fn bytes_or_default(&self, name: &'static str) -> u64 {
        self.given(name, readings::bytes)
            .filter(|bytes| *bytes > 0)
            .unwrap_or_else(|| self.default(name, readings::bytes))
    }

    /// A time, ns.
    pub(crate) fn time_ns(&self, name: &'static str) -> u64 {
        self.value(name, readings::time_ns)
    }

    /// A word.
    pub(crate) fn word(&self, name: &'static str) -> String {
        self.value(name, readings::word)
    }

    /// Free text that has no default, `None` if absent or empty.
    pub(crate) fn text(&self, name: &'static str) -> Option<String> {
        self.given(name, readings::word).filter(|text| !text.is_empty())
    }

    /// Free text; the default where the user says nothing, or the empty text.
    pub(crate) fn text_or_default(&self, name: &'static str) -> String {
        self.text(name).unwrap_or_else(|| self.default(name, readings::word))
    }

    /// A word with an optional `:suffix`.
    pub(crate) fn word_and_suffix(&self, name: &'static str) -> (String, Option<String>) {
        split_suffix(self.word(name))
    }

    /// Numbers or sizes for read, write, trim: the default where the text leaves one out.
    pub(crate) fn triple(&self, name: &'static str) -> PerDirection<u64> {
        self.filled(name, readings::triple)
    }

    /// Times for read, write, trim, ns.
    pub(crate) fn triple_ns(&self, name: &'static str) -> PerDirection<u64> {
        self.filled(name, readings::triple_ns)
    }

    fn filled(&self, name: &'static str, reading: fn(&Value) -> Option<Triple>) -> PerDirection<u64> {
        let given = self.given_each(name, reading);
        if let [Some(read), Some(write), Some(trim)] = given {
            return [read, write, trim];
        }
        let default = inherit(self.default(name, reading), "");
        std::array::from_fn(|index| given[index].or(default[index]).unwrap_or_default())
    }

    /// What the user set for read, write, trim; a direction takes what stands before it, unless its
    /// place is empty.
    pub(crate) fn given_each<T: Clone>(
        &self,
        name: &'static str,
        reading: fn(&Value) -> Option<PerDirection<Option<T>>>,
    ) -> PerDirection<Option<T>> {
        let given = self.given(name, reading);
        inherit(given.unwrap_or([const { None }; 3]), self.written(name))
    }

    /// Distributions for read, write, trim.
    pub(crate) fn distributions(&self, name: &'static str) -> PerDirection<Distribution> {
        let uniform = [Distribution::Uniform, Distribution::Uniform, Distribution::Uniform];
        self.value(name, |value| readings::distributions(value).map(Some)).unwrap_or(uniform)
    }

    /// Bytes or percent; zones are refused, since no zoned device is driven.
    pub(crate) fn given_size(&self, name: &'static str) -> Option<SizeSpec> {
        let spec = self.given(name, readings::size_spec)?;
        if let SizeSpec::Zones(zones) = spec {
            self.error(
                name,
                format!("{name}={zones}z counts zones, but the device is not zoned"),
                "use bytes or a percentage",
            );
            return None;
        }
        Some(spec)
    }

    /// The same, with the default.
    pub(crate) fn size(&self, name: &'static str) -> SizeSpec {
        let default = || self.default(name, |value| readings::size_spec(value).map(Some));
        self.given_size(name).or_else(default).unwrap_or(SizeSpec::Bytes(0))
    }

    /// Of two options, the one that takes effect when each overrides the other: the section's own
    /// before an inherited one, else the later in the text.
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
        self.resolving.findings.add(DiagnosticSeverity::Error, self.place(name), reason.into(), suggestion);
    }

    /// It must not: something would be destroyed.
    pub(crate) fn refuse(&self, name: &str, reason: impl Into<String>) {
        self.resolving.findings.add(DiagnosticSeverity::Refusal, self.place(name), reason.into(), "");
    }

    /// It can, and the user should know.
    pub(crate) fn warn(&self, name: &str, reason: impl Into<String>, suggestion: &str) {
        let severity =
            if self.request.mode == Mode::Fio { DiagnosticSeverity::Note } else { DiagnosticSeverity::Warning };
        self.resolving.findings.add(severity, self.place(name), reason.into(), suggestion);
    }

    /// Part of what the job asks for will not happen: said in every mode.
    pub(crate) fn warn_always(&self, name: &str, reason: impl Into<String>, suggestion: &str) {
        self.resolving.findings.add(DiagnosticSeverity::Warning, self.place(name), reason.into(), suggestion);
    }

    /// fio tolerates it: an error for iolab, a warning when reading as fio.
    pub(crate) fn refuse_unless_fio(&self, name: &str, reason: impl Into<String>, suggestion: &str) {
        match self.request.mode {
            Mode::Iolab => self.error(name, reason, suggestion),
            Mode::Fio => self.warn(name, reason, suggestion),
        }
    }
}

/// `word` or `word:suffix`.
pub(crate) fn split_suffix(text: String) -> (String, Option<String>) {
    match text.split_once(':') {
        Some((word, suffix)) => (word.to_owned(), Some(suffix.to_owned())),
        None => (text, None),
    }
}

/// Options as the user wrote them.
pub(crate) fn texts(settings: &Settings) -> BTreeMap<String, String> {
    settings.iter().map(|(name, setting)| (name.to_owned(), setting.text.clone())).collect()
}

/// Fills a triple as fio does: directions after the last comma take the last value, directions
/// between commas that were left empty stay empty (and so take the option's default).
///
/// `4k` serves all three; `4k,8k` gives writes and trims 8k; `,8k` leaves reads alone; `4k,` is
/// reads alone.
fn inherit<T: Clone>(given: PerDirection<Option<T>>, text: &str) -> PerDirection<Option<T>> {
    let commas = text.matches(',').count().min(2);
    let last_given = (0..3).rev().find(|&index| given[index].is_some()).unwrap_or(0);
    let last = commas.max(last_given);
    std::array::from_fn(|index| given[index.min(last)].clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_as_fio_fills_them() {
        let cases = [
            ([Some(4), None, None], "4", [Some(4), Some(4), Some(4)]),
            ([Some(4), Some(8), None], "4,8", [Some(4), Some(8), Some(8)]),
            ([Some(4), Some(8), None], "4,8,", [Some(4), Some(8), None]),
            ([None, Some(8), None], ",8", [None, Some(8), Some(8)]),
            ([Some(4), None, None], "4,", [Some(4), None, None]),
            ([Some(4), None, Some(8)], "4,,8", [Some(4), None, Some(8)]),
            ([Some(4), Some(8), None], "", [Some(4), Some(8), Some(8)]),
        ];
        for (given, text, expected) in cases {
            assert_eq!(inherit(given, text), expected, "{text}");
        }
    }
}
