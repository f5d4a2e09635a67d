//! How many more repeats would decide.

use crate::comparison::POWER;
use crate::{DecisionRules, Family};

/// The relative difference that the pairs of a family detect with a chance of four in five, when
/// trials vary by `noise` (relative, too). For planning, before anything is measured. `None` if
/// there are no limits.
pub fn decidable(family: &Family, statement: usize, noise: f64, rules: &DecisionRules) -> Option<f64> {
    let spreads = vec![noise.ln_1p(); family.own_freedom().len()];
    let error = family.variance(statement, &spreads)?.sqrt();
    Some(((family.critical(rules.confidence)? + POWER) * error).exp_m1())
}
