//! Units of the job language: sizes in bytes, times in nanoseconds, read from text and printed
//! again.
//!
//! Guarantees: whatever [`format_bytes`] and [`format_ns`] print, [`parse_bytes`] and [`parse_ns`]
//! read back as the same number; anything that is not understood to its last character is a typed
//! [`UnitError`]. Deliberately not here: arithmetic, variables and percent signs, which belong to
//! the job language.

mod print;
mod read;

pub use print::{format_bytes, format_ns, rounded_ns};
pub use read::{
    KbBase, NS_PER_MICROSECOND, NS_PER_MILLISECOND, NS_PER_SECOND, UnitError, parse_bytes, parse_count, parse_ns,
};
