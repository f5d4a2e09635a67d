//! Placeholder of the crate while it is being written: serves nothing yet.
