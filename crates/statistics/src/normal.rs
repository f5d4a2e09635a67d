//! The normal distribution, and what few samples make of it.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Probability of at most `z`.
pub(crate) fn cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// Where the probability of at most that is `share`.
pub(crate) fn quantile(share: f64) -> f64 {
    Normal::standard().inverse_cdf(share)
}

/// Probability of being at least as far from zero as `z`.
pub(crate) fn two_sided(z: f64) -> f64 {
    (2.0 * cdf(-z.abs())).min(1.0)
}

/// The tail of `count` resampled items that holds what `tail` of the true distribution holds: Φ(t · √(n / (n - 1))), t of Student's distribution with n - 1
/// degrees of freedom.
pub(crate) fn expanded_tail(tail: f64, count: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, count - 1.0) {
        Ok(student) => cdf(student.inverse_cdf(tail) * (count / (count - 1.0)).sqrt()),
        Err(_) => tail,
    }
}
