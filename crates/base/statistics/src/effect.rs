//! How often one sample is above the other: an effect size without a unit.

use serde::{Deserialize, Serialize};

/// Cliff's delta (Cliff 1993): the share of pairs in which `first` is larger, minus the share in
/// which `second` is larger; from -1 to 1. `None` if either is empty.
pub fn cliffs_delta(first: &[f64], second: &[f64]) -> Option<f64> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let sum: i64 = first
        .iter()
        .flat_map(|one| second.iter().map(move |other| i64::from(one > other) - i64::from(one < other)))
        .sum();
    Some(sum as f64 / (first.len() * second.len()) as f64)
}

/// A word for the size of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Magnitude {
    /// Below 0.147.
    Negligible,
    /// Below 0.33.
    Small,
    /// Below 0.474.
    Medium,
    /// From 0.474 on.
    Large,
}

/// The word for a delta, with the limits of Romano, Kromrey, Coraggio and Skowronek (2006).
pub fn magnitude(delta: f64) -> Magnitude {
    match delta.abs() {
        size if size < 0.147 => Magnitude::Negligible,
        size if size < 0.33 => Magnitude::Small,
        size if size < 0.474 => Magnitude::Medium,
        _ => Magnitude::Large,
    }
}

/// The word for the size of a ratio, however certain it is. Up to 2 % is negligible, below 10 %
/// small, below half as much again (or a third less) medium.
pub fn size_of_ratio(ratio: f64) -> Magnitude {
    match ratio.ln().abs() {
        size if size <= 1.02_f64.ln() => Magnitude::Negligible,
        size if size < 1.1_f64.ln() => Magnitude::Small,
        size if size < 1.5_f64.ln() => Magnitude::Medium,
        _ => Magnitude::Large,
    }
}

impl Magnitude {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Magnitude::Negligible => "negligible",
            Magnitude::Small => "small",
            Magnitude::Medium => "medium",
            Magnitude::Large => "large",
        }
    }
}
