//! The second reading of a trace: what each role and class of threads did within the stretch.
//!
//! A *lane* is a sequence of operations done one after the other: all operations of a role whose
//! threads take turns, otherwise those of one thread. The gap between two operations of a lane is
//! the time from the end of one to the begin of the next. A *cycle* ends with a sync, or with every
//! transfer if there are no syncs; its think time is the sum of its gaps. The cost of the tracer is
//! subtracted from each gap: once for the lane's own call, and once for every other call of the
//! same thread in the gap.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, Read};

use iolab_histogram::Histogram;
use iolab_trace::{Call, Effect, Flags, NO_FILE, Operation, Ordered, Role};

use crate::estimate::Values;
use crate::survey::ThreadClass;
use crate::{Places, Survey, TraceStretch};

/// The transfers of one direction.
#[derive(Debug, Default)]
pub struct Transfers {
    /// Number of transfers.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Number of transfers of each size, bytes.
    pub sizes: BTreeMap<u64, u64>,
    /// Their offsets.
    pub places: Places,
    /// Their durations, ns.
    pub durations: Box<Histogram>,
}

/// Operations of a class of threads on the files of a role.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Reads and writes.
    pub transfers: [Transfers; 2],
    /// Data and metadata syncs (`fsync` and similar), data syncs (`fdatasync` and similar).
    pub syncs: [u64; 2],
    /// Their durations, ns.
    pub sync_durations: Box<Histogram>,
    /// Writes that are durable when they return: data only, and data with attributes.
    pub durable_writes: [u64; 2],
    /// `sync_file_range`.
    pub range_syncs: u64,
    /// Transfers that bypass the page cache.
    pub direct: u64,
    /// Writes that extended their file.
    pub growing: u64,
    /// How often each call was used.
    pub calls: BTreeMap<Call, u64>,
    /// Transfers of a cycle.
    pub cycle_transfers: Values,
    /// Think time of a cycle, ns, without the cost of the tracer.
    pub cycle_think_ns: Values,
    /// Durations of all asynchronous operations added up, ns.
    pub asynchronous_ns: u64,
    /// Time in which at least one asynchronous operation was in flight, ns.
    pub asynchronous_busy_ns: u64,
    /// Operations by thread.
    pub threads: HashMap<u32, u64>,
    /// Highest end, by file.
    pub files: BTreeMap<u32, u64>,
    lanes: HashMap<u32, Lane>,
    /// All think time, and the part of it that the same threads spent on files of other sections,
    /// ns.
    think_ns: f64,
    elsewhere_ns: f64,
    async_end_ns: u64,
}

#[derive(Debug, Default)]
struct Lane {
    end_ns: Option<u64>,
    think_ns: f64,
    transfers: u64,
}

/// The recent calls of a thread: when they began, and how long each was reading, writing or
/// syncing, ns.
#[derive(Debug, Default)]
struct Lately(VecDeque<(u64, u64)>);

/// Calls of a thread since a moment.
#[derive(Debug, Default, Clone, Copy)]
struct Since {
    calls: u64,
    /// How long they were reading, writing or syncing, ns.
    storage_ns: u64,
}

impl Lately {
    const MOST: usize = 4096;

    fn add(&mut self, time_ns: u64, storage_ns: u64) {
        if self.0.len() == Lately::MOST {
            self.0.pop_front();
        }
        self.0.push_back((time_ns, storage_ns));
    }

    fn since(&self, from_ns: u64) -> Since {
        let first = self.0.partition_point(|(time_ns, _)| *time_ns < from_ns);
        self.0.range(first..).fold(Since::default(), |sum, (_, storage_ns)| Since {
            calls: sum.calls + 1,
            storage_ns: sum.storage_ns + storage_ns,
        })
    }
}

/// All gathered data, by role and class.
pub(crate) type All = BTreeMap<(Role, ThreadClass), Gathered>;

/// Reads a trace to its end.
pub(crate) fn gather<R: Read>(
    trace: &mut Ordered<R>,
    survey: &Survey,
    stretch: TraceStretch,
    traced_call_ns: f64,
) -> io::Result<(All, u64)> {
    let mut all = All::new();
    let mut seen = 0;
    let mut lately: HashMap<u32, Lately> = HashMap::new();
    let mut sizes: HashMap<u32, u64> = HashMap::new();
    while let Some(operation) = trace.next_operation()? {
        let file = trace.reader().files().get(operation.file as usize);
        let grown = file.filter(|_| operation.call.effect() == Effect::Write).and_then(|file| {
            let end = operation.offset? + operation.bytes();
            let size = sizes.entry(operation.file).or_insert(file.size_bytes.unwrap_or(0));
            let grows = end > *size;
            *size = end.max(*size);
            Some(grows)
        });
        if !stretch.holds(operation.time_ns) {
            continue;
        }
        seen += 1;
        let is_storage = file.is_some_and(|file| file.kind.is_storage()) && operation.file != NO_FILE;
        let role = survey.roles.get(operation.file as usize).copied().unwrap_or_default();
        let is_known = !matches!(operation.call.effect(), Effect::Other | Effect::Discard)
            && !operation.has_failed()
            && !operation.moved_nothing();
        let is_kept = is_storage && is_known && role != Role::Program;
        if is_kept {
            let class = survey.class(role, operation.thread, operation.file);
            let gathered = all.entry((role, class)).or_default();
            let lane = if class.takes_turns() { 0 } else { operation.thread };
            gathered.gap(lane, &operation, traced_call_ns, lately.get(&operation.thread));
            gathered.add(lane, &operation, grown.unwrap_or(false));
        }
        let storage_ns = if is_kept { operation.duration_ns } else { 0 };
        lately.entry(operation.thread).or_default().add(operation.time_ns, storage_ns);
    }
    Ok((all, seen))
}

impl Gathered {
    fn gap(&mut self, lane: u32, operation: &Operation, call_ns: f64, lately: Option<&Lately>) {
        let lane = self.lanes.entry(lane).or_default();
        if let Some(end_ns) = lane.end_ns {
            let gap_ns = operation.time_ns.saturating_sub(end_ns) as f64;
            let since = lately.map(|lately| lately.since(end_ns)).unwrap_or_default();
            let cost_ns = call_ns * (1 + since.calls) as f64;
            let think_ns = (gap_ns - cost_ns).max(0.0);
            lane.think_ns += think_ns;
            self.think_ns += think_ns;
            self.elsewhere_ns += think_ns.min(since.storage_ns as f64);
        }
        lane.end_ns = Some(operation.end_ns().max(lane.end_ns.unwrap_or(0)));
    }

    fn add(&mut self, lane: u32, operation: &Operation, grows: bool) {
        *self.calls.entry(operation.call).or_default() += 1;
        *self.threads.entry(operation.thread).or_default() += 1;
        let has_end = !operation.flags.has(Flags::END_UNSEEN);
        let is_durable = operation.flags.has(Flags::DATA_SYNC) || operation.flags.has(Flags::FILE_SYNC);
        let mut ends_cycle = false;
        match operation.call.effect() {
            Effect::Sync if operation.call == Call::SyncFileRange || operation.call == Call::UringSyncFileRange => {
                self.range_syncs += 1;
            }
            Effect::Sync => {
                let data = matches!(operation.call, Call::Fdatasync | Call::AioFdatasync | Call::UringFdatasync);
                self.syncs[usize::from(data)] += 1;
                if has_end {
                    self.sync_durations.add(operation.duration_ns);
                }
                ends_cycle = true;
            }
            effect => {
                let is_write = effect == Effect::Write;
                let transfers = &mut self.transfers[usize::from(is_write)];
                transfers.count += 1;
                transfers.bytes += operation.bytes();
                *transfers.sizes.entry(operation.bytes()).or_default() += 1;
                if has_end {
                    transfers.durations.add(operation.duration_ns);
                }
                if let Some(offset) = operation.offset {
                    transfers.places.add(operation.file, offset, operation.bytes(), operation.bytes());
                    let end = self.files.entry(operation.file).or_default();
                    *end = (offset + operation.bytes()).max(*end);
                }
                self.direct += u64::from(operation.flags.has(Flags::DIRECT));
                self.growing += u64::from(grows);
                if is_write && is_durable {
                    self.durable_writes[usize::from(!operation.flags.has(Flags::FILE_SYNC))] += 1;
                    ends_cycle = true;
                }
                self.lanes.entry(lane).or_default().transfers += 1;
            }
        }
        if matches!(operation.call, Call::AioRead | Call::AioWrite | Call::UringRead | Call::UringWrite) {
            let begin_ns = operation.time_ns.max(self.async_end_ns);
            self.asynchronous_ns += operation.duration_ns;
            self.asynchronous_busy_ns += operation.end_ns().saturating_sub(begin_ns);
            self.async_end_ns = self.async_end_ns.max(operation.end_ns());
        }
        if ends_cycle {
            self.end_cycle(lane);
        }
    }

    fn end_cycle(&mut self, lane: u32) {
        let lane = self.lanes.entry(lane).or_default();
        // Syncs without a preceding write belong to the cycle that they end.
        if lane.transfers > 0 {
            self.cycle_transfers.add(lane.transfers as f64);
            self.cycle_think_ns.add(lane.think_ns);
            (lane.transfers, lane.think_ns) = (0, 0.0);
        }
    }

    /// Without syncs, the lanes as they are: think time and number of all transfers.
    pub(crate) fn open_cycles(&self) -> (f64, u64) {
        self.lanes
            .values()
            .fold((0.0, 0), |(think_ns, transfers), lane| (think_ns + lane.think_ns, transfers + lane.transfers))
    }

    /// The share of the think time that the same threads spent on files of other sections.
    pub(crate) fn elsewhere_share(&self) -> f64 {
        if self.think_ns > 0.0 { self.elsewhere_ns / self.think_ns } else { 0.0 }
    }

    /// Calls that make data durable.
    pub fn all_syncs(&self) -> u64 {
        self.syncs.iter().chain(&self.durable_writes).sum()
    }

    /// Reads and writes.
    pub fn all_transfers(&self) -> u64 {
        self.transfers.iter().map(|transfers| transfers.count).sum()
    }

    /// Bytes moved.
    pub fn bytes(&self) -> u64 {
        self.transfers.iter().map(|transfers| transfers.bytes).sum()
    }
}
