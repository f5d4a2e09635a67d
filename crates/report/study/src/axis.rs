//! Axes: what a study varies.

use iolab_units::{KbBase, format_bytes, parse_bytes};
use serde::{Deserialize, Serialize};

use crate::StudyError;

/// A varied setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Its name in tables and figures.
    pub name: String,
    /// Its points, in the order of the file.
    pub points: Vec<Point>,
    /// Whether its points are conditions (a load, a number of threads) rather than choices: the
    /// answer compares the points of the other axes under each condition, and never two conditions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub given: bool,
}

/// One value of an axis: a name, and the options that it sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Its name in tables and figures.
    pub name: String,
    /// Options it sets, in order.
    pub settings: Vec<JobSetting>,
    /// A description in a sentence; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Shell command that succeeds where this point can be had; empty if it can be had anywhere.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub needs: String,
    /// Whether what it reaches exists only after `set_up`, such as a server: its job can be planned
    /// only when a trial begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub later: bool,
}

/// More points than this are treated as a mistake.
const MOST_POINTS: usize = 1000;

/// The values of a text: `1k..1M x2` (each twice the previous), `1..10 +3` (each three more), or
/// the text itself. The end value is included only if the steps reach it. Sizes stay sizes: `1k..4k
/// x2` is `1k`, `2k`, `4k`.
///
/// # Errors
/// A range without a step, with a step that does not advance, or that decreases.
pub fn expand(text: &str) -> Result<Vec<String>, StudyError> {
    let Some((from, rest)) = text.split_once("..") else { return Ok(vec![text.trim().to_owned()]) };
    let refused =
        |reason: &str| StudyError::meaning(format!("range '{text}': {reason}, as in '1k..1M x2' or '1..10 +3'"));
    let (to, step) = rest.trim().split_once([' ', ':']).ok_or_else(|| refused("it needs a step"))?;
    let number = |word: &str| {
        parse_bytes(word.trim(), KbBase::K1024).map_err(|error| refused(&format!("'{}': {error}", word.trim())))
    };
    let (from_number, to_number) = (number(from)?, number(to)?);
    if from_number > to_number {
        return Err(refused("it goes down; write the smaller end first"));
    }
    let step = step.trim();
    let next: Box<dyn Fn(u64) -> Option<u64>> = match (step.strip_prefix('x'), step.strip_prefix('+')) {
        (Some(factor), _) => {
            let factor = number(factor)?;
            if factor < 2 || from_number == 0 {
                return Err(refused("the factor must be at least 2, and the start at least 1"));
            }
            Box::new(move |value: u64| value.checked_mul(factor))
        }
        (_, Some(more)) => {
            let more = number(more)?;
            if more == 0 {
                return Err(refused("the step must be at least 1"));
            }
            Box::new(move |value: u64| value.checked_add(more))
        }
        _ => return Err(refused("the step must begin with x or +")),
    };
    let is_size =
        from.trim().ends_with(|last: char| last.is_alphabetic()) || to.ends_with(|last: char| last.is_alphabetic());
    let mut values = Vec::new();
    let mut value = Some(from_number);
    while let Some(number) = value.filter(|number| *number <= to_number) {
        if values.len() == MOST_POINTS {
            return Err(refused("more than 1000 values"));
        }
        values.push(if is_size { format_bytes(number) } else { number.to_string() });
        value = next(number);
    }
    Ok(values)
}

/// An option of a job and its value, as in a job file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSetting {
    /// Name of the option.
    pub option: String,
    /// Value.
    pub value: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_become_values() {
        let check = |text: &str, expected: &[&str]| assert_eq!(expand(text).expect(text), expected, "{text}");
        check("4k", &["4k"]);
        check("psync", &["psync"]);
        check("1k..8k x2", &["1k", "2k", "4k", "8k"]);
        check("512k..3m x2", &["512k", "1m", "2m"]);
        check("1..10 +3", &["1", "4", "7", "10"]);
        check("1..64 x4", &["1", "4", "16", "64"]);
        check("1..64:x4", &["1", "4", "16", "64"]);
        check("5..5 +1", &["5"]);
    }

    #[test]
    fn ranges_that_lead_nowhere_are_refused() {
        for text in ["1..10", "10..1 +1", "1..10 x1", "0..10 x2", "1..10 +0", "1..10 ?2", "1..100000 +1", "a..b x2"] {
            let error = expand(text).expect_err(text).to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
