//! The normal distribution, and Student's distribution for small samples.

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// Probability of at most `z`.
pub(crate) fn cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The quantile: the value at or below which the probability is `share`.
pub(crate) fn quantile(share: f64) -> f64 {
    Normal::standard().inverse_cdf(share)
}

/// Probability of being at least as far from zero as `z`.
pub(crate) fn two_sided(z: f64) -> f64 {
    (2.0 * cdf(-z.abs())).min(1.0)
}

/// The tail of `count` resampled items that corresponds to `tail` of the true distribution: Φ(t ·
/// √(n / (n
/// - 1))), with t from Student's distribution with n - 1 degrees of freedom.
pub(crate) fn expanded_tail(tail: f64, count: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, count - 1.0) {
        Ok(student) => cdf(student.inverse_cdf(tail) * (count / (count - 1.0)).sqrt()),
        Err(_) => tail,
    }
}

/// The point beyond which Student's distribution has the probability `tail`. Infinite without a
/// degree of freedom.
///
/// It is found by Newton's method, with bisection if a step would leave the bracket. This always
/// ends, even for tiny tails.
pub(crate) fn student_quantile(tail: f64, freedom: f64) -> f64 {
    let Ok(student) = StudentsT::new(0.0, 1.0, freedom) else { return f64::INFINITY };
    if tail >= 0.5 {
        return 0.0;
    }
    let beyond = |t: f64| student.cdf(-t);
    let mut high = 2.0;
    while beyond(high) > tail && high < 1e100 {
        high *= 4.0;
    }
    let (mut low, mut t) = (0.0, high / 2.0);
    for _ in 0..400 {
        let more = beyond(t) - tail;
        if more > 0.0 {
            low = t
        } else {
            high = t
        }
        let newton = t + more / student.pdf(t);
        let next = if newton > low && newton < high { newton } else { (low + high) / 2.0 };
        if (next - t).abs() <= 1e-14 * t {
            break;
        }
        t = next;
    }
    t
}

/// Probability that Student's distribution is at least as far from zero as `t`.
pub(crate) fn student_two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |student| (2.0 * student.cdf(-t.abs())).min(1.0))
}
