//! What tests of several crates share. Nothing that ships depends on it.

pub mod smoke_fuzz;
