//! Judgements of samples whose truth is known.

mod designs;
mod judgements;
mod known_truth;
mod oracles;
mod strays;
