//! Durations in arguments, such as `10` or `500ms`; without a unit, they are in seconds.

use iolab_units::{NS_PER_SECOND, parse_ns};

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
