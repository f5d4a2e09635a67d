//! A percentage that may have a fraction, without rounding.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// From 0 to 100 %, in steps of a thousandth of a percent: `12.5`.
///
/// In JSON a number, without a decimal point if it is whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent {
    thousandths: u32,
}

impl Percent {
    /// Thousandths of a percent in all of it.
    pub const ALL: u32 = 100_000;

    /// A whole number of percent; more than 100 becomes 100.
    pub const fn whole(percent: u32) -> Percent {
        let percent = if percent > 100 { 100 } else { percent };
        Percent { thousandths: percent * 1000 }
    }

    /// A number of thousandths of a percent; more than 100 % becomes 100 %.
    pub const fn of_thousandths(thousandths: u32) -> Percent {
        Percent { thousandths: if thousandths > Percent::ALL { Percent::ALL } else { thousandths } }
    }

    /// A number from 0 to 100 with at most three decimals; `None` for any other.
    pub fn of_number(number: f64) -> Option<Percent> {
        let thousandths = (number * 1000.0).round();
        let is_exact = (thousandths - number * 1000.0).abs() < 1e-6;
        let is_within = (0.0..=f64::from(Percent::ALL)).contains(&thousandths);
        (is_exact && is_within).then_some(Percent { thousandths: thousandths as u32 })
    }

    /// Thousandths of a percent.
    pub const fn thousandths(self) -> u32 {
        self.thousandths
    }

    /// The rest to 100 %.
    pub const fn rest(self) -> Percent {
        Percent { thousandths: Percent::ALL - self.thousandths }
    }

    /// Without its fraction.
    pub const fn cut(self) -> Percent {
        Percent { thousandths: self.thousandths / 1000 * 1000 }
    }

    /// The percentage, if it has no fraction.
    pub const fn as_whole(self) -> Option<u32> {
        if self.thousandths.is_multiple_of(1000) { Some(self.thousandths / 1000) } else { None }
    }

    /// As a number, for arithmetic that may round.
    pub fn as_number(self) -> f64 {
        f64::from(self.thousandths) / 1000.0
    }
}

impl fmt::Display for Percent {
    /// `12.5`, `70`.
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_whole() {
            Some(percent) => write!(text, "{percent}"),
            None => {
                let (whole, fraction) = (self.thousandths / 1000, format!("{:03}", self.thousandths % 1000));
                write!(text, "{whole}.{}", fraction.trim_end_matches('0'))
            }
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Percent {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Percent".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A percentage with at most three decimals.",
            "type": "number",
            "minimum": 0,
            "maximum": 100,
        })
    }
}

impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.as_whole() {
            Some(percent) => out.serialize_u32(percent),
            None => out.serialize_f64(self.as_number()),
        }
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Percent, D::Error> {
        let number = f64::deserialize(input)?;
        let wrong = || D::Error::custom(format!("{number} is no percentage: 0 to 100, at most three decimals"));
        Percent::of_number(number).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_json_say_the_same_and_round_nothing() {
        for (number, text, json) in [
            (0.0, "0", "0"),
            (70.0, "70", "70"),
            (12.5, "12.5", "12.5"),
            (0.001, "0.001", "0.001"),
            (100.0, "100", "100"),
        ] {
            let percent = Percent::of_number(number).expect(text);
            assert_eq!(percent.to_string(), text);
            assert_eq!(serde_json::to_string(&percent).expect("a number"), json);
            assert_eq!(serde_json::from_str::<Percent>(json).expect(json), percent);
        }
        for number in [-1.0, 100.001, 12.3456, f64::NAN, f64::INFINITY] {
            assert_eq!(Percent::of_number(number), None, "{number}");
        }
        assert!(serde_json::from_str::<Percent>("101").is_err());
    }

    #[test]
    fn the_rest_adds_up_and_cutting_drops_the_fraction() {
        let eighth = Percent::of_number(12.5).expect("a percentage");
        assert_eq!((eighth.rest().to_string(), eighth.cut().to_string()), ("87.5".to_owned(), "12".to_owned()));
        assert_eq!((eighth.as_whole(), eighth.cut().as_whole()), (None, Some(12)));
    }
}
