//! A demonstration: psync, libaio and io_uring on a temporary file, the driver in user space on a
//! virtual SSD, in interleaved rounds, and a table.

use std::path::{Path, PathBuf};

use iolab_activity::{Console, Failure, FailureContext, ProgressLine, ProgressUnit};
use iolab_html::{CardGroup, CardLine, CardReport, card_page};
use iolab_observe::{DirectIo, direct_io_at};
use iolab_pipeline::Pipeline;
use iolab_recording::{Recording, WorkerOutcome};
use iolab_resolve::Mode;
use iolab_runner::{Event, RunObserver, Wish};

/// How the demonstration runs.
#[derive(Debug, Clone, Copy)]
pub struct DemoRequest<'a> {
    /// Folder for the temporary file; the current one by default.
    pub directory: Option<&'a Path>,
    /// Size of the temporary file, MiB.
    pub size_mib: u64,
    /// Rounds; each runs every case once.
    pub rounds: u32,
    /// Duration of each case in each round, ms.
    pub milliseconds: u64,
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

/// It answers at once, so that only the work of the driver and the device remains.
const IDEAL: Target = Target::Device("trtype=VIRT model=ideal");
/// It takes as long as flash memory.
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

/// What the demonstration measured.
#[derive(Debug)]
pub struct Demo {
    /// What was measured, and how: two sentences.
    facts: [String; 2],
    /// The recordings of each of the cases.
    rounds: Vec<Vec<Recording>>,
}

/// Runs the demonstration; `None` if the user ended it.
///
/// # Errors
/// There is no folder for the file, or a case failed.
pub fn run(pipeline: &Pipeline<'_>, request: &DemoRequest<'_>) -> Result<Option<Demo>, Failure> {
    let (folder, direct) = choose_folder(request.directory)?;
    let path = folder.path().join("demo.0.0");
    let mut rounds: Vec<Vec<Recording>> = CASES.iter().map(|_| Vec::new()).collect();
    for round in 0..request.rounds {
        for (case, done) in CASES.iter().zip(&mut rounds) {
            let label = format!("round {} of {}: {}", round + 1, request.rounds, case.name);
            let recording = measure(pipeline, &words(case, request, &path, direct), case.name, &label)?;
            if recording.interrupted {
                pipeline.console.show("\n");
                return Ok(None);
            }
            done.push(recording);
        }
    }
    pipeline.console.status("");
    Ok(Some(Demo { facts: facts(request, direct, folder.path()), rounds }))
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
            Err(error) => trouble = Some(format!("no temporary folder in {}: {error}", candidate.display())),
        }
    }
    let reason = || Failure::mistake(trouble.unwrap_or_default());
    usable.map(|folder| (folder, false)).ok_or_else(reason)
}

/// The job of a case.
fn words(case: &Case, request: &DemoRequest<'_>, path: &Path, direct: bool) -> Vec<String> {
    let filename = match case.target {
        Target::File => path.display().to_string().replace(':', "\\:"),
        Target::Device(name) => format!("{name} size={}m", request.size_mib),
    };
    vec![
        "--name=demo".to_owned(),
        format!("--filename={filename}"),
        format!("--size={}m", request.size_mib),
        "--rw=randread".to_owned(),
        "--bs=4k".to_owned(),
        format!("--direct={}", u8::from(direct)),
        format!("--ioengine={}", case.engine),
        format!("--iodepth={}", case.depth),
        "--time_based".to_owned(),
        format!("--runtime={}ms", request.milliseconds),
        "--thread".to_owned(),
    ]
}

fn measure(pipeline: &Pipeline<'_>, words: &[String], name: &str, label: &str) -> Result<Recording, Failure> {
    let planned = pipeline.plan_words(words)?;
    let judged = pipeline.judge(&planned.plan, Mode::Iolab, &[])?;
    let mut status = Status { console: pipeline.console, label, creating: None };
    let (recording, _) = pipeline.run(&planned, judged.guard, None, &mut status)?;
    match recording.workers.first().map(|worker| &worker.outcome) {
        Some(WorkerOutcome::Failed { message, .. } | WorkerOutcome::Crashed { message, .. }) => {
            Err(Failure::failed(message.clone())).context(name)
        }
        _ => Ok(recording),
    }
}

/// What is measured, and how.
fn facts(request: &DemoRequest<'_>, direct: bool, folder: &Path) -> [String; 2] {
    let how = if direct {
        "direct I/O, bypassing the page cache"
    } else {
        "buffered: this file system has no direct I/O, so this measures the page cache, not the device"
    };
    let place = folder.parent().unwrap_or(folder).canonicalize().unwrap_or_else(|_| folder.to_owned());
    [
        format!("4 KiB random reads of a {} MiB file in {} ({how});", request.size_mib, place.display()),
        format!(
            "{} of {} ms for each case, one after another; one job on one thread.",
            iolab_text::counted(request.rounds as u64, "round"),
            request.milliseconds
        ),
    ]
}

const IDEAL_NOTE: &str = "The ideal virtual SSD answers at once, which leaves the cost of the interface; the other \
    one has the timing of flash (preset 970pro, nothing written yet).";

impl Demo {
    /// The page: the cases in three groups, which are compared with each other. `again` is the
    /// command line that made it, `version` that of the program.
    pub fn page(&self, again: &str, version: &str) -> String {
        let rounds = &self.rounds;
        let line = |(case, rounds): (&Case, &Vec<Recording>)| CardLine::of(case.name, rounds);
        let group = |title: &str, wanted: fn(&Case) -> bool| CardGroup {
            title: title.to_owned(),
            is_bandwidth: false,
            lines: CASES.iter().zip(rounds).filter(|(case, _)| wanted(case)).map(line).collect(),
        };
        let groups = [
            group("A file, one operation at a time", |case| case.target == Target::File && case.depth == 1),
            group("A file, 32 operations in flight", |case| case.target == Target::File && case.depth > 1),
            group("A virtual SSD, driven from user space", |case| case.target != Target::File),
        ];
        let on_the_file = groups[..2].iter().flat_map(|group| &group.lines);
        let rates = on_the_file.filter_map(|line| Some((line, line.median_iops()?)));
        let best = rates.max_by(|one, other| one.1.total_cmp(&other.1));
        let answer = best.map_or(String::new(), |(line, iops)| {
            format!("On the file {} is fastest: {:.1}k operations per second", line.name, iops / 1e3)
        });
        let findings = CardLine::findings(CASES.iter().map(|case| case.name).zip(rounds));
        let report = CardReport {
            title: "Interfaces to storage",
            question: "How fast are the same reads with system calls, asynchronous interfaces and a user-space driver?",
            answer: &answer,
            facts: &self.facts,
            groups: &groups,
            findings: &findings,
            notes: &[("How to read it".to_owned(), vec![IDEAL_NOTE.to_owned()])],
            tables: &[],
            again,
            version,
        };
        card_page(&report).html
    }

    /// The tables; `page` is where the page was written to.
    pub fn text(&self, page: &Path) -> String {
        let mut text = self.facts.clone().map(|fact| fact + "\n").concat();
        let named = |wanted: fn(&Case) -> bool| -> Vec<(&str, &[Recording])> {
            let cases = CASES.iter().zip(&self.rounds).filter(|(case, _)| wanted(case));
            cases.map(|(case, rounds)| (case.name, rounds.as_slice())).collect()
        };
        text += "\nOne operation at a time (shows the cost of the interface):\n\n";
        text += &iolab_report::summary(&named(|case| case.target == Target::File && case.depth == 1));
        text += "\n32 operations in flight (shows the parallelism of the device):\n\n";
        text += &iolab_report::summary(&named(|case| case.target == Target::File && case.depth > 1));
        text += "\nA virtual NVMe SSD in memory, with a user-space driver on the same thread: no disk, no root, no \
            system calls.\nThe ideal one answers at once, which leaves the cost of the interface; the other one has \
            the timing of flash\n(preset 970pro, nothing written yet):\n\n";
        text += &iolab_report::summary(&named(|case| case.target == IDEAL));
        text += "\n";
        text += &iolab_report::summary(&named(|case| case.target == NAND));
        text += "\nIOPS are medians, +- is half the difference between the best and the worst round; latencies cover \
            all rounds.\n";
        text += &format!("Report page with figures: {}\n", page.display());
        text + "Next: `iolab run --name=try --rw=randread --bs=4k --size=256m`, or `iolab --help`.\n"
    }
}

/// Shows the current case and its progress.
struct Status<'a> {
    console: &'a dyn Console,
    label: &'a str,
    creating: Option<ProgressLine<'a>>,
}

impl RunObserver for Status<'_> {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        match event {
            Event::LaidOut { done_bytes, total_bytes, .. } => {
                let console = self.console;
                let begin = || ProgressLine::new(console, "creating the file", ProgressUnit::Bytes, Some(*total_bytes));
                self.creating.get_or_insert_with(begin).at(*done_bytes);
            }
            Event::Progress(progress) => {
                let ios: u64 = progress.workers.iter().map(|worker| worker.ios[0]).sum();
                let seconds = progress.elapsed_ns as f64 / 1e9;
                self.console.status(&format!("{}: {ios} reads in {seconds:.1} s", self.label));
            }
            _ => {}
        }
        Wish::Nothing
    }
}
