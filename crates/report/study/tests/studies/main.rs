//! Studies, from their files to their steps.

mod conditions;
mod costs;
mod steps;
mod study;
