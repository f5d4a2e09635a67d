//! `iolab kv check`: the content of a store after crashes. `iolab-kv-check` does the check; this
//! file starts the processes and prints the results.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use iolab_kv::{Access, ErrorKind, Existing, OpenRequest, Store, StoreError, StoreKind};
use iolab_kv_check::{Hasty, Round, Shape, Stopped, World, check, load};
use iolab_text::counted;

use crate::exit::{ExitFailure, FAILED};
use crate::output;

/// Which store, and how it is treated.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Store (`iolab kv stores` lists them); by default RocksDB if installed, else fjall
    #[arg(long)]
    store: Option<String>,
    /// Folder for the store; must be new or empty, and is kept afterwards
    #[arg(long)]
    db: PathBuf,
    /// Options for the store, in its own syntax; %ROUND% is replaced by the round number
    #[arg(long, default_value = "")]
    options: String,
    /// Number of kills
    #[arg(long, default_value_t = 20)]
    rounds: u64,
    /// Seed for operations, syncs and kill times
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of keys
    #[arg(long, default_value_t = Shape::default().keys)]
    keys: u64,
    /// Maximum value length, bytes
    #[arg(long, default_value_t = Shape::default().value_bytes)]
    value_bytes: u64,
    /// Sync one of this many operations; the others are only logged
    #[arg(long, default_value_t = Shape::default().sync_every, value_parser = clap::value_parser!(u64).range(1..))]
    sync_every: u64,
    /// Shell command to run between kill and reopening, for example to unmount and remount; the
    /// environment variable ROUND holds the round number
    #[arg(long, value_name = "COMMAND")]
    crash: Option<String>,
    /// Self-test: acknowledge operations before the store has them. The check must fail; if it
    /// passes, it detects nothing
    #[arg(long)]
    canary: bool,
    /// Print every round
    #[arg(short, long)]
    verbose: bool,
    /// The load of one round: its number, and that of its first operation
    #[arg(long, hide = true, num_args = 2, value_names = ["ROUND", "FIRST"])]
    load: Option<Vec<u64>>,
}

impl Arguments {
    fn shape(&self) -> Shape {
        Shape { seed: self.seed, keys: self.keys, value_bytes: self.value_bytes, sync_every: self.sync_every }
    }

    fn kind(&self) -> Result<&'static dyn StoreKind, ExitFailure> {
        let Some(name) = &self.store else { return Ok(iolab_kv_catalogue::preferred().0) };
        iolab_kv_catalogue::kind(name).ok_or_else(|| {
            let known = iolab_kv_catalogue::names();
            ExitFailure::mistake(format!("iolab kv check: --store={name}: unknown store; known are {known}"))
        })
    }

    fn open(&self, kind: &dyn StoreKind, round: u64, existing: Existing) -> Result<Box<dyn Store>, StoreError> {
        let options = self.options.replace("%ROUND%", &round.to_string());
        kind.open(&OpenRequest { folder: &self.db, options: &options, existing })
    }
}

fn failure(error: &StoreError) -> ExitFailure {
    let message = format!("iolab kv check: {error}");
    match error.kind {
        ErrorKind::Folder | ErrorKind::Busy => ExitFailure::refused(message),
        kind if kind.is_mistake() => ExitFailure::mistake(message),
        _ => ExitFailure::failed(message),
    }
}

/// Processes of this program.
struct Here<'a> {
    arguments: &'a Arguments,
    kind: &'static dyn StoreKind,
}

impl World for Here<'_> {
    fn start(&mut self, round: u64, first: u64) -> std::io::Result<Child> {
        let wanted = self.arguments;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["kv", "check", "--store", self.kind.description().name]).arg("--db").arg(&wanted.db);
        command.arg(format!("--options={}", wanted.options));
        for (name, number) in [
            ("seed", wanted.seed),
            ("keys", wanted.keys),
            ("value-bytes", wanted.value_bytes),
            ("sync-every", wanted.sync_every),
        ] {
            command.arg(format!("--{name}={number}"));
        }
        command.args(wanted.canary.then_some("--canary"));
        command.arg("--load").args([round.to_string(), first.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()
    }

    fn crash(&mut self, round: u64) -> Result<(), String> {
        let Some(text) = &self.arguments.crash else { return Ok(()) };
        let ended = Command::new("sh").args(["-c", text]).env("ROUND", round.to_string()).stdin(Stdio::null()).status();
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("`{text}` ended with {status}")),
            Err(error) => Err(format!("cannot run `{text}`: {error}")),
        }
    }

    fn open(&mut self, round: u64) -> Result<Box<dyn Store>, StoreError> {
        self.arguments.open(self.kind, round, Existing::Required)
    }
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    let kind = arguments.kind()?;
    if let Some(&[round, first]) = arguments.load.as_deref() {
        return be_the_load(arguments, kind, round, first);
    }
    let description = kind.description();
    if !description.keeps_data {
        let name = description.name;
        return Err(ExitFailure::mistake(format!(
            "iolab kv check: the store {name} stores nothing, so there is nothing to check"
        )));
    }
    let empty = arguments.open(kind, 0, Existing::Forbidden).map_err(|error| failure(&error))?;
    empty.close().map_err(|error| failure(&error))?;
    let mut told = |round: &Round| {
        if arguments.verbose {
            let Round { number, acknowledged, synced, lost } = round;
            // If the pipe is closed, the check continues for its exit code.
            let _unread = output::print(&format!(
                "round {number}: {} acknowledged, {synced} of them synced; {lost} unsynced ones lost\n",
                counted(*acknowledged, "operation")
            ));
        }
    };
    let ended = check(&mut Here { arguments, kind }, &arguments.shape(), arguments.rounds, &mut told);
    let (name, seed) = (description.name, arguments.seed);
    match ended {
        Ok(sum) => {
            let text = format!(
                "{name}: survived {}: {} acknowledged; all {} synced ones present; {} unsynced ones \
                lost in {}, always the most recent ones\n",
                counted(sum.rounds, "kill"),
                counted(sum.acknowledged, "operation"),
                sum.synced,
                sum.lost,
                counted(sum.lossy_rounds, "round")
            );
            output::print(&text)?;
            Ok(0)
        }
        Err(stopped @ (Stopped::Broken { .. } | Stopped::Unusable { .. })) => {
            let again = format!("--seed={seed}; the store is kept in {}", arguments.db.display());
            output::print(&format!("{name}: FAILED: {stopped} ({again})\n"))?;
            Ok(FAILED)
        }
        Err(stopped) => Err(ExitFailure::failed(format!("iolab kv check: {stopped}"))),
    }
}

/// Runs in the process that will be killed.
fn be_the_load(arguments: &Arguments, kind: &dyn StoreKind, round: u64, first: u64) -> Result<u8, ExitFailure> {
    let store = arguments.open(kind, round, Existing::Required).map_err(|error| failure(&error))?;
    let hasty = Hasty::new(&*store);
    let access: &dyn Access = if arguments.canary { &hasty } else { &*store };
    // Bypasses the buffer of standard output, so that acknowledged lines have left this process.
    let pipe = std::io::stdout().as_fd().try_clone_to_owned().context("standard output")?;
    load(access, &arguments.shape(), round, first, &mut File::from(pipe)).map_err(|error| failure(&error))?;
    Ok(0)
}
