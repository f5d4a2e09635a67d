//! Several domains on one disk: who owns which cluster.

mod owners;

pub(crate) use owners::{Owners, read_owners, write_owners};
