//! Placeholder header, replaced by the first commit.
fn main() {}
