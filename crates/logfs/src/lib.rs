//! Placeholder that the next commit fills.
