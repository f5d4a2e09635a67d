//! Runs of the whole loop on simulated time.

mod simulated_pace;
mod simulated_runs;
mod simulated_short_way;
mod simulated_steady;
