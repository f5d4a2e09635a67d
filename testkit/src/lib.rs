//! What tests of several crates share. Nothing that ships depends on it.

pub mod folder;
pub mod golden;
pub mod html;
pub mod parallel;
pub mod simulated;
pub mod smoke_fuzz;
pub mod whole_run;
