//! What an option means when it is left out, by the parser that reads it when it is not.

use iolab_options::{AUTOMATIC, DefaultValue, OptionEntry, Value};

use super::{NumberRules, parse_value};

/// The value of an option that is left out; `None` where no text of its own says it.
pub fn default_value(entry: &OptionEntry) -> Option<Value> {
    match entry.default {
        DefaultValue::Text(text) => parse_value(&entry.kind, Some(text), NumberRules::default()).ok(),
        DefaultValue::Automatic => Some(Value::Text(AUTOMATIC.to_owned())),
        DefaultValue::SameAs(_) | DefaultValue::Derived(_) | DefaultValue::Absent => None,
    }
}
