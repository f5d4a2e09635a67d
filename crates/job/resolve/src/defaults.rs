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

impl<'a> Defaults<'a> {
    /// The defaults of a table.
    pub(crate) fn of(table: &'a [OptionEntry]) -> Defaults<'a> {
        Defaults { options: table.iter().map(|entry| (entry.name, (entry, OnceCell::new()))).collect() }
    }

    /// The value of an omitted option, if its entry states it.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        let (entry, value) = self.options.get(name)?;
        value.get_or_init(|| default_value(entry)).as_ref()
    }

    /// The option whose value this one takes by default.
    pub(crate) fn same_as(&self, name: &str) -> Option<&'static str> {
        match self.options.get(name)?.0.default {
            DefaultValue::SameAs(other) => Some(other),
            _ => None,
        }
    }
}
