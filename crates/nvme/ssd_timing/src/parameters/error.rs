//! Why parameters were refused.

use iolab_text::closest;
use thiserror::Error;

/// What is wrong with parameters, and which values are valid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParameterError {
    /// No parameter has this name.
    #[error("there is no timing parameter `{name}`; {hint}")]
    Unknown {
        /// The name as written.
        name: String,
        /// The nearest known name, or all of them.
        hint: String,
    },
    /// No preset has this name.
    #[error("there is no timing preset `{name}`; {hint}")]
    UnknownPreset {
        /// The name as written.
        name: String,
        /// The nearest known name, or all of them.
        hint: String,
    },
    /// The text is not a valid value of this parameter.
    #[error("`{text}` is not a valid value of the timing parameter `{name}`: {reason}")]
    BadValue {
        /// The parameter.
        name: &'static str,
        /// The value as written.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The value is invalid by itself, or in combination with others.
    #[error("the timing parameter `{name}` cannot be {value}: {reason}")]
    Impossible {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: String,
        /// Why, and which values are valid.
        reason: String,
    },
    /// There is too little flash for the geometry.
    #[error("{asked_bytes} bytes are too few: this geometry needs at least {least_bytes}; {hint}")]
    TooSmall {
        /// The requested size.
        asked_bytes: u64,
        /// The smallest valid size, counted in the same way.
        least_bytes: u64,
        /// Which parameters reduce it.
        hint: &'static str,
    },
    /// There is more flash than can be numbered in pages.
    #[error("{asked_bytes} bytes are too many: a model supports at most {most_bytes}")]
    TooLarge {
        /// The requested size.
        asked_bytes: u64,
        /// The largest valid size.
        most_bytes: u64,
    },
}

/// The name in `known` nearest to the written one, or all of them.
pub(crate) fn hint<'a>(written: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match closest(written, known.clone()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("known are: {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// The error for an invalid value.
pub(crate) fn impossible(name: &'static str, value: impl ToString, reason: impl Into<String>) -> ParameterError {
    ParameterError::Impossible { name, value: value.to_string(), reason: reason.into() }
}
