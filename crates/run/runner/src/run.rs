//! The phases of a run: lay out, start, supervise, collect.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use iolab_clock::Clock;
use iolab_guard::Guard;
use iolab_plan::{ClockChoice, Plan, WorkerPlan};
use iolab_recording::{Event, FORMAT, HostFacts, Recording, Redaction};

use crate::control::Control;
use crate::deliver::Mailbox;
use crate::error::RunError;
use crate::launch::{Clocks, RunContext};
use crate::observer::RunObserver;
use crate::progress::Progress;
use crate::registry::EngineEntry;
use crate::stream::Stream;
use crate::supervise::Supervisor;
use crate::task::{Spools, Supply};
use crate::telling::Telling;
use crate::trouble::Fatal;

/// Everything a run needs.
pub struct RunRequest<'a> {
    /// What to do.
    pub plan: &'a Plan,
    /// The engines of the program.
    pub engines: &'a [EngineEntry],
    /// Judges every file before it is changed; it has judged the plan.
    pub guard: Guard,
    /// Facts about the machine, for the recording.
    pub host: HostFacts,
    /// The clock of workers that ask for the best one, and of the supervisor.
    pub clock: Clock,
    /// Folder for the temporary files that log entries are spooled to.
    pub spool_folder: PathBuf,
    /// A new, empty file, open for reading and appending, for the partial recording (see
    /// [`iolab_recording::partial`]); `None` records no latencies of intervals, and a killed run
    /// leaves nothing.
    pub stream: Option<File>,
    /// What the partial recording must not hold.
    pub redaction: &'a Redaction,
    /// How often the user has asked the run to end: once, finish cleanly; twice, at once.
    pub interrupts: &'a AtomicU32,
    /// Receives the run's progress.
    pub observer: &'a mut dyn RunObserver,
    /// The source of the operations of replays; `None` for a program that has none.
    pub supply: Option<Supply>,
    /// What the workers tell while they work.
    pub telling: Option<Telling>,
}

/// What a run yields.
#[derive(Debug)]
pub struct RunResult {
    /// The recording.
    pub recording: Recording,
    /// The data that each worker left to be written now.
    pub spools: Vec<Spools>,
}

/// Runs a plan. The process must have no other threads: workers may be forked.
pub fn run(request: RunRequest<'_>) -> Result<RunResult, RunError> {
    let RunRequest { plan, engines, guard, host, clock, spool_folder, stream, redaction, interrupts, observer, .. } =
        request;
    let (supply, telling) = (request.supply, request.telling);
    iolab_process::raise_open_files_limit();
    let interrupted = || interrupts.load(Ordering::Relaxed) > 0;
    let clocks = clocks(plan, &clock);
    let empty = Recording {
        iolab_recording: FORMAT,
        iolab_version: env!("CARGO_PKG_VERSION").to_owned(),
        plan: plan.clone(),
        host: HostFacts { clock: clock.name().to_owned(), ..host },
        hosts: Vec::new(),
        calibration: crate::calibration::calibrate(plan, engines, &clocks, &guard),
        started_unix_ns: clock.unix_ns(),
        elapsed_ns: 0,
        workers: Vec::new(),
        devices: Vec::new(),
        observations: None,
        idleness: None,
        agreed_start_unix_ns: None,
        findings: Vec::new(),
        warnings: plan.warnings.clone(),
        interrupted: false,
    };
    let stream = Stream::begin(stream, redaction, &empty);
    observer.take(&Event::Planned(&empty));
    crate::layout::lay_out(plan, engines, &guard, observer, &interrupted)
        .map_err(|(path, Fatal { errno, message })| RunError::Layout { path, errno, message })?;

    let control = Control::new(plan.workers.len())?;
    let progress = Progress::new(plan.workers.len())?;
    let mailbox = (0..plan.workers.len()).map(Mailbox::new).collect::<io::Result<Vec<_>>>()?;
    let spools = plan.workers.iter().map(|worker| spools(worker, &spool_folder)).collect::<io::Result<Vec<_>>>()?;
    let shares = crate::verification::share::shares(plan, empty.started_unix_ns)?;
    let (zones, locks) = (crate::zoned::shares(plan)?, crate::locking::shares(plan)?);
    let panicked = plan.workers.iter().map(|_| AtomicBool::new(false)).collect();
    let (plan, engines) = (plan.clone(), engines.to_vec());
    let context = Arc::new(RunContext {
        plan,
        engines,
        guard,
        control,
        mailbox,
        spools,
        stream,
        clocks,
        shares,
        zones,
        locks,
        supply,
        progress,
        telling,
        panicked,
    });
    let pids = context.fork_processes()?;

    let mut supervisor = Supervisor::new(&context, pids, &clock, interrupts, empty);
    let threads = context.spawn_threads().inspect_err(|_| supervisor.give_up())?;
    supervisor.supervise(observer);
    context.join(threads);
    let mut recording = supervisor.into_recording();
    context.stream.fill(&mut recording);
    recording.warnings.extend(recording.tool_limits());
    let again = |file: &Option<File>| file.as_ref().map(File::try_clone).transpose();
    let spools =
        context.spools.iter().map(|own| Ok(Spools { logs: again(&own.logs)?, operations: again(&own.operations)? }));
    let spools = spools.collect::<io::Result<_>>()?;
    Ok(RunResult { recording, spools })
}

/// The clocks that workers ask for.
fn clocks(plan: &Plan, best: &Clock) -> Clocks {
    let wants_cpu_clock = |worker: &WorkerPlan| worker.measurement.clock == ClockChoice::Cpu;
    Clocks {
        // Calibrating takes milliseconds.
        cpu: if plan.workers.iter().any(wants_cpu_clock) { Clock::tsc().ok() } else { None },
        monotonic: Clock::monotonic(),
        gettimeofday: Clock::gettimeofday(),
        best: best.clone(),
    }
}

/// The temporary files that a worker needs.
fn spools(worker: &WorkerPlan, folder: &std::path::Path) -> io::Result<Spools> {
    let plan = &worker.logs;
    let logs = plan.latency.is_some() || plan.bandwidth.is_some() || plan.iops.is_some() || plan.histogram.is_some();
    let file = |wanted: bool| wanted.then(|| temporary(folder)).transpose();
    Ok(Spools { logs: file(logs)?, operations: file(plan.operations.is_some())? })
}

fn temporary(folder: &std::path::Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR) {
        Ok(fd) => Ok(File::from(fd)),
        // The file system has no O_TMPFILE: use memory instead.
        Err(_) => Ok(File::from(rustix::fs::memfd_create("iolab-log", rustix::fs::MemfdFlags::CLOEXEC)?)),
    }
}
