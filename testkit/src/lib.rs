//! Placeholder header, replaced by the first commit.
