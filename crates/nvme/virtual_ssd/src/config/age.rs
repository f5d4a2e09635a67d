//! The age of a drive before its first use, as a configuration key.
//!
//! Guarantees: an age that the drive's timing model does not support is refused, not ignored. The
//! ageing itself is `iolab_ssd_timing::study::age`.

use std::fmt;
use std::str::FromStr;

use iolab_ssd_timing::{ModelKind, study};

use super::{Config, ConfigError};

/// The initial state of a drive. Data is not part of it: blocks that were never written read as
/// zeroes at any age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Age {
    /// Nothing was ever written.
    #[default]
    Fresh,
    /// Written once sequentially. The zones of a zoned drive are full.
    Filled,
    /// Filled, then overwritten at random in pieces of 4 KiB.
    Steady {
        /// How much is overwritten, in multiples of the drive's capacity.
        drive_writes: u64,
    },
}

/// With little spare, the curve flattens before the first drive write ends; with much spare, it
/// flattens during the second.
const ENOUGH_DRIVE_WRITES: u64 = 2;
/// Each drive write takes a fraction of a second per GiB, so a larger value is most likely a typo.
const MOST_DRIVE_WRITES: u64 = 100;

impl Age {
    /// The age for the study of the timing models. `seed` selects the places that are overwritten.
    pub(crate) fn to_study(self, seed: u64) -> study::Age {
        match self {
            Age::Fresh => study::Age::Fresh,
            Age::Filled => study::Age::Filled,
            Age::Steady { drive_writes } => study::Age::Overwritten { drive_writes, seed },
        }
    }
}

impl FromStr for Age {
    type Err = String;

    fn from_str(text: &str) -> Result<Age, String> {
        let drive_writes =
            match text.split_once(':') {
                None if text == "fresh" => return Ok(Age::Fresh),
                None if text == "filled" => return Ok(Age::Filled),
                None if text == "steady" => ENOUGH_DRIVE_WRITES,
                Some(("steady", number)) => number
                    .parse()
                    .ok()
                    .filter(|writes| (1..=MOST_DRIVE_WRITES).contains(writes))
                    .ok_or_else(|| format!("`{number}` is not 1 to {MOST_DRIVE_WRITES} drive writes"))?,
                _ => return Err(format!("`{text}` is not fresh, filled, steady or steady:DRIVE_WRITES")),
            };
        Ok(Age::Steady { drive_writes })
    }
}

impl fmt::Display for Age {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Age::Fresh => out.write_str("fresh"),
            Age::Filled => out.write_str("filled"),
            Age::Steady { drive_writes } => write!(out, "steady:{drive_writes}"),
        }
    }
}

impl Config {
    /// Whether a drive of this kind can have this age.
    pub(super) fn check_age(&self) -> Result<(), ConfigError> {
        let age = self.age;
        let has_flash = matches!(self.timing.model, ModelKind::Nand | ModelKind::Zoned);
        let in_order = self.zones.is_some() || self.timing.model == ModelKind::Zoned;
        match age {
            Age::Fresh => Ok(()),
            _ if !has_flash => Err(ConfigError::AgeWithoutFlash { age: age.to_string(), model: self.model_name() }),
            Age::Steady { .. } if in_order => Err(ConfigError::SteadyInZones),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read_and_printed() {
        let cases = [
            ("fresh", Age::Fresh, "fresh"),
            ("filled", Age::Filled, "filled"),
            ("steady", Age::Steady { drive_writes: 2 }, "steady:2"),
            ("steady:5", Age::Steady { drive_writes: 5 }, "steady:5"),
        ];
        for (text, age, printed) in cases {
            assert_eq!(text.parse(), Ok(age));
            assert_eq!(age.to_string(), printed);
            assert_eq!(printed.parse(), Ok(age));
        }
        for text in ["", "old", "steady:", "steady:0", "steady:101", "steady:x", "fresh:1", "filled:2"] {
            assert!(text.parse::<Age>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_age_that_the_model_cannot_have_is_refused() {
        let refused = |text| Config::parse(text).unwrap_err();
        let steady = Age::Steady { drive_writes: 2 };
        for (text, expected, name) in
            [("age=steady", steady, "ideal"), ("model=simple age=filled", Age::Filled, "simple")]
        {
            let error = refused(text);
            assert!(
                matches!(&error, ConfigError::AgeWithoutFlash { age, model } if *age == expected.to_string() && model == name),
                "{text}: {error}"
            );
            assert!(error.to_string().contains("preset=970pro"), "{error}");
        }
        for text in ["size=8G preset=zn540 age=steady", "preset=970pro zone=64M age=steady:1"] {
            assert!(matches!(refused(text), ConfigError::SteadyInZones), "{text}");
        }
        for text in ["age=fresh", "age=steady preset=970pro", "size=8G preset=zn540 age=filled"] {
            assert!(Config::parse(text).is_ok(), "{text}");
        }
    }
}
