//! Settings: option values by canonical name, each with its origin.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{AUTOMATIC, PerDirection, Value};

/// One option as set by the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// The value.
    pub value: Value,
    /// The text to the right of `=`, after variable expansion (empty for a bare switch).
    pub text: String,
    /// Index of the source (job file, include, command line) it was read from.
    pub source: usize,
    /// Byte range of the option within that source, for messages.
    pub span: (usize, usize),
}

/// Options set in one place, by canonical name.
///
/// The typed getters return `None` when the option is not set, and panic when the table gives it
/// another kind: that is a mismatch between table and reader, which the test that reads every entry
/// catches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// Values by the name of the option.
    map: BTreeMap<String, Setting>,
}

impl Settings {
    /// Sets or replaces one option.
    pub fn set(&mut self, name: &str, setting: Setting) {
        self.map.insert(name.to_owned(), setting);
    }

    /// Adds every setting of `later`, replacing earlier ones.
    pub fn overlay(&mut self, later: &Settings) {
        for (name, setting) in &later.map {
            self.map.insert(name.clone(), setting.clone());
        }
    }

    /// Removes one option.
    pub fn remove(&mut self, name: &str) -> Option<Setting> {
        self.map.remove(name)
    }

    /// The setting of `name`, with its place in the source.
    pub fn get(&self, name: &str) -> Option<&Setting> {
        self.map.get(name)
    }

    /// Whether `name` is set.
    pub fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// All settings, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.map.iter().map(|(name, setting)| (name.as_str(), setting))
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

impl Settings {
    /// A [`Value::Flag`]; also `None` if the choice is left to the engine ([`AUTOMATIC`]).
    pub fn flag(&self, name: &str) -> Option<bool> {
        match &self.map.get(name)?.value {
            Value::Flag(on) => Some(*on),
            Value::Text(word) if word == AUTOMATIC => None,
            other => panic!("option {name} is read as flag but holds {other:?}"),
        }
    }

    /// A [`Value::Times`], nanoseconds; a single [`Value::Time`] holds for every direction.
    pub fn times_ns(&self, name: &str) -> Option<PerDirection<Option<u64>>> {
        match &self.map.get(name)?.value {
            Value::Times(times) => Some(*times),
            _ => self.time_ns(name).map(|ns| [Some(ns); 3]),
        }
    }

    /// A [`Value::TimeRange`], nanoseconds; a single [`Value::Time`] is both ends.
    pub fn time_range_ns(&self, name: &str) -> Option<(u64, u64)> {
        match &self.map.get(name)?.value {
            Value::TimeRange(range) => Some(*range),
            _ => self.time_ns(name).map(|ns| (ns, ns)),
        }
    }
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident -> $type:ty: $pattern:pat => $result:expr;)*) => {
        impl Settings {
            $($(#[$doc])*
            pub fn $name(&self, name: &str) -> Option<$type> {
                match &self.map.get(name)?.value {
                    $pattern => Some($result),
                    other => panic!(concat!("option {} is read as ", stringify!($name), " but holds {:?}"), name, other),
                }
            })*
        }
    };
}

getters! {
    /// A [`Value::Integer`].
    integer -> i64: Value::Integer(number) => *number;
    /// A [`Value::Integers`].
    integers -> PerDirection<Option<i64>>: Value::Integers(numbers) => *numbers;
    /// A [`Value::Size`], bytes.
    size -> u64: Value::Size(bytes) => *bytes;
    /// A [`Value::SizeSpec`].
    size_spec -> crate::SizeSpec: Value::SizeSpec(spec) => *spec;
    /// A [`Value::Sizes`], bytes.
    sizes -> PerDirection<Option<u64>>: Value::Sizes(sizes) => *sizes;
    /// A [`Value::SizeRanges`], bytes.
    size_ranges -> PerDirection<Option<(u64, u64)>>: Value::SizeRanges(ranges) => *ranges;
    /// A [`Value::Pattern`]: word, `:N` count, `:Nk` bytes.
    pattern -> (&str, Option<u32>, i64): Value::Pattern { word, every, skip_bytes } => (word.as_str(), *every, *skip_bytes);
    /// A [`Value::Splits`].
    splits -> &PerDirection<Option<Vec<crate::BlockSplit>>>: Value::Splits(splits) => splits;
    /// A [`Value::Time`], nanoseconds.
    time_ns -> u64: Value::Time(ns) => *ns;
    /// A [`Value::Text`].
    text -> &str: Value::Text(text) => text.as_str();
    /// A [`Value::Choice`].
    choice -> &str: Value::Choice(word) => word.as_str();
    /// A [`Value::Floats`].
    floats -> &[f64]: Value::Floats(numbers) => numbers.as_slice();
    /// A [`Value::Distributions`].
    distributions -> &PerDirection<crate::Distribution>: Value::Distributions(each) => each;
    /// A [`Value::Cpus`].
    cpus -> &[usize]: Value::Cpus(cpus) => cpus.as_slice();
    /// A [`Value::Bytes`].
    bytes -> &[u8]: Value::Bytes(bytes) => bytes.as_slice();
}
