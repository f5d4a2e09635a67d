//! `iolab kv`: key-value stores.

mod check;

use crate::exit::Failure;

/// What to do with a store.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum KvAction {
    /// Kill a loaded store at any moment, again and again, and see whether it keeps its promises
    Check(check::Arguments),
}

pub(crate) fn main(action: &KvAction) -> Result<u8, Failure> {
    match action {
        KvAction::Check(arguments) => check::main(arguments),
    }
}
