//! One call of the benchmark program: a store, and benchmarks on it one after the other.

use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use iolab_clock::Clock;
use iolab_kv::{Durability, ErrorKind, Existing, Maintenance, OpenRequest, Store, StoreError, StoreKind};
use iolab_observe::{DeviceSampler, System};
use iolab_process::{INTERRUPTS, Usage, process_usage, thread_usage};

use crate::benchmarks::{Benchmark, Load, Once, Order};
use crate::folder::{Folder, TellError, write_out};
use crate::loads::{Prepared, Task, work};
use crate::meter::{Limits, Meter, Pace};
use crate::result::{BenchmarkResult, ThreadResult};
use crate::settings::Settings;
use crate::store_options;

/// How a benchmark ended.
#[derive(Debug)]
pub enum Ended {
    /// It was run.
    Measured(Box<BenchmarkResult>),
    /// It needs a new store, but the existing store must be used.
    Skipped,
    /// A signal ended it.
    Interrupted(Box<BenchmarkResult>),
}

/// A store and what loads it.
pub struct Session<'a> {
    settings: &'a Settings,
    kind: &'static dyn StoreKind,
    folder: Folder,
    /// The image that the store lives in, if it lives in no folder of this machine.
    image: Option<PathBuf>,
    /// Whether the store in the image was made by this session.
    made: bool,
    store: Option<Box<dyn Store>>,
    clock: Clock,
    seed: u64,
    /// Threads that were started so far: each has a seed of its own.
    threads: u64,
    reasons: Vec<StoreError>,
}

impl std::fmt::Debug for Session<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Session").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl<'a> Session<'a> {
    /// Chooses the store and judges its folder; nothing is opened, made or destroyed yet.
    pub fn new(settings: &'a Settings) -> Result<Session<'a>, TellError> {
        let (kind, reasons) = match &settings.store {
            None => iolab_kv_catalogue::preferred(),
            Some(name) => {
                let unknown = || format!("--store={name}: known stores are {}", iolab_kv_catalogue::names());
                (iolab_kv_catalogue::kind(name).ok_or_else(|| TellError::Mistake(unknown()))?, Vec::new())
            }
        };
        kind.version()?;
        let image = store_options::image_of(&store_options::of(kind.description().name, settings, 0)?);
        if image.is_some() && settings.db.is_none() {
            let message = "filesystem= needs --db=FOLDER, the folder of the store inside the image, e.g. --db=/db";
            return Err(TellError::Mistake(message.to_owned()));
        }
        let folder = Folder::choose(settings.db.as_deref())?;
        let begins_new =
            settings.benchmarks.iter().any(|benchmark| benchmark.fresh) && !settings.is_on("use_existing_db");
        if image.is_none() {
            folder.judge(kind, begins_new || settings.is_on("destroy_db"), settings.is_on("destroy_db"))?;
        }
        let (clock, _) = Clock::best();
        let seed = if settings.seed == 0 { clock.unix_ns() / 1000 } else { settings.seed };
        Ok(Session { settings, kind, folder, image, made: false, store: None, clock, seed, threads: 0, reasons })
    }

    /// The kind of its store.
    pub fn kind(&self) -> &'static dyn StoreKind {
        self.kind
    }

    /// The folder of its store.
    pub fn path(&self) -> &Path {
        &self.folder.path
    }

    /// Why stores that would have been preferred are not used.
    pub fn reasons(&self) -> &[StoreError] {
        &self.reasons
    }

    /// The seed of this session.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The name of the source of its time stamps.
    pub fn clock(&self) -> &'static str {
        self.clock.name()
    }

    /// Runs one benchmark.
    pub fn run(&mut self, benchmark: &'static Benchmark) -> Result<Ended, TellError> {
        if benchmark.fresh && self.settings.is_on("use_existing_db") {
            return Ok(Ended::Skipped);
        }
        let value_size = benchmark.value_size.unwrap_or(self.settings.value_size);
        self.prepare(benchmark, value_size)?;
        let result = match benchmark.load {
            Load::Once(what) => self.once(benchmark, what)?,
            _ => self.load(benchmark, value_size)?,
        };
        let interrupted =
            result.threads.iter().any(|thread| thread.interrupted) || INTERRUPTS.load(Ordering::Relaxed) > 0;
        let result = Box::new(result);
        Ok(if interrupted { Ended::Interrupted(result) } else { Ended::Measured(result) })
    }

    /// Closes the store.
    pub fn finish(mut self) -> Result<(), TellError> {
        self.close()
    }

    fn close(&mut self) -> Result<(), TellError> {
        self.store.take().map_or(Ok(()), |store| store.close()).map_err(TellError::from)
    }

    /// A new store, or the existing one, open.
    fn prepare(&mut self, benchmark: &Benchmark, value_size: usize) -> Result<(), TellError> {
        let settings = self.settings;
        let anew = benchmark.fresh || (self.store.is_none() && settings.is_on("destroy_db"));
        if !anew && self.store.is_some() {
            return Ok(());
        }
        let options = store_options::of(self.kind.description().name, settings, value_size)?;
        if anew {
            self.close()?;
            match self.image {
                None => self.folder.clear(self.kind)?,
                Some(_) if self.made || settings.is_on("destroy_db") => {
                    self.kind.destroy_elsewhere(&self.folder.path, &options)?;
                }
                // The library refuses an existing one.
                Some(_) => {}
            }
        }
        let existing = match (anew, settings.is_on("use_existing_db")) {
            (true, _) => Existing::Forbidden,
            (false, true) if self.kind.description().keeps_data => Existing::Required,
            _ => Existing::Either,
        };
        let was_there = self.kind.recognises(&self.folder.path);
        let request = OpenRequest { folder: &self.folder.path, options: &options, existing };
        self.store = Some(self.kind.open(&request)?);
        if self.image.is_some() {
            self.made |= anew;
        } else if !was_there {
            self.folder.mark();
        }
        Ok(())
    }

    fn store(&self) -> Result<&dyn Store, StoreError> {
        let closed = || StoreError::new(ErrorKind::Io, "the store is not open");
        self.store.as_deref().ok_or_else(closed)
    }

    fn once(&mut self, benchmark: &Benchmark, what: Once) -> Result<BenchmarkResult, TellError> {
        let begun_ns = self.clock.now_ns();
        let started_unix_ns = self.clock.unix_ns();
        let store = self.store()?;
        let mut text = String::new();
        match what {
            Once::Compact => store.maintain(Maintenance::Compact)?,
            Once::Flush => store.maintain(Maintenance::Flush)?,
            Once::Settle => store.maintain(Maintenance::Settle)?,
            Once::Show(name) => text = store.property(name).unwrap_or_else(|| format!("this store has no {name}")),
        }
        let elapsed_ns = self.clock.now_ns() - begun_ns;
        let mut thread = ThreadResult { elapsed_ns, ..ThreadResult::default() };
        thread.tallies[0].operations = 1;
        thread.tallies[0].latency = one_value(elapsed_ns);
        Ok(BenchmarkResult {
            name: benchmark.name.to_owned(),
            threads: vec![thread],
            elapsed_ns,
            started_unix_ns,
            facts: store.facts(),
            figures: store.figures(),
            disk_bytes: self.folder.bytes(),
            text,
            ..BenchmarkResult::default()
        })
    }

    /// What each thread of a benchmark does; the writer beside readers is the last.
    fn tasks(&mut self, benchmark: &Benchmark, value_size: usize) -> Vec<(Task, Limits, bool)> {
        let settings = self.settings;
        let threads = if benchmark.alone { 1 } else { settings.threads };
        let num = (settings.num / benchmark.divisor).max(1);
        let durability = if benchmark.synced { Durability::Synced } else { settings.durability };
        let count = match benchmark.load {
            Load::Fill(_) => settings.writes,
            Load::Delete(_) => settings.deletes,
            Load::Mixed | Load::Update | Load::Ycsb(_) => settings.reads.max(settings.writes),
            _ => settings.reads,
        };
        let count = (count / benchmark.divisor).max(1);
        let rate = (settings.rate > 0).then(|| 1e9 * f64::from(threads) / settings.rate as f64);
        let mut tasks = Vec::new();
        for index in 0..threads + u32::from(benchmark.writer) {
            self.threads += 1;
            let beside = index == threads;
            let write_rate = (beside && settings.write_limit > 0)
                .then(|| 1e9 * (settings.key_size + value_size) as f64 / settings.write_limit as f64);
            let task = Task {
                load: if beside { Load::Fill(Order::Random) } else { benchmark.load },
                num,
                key_size: settings.key_size,
                value_size,
                compression_ratio: settings.compression_ratio,
                seed: self.seed.wrapping_add(self.threads),
                distribution: settings.distribution,
                durability,
                batch_size: if matches!(benchmark.load, Load::Fill(_)) { settings.batch_size } else { 1 },
                read_percent: settings.read_percent,
                seek_nexts: settings.seek_nexts,
                back: settings.is_on("reverse_iterator"),
            };
            let by_time = settings.duration_ns > 0;
            let limits = Limits {
                operations: if by_time || beside { u64::MAX } else { count },
                length_ns: if by_time { settings.duration_ns } else { u64::MAX },
                pace: if beside {
                    write_rate.map(|every_ns| Pace { every_ns, phase_ns: 0.0 })
                } else {
                    rate.map(|every_ns| Pace { every_ns, phase_ns: every_ns * f64::from(index) / f64::from(threads) })
                },
                interval_ns: settings.interval_ns,
            };
            tasks.push((task, limits, beside));
        }
        tasks
    }

    /// The path on the devices whose traffic is counted.
    fn counted(&self) -> PathBuf {
        match self.settings.text("device") {
            "" => self.image.clone().unwrap_or_else(|| self.folder.path.clone()),
            device => PathBuf::from(device),
        }
    }

    /// Waits until everything has been written to the storage of the store's files.
    fn write_out(&self) {
        write_out(self.image.as_deref().unwrap_or(&self.folder.path));
    }

    fn load(&mut self, benchmark: &Benchmark, value_size: usize) -> Result<BenchmarkResult, TellError> {
        let tasks = self.tasks(benchmark, value_size);
        let clock = self.clock.clone();
        let counted = self.counted();
        // Data that earlier benchmarks left in the page cache must not count as traffic of this
        // one.
        self.write_out();
        let store = self.store()?;
        let system = System::live();
        let sampler = DeviceSampler::start(&system, &[counted], clock.now_ns());
        let before = store.figures();
        let started_unix_ns = clock.unix_ns();
        let used_before = process_usage();
        let threads = run_threads(&tasks, store, &clock)?;
        let used = used_since(&used_before, &process_usage());
        let first = threads.iter().filter(|thread| !thread.beside).map(|thread| thread.started_ns).min().unwrap_or(0);
        let last =
            threads.iter().filter(|thread| !thread.beside).map(|thread| thread.started_ns + thread.elapsed_ns).max();
        let figures = store.figures().since(&before);
        let mut text = String::new();
        for (asked, property) in [("statistics", "statistics"), ("perf_level", "perf-context")] {
            if self.settings.has(asked) {
                text.push_str(&store.property(property).unwrap_or_default());
            }
        }
        self.write_out();
        Ok(BenchmarkResult {
            name: benchmark.name.to_owned(),
            elapsed_ns: last.unwrap_or(0) - first,
            started_unix_ns,
            process_ns: used.user_ns + used.system_ns,
            devices: sampler.finish(clock.now_ns()),
            disk_bytes: self.folder.bytes(),
            entry_bytes: (self.settings.key_size + value_size) as u64,
            facts: store.facts(),
            figures,
            unlogged: self.settings.durability == Durability::Unlogged,
            threads,
            text,
        })
    }
}

fn one_value(ns: u64) -> iolab_histogram::SparseHistogram {
    let mut histogram = iolab_histogram::Histogram::new();
    histogram.add(ns);
    histogram.to_sparse()
}

fn used_since(before: &Usage, after: &Usage) -> Usage {
    Usage {
        user_ns: after.user_ns.saturating_sub(before.user_ns),
        system_ns: after.system_ns.saturating_sub(before.system_ns),
        context_switches: after.context_switches.saturating_sub(before.context_switches),
        major_faults: after.major_faults.saturating_sub(before.major_faults),
        minor_faults: after.minor_faults.saturating_sub(before.minor_faults),
    }
}

/// Runs all threads at once; the first error of any.
fn run_threads(
    tasks: &[(Task, Limits, bool)],
    store: &dyn Store,
    clock: &Clock,
) -> Result<Vec<ThreadResult>, StoreError> {
    let barrier = Barrier::new(tasks.len());
    let origin_ns = AtomicU64::new(0);
    let readers = AtomicU64::new(tasks.iter().filter(|(_, _, beside)| !beside).count() as u64);
    let one = |(task, limits, beside): (Task, Limits, bool)| {
        let prepared = Prepared::new(task);
        if barrier.wait().is_leader() {
            origin_ns.store(clock.now_ns(), Ordering::Release);
        }
        barrier.wait();
        let origin_ns = origin_ns.load(Ordering::Acquire);
        let before = thread_usage();
        let meter = Meter::start(clock, origin_ns, limits).beside(beside.then_some(&readers));
        let result = work(prepared, store, meter);
        if !beside {
            readers.fetch_sub(1, Ordering::Release);
        }
        result.map(|result| ThreadResult { usage: used_since(&before, &thread_usage()), beside, ..result })
    };
    if let [alone] = tasks {
        return one(*alone).map(|result| vec![result]);
    }
    std::thread::scope(|scope| {
        let one = &one;
        let handles: Vec<_> = tasks.iter().map(|task| scope.spawn(move || one(*task))).collect();
        let lost = || StoreError::new(ErrorKind::Io, "a thread of the benchmark ended without a result");
        handles.into_iter().map(|handle| handle.join().unwrap_or_else(|_| Err(lost()))).collect()
    })
}
