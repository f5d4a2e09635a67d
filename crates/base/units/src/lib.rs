//! Units of the job language: sizes in bytes and times in nanoseconds, read from text and printed
//! again.
//!
//! Guarantees: [`parse_bytes`] and [`parse_ns`] read whatever [`format_bytes`] and [`format_ns`]
//! print as the same number. Anything that is not understood to its last character is a typed
//! [`UnitError`]. Arithmetic, variables and percent signs belong to the job language and are not
//! handled here.

mod print;
mod read;

pub use print::{format_bytes, format_ns, rounded_ns};
pub use read::{
    KbBase, NS_PER_MICROSECOND, NS_PER_MILLISECOND, NS_PER_SECOND, UnitError, parse_bytes, parse_count, parse_ns,
};
