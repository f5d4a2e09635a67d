//! The results of estimators and tests.

use serde::{Deserialize, Serialize};

/// An estimate with its limits, in the unit of the data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The best single value.
    pub estimate: f64,
    /// Lower limit.
    pub low: f64,
    /// Upper limit.
    pub high: f64,
    /// The share of experiments whose interval contains the true value, 0 to 1. This is the
    /// confidence that was reached, not the requested one.
    pub confidence: f64,
}

impl Interval {
    /// Half of its width.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether `value` is within the limits.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Applies an increasing function to the estimate and the limits.
    pub fn map(&self, function: impl Fn(f64) -> f64) -> Interval {
        let (estimate, low, high) = (function(self.estimate), function(self.low), function(self.high));
        Interval { estimate, low, high, confidence: self.confidence }
    }
}

/// The result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestResult {
    /// The test statistic; the documentation of the function that made it says which one.
    pub statistic: f64,
    /// Two-sided p-value.
    pub p_value: f64,
    /// Whether the p-value comes from all possible arrangements, not from the normal approximation.
    pub exact: bool,
}
