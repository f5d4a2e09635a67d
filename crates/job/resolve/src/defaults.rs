//! The defaults of an option table, each parsed once by the parser for user input.

use std::collections::BTreeMap;

use iolab_jobfile::default_value;
use iolab_options::{DefaultValue, OptionEntry, Value};

/// The value of each option that a job omits.
#[derive(Debug, Default)]
pub(crate) struct Defaults {
    values: BTreeMap<&'static str, Value>,
    same_as: BTreeMap<&'static str, &'static str>,
}

impl Defaults {
    /// The defaults of a table.
    pub(crate) fn of(table: &[OptionEntry]) -> Defaults {
        let mut defaults = Defaults::default();
        for entry in table {
            if let DefaultValue::SameAs(other) = entry.default {
                defaults.same_as.insert(entry.name, other);
            }
            if let Some(value) = default_value(entry) {
                defaults.values.insert(entry.name, value);
            }
        }
        defaults
    }

    /// The value of an omitted option, if its entry states it.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// The option whose value this one takes by default.
    pub(crate) fn same_as(&self, name: &str) -> Option<&'static str> {
        self.same_as.get(name).copied()
    }
}
