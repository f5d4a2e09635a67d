//! What is fuzzed: one table, shared by the libFuzzer binaries and by the smoke test of `testkit`.

pub mod targets;
