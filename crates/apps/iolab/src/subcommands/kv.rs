//! `iolab kv`: key-value stores.

mod bench;
mod check;

use crate::exit::ExitFailure;
use crate::output;

/// What to do with a store.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum KvAction {
    /// Run db_bench's benchmarks on a store, with its flags and result lines
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Bench(bench::BenchWords),
    /// Kill a store repeatedly at random moments and check that it loses no acknowledged data
    Check(check::Arguments),
    /// List the supported stores and what each needs
    Stores,
}

pub(crate) fn main(action: &KvAction) -> Result<u8, ExitFailure> {
    match action {
        KvAction::Bench(words) => bench::main(words),
        KvAction::Check(arguments) => check::main(arguments),
        KvAction::Stores => stores(),
    }
}

fn stores() -> Result<u8, ExitFailure> {
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
