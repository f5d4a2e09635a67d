//! `iolab demo`: psync, libaio and io_uring on a temporary file, the driver in user space on a
//! virtual SSD, in interleaved rounds, and a table.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::Context;
use iolab_observe::{DirectIo, direct_io_at};
use iolab_pipeline::Judged;
use iolab_recording::{Outcome, Recording};
use iolab_resolve::Mode;
use iolab_runner::{Event, Observer, Wish};

use crate::exit::{Failure, INTERRUPTED};
use crate::{output, pipeline, subcommands};

/// How the demonstration runs.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArguments {
    /// Folder for the temporary file; the current one unless told
    #[arg(long)]
    pub(crate) directory: Option<PathBuf>,
    /// Size of the temporary file, MiB
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(crate) size_mib: u64,
    /// Rounds; each runs every case once
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// Length of each case in each round, milliseconds
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(50..=600_000))]
    pub(crate) milliseconds: u64,
}

/// An interface at a queue depth.
struct Case {
    name: &'static str,
    engine: &'static str,
    depth: u32,
    target: Target,
}

/// What a case reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    /// The temporary file.
    File,
    /// A virtual SSD inside this program.
    Device(&'static str),
}

/// Answers at once: what remains is the driver and the device's own work.
const IDEAL: Target = Target::Device("trtype=VIRT model=ideal");
/// Takes the time that flash takes.
const NAND: Target = Target::Device("trtype=VIRT preset=970pro");

const CASES: [Case; 9] = [
    Case { name: "psync", engine: "psync", depth: 1, target: Target::File },
    Case { name: "libaio", engine: "libaio", depth: 1, target: Target::File },
    Case { name: "io_uring", engine: "io_uring", depth: 1, target: Target::File },
    Case { name: "libaio, 32 deep", engine: "libaio", depth: 32, target: Target::File },
    Case { name: "io_uring, 32 deep", engine: "io_uring", depth: 32, target: Target::File },
    Case { name: "nvme, ideal", engine: "nvme", depth: 1, target: IDEAL },
    Case { name: "nvme, ideal, 32 deep", engine: "nvme", depth: 32, target: IDEAL },
    Case { name: "nvme, flash", engine: "nvme", depth: 1, target: NAND },
    Case { name: "nvme, flash, 32 deep", engine: "nvme", depth: 32, target: NAND },
];

pub(crate) fn main(arguments: &DemoArguments) -> Result<u8, Failure> {
    let (folder, direct) = choose_folder(arguments.directory.as_deref())?;
    let path = folder.path().join("demo.0.0");
    let mut rounds: Vec<Vec<Recording>> = CASES.iter().map(|_| Vec::new()).collect();
    for round in 0..arguments.rounds {
        for (case, done) in CASES.iter().zip(&mut rounds) {
            let label = format!("round {} of {}: {}", round + 1, arguments.rounds, case.name);
            let recording = measure(case, arguments, &path, direct, &label)?;
            if recording.interrupted {
                eprintln!();
                return Ok(INTERRUPTED);
            }
            done.push(recording);
        }
    }
    clear_line();
    output::print(&report(arguments, direct, folder.path(), &rounds))?;
    Ok(0)
}

/// A temporary folder where direct I/O works if possible: the folder named, else the current one,
/// else the system's.
fn choose_folder(named: Option<&Path>) -> Result<(tempfile::TempDir, bool), Failure> {
    let candidates: Vec<PathBuf> = match named {
        Some(folder) => vec![folder.to_owned()],
        None => vec![PathBuf::from("."), std::env::temp_dir()],
    };
    let mut usable = None;
    let mut trouble = None;
    for candidate in &candidates {
        match tempfile::Builder::new().prefix("iolab-demo-").tempdir_in(candidate) {
            Ok(folder) => {
                if direct_io_at(folder.path()) == DirectIo::Works {
                    return Ok((folder, true));
                }
                usable.get_or_insert(folder);
            }
            Err(error) => trouble = Some(format!("iolab: no temporary folder in {}: {error}", candidate.display())),
        }
    }
    let reason = || Failure::mistake(trouble.unwrap_or_default());
    usable.map(|folder| (folder, false)).ok_or_else(reason)
}

fn measure(
    case: &Case,
    arguments: &DemoArguments,
    path: &Path,
    direct: bool,
    label: &str,
) -> Result<Recording, Failure> {
    let filename = match case.target {
        Target::File => path.display().to_string().replace(':', "\\:"),
        Target::Device(name) => format!("{name} size={}m", arguments.size_mib),
    };
    let words = [
        "--name=demo".to_owned(),
        format!("--filename={filename}"),
        format!("--size={}m", arguments.size_mib),
        "--rw=randread".to_owned(),
        "--bs=4k".to_owned(),
        format!("--direct={}", u8::from(direct)),
        format!("--ioengine={}", case.engine),
        format!("--iodepth={}", case.depth),
        "--time_based".to_owned(),
        format!("--runtime={}ms", arguments.milliseconds),
        "--thread".to_owned(),
    ];
    let asked = subcommands::run::take_apart(&words, Mode::Iolab)?;
    let planned = pipeline::plan(&asked, Mode::Iolab)?;
    let Judged { guard, .. } = pipeline::judge(&planned.plan, Mode::Iolab, &[])?;
    let (recording, _) = pipeline::run(&planned, guard, None, &mut OneLine { label })?;
    match recording.workers.first().map(|worker| &worker.outcome) {
        Some(Outcome::Failed { message, .. } | Outcome::Crashed { message, .. }) => {
            Err(anyhow::anyhow!("{message}")).context(case.name).map_err(Failure::from)
        }
        _ => Ok(recording),
    }
}

fn report(arguments: &DemoArguments, direct: bool, folder: &Path, rounds: &[Vec<Recording>]) -> String {
    let how = if direct {
        "direct I/O, past the page cache"
    } else {
        "buffered: this file system has no direct I/O, so this measures the page cache, not the device"
    };
    let place = folder.parent().unwrap_or(folder).canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut text = format!(
        "4 KiB random reads of a {} MiB file in {} ({how});\n{} rounds of {} ms for each case, one after another; one job on one thread.\n",
        arguments.size_mib,
        place.display(),
        arguments.rounds,
        arguments.milliseconds,
    );
    let named = |wanted: fn(&Case) -> bool| -> Vec<(&str, &[Recording])> {
        let cases = CASES.iter().zip(rounds).filter(|(case, _)| wanted(case));
        cases.map(|(case, rounds)| (case.name, rounds.as_slice())).collect()
    };
    text += "\nOne operation at a time (the interface's own cost shows):\n\n";
    text += &iolab_report::summary(&named(|case| case.target == Target::File && case.depth == 1));
    text += "\n32 operations in flight (what the device can do together):\n\n";
    text += &iolab_report::summary(&named(|case| case.target == Target::File && case.depth > 1));
    text += "\nA virtual NVMe SSD in memory, driven by a driver in user space on the same thread; no disk, no root, no system\n\
             calls. The ideal one answers at once, so that the interface is left; the other has the times of flash\n\
             (preset 970pro, nothing written yet):\n\n";
    text += &iolab_report::summary(&named(|case| case.target == IDEAL));
    text += "\n";
    text += &iolab_report::summary(&named(|case| case.target == NAND));
    text += "\nIOPS are medians, +- is half the distance between the best and the worst round; latencies are of all rounds.\n";
    text + "Next: `iolab run --name=try --rw=randread --bs=4k --size=256m`, or `iolab --help`.\n"
}

/// Progress on one line of the terminal.
struct OneLine<'a> {
    label: &'a str,
}

fn clear_line() {
    if std::io::stderr().is_terminal() {
        crate::printing::show_progress("");
    }
}

impl OneLine<'_> {
    fn show(&self, text: &str) {
        if std::io::stderr().is_terminal() {
            crate::printing::show_progress(text);
        }
    }
}

impl Observer for OneLine<'_> {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        match event {
            Event::LaidOut { done_bytes, total_bytes, .. } => {
                self.show(&format!("laying out the file: {} of {} MiB", done_bytes >> 20, total_bytes >> 20));
            }
            Event::Progress(progress) => {
                let ios: u64 = progress.workers.iter().map(|worker| worker.ios[0]).sum();
                let seconds = progress.elapsed_ns as f64 / 1e9;
                self.show(&format!("{}: {ios} reads in {seconds:.1} s", self.label));
            }
            _ => {}
        }
        Wish::Nothing
    }
}
