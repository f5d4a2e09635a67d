//! How long to burn and how long to sleep, from the options.

use std::time::Duration;

use iolab_engine::OpenError;
use iolab_options::Settings;

/// The two halves of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cycle {
    pub(crate) burn: Duration,
    pub(crate) sleep: Duration,
}

const DEFAULT_CHUNK_US: i64 = 50_000;

impl Cycle {
    /// Fails without a load: as in fio, it is mandatory.
    pub(crate) fn from_options(options: &Settings) -> Result<Cycle, OpenError> {
        let Some(load) = options.integer("cpuload") else {
            let message = "cpuio needs cpuload, the share of CPU time to use, e.g. cpuload=50".to_owned();
            return Err(OpenError { message, errno: None });
        };
        let load = load.clamp(1, 100) as f64;
        let chunk_us = options.integer("cpuchunks").unwrap_or(DEFAULT_CHUNK_US).max(1) as u64;
        let burn = Duration::from_micros(chunk_us);
        Ok(Cycle::of(burn, load))
    }

    /// Burns for `load` percent of the time, more than 0.
    pub(crate) fn of(burn: Duration, load: f64) -> Cycle {
        Cycle { burn, sleep: burn.mul_f64((100.0 - load).max(0.0) / load) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_options::{Setting, Value};

    fn cycle(set: &[(&str, i64)]) -> Result<Cycle, OpenError> {
        let mut options = Settings::default();
        for &(name, number) in set {
            let value = Value::Integer(number);
            options.set(name, Setting { value, text: number.to_string(), source: 0, span: (0, 0) });
        }
        Cycle::from_options(&options)
    }

    #[test]
    fn burning_takes_its_share_of_the_cycle() {
        let check = |options: &[(&str, i64)], burn_us, sleep_us| {
            let expected = Cycle { burn: Duration::from_micros(burn_us), sleep: Duration::from_micros(sleep_us) };
            assert_eq!(cycle(options).unwrap(), expected, "{options:?}");
        };
        check(&[("cpuload", 100)], 50_000, 0);
        check(&[("cpuload", 50)], 50_000, 50_000);
        check(&[("cpuload", 20), ("cpuchunks", 1_000)], 1_000, 4_000);
        check(&[("cpuload", 1), ("cpuchunks", 10)], 10, 990);
    }

    #[test]
    fn the_load_must_be_given() {
        let error = cycle(&[("cpuchunks", 10)]).unwrap_err();
        assert!(error.message.contains("cpuio needs cpuload"), "{}", error.message);
    }
}
