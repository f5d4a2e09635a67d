//! Verification of written data during a run: the checker of jobs that verify, and the reads after
//! their passes.
//!
//! | file | what it has |
//! | --- | --- |
//! | [`share`] | what the workers of a run share |
//! | [`verifier`] | fills writes, checks reads, keeps the generations |
//! | [`judge`] | judges what was read, in the worker or in threads beside it |
//! | [`damages`] | what was checked and what was damaged |
//! | [`flushes`] | what no flush covers yet |
//! | [`state`] | what is known, kept in files between runs |
//! | [`read_back`] | the reads after a pass of writes |
//!
//! Operations that change the same bytes are never in flight together: a worker locks the intervals
//! of a write or discard until it has ended, against all workers that verify the same file. The
//! outcome is recorded, so that a block is compared with its expected content or, if that is
//! unknown, not checked.

mod damages;
mod flushes;
mod judge;
pub(crate) mod read_back;
pub(crate) mod share;
pub(crate) mod state;
pub(crate) mod verifier;
