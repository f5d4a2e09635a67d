//! Why parameters were refused.

use iolab_text::closest;
use thiserror::Error;

/// What is wrong with parameters, and what would do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParameterError {
    /// No parameter has this name.
    #[error("there is no timing parameter `{name}`; {hint}")]
    Unknown {
        /// As written.
        name: String,
        /// The nearest known name, or all of them.
        hint: String,
    },
    /// No preset has this name.
    #[error("there is no timing preset `{name}`; {hint}")]
    UnknownPreset {
        /// As written.
        name: String,
        /// The nearest known name, or all of them.
        hint: String,
    },
    /// The text is no value of this parameter.
    #[error("`{text}` is not a valid value of the timing parameter `{name}`: {reason}")]
    BadValue {
        /// The parameter.
        name: &'static str,
        /// As written.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The value cannot be, by itself or beside others.
    #[error("the timing parameter `{name}` cannot be {value}: {reason}")]
    Impossible {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: String,
        /// Why, and what would do.
        reason: String,
    },
    /// There is too little flash for the geometry.
    #[error("{asked_bytes} bytes are too few: this geometry needs at least {least_bytes}; {hint}")]
    TooSmall {
        /// What was asked for.
        asked_bytes: u64,
        /// The least that would do, counted in the same way.
        least_bytes: u64,
        /// Which parameters make it smaller.
        hint: &'static str,
    },
    /// There is more flash than pages can be numbered.
    #[error("{asked_bytes} bytes are too many: a model supports at most {most_bytes}")]
    TooLarge {
        /// What was asked for.
        asked_bytes: u64,
        /// The most that would do.
        most_bytes: u64,
    },
}

/// The nearest of `known` to what was written, or all of them.
pub(crate) fn hint<'a>(written: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match closest(written, known.clone()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("known are: {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// A value that cannot be.
pub(crate) fn impossible(name: &'static str, value: impl ToString, reason: impl Into<String>) -> ParameterError {
    ParameterError::Impossible { name, value: value.to_string(), reason: reason.into() }
}
