//! Why a text is not a quantity.

use thiserror::Error;

/// Why a size, count or time was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// There is nothing to read.
    #[error("a number is missing")]
    Empty,
    /// It does not begin with digits.
    #[error("`{0}` is not a number")]
    NotANumber(String),
    /// The number is followed by something that is no unit.
    #[error("`{suffix}` is not a unit of {what} (known: {known})")]
    UnknownSuffix {
        /// The text after the digits.
        suffix: String,
        /// `size` or `time`.
        what: &'static str,
        /// Units that would do.
        known: &'static str,
    },
    /// Larger than the program can count.
    #[error("`{0}` is too large")]
    Overflow(String),
    /// A fraction that is not a whole number of the smallest unit.
    #[error("`{text}` is not a multiple of one {unit}")]
    NotWhole {
        /// The whole text.
        text: String,
        /// `bytes` or `nanoseconds`.
        unit: &'static str,
    },
    /// A negative number where only positive ones make sense.
    #[error("`{0}` is negative")]
    Negative(String),
}
