//! Moves between domains.
