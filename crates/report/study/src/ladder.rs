//! Rate ladders: latency as a function of load.
//!
//! Each configuration first runs as fast as it can (closed loop); then it runs at fractions of that
//! rate (open loop), in random order within each block. Response times count from when operations
//! were due, so that overload is visible (Schroeder, Wierman and Harchol-Balter, NSDI 2006).

use std::fmt;
use std::fmt::{Display, Formatter};

use iolab_order::Arrange;
use iolab_units::{NS_PER_SECOND, format_ns, parse_ns};
use serde::{Deserialize, Serialize};

use crate::{JobSetting, StudyError, Trial};

/// The settings of a ladder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    /// Loads in percent of the maximum, ascending.
    pub levels: Vec<f64>,
    /// The distribution of arrivals: `poisson` or `linear`.
    pub process: String,
    /// The target for response times.
    pub slo: Option<Slo>,
    /// Operations per second that count as the maximum, instead of the closed loop's rate.
    pub maximum_iops: Option<f64>,
}

impl Default for Ladder {
    fn default() -> Ladder {
        let levels = (1..=11).map(|step| f64::from(step) * 10.0).collect();
        Ladder { levels, process: "poisson".to_owned(), slo: None, maximum_iops: None }
    }
}

/// A service level objective: a percentile of response times and its limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slo {
    /// The percentile.
    pub percent: f64,
    /// The limit, ns.
    pub limit_ns: u64,
}

impl Slo {
    /// Parses `p99<=1ms`.
    ///
    /// # Errors
    /// What is wrong, and an example.
    pub fn from_text(text: &str) -> Result<Slo, StudyError> {
        let refused = |reason: String| StudyError::meaning(format!("target '{text}': {reason}, as in 'p99<=1ms'"));
        let (name, limit) = text.split_once("<=").ok_or_else(|| refused("a percentile, '<=' and a time".to_owned()))?;
        let name = name.trim();
        let percent = name.strip_prefix("response_").unwrap_or(name).strip_prefix('p');
        let percent = percent.and_then(|word| word.parse().ok()).filter(|percent| (0.0..100.0).contains(percent));
        let percent = percent.ok_or_else(|| refused(format!("'{name}' is not a percentile below 100")))?;
        let limit_ns = parse_ns(limit.trim(), NS_PER_SECOND).map_err(|error| refused(error.to_string()))?;
        if limit_ns == 0 {
            return Err(refused("the time must be above 0".to_owned()));
        }
        Ok(Slo { percent, limit_ns })
    }
}

impl Display for Slo {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "p{} <= {}", self.percent, format_ns(self.limit_ns))
    }
}

impl Ladder {
    /// The maximum rate: the given one, otherwise that of the closed-loop trial. `None` when that
    /// did nothing.
    pub fn maximum(&self, closed_loop: &Trial) -> Option<f64> {
        let measured: f64 = closed_loop.rates.iter().sum();
        (measured > 0.0).then(|| self.maximum_iops.unwrap_or(measured))
    }

    /// The settings that make a job run at a level: its share of the maximum, divided between
    /// directions as in the closed loop, and evenly between workers, because `rate_iops` is per
    /// worker. `None` when the maximum is not known.
    pub fn settings(&self, level: usize, closed_loop: &Trial) -> Option<Vec<JobSetting>> {
        let measured: f64 = closed_loop.rates.iter().sum();
        let asked = self.maximum(closed_loop)? * self.levels.get(level)? / 100.0;
        let workers = f64::from(closed_loop.workers.max(1));
        let rate = |rate: &f64| (asked * rate / measured / workers).round().max(1.0) as u64;
        let rates: Vec<String> = closed_loop.rates.iter().map(|one| rate(one).to_string()).collect();
        let setting = |option: &str, value: String| JobSetting { option: option.to_owned(), value };
        Some(vec![setting("rate_iops", rates.join(",")), setting("rate_process", self.process.clone())])
    }

    /// Operations per second of all workers that these settings request.
    pub fn asked_iops(&self, level: usize, closed_loop: &Trial) -> Option<f64> {
        Some(self.maximum(closed_loop)? * self.levels.get(level)? / 100.0)
    }
}

/// The percentiles of a ladder, ascending.
pub(crate) fn percents(ladder: &Ladder) -> Vec<f64> {
    let mut percents = PERCENTS.to_vec();
    percents.extend(ladder.slo.map(|slo| slo.percent));
    percents.arrange_by(f64::total_cmp);
    percents.dedup();
    percents
}

/// Percentiles that every ladder has, in addition to that of its target.
const PERCENTS: [f64; 3] = [50.0, 99.0, 99.9];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_written() {
        for (text, percent, limit_ns, printed) in [
            ("p99<=1ms", 99.0, 1_000_000, "p99 <= 1ms"),
            ("p99.9 <= 250us", 99.9, 250_000, "p99.9 <= 250us"),
            ("response_p50<=2", 50.0, 2_000_000_000, "p50 <= 2s"),
        ] {
            let slo = Slo::from_text(text).expect(text);
            assert_eq!((slo, slo.to_string().as_str()), (Slo { percent, limit_ns }, printed));
        }
        for text in ["", "p99", "p99<1ms", "p100<=1ms", "99<=1ms", "p99<=", "p99<=x", "p99<=0"] {
            let error = Slo::from_text(text).expect_err(text).to_string();
            assert!(error.contains("'p99<=1ms'"), "{error}");
        }
    }

    #[test]
    fn rates_are_divided_as_the_closed_loop_did() {
        let closed_loop = Trial { rates: [6000.0, 2000.0, 0.0], workers: 4, ..Trial::default() };
        let settings = Ladder::default().settings(4, &closed_loop).expect("a maximum");
        let text: Vec<String> = settings.iter().map(|one| format!("{}={}", one.option, one.value)).collect();
        assert_eq!(text, ["rate_iops=750,250,1", "rate_process=poisson"]);
        assert_eq!(Ladder::default().asked_iops(4, &closed_loop), Some(4000.0));
        let told = Ladder { maximum_iops: Some(800.0), ..Ladder::default() };
        assert_eq!(told.settings(9, &closed_loop).expect("a maximum")[0].value, "150,50,1");
        assert_eq!(Ladder::default().settings(0, &Trial::default()), None);
    }
}
