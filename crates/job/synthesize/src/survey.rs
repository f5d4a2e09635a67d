//! The first reading of a trace: the roles of its files, the threads with equal behaviour, and the
//! stretch in which the program did its work.
//!
//! A server starts, loads and stops: three different activities. The stretch is the longest one in
//! which syncs (or transfers, if there are hardly any syncs) occur at a steady rate.

use std::collections::HashMap;
use std::io::{self, Read};

use iolab_histogram::Histogram;
use iolab_order::Arrange;
use iolab_trace::{Call, Effect, Facts, Flags, NO_FILE, Operation, Ordered, Role};

use crate::roles::{Deeds, RoleRules};

/// A slot of the activity, ns; doubled when there are too many slots.
const SLOT_NS: u64 = 100_000_000;
const MOST_SLOTS: usize = 1 << 14;
/// A trace shorter than this is one stretch, ns.
const SHORT_NS: u64 = 2_000_000_000;
/// A slot belongs to the stretch if it has this share of a busy slot's activity.
const ACTIVE_SHARE: f64 = 0.25;
/// Up to this number of quiet slots do not end a period of activity.
const QUIET_SLOTS: usize = 2;
/// From this number of slots on, the first and the last are left out, because they are incomplete.
const WHOLE_SLOTS: usize = 10;
/// Syncs per hundred transfers from which on they determine the stretch.
const SYNCS_PERCENT: u64 = 2;
/// The number of empty calls that measure the cost of tracing.
const LEAST_IDLE_CALLS: u64 = 30;
/// If at most one in this number of operations of a role overlaps another, they count as one at a
/// time.
const SERIAL_ONE_IN: u64 = 10;

/// A part of a trace, ns since its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceStretch {
    /// First moment.
    pub from_ns: u64,
    /// First moment after it.
    pub until_ns: u64,
}

impl TraceStretch {
    /// Its length, ns.
    pub fn length_ns(&self) -> u64 {
        self.until_ns.saturating_sub(self.from_ns)
    }

    pub(crate) fn holds(&self, time_ns: u64) -> bool {
        self.from_ns <= time_ns && time_ns < self.until_ns
    }
}

/// How threads use the files of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThreadClass {
    /// One at a time, by any thread.
    Serial,
    /// One at a time, on files that are only read, of a role whose other files are written.
    SerialReads,
    /// One at a time, on files that are only written, of such a role.
    SerialWrites,
    /// Threads that mostly read.
    Readers,
    /// Threads that mostly write.
    Writers,
    /// Threads that do both.
    Mixed,
}

impl ThreadClass {
    /// Whether operations come one at a time, so that a single worker can do them all.
    pub(crate) fn takes_turns(self) -> bool {
        matches!(self, ThreadClass::Serial | ThreadClass::SerialReads | ThreadClass::SerialWrites)
    }
}

/// The result of the first reading.
#[derive(Debug, Default)]
pub struct Survey {
    slots: Vec<[u64; 2]>,
    slot_ns: u64,
    deeds: Vec<Deeds>,
    /// Begin and end of the last read and of the last write, by file.
    ends: HashMap<(u32, bool), (u64, u64)>,
    /// Reads and writes, by file and thread.
    uses: HashMap<(u32, u32), [u64; 2]>,
    /// By file: the overlap of threads is judged by role, which is known only at the end.
    overlaps: HashMap<u32, Overlap>,
    /// Durations of calls that do almost nothing, ns.
    idle_calls: Box<Histogram>,
    /// First and last moment, ns.
    span: Option<(u64, u64)>,
    pub(crate) roles: Vec<Role>,
    classes: HashMap<(Role, u32), ThreadClass>,
    serial: HashMap<Role, bool>,
}

/// Operations on a file that began while another thread's operation was in flight.
#[derive(Debug, Default, Clone, Copy)]
struct Overlap {
    last_end_ns: u64,
    last_thread: u32,
    overlapping: u64,
    all: u64,
}

impl Survey {
    /// Reads a trace to its end.
    ///
    /// # Errors
    /// Those of the input.
    pub fn of<R: Read>(trace: &mut Ordered<R>, rules: &RoleRules) -> io::Result<Survey> {
        let mut survey = Survey { slot_ns: SLOT_NS, ..Survey::default() };
        while let Some(operation) = trace.next_operation()? {
            survey.add(&operation, trace);
        }
        let files = trace.reader().files();
        survey.deeds.resize(files.len(), Deeds::default());
        survey.roles = files.iter().zip(&survey.deeds).map(|(file, deeds)| rules.of(file, deeds)).collect();
        survey.classify();
        Ok(survey)
    }

    fn add<R: Read>(&mut self, operation: &Operation, trace: &Ordered<R>) {
        let end_ns = operation.end_ns();
        let (first, last) = self.span.unwrap_or((operation.time_ns, end_ns));
        self.span = Some((first.min(operation.time_ns), last.max(end_ns)));
        if operation.call == Call::Lseek {
            self.idle_calls.add(operation.duration_ns);
        }
        let file = operation.file;
        let is_storage = trace.reader().files().get(file as usize).is_some_and(|file| file.kind.is_storage());
        if file == NO_FILE || !is_storage {
            return;
        }
        if operation.moved_nothing() {
            return;
        }
        if self.deeds.len() <= file as usize {
            self.deeds.resize(file as usize + 1, Deeds::default());
        }
        let deeds = &mut self.deeds[file as usize];
        let effect = operation.call.effect();
        let is_durable = operation.flags.has(Flags::DATA_SYNC) || operation.flags.has(Flags::FILE_SYNC);
        match effect {
            Effect::Read | Effect::Write => {
                let is_write = effect == Effect::Write;
                let onward = operation.offset.is_some_and(|offset| {
                    let last = (offset, offset + operation.bytes());
                    let (begin, end) = self.ends.insert((file, is_write), last).unwrap_or((offset, offset));
                    begin <= offset && offset <= end
                });
                if is_write {
                    deeds.writes += 1;
                    deeds.syncs += u64::from(is_durable);
                    deeds.onward += u64::from(onward);
                } else {
                    deeds.reads += 1;
                    deeds.reads_onward += u64::from(onward);
                }
            }
            Effect::Sync => deeds.syncs += u64::from(operation.call != Call::SyncFileRange),
            Effect::Discard | Effect::Other => {
                deeds.emptied |= operation.call == Call::Open && operation.flags.has(Flags::EMPTIES);
                return;
            }
        }
        let is_write = effect == Effect::Write;
        if operation.call.moves_data() {
            self.uses.entry((file, operation.thread)).or_default()[usize::from(is_write)] += 1;
        }
        let is_sync = (effect == Effect::Sync && operation.call != Call::SyncFileRange) || (is_write && is_durable);
        self.count(operation.time_ns, is_sync, operation.call.moves_data());
        let overlap = self.overlaps.entry(file).or_default();
        overlap.all += 1;
        overlap.overlapping +=
            u64::from(operation.time_ns < overlap.last_end_ns && overlap.last_thread != operation.thread);
        if end_ns >= overlap.last_end_ns {
            (overlap.last_end_ns, overlap.last_thread) = (end_ns, operation.thread);
        }
    }

    fn count(&mut self, time_ns: u64, is_sync: bool, is_transfer: bool) {
        while time_ns / self.slot_ns >= MOST_SLOTS as u64 {
            self.slots =
                self.slots.chunks(2).map(|pair| pair.iter().fold([0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])).collect();
            self.slot_ns *= 2;
        }
        let slot = (time_ns / self.slot_ns) as usize;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, [0; 2]);
        }
        self.slots[slot][0] += u64::from(is_sync);
        self.slots[slot][1] += u64::from(is_transfer);
    }

    fn classify(&mut self) {
        let mut by_role: HashMap<Role, (u64, u64)> = HashMap::new();
        for (file, overlap) in &self.overlaps {
            let sum = by_role.entry(self.roles[*file as usize]).or_default();
            *sum = (sum.0 + overlap.overlapping, sum.1 + overlap.all);
        }
        self.serial = by_role.iter().map(|(role, (some, all))| (*role, some * SERIAL_ONE_IN <= *all)).collect();
        let mut uses: HashMap<(Role, u32), [u64; 2]> = HashMap::new();
        for ((file, thread), [reads, writes]) in &self.uses {
            let sum = uses.entry((self.roles[*file as usize], *thread)).or_default();
            *sum = [sum[0] + reads, sum[1] + writes];
        }
        let class = |[reads, writes]: [u64; 2]| match () {
            () if reads >= 9 * writes => ThreadClass::Readers,
            () if writes >= 9 * reads => ThreadClass::Writers,
            () => ThreadClass::Mixed,
        };
        self.classes = uses.into_iter().map(|(key, uses)| (key, class(uses))).collect();
    }

    /// The class of a thread on files of a role.
    pub(crate) fn class(&self, role: Role, thread: u32, file: u32) -> ThreadClass {
        if self.serial.get(&role).copied().unwrap_or(true) {
            // A program of unknown kind may read some files and write others: copying is not a mix
            // of reads and writes on the same files.
            let Some(deeds) = self.deeds.get(file as usize).filter(|_| role == Role::Other) else {
                return ThreadClass::Serial;
            };
            return match (deeds.reads, deeds.writes) {
                (_, 0) => ThreadClass::SerialReads,
                (0, _) => ThreadClass::SerialWrites,
                _ => ThreadClass::Serial,
            };
        }
        self.classes.get(&(role, thread)).copied().unwrap_or(ThreadClass::Mixed)
    }

    /// The tracer's cost per call, ns; 0 if the trace does not show it.
    ///
    /// A call stops twice, and its stamps are in the middle of each stop: half of the cost is in
    /// its duration, the other half around it. So twice the duration of a call that does nothing is
    /// the cost of tracing in this very program, which may differ much from that in a trial.
    pub(crate) fn call_cost_ns(&self, facts: &Facts) -> f64 {
        let durations = self.idle_calls.to_sparse();
        match facts.traced_call_ns {
            Some(_) if durations.count >= LEAST_IDLE_CALLS => 2.0 * durations.percentile(50.0) as f64,
            Some(trial_ns) => trial_ns,
            // Tracepoints write a record within each end of a call, and one outside it.
            None if facts.source == Facts::PERF && durations.count >= LEAST_IDLE_CALLS => {
                2.0 * durations.percentile(50.0) as f64
            }
            None => 0.0,
        }
    }

    /// Syncs of all files of a role, in the whole trace.
    pub(crate) fn syncs_of(&self, role: Role) -> u64 {
        self.roles.iter().zip(&self.deeds).filter(|(of, _)| **of == role).map(|(_, deeds)| deeds.syncs).sum()
    }

    /// From the first operation to the end of the last; `None` without operations.
    pub fn span(&self) -> Option<TraceStretch> {
        self.span.map(|(from_ns, last_ns)| TraceStretch { from_ns, until_ns: last_ns + 1 })
    }

    /// The stretch in which the program did its work.
    pub fn busy_stretch(&self) -> Option<TraceStretch> {
        let whole = self.span()?;
        if whole.length_ns() < SHORT_NS {
            // For a command that does its work and ends, a stall of the disk is not another
            // activity.
            return Some(whole);
        }
        let sum = |which: usize| self.slots.iter().map(|slot| slot[which]).sum::<u64>();
        let which = usize::from(sum(0) * 100 < sum(1) * SYNCS_PERCENT);
        let mut busy: Vec<u64> = self.slots.iter().map(|slot| slot[which]).filter(|count| *count > 0).collect();
        busy.arrange();
        let Some(typical) = busy.get(busy.len() * 3 / 4) else { return Some(whole) };
        let least = (*typical as f64 * ACTIVE_SHARE).max(1.0) as u64;
        let is_active = |slot: usize| self.slots[slot][which] >= least;
        let (mut best, mut begin, mut last) = ((0, 0), None, 0);
        for slot in 0..self.slots.len() {
            if !is_active(slot) {
                continue;
            }
            if begin.is_none() || slot - last > QUIET_SLOTS + 1 {
                begin = Some(slot);
            }
            last = slot;
            let from = begin.unwrap_or(slot);
            if slot + 1 - from > best.1 - best.0 {
                best = (from, slot + 1);
            }
        }
        let (from, until) = if best.1 - best.0 >= WHOLE_SLOTS { (best.0 + 1, best.1 - 1) } else { best };
        let stretch = TraceStretch { from_ns: from as u64 * self.slot_ns, until_ns: until as u64 * self.slot_ns };
        let from_ns = stretch.from_ns.max(whole.from_ns);
        Some(TraceStretch { from_ns, until_ns: stretch.until_ns.min(whole.until_ns).max(from_ns + 1) })
    }
}
