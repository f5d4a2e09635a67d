//! Job text to recording in one call, for tests of whole runs: the real parser, resolver and runner
//! in a world without files.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;

use iolab_clock::Clock;
use iolab_guard::{Guard, GuardRules};
use iolab_jobfile::{Input, KeywordFacts, Surroundings};
use iolab_observe::System;
use iolab_options::{OptionEntry, Rank};
use iolab_plan::Plan;
use iolab_recording::{CpuUse, HostFacts, Recording, Redaction};
use iolab_resolve::{MachineFacts, Mode, Overrides, PathKind};
use iolab_runner::{EngineEntry, Event, RunError, RunObserver, RunRequest, RunResult, Wish};

use crate::simulated::Simulated;

/// The engines of whole runs in tests.
pub static ENGINES: &[EngineEntry] = &[EngineEntry::fast::<Simulated>()];

/// A machine with nothing on it: four CPUs, no files to work on, no variables. Texts that jobs name
/// are real.
#[derive(Debug)]
struct Nothing;

impl Surroundings for Nothing {
    fn include(&self, name: &str, _: &str) -> Result<String, String> {
        Err(format!("no such file: {name}"))
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn keywords(&self) -> KeywordFacts {
        KeywordFacts { cpus: 4, page_bytes: 4096, memory_mib: 1024, rank: Rank::only("nowhere") }
    }

    fn engine_options(&self, engine: &str) -> Option<&'static [OptionEntry]> {
        ENGINES.iter().find(|entry| entry.description.name == engine).map(|entry| entry.description.options)
    }
}

impl MachineFacts for Nothing {
    fn at(&self, _: &Path) -> PathKind {
        PathKind::Missing
    }

    fn files_below(&self, _: &Path) -> Result<Vec<PathBuf>, String> {
        Ok(Vec::new())
    }

    fn free_bytes(&self, _: &Path) -> Option<u64> {
        None
    }

    fn cpus_online(&self) -> Vec<usize> {
        vec![0, 1, 2, 3]
    }

    fn huge_page_bytes(&self) -> u64 {
        2 << 20
    }

    fn text(&self, path: &Path) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// The plan of a job file for the engine `simulated`, whose workers are threads.
///
/// # Panics
/// When the text is refused: the test is wrong then.
pub fn plan(text: &str) -> Plan {
    let text = format!("[global]\nioengine=simulated\nthread=1\n{text}");
    let input = Input { name: "test".to_owned(), bytes: text.clone().into_bytes() };
    let request = iolab_jobfile::ParseRequest { files: &[input], ..iolab_jobfile::ParseRequest::default() };
    let jobs = iolab_jobfile::parse(&request, &Nothing).unwrap_or_else(|failure| panic!("{text}\n{failure:#?}"));
    let engines: Vec<_> = ENGINES.iter().map(|entry| entry.description).collect();
    let request = iolab_resolve::ResolveRequest {
        jobs: &jobs,
        options: iolab_jobfile::OPTIONS,
        engines: &engines,
        machine: &Nothing,
        mode: Mode::Iolab,
        overrides: Overrides { entropy: 1, ..Overrides::default() },
    };
    iolab_resolve::resolve(&request).unwrap_or_else(|findings| panic!("{text}\n{findings:#?}")).plan
}

/// Watches without a word.
#[derive(Debug)]
pub struct SilentObserver;

impl RunObserver for SilentObserver {
    fn take(&mut self, _: &Event<'_>) -> Wish {
        Wish::Nothing
    }
}

/// Runs a plan on a clock, until `interrupts` says otherwise.
///
/// # Errors
/// What the runner says.
pub fn try_run(
    plan: &Plan,
    clock: &Clock,
    interrupts: &AtomicU32,
    observer: &mut dyn RunObserver,
) -> Result<RunResult, RunError> {
    iolab_runner::run(RunRequest {
        supply: None,
        telling: None,
        plan,
        engines: ENGINES,
        guard: Guard::new(&System::live(), GuardRules::default()),
        host: HostFacts::default(),
        clock: clock.clone(),
        spool_folder: std::env::temp_dir(),
        stream: None,
        redaction: &Redaction::default(),
        interrupts,
        observer,
    })
}

/// Runs a job file on a clock.
///
/// # Panics
/// When it cannot be run: the test is wrong then.
pub fn run(text: &str, clock: &Clock) -> Recording {
    try_run(&plan(text), clock, &AtomicU32::new(0), &mut SilentObserver)
        .unwrap_or_else(|error| panic!("{text}\n{error}"))
        .recording
}

/// A recording without what the machine alone decides, however exactly a run is repeated: thread
/// ids, CPU use, and what was seen of the machine meanwhile.
pub fn repeatable(mut recording: Recording) -> Recording {
    recording.observations = None;
    for worker in &mut recording.workers {
        worker.pid = 0;
        worker.cpu = CpuUse::default();
    }
    recording
}
