//! What one benchmark measured.

use iolab_histogram::SparseHistogram;
use iolab_kv::{StoreFacts, StoreFigures};
use iolab_process::Usage;
use iolab_recording::{DeviceUse, Interval, IntervalLatencies};

/// What an operation does, for what is counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Gets, seeks, steps.
    Read,
    /// Puts.
    Write,
    /// Deletions.
    Delete,
}

/// Operations of one direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// How many.
    pub operations: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// From the begin to the end of each, ns.
    pub latency: SparseHistogram,
    /// From when it was due to its end, ns; only under a rate.
    pub response: SparseHistogram,
}

/// One thread.
#[derive(Debug, Clone, Default)]
pub struct ThreadResult {
    /// Kernel id of the thread.
    pub thread: u32,
    /// When it began, ns since the benchmark did.
    pub started_ns: u64,
    /// How long it took, ns.
    pub elapsed_ns: u64,
    /// Reads, writes, deletions.
    pub tallies: [Tally; 3],
    /// Bytes of the keys and values that it put.
    pub put_bytes: u64,
    /// Lookups that found a value.
    pub found: u64,
    /// Lookups.
    pub asked: u64,
    /// Its processor time.
    pub usage: Usage,
    /// Its intervals.
    pub intervals: Vec<Interval>,
    /// Their latencies.
    pub interval_latencies: Vec<IntervalLatencies>,
    /// How its schedule was kept, under a rate.
    pub schedule: Option<iolab_recording::ScheduleRecording>,
    /// Whether it only wrote beside those that are measured.
    pub beside: bool,
    /// Whether a signal ended it.
    pub interrupted: bool,
}

impl ThreadResult {
    /// Operations of all directions.
    pub fn operations(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.operations).sum()
    }

    /// Bytes of all directions.
    pub fn bytes(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.bytes).sum()
    }
}

/// One benchmark.
#[derive(Debug, Clone, Default)]
pub struct BenchmarkResult {
    /// Its name.
    pub name: String,
    /// Its threads.
    pub threads: Vec<ThreadResult>,
    /// From its first operation to its last, ns.
    pub elapsed_ns: u64,
    /// When it began, ns since the Unix epoch.
    pub started_unix_ns: u64,
    /// What the whole process used, the store's own threads included, ns of processor time.
    pub process_ns: u64,
    /// The devices under the store, before, and after everything was written out.
    pub devices: Vec<DeviceUse>,
    /// Bytes that the store occupies on disk afterwards.
    pub disk_bytes: u64,
    /// Key length in bytes and a value.
    pub entry_bytes: u64,
    /// What the store is.
    pub facts: StoreFacts,
    /// What it counted meanwhile, and what it owes now.
    pub figures: StoreFigures,
    /// Whether no log was written.
    pub unlogged: bool,
    /// What it printed, for benchmarks that only print; statistics that were asked for.
    pub text: String,
}

impl BenchmarkResult {
    /// The threads whose operations are the benchmark's.
    pub fn measured(&self) -> impl Iterator<Item = &ThreadResult> {
        self.threads.iter().filter(|thread| !thread.beside)
    }

    /// Its operations.
    pub fn operations(&self) -> u64 {
        self.measured().map(ThreadResult::operations).sum()
    }

    /// Bytes of their keys and values.
    pub fn bytes(&self) -> u64 {
        self.measured().map(ThreadResult::bytes).sum()
    }

    /// Bytes that were put, by all threads.
    pub fn user_bytes(&self) -> u64 {
        self.threads.iter().map(|thread| thread.put_bytes).sum()
    }

    /// All tallies of a direction in one, the writer beside readers left out.
    pub fn tally(&self, direction: Direction) -> Tally {
        let mut whole = Tally::default();
        for tally in self.measured().map(|thread| &thread.tallies[direction as usize]) {
            whole.operations += tally.operations;
            whole.bytes += tally.bytes;
            whole.latency.merge(&tally.latency);
            whole.response.merge(&tally.response);
        }
        whole
    }

    /// Bytes that the devices were given to write.
    pub fn device_written(&self) -> Option<u64> {
        let first = self.devices.first()?;
        Some((first.after.write_sectors.saturating_sub(first.before.write_sectors)) * 512)
    }

    /// Bytes that they were asked to read.
    pub fn device_read(&self) -> Option<u64> {
        let first = self.devices.first()?;
        Some((first.after.read_sectors.saturating_sub(first.before.read_sectors)) * 512)
    }

    /// Bytes written to the device for each byte put: measured.
    pub fn write_amplification(&self) -> Option<f64> {
        let user = Some(self.user_bytes()).filter(|bytes| *bytes > 0)?;
        Some(self.device_written()? as f64 / user as f64)
    }

    /// Bytes on disk for each byte of a live key and its value; not known of a store inside an
    /// image.
    pub fn space_amplification(&self) -> Option<f64> {
        if self.disk_bytes == 0 {
            return None;
        }
        let live = self.figures.keys.filter(|keys| *keys > 0)? * self.entry_bytes;
        Some(self.disk_bytes as f64 / live as f64)
    }

    /// Processor time of the process for each operation, ns.
    pub fn processor_ns_per_operation(&self) -> f64 {
        self.process_ns as f64 / self.threads.iter().map(ThreadResult::operations).sum::<u64>().max(1) as f64
    }
}
