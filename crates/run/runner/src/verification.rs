//! Verification of written data while a run is going on: the checker of jobs that verify, and what
//! comes after their passes.
//!
//! | file | what it has |
//! | --- | --- |
//! | [`share`] | what the workers of a run share |
//! | [`verifier`] | fills writes, checks reads, keeps the generations |
//! | [`read_back`] | the reads after a pass of writes |
//!
//! Operations that change the same bytes are never in flight together: a worker holds the intervals
//! of a write or discard until it is over, whoever else verifies the same file. What became of
//! them is recorded, so that a block is checked against what must be there or, where that is not
//! known, not at all.

pub(crate) mod read_back;
pub(crate) mod share;
pub(crate) mod verifier;
