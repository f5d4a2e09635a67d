//! The gathered data of one role and class of threads, as the settings of a section.

use iolab_order::Arrange;
use iolab_trace::{Call, File, Role};

use crate::gather::{Gathered, Transfers};
use crate::survey::ThreadClass;
use crate::{HotSet, Places, Proportion, TraceStretch, Typical};

/// From this share of sequential transfers on, a pattern is sequential.
const SEQUENTIAL: f64 = 0.7;
/// From this share on, a flag applies to the section.
const MOSTLY: f64 = 0.5;
/// A hot tenth with at least this share of the accesses counts as hot.
const HOT: f64 = 0.3;
/// Largest number of sizes of a split, so that fio accepts it and people can read it.
const MOST_SIZES: usize = 8;
/// Largest number of files of a section.
const MOST_FILES: usize = 64;
/// A direction with at most one in this number of transfers is left out.
const RARE_ONE_IN: u64 = 200;

/// The offset pattern of transfers.
#[derive(Debug, Clone, PartialEq)]
pub enum PlacePattern {
    /// One after the other.
    Sequential,
    /// Each begins with this many last bytes of the preceding one: the page that was not full.
    TailAgain(u64),
    /// Each place this number of times, then the next.
    Again(u32),
    /// Random; the share that is sequential anyway.
    Random(Proportion, Option<HotSet>),
}

/// When data are made durable.
#[derive(Debug, Clone, PartialEq)]
pub enum SyncRule {
    /// Never.
    Never,
    /// `fsync` or `fdatasync` after this number of writes.
    After {
        /// Whether `fdatasync` is used.
        data_only: bool,
        /// The number of writes.
        writes: u32,
    },
    /// By `O_SYNC` or `O_DSYNC`.
    OnWrite {
        /// Whether it is `O_DSYNC`.
        data_only: bool,
    },
}

/// When the next operation begins.
#[derive(Debug, Clone, PartialEq)]
pub enum Pace {
    /// Think time, ns, and the number of transfers between pauses.
    Think {
        /// Think time of a cycle.
        ns: f64,
        /// Transfers of a cycle.
        transfers: u32,
        /// The part of it that the same threads spend on files of other sections, ns.
        elsewhere_ns: f64,
        /// Its uncertainty; `None` if cycles cannot be distinguished.
        typical: Option<Typical>,
    },
    /// A rate, if durations or gaps are unknown.
    Rate(f64),
}

/// The settings of a section, and the data behind them.
#[derive(Debug)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// The role of its files.
    pub role: Role,
    /// How its threads take turns.
    pub class: ThreadClass,
    /// `read`, `write` or `rw`.
    pub word: &'static str,
    /// Threads that take part.
    pub threads: u32,
    /// Workers.
    pub jobs: u32,
    /// Engine.
    pub engine: &'static str,
    /// Operations in flight.
    pub depth: u32,
    /// Whether it bypasses the page cache.
    pub direct: bool,
    /// Share of reads.
    pub reads: Proportion,
    /// The offset pattern.
    pub pattern: PlacePattern,
    /// Sizes of reads and of writes with their shares in percent.
    pub sizes: [Vec<(u64, u32)>; 2],
    /// When data is made durable.
    pub sync: SyncRule,
    /// When the next operation begins.
    pub pace: Pace,
    /// Share of writes that extended their file.
    pub growing: Proportion,
    /// Bytes of all its files.
    pub size_bytes: u64,
    /// Files.
    pub files: u32,
    /// Transfers per second in the stretch.
    pub transfers_per_s: f64,
    /// Syncs per second in the stretch.
    pub syncs_per_s: f64,
    /// The gathered data.
    pub seen: Gathered,
}

/// The inputs of sections besides the gathered data of each.
pub(crate) struct Source<'t> {
    /// The files of the trace.
    pub(crate) files: &'t [File],
    pub(crate) stretch: TraceStretch,
    /// Whether the trace contains durations of operations.
    pub(crate) has_durations: bool,
}

impl Section {
    /// Builds a section from gathered data.
    pub(crate) fn of(role: Role, class: ThreadClass, seen: Gathered, source: &Source<'_>) -> Section {
        let Source { files, stretch, has_durations } = *source;
        let [reads, writes] = &seen.transfers;
        let transfers = seen.all_transfers();
        let seconds = stretch.length_ns() as f64 / 1e9;
        let engine = engine(&seen);
        let threads = busy_threads(&seen);
        let depth = match seen.asynchronous_busy_ns {
            busy_ns if busy_ns > 0 && engine.1 => {
                (seen.asynchronous_ns as f64 / busy_ns as f64).round().clamp(1.0, 1024.0) as u32
            }
            _ => 1,
        };
        let sync = sync_rule(&seen);
        let of_files = seen.files.iter().map(|(file, end)| {
            let known = files.get(*file as usize).and_then(|file| file.size_bytes).unwrap_or(0);
            known.max(*end)
        });
        let largest = of_files.clone().max().unwrap_or(0);
        // A log's files are used one after the other, and are alike.
        let (count, size_bytes) =
            if role == Role::Log { (1, largest) } else { (seen.files.len().clamp(1, MOST_FILES), of_files.sum()) };
        let pattern = pattern(if writes.count >= reads.count { &writes.places } else { &reads.places });
        let kind = match class {
            ThreadClass::Serial => "",
            ThreadClass::Readers | ThreadClass::SerialReads => "_read",
            ThreadClass::Writers | ThreadClass::SerialWrites => "_write",
            ThreadClass::Mixed => "_mixed",
        };
        Section {
            name: format!("{}{kind}", role.name()),
            role,
            class,
            threads,
            word: word(reads.count, writes.count),
            jobs: if class.takes_turns() { 1 } else { threads },
            engine: engine.0,
            depth,
            direct: Proportion { count: seen.direct, of: transfers }.value() > MOSTLY,
            reads: Proportion { count: reads.count, of: transfers },
            pattern,
            sizes: [split(reads, transfers), split(writes, transfers)],
            pace: pace(&seen, &sync, has_durations, seconds),
            sync,
            growing: Proportion { count: seen.growing, of: writes.count },
            size_bytes,
            files: count as u32,
            transfers_per_s: transfers as f64 / seconds,
            syncs_per_s: seen.all_syncs() as f64 / seconds,
            seen,
        }
    }
}

/// Threads with at least a tenth of the operations of the busiest.
fn busy_threads(seen: &Gathered) -> u32 {
    let most = seen.threads.values().copied().max().unwrap_or(0);
    seen.threads.values().filter(|count| **count * 10 >= most).count().max(1) as u32
}

/// The engine of the call that was used most, and whether it is asynchronous.
fn engine(seen: &Gathered) -> (&'static str, bool) {
    let used = seen.calls.iter().filter(|(call, _)| call.moves_data()).max_by_key(|(_, count)| **count);
    match used.map(|(call, _)| *call) {
        Some(Call::Read | Call::Write) => ("sync", false),
        Some(Call::Readv | Call::Writev) => ("vsync", false),
        Some(Call::Preadv | Call::Pwritev) => ("pvsync", false),
        Some(Call::Preadv2 | Call::Pwritev2) => ("pvsync2", false),
        Some(Call::AioRead | Call::AioWrite) => ("libaio", true),
        Some(Call::UringRead | Call::UringWrite) => ("io_uring", true),
        Some(Call::BlockRead | Call::BlockWrite) => ("libaio", true),
        _ => ("psync", false),
    }
}

fn word(reads: u64, writes: u64) -> &'static str {
    let all = reads + writes;
    match () {
        () if writes * RARE_ONE_IN <= all => "read",
        () if reads * RARE_ONE_IN <= all => "write",
        () => "rw",
    }
}

fn sync_rule(seen: &Gathered) -> SyncRule {
    let writes = seen.transfers[1].count;
    let [full, data] = seen.syncs;
    let durable: u64 = seen.durable_writes.iter().sum();
    let on_write = Proportion { count: durable, of: writes };
    if on_write.value() > MOSTLY {
        return SyncRule::OnWrite { data_only: seen.durable_writes[1] >= seen.durable_writes[0] };
    }
    let syncs = full + data;
    if writes == 0 || syncs * 1000 < writes {
        return SyncRule::Never;
    }
    let each = (writes as f64 / syncs as f64).round().max(1.0) as u32;
    SyncRule::After { data_only: data >= full, writes: each }
}

fn pattern(places: &Places) -> PlacePattern {
    if places.followers == 0 {
        // Each file is read or written in one pass.
        return PlacePattern::Sequential;
    }
    let share = |count: u64| places.share(count).value();
    let tail = places.usual_tail().unwrap_or(0);
    // A tail as long as the whole predecessor is the same place again. It moves only if some write
    // is longer.
    if share(places.tail + places.onward) >= SEQUENTIAL {
        let moves_on = places.tail > places.again || places.onward * 50 < places.tail;
        return match () {
            () if share(places.tail) < 0.1 => PlacePattern::Sequential,
            () if moves_on && tail > 0 => PlacePattern::TailAgain(tail),
            () => match (places.followers as f64 / places.onward.max(1) as f64).round() as u32 {
                0 | 1 => PlacePattern::Sequential,
                times => PlacePattern::Again(times),
            },
        };
    }
    PlacePattern::Random(places.share(places.onward), places.hot_set().filter(|hot| hot.tenth.value() >= HOT))
}

/// The most frequent sizes, with shares that sum to 100; empty for a direction that hardly occurs
/// among all transfers.
fn split(transfers: &Transfers, all: u64) -> Vec<(u64, u32)> {
    if transfers.count * RARE_ONE_IN <= all {
        return Vec::new();
    }
    let mut sizes: Vec<(u64, u64)> = transfers.sizes.iter().map(|(bytes, count)| (*bytes, *count)).collect();
    sizes.arrange_by_key(|(_, count)| std::cmp::Reverse(*count));
    sizes.retain(|(_, count)| *count * 200 >= transfers.count);
    sizes.truncate(MOST_SIZES);
    let sum: u64 = sizes.iter().map(|(_, count)| count).sum();
    let mut shares: Vec<(u64, u32)> = sizes
        .iter()
        .map(|(bytes, count)| (*bytes, ((*count as f64 * 100.0 / sum as f64).round() as u32).max(1)))
        .collect();
    // The most frequent size absorbs the rounding error.
    let rest = 100 - shares.iter().skip(1).map(|(_, share)| *share).sum::<u32>().min(99);
    if let Some(first) = shares.first_mut() {
        first.1 = rest;
    }
    shares.arrange();
    shares
}

fn pace(seen: &Gathered, sync: &SyncRule, has_durations: bool, seconds: f64) -> Pace {
    if !has_durations {
        return Pace::Rate(seen.all_transfers() as f64 / seconds);
    }
    if *sync != SyncRule::Never
        && let (Some(think), Some(transfers)) = (seen.cycle_think_ns.typical(), seen.cycle_transfers.typical())
    {
        let transfers = transfers.mean.round().max(1.0) as u32;
        let elsewhere_ns = think.mean * seen.elsewhere_share();
        return Pace::Think { ns: think.mean, transfers, elsewhere_ns, typical: Some(think) };
    }
    let (think_ns, transfers) = seen.open_cycles();
    let ns = think_ns / transfers.max(1) as f64;
    Pace::Think { ns, transfers: 1, elsewhere_ns: ns * seen.elsewhere_share(), typical: None }
}
