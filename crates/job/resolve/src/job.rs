//! A worker's job section during resolving: typed values, the place of each, and the destination of
//! findings.
//!
//! An omitted option has the value of its entry in the option table: no reader contains a default.
//! [`Job::given`] is for options without a default, and for rules about explicit settings.
//!
//! Every requested name is recorded, so that a test can find options without a reader. A value of
//! another kind than its reader expects, or a missing default, is a mismatch between the option
//! table and this crate. It becomes an error that says so (never a panic on a user's job), and the
//! same test finds it.

use std::cell::Cell;
use std::collections::BTreeMap;

use iolab_engine::EngineDescription;
use iolab_jobfile::{DiagnosticSeverity, JobSection};
use iolab_options::{Distribution, PerDirection, Setting, Settings, SizeSpec, Value};
use iolab_order::Gather;

use crate::defaults::OptionDefault;
use crate::findings::Place;
use crate::readings;
use crate::readings::Triple;
use crate::request::{Mode, ResolveRequest, Resolving};

/// The phrases by which tests recognise a mismatch between a reader and the table.
pub(crate) const WRONG_KIND: &str = "has a value of an unexpected kind";
pub(crate) const NO_DEFAULT: &str = "has a default of an unexpected kind";

/// The message for a bug in iolab.
const OUR_DEFECT: &str = "this is a bug in iolab; please report it";

/// One worker's section while it is being resolved.
pub(crate) struct Job<'a> {
    pub(crate) request: &'a ResolveRequest<'a>,
    pub(crate) resolving: &'a Resolving<'a>,
    pub(crate) section: &'a JobSection,
    pub(crate) engine: &'static EngineDescription,
    /// Number of the worker in the whole run.
    pub(crate) number: u32,
    /// The number of this clone of its section.
    pub(crate) clone: u32,
    /// Bytes of a zone of its devices, 0 without `zonemode=zbd`. Known once its files are.
    pub(crate) zone_bytes: Cell<u64>,
}

impl<'a> Job<'a> {
    /// The setting, recorded as read.
    pub(crate) fn setting(&self, name: &'static str) -> Option<&'a Setting> {
        self.resolving.note_read(name);
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

    /// The explicit value, as one of the [`readings`]; `None` if unset.
    pub(crate) fn given<T>(&self, name: &'static str, reading: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        let setting = self.setting(name)?;
        let read = reading(&setting.value);
        if read.is_none() {
            self.error(name, format!("{name} {WRONG_KIND}: `{}`", setting.text), OUR_DEFECT);
        }
        read
    }

    /// The option's default according to its entry.
    fn default<T: Default>(&self, name: &'static str, reading: impl Fn(&'a Value) -> Option<T>) -> T {
        let value = match self.resolving.defaults.of_option(name) {
            Some(OptionDefault::SameAs(other)) => return self.value(other, reading),
            Some(OptionDefault::Value(value)) => reading(value),
            None => None,
        };
        value.unwrap_or_else(|| {
            self.error(name, format!("{name} {NO_DEFAULT}"), OUR_DEFECT);
            T::default()
        })
    }

    /// The explicit value, or the default.
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

    /// Bytes; the default if the user gives 0.
    pub(crate) fn bytes_or_default(&self, name: &'static str) -> u64 {
        self.given(name, readings::bytes)
            .filter(|bytes| *bytes > 0)
            .unwrap_or_else(|| self.default(name, readings::bytes))
    }

    /// A time, ns.
    pub(crate) fn time_ns(&self, name: &'static str) -> u64 {
        self.value(name, readings::time_ns)
    }

    /// The runtime, ns, unless it is unlimited.
    pub(crate) fn runtime_ns(&self) -> Option<u64> {
        Some(self.request.overrides.runtime_ns.unwrap_or(self.time_ns("runtime"))).filter(|ns| *ns > 0)
    }

    /// A word.
    pub(crate) fn word(&self, name: &'static str) -> String {
        self.value(name, readings::word)
    }

    /// Free text that has no default, `None` if absent or empty.
    pub(crate) fn text(&self, name: &'static str) -> Option<String> {
        self.given(name, readings::word).filter(|text| !text.is_empty())
    }

    /// Free text; the default if absent or empty.
    pub(crate) fn text_or_default(&self, name: &'static str) -> String {
        self.text(name).unwrap_or_else(|| self.default(name, readings::word))
    }

    /// A word with an optional `:suffix`.
    pub(crate) fn word_and_suffix(&self, name: &'static str) -> (String, Option<String>) {
        split_suffix(self.word(name))
    }

    /// Numbers or sizes for read, write, trim, with the default for omitted ones.
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

    /// The explicit values for read, write, trim. A direction takes the preceding value, unless its
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

    /// Bytes or percent; zones of `zonemode=zbd` are counted as bytes.
    pub(crate) fn given_size(&self, name: &'static str) -> Option<SizeSpec> {
        let spec = self.given(name, readings::size_spec)?;
        let SizeSpec::Zones(zones) = spec else { return Some(spec) };
        if let Some(bytes) = zones.checked_mul(self.zone_bytes.get()).filter(|_| self.zone_bytes.get() > 0) {
            return Some(SizeSpec::Bytes(bytes));
        }
        self.error(
            name,
            format!("{name}={zones}z counts zones, but the job has none"),
            "set zonemode=zbd, or use bytes or a percentage",
        );
        None
    }

    /// As [`Job::given_size`], with the default.
    pub(crate) fn size(&self, name: &'static str) -> SizeSpec {
        let default = || self.default(name, |value| readings::size_spec(value).map(Some));
        self.given_size(name).or_else(default).unwrap_or(SizeSpec::Bytes(0))
    }

    /// The one of two mutually overriding options that takes effect: the section's own before an
    /// inherited one, otherwise the later in the text.
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

    /// The place of the setting, or of the section's header.
    pub(crate) fn place(&self, name: &str) -> Place {
        match self.section.settings.get(name).or_else(|| self.section.engine_settings.get(name)) {
            Some(setting) => (setting.source, setting.span),
            None => (self.section.source, self.section.span),
        }
    }

    /// Reports that the job cannot run.
    pub(crate) fn error(&self, name: &str, reason: impl Into<String>, suggestion: &str) {
        self.resolving.findings.add(DiagnosticSeverity::Error, self.place(name), reason.into(), suggestion);
    }

    /// Reports that the job must not run: something would be destroyed.
    pub(crate) fn refuse(&self, name: &str, reason: impl Into<String>) {
        self.resolving.findings.add(DiagnosticSeverity::Refusal, self.place(name), reason.into(), "");
    }

    /// Reports something that the user should know, although the job can run.
    pub(crate) fn warn(&self, name: &str, reason: impl Into<String>, suggestion: &str) {
        let severity =
            if self.request.mode == Mode::Fio { DiagnosticSeverity::Note } else { DiagnosticSeverity::Warning };
        self.resolving.findings.add(severity, self.place(name), reason.into(), suggestion);
    }

    /// Reports, in every mode, that part of the job will not happen.
    pub(crate) fn warn_always(&self, name: &str, reason: impl Into<String>, suggestion: &str) {
        self.resolving.findings.add(DiagnosticSeverity::Warning, self.place(name), reason.into(), suggestion);
    }

    /// Reports what fio tolerates: an error in iolab's mode, a warning in fio mode.
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

/// Options as written by the user.
pub(crate) fn texts(settings: &Settings) -> BTreeMap<String, String> {
    settings.iter().map(|(name, setting)| (name.to_owned(), setting.text.clone())).gather()
}

/// Fills a triple as fio does. Directions after the last comma take the last value. Empty
/// directions between commas stay empty (and so take the option's default).
///
/// `4k` applies to all three; `4k,8k` gives writes and trims 8k; `,8k` leaves reads unset; `4k,`
/// sets reads only.
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
