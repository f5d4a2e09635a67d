//! The defaults of an option table, each parsed when it is first asked for, by the parser for user
//! input.

use std::cell::OnceCell;
use std::collections::HashMap;

use iolab_jobfile::default_value;
use iolab_options::{DefaultValue, OptionEntry, Value};

/// The value of each option that a job omits.
#[derive(Debug)]
pub(crate) struct Defaults<'a> {
    options: HashMap<&'static str, (&'a OptionEntry, OnceCell<Option<Value>>)>,
}

/// What an omitted option means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum OptionDefault<'a> {
    /// This value.
    Value(&'a Value),
    /// What this other option has.
    SameAs(&'static str),
}

impl<'a> Defaults<'a> {
    /// The defaults of a table.
    pub(crate) fn of(table: &'a [OptionEntry]) -> Defaults<'a> {
        Defaults { options: table.iter().map(|entry| (entry.name, (entry, OnceCell::new()))).collect() }
    }

    /// The value of an omitted option, if its entry states it.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        match self.of_option(name)? {
            OptionDefault::Value(value) => Some(value),
            OptionDefault::SameAs(_) => None,
        }
    }

    /// What an omitted option means, if its entry states it.
    pub(crate) fn of_option(&self, name: &str) -> Option<OptionDefault<'_>> {
        let (entry, value) = self.options.get(name)?;
        match entry.default {
            DefaultValue::SameAs(other) => Some(OptionDefault::SameAs(other)),
            _ => value.get_or_init(|| default_value(entry)).as_ref().map(OptionDefault::Value),
        }
    }
}
