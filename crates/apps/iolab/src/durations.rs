//! Durations in arguments, such as `10` or `500ms`; without a unit, they are in seconds.

use iolab_units::{NS_PER_SECOND, parse_ns};

const DAY_NS: u64 = 86_400 * NS_PER_SECOND;

/// Parses a duration, ns.
pub(crate) fn duration_ns(text: &str) -> Result<u64, String> {
    parse_ns(text, NS_PER_SECOND).map_err(|error| error.to_string())
}

/// Parses a duration that is not zero, ns.
pub(crate) fn some_duration_ns(text: &str) -> Result<u64, String> {
    match duration_ns(text) {
        Ok(0) => Err("some time is needed".to_owned()),
        parsed => parsed,
    }
}

/// Parses a duration that is not zero and not longer than a day, ns.
pub(crate) fn at_most_a_day_ns(text: &str) -> Result<u64, String> {
    match some_duration_ns(text) {
        Ok(ns) if ns > DAY_NS => Err("a day is the limit".to_owned()),
        parsed => parsed,
    }
}
