//! Estimates with their uncertainty.

use iolab_statistics::{Interval, mean_interval, quantile};

/// Confidence of all intervals.
const CONFIDENCE: f64 = 0.95;
/// The corresponding quantile of the normal distribution.
const Z: f64 = 1.959_964;
const RESAMPLES: usize = 200;
/// This share of the longest times is left out of the mean: otherwise one pause of the machine
/// would outweigh many operations.
const LONGEST_LEFT_OUT: f64 = 0.01;

/// A share of a count.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Proportion {
    /// How many.
    pub count: u64,
    /// Of how many.
    pub of: u64,
}

impl Proportion {
    /// The share, 0 to 1; 0 if there is nothing to count.
    pub fn value(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.count as f64 / self.of as f64 }
    }

    /// Limits at 95 % (Wilson 1927, "Probable inference, the law of succession, and statistical
    /// inference").
    pub fn limits(self) -> (f64, f64) {
        let n = self.of as f64;
        if n == 0.0 {
            return (0.0, 1.0);
        }
        let (p, z2) = (self.value(), Z * Z);
        let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let half = Z * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt() / (1.0 + z2 / n);
        ((middle - half).max(0.0), (middle + half).min(1.0))
    }

    /// As text: percent and limits.
    pub fn text(self) -> String {
        let (low, high) = self.limits();
        format!("{:.1} % [{:.1}, {:.1}]", self.value() * 100.0, low * 100.0, high * 100.0)
    }
}

/// Successive values, kept up to a limit.
#[derive(Debug, Clone, Default)]
pub struct Values {
    kept: Vec<f64>,
    count: u64,
}

/// Largest number of values kept; the first ones are.
const MOST_KEPT: usize = 1 << 17;

impl Values {
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1;
        if self.kept.len() < MOST_KEPT {
            self.kept.push(value);
        }
    }

    /// The typical value; `None` without any values.
    pub(crate) fn typical(&self) -> Option<Typical> {
        let longest = quantile(&self.kept, 1.0 - LONGEST_LEFT_OUT)?;
        let body: Vec<f64> = self.kept.iter().copied().filter(|value| *value <= longest).collect();
        let mean = body.iter().sum::<f64>() / body.len() as f64;
        let interval = mean_interval(&body, CONFIDENCE, RESAMPLES, 1);
        let of = |share: f64| quantile(&self.kept, share).unwrap_or(mean);
        Some(Typical { mean, interval, median: of(0.5), p90: of(0.9), count: self.count })
    }
}

/// The typical value and its uncertainty.
#[derive(Debug, Clone, PartialEq)]
pub struct Typical {
    /// Mean without the longest hundredth.
    pub mean: f64,
    /// Confidence interval of the mean; `None` with too few values.
    pub interval: Option<Interval>,
    /// The median.
    pub median: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// Number of values.
    pub count: u64,
}

impl Typical {
    /// As text, printed by `show`.
    pub fn text(&self, show: impl Fn(f64) -> String) -> String {
        let limits = self.interval.map_or_else(
            || "too few for limits".to_owned(),
            |interval| format!("[{}, {}]", show(interval.low), show(interval.high)),
        );
        let (mean, median, p90) = (show(self.mean), show(self.median), show(self.p90));
        format!("mean {mean} {limits}, median {median}, 90 % within {p90}, {} of them", self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_the_share_and_shrink_with_the_count() {
        let few = Proportion { count: 9, of: 10 };
        let many = Proportion { count: 900, of: 1000 };
        let width = |share: Proportion| share.limits().1 - share.limits().0;
        assert!(few.limits().0 < 0.9 && few.limits().1 > 0.9);
        assert!(width(many) < width(few) / 5.0);
        assert_eq!(Proportion::default().limits(), (0.0, 1.0));
        assert!(Proportion { count: 10, of: 10 }.limits().1 > 0.999_9);
    }

    #[test]
    fn the_longest_hundredth_does_not_make_the_mean() {
        let mut values = Values::default();
        (0..1000).for_each(|number| values.add(if number % 200 == 7 { 1e9 } else { 10.0 + f64::from(number % 3) }));
        let typical = values.typical().unwrap();
        assert!((typical.mean - 11.0).abs() < 0.1, "{typical:?}");
        assert!(typical.interval.unwrap().holds(11.0));
        assert_eq!(Values::default().typical(), None);
    }
}
