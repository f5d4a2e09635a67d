//! What can be concluded from measurements, and with what certainty.
//!
//! The unit of analysis is the trial: one independent run. A million latencies of one run are one
//! sample of its p99, because they depend on each other (Kalibera and Jones, "Rigorous benchmarking
//! in reasonable time", ISMM 2013). Everything here is a function of values: seeds are arguments,
//! nothing is read, nothing is printed, and the same input gives the same result to the last bit.
//!
//! | question | answer |
//! | --- | --- |
//! | what is typical of these trials, how surely? | [`median()`], [`median_interval`] |
//! | which of many configurations measured in the same blocks differ, by how much? | [`Family`], all statements together |
//! | does B differ from A, by how much? | [`compare`] over blocks, [`compare_unpaired`] without; [`settle`] for several at once |
//! | and assuming less? | [`signed_rank()`], [`rank_sum()`] with their intervals, [`cliffs_delta`], [`holm()`] |
//! | how many more repeats would decide? | [`more_repeats`]; before anything is measured, [`decidable`] |
//! | how sure is a percentile of one run? | [`percentile_intervals`], [`samples_needed`] |
//! | and its mean rate? the ratio of two? | [`mean_interval`], [`ratio_interval`] |
//! | any other statistic? | [`Bootstrap`] |
//! | has it settled? | [`snia`], [`fio_deviation`], [`fio_slope`], [`change_points()`], [`mser5`] |
//! | where does a load-latency curve turn? | [`knee()`] |
//!
//! This crate does not decide what is measured or in which order; that is the schedule's task.

mod bootstrap;
mod change_points;
mod columns;
mod comparison;
mod effect;
mod family;
mod far_trials;
mod holm;
mod interval;
mod knee;
mod layout;
mod mean;
mod median;
mod normal;
mod percentile;
mod random;
mod rank_sum;
mod ranks;
mod signed_rank;
mod steady_state;

pub use bootstrap::Bootstrap;
pub use change_points::{Segment, change_points, mser5, noise_variance, steady_segment};
pub use comparison::{
    Better, Comparison, DecisionRules, Evidence, Pairing, Verdict, compare, compare_unpaired, decidable, more_repeats,
    settle,
};
pub use effect::{Magnitude, cliffs_delta, magnitude, size_of_ratio};
pub use family::{Family, Method, Spread, Stated, Statements, Weights, critical_bound};
pub use far_trials::{FarTrial, VERY_FAR};
pub use holm::holm;
pub use interval::{Interval, TestResult};
pub use knee::knee;
pub use mean::{mean_interval, ratio_interval};
pub use median::{median, median_interval, quantile};
pub use percentile::{percentile_intervals, samples_needed};
pub use random::Random;
pub use rank_sum::{rank_sum, rank_sum_interval};
pub use signed_rank::{signed_rank, signed_rank_interval};
pub use steady_state::{Line, SniaRules, SteadyState, fio_deviation, fio_slope, snia};
