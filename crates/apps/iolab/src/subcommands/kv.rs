//! `iolab kv`: key-value stores.

mod bench;
mod check;

use crate::exit::Failure;
use crate::output;

/// What to do with a store.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum KvAction {
    /// Load a store as db_bench does, with its flags and result lines
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Bench(bench::BenchWords),
    /// Kill a loaded store at any moment, again and again, and see whether it keeps its promises
    Check(check::Arguments),
    /// List the kinds of stores, and what each needs
    Stores,
}

pub(crate) fn main(action: &KvAction) -> Result<u8, Failure> {
    match action {
        KvAction::Bench(words) => bench::main(words),
        KvAction::Check(arguments) => check::main(arguments),
        KvAction::Stores => stores(),
    }
}

fn stores() -> Result<u8, Failure> {
    let mut text = String::new();
    for kind in iolab_kv_catalogue::KINDS {
        let known = kind.description();
        let here = match kind.version() {
            Ok(version) => format!("version {version}"),
            Err(error) => format!("not usable: {error}"),
        };
        text.push_str(&format!("{:<8} {}\n         {here}\n         {}\n", known.name, known.summary, known.details));
    }
    output::print(&text)?;
    Ok(0)
}
