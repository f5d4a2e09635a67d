//! The content of a trace, found by reading it once before a run: files with their required
//! lengths, and the shares of workers.
//!
//! Threads that never existed at the same time share a worker: a build of a thousand short
//! processes needs only as many workers as ran concurrently.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::path::PathBuf;

use iolab_engine::OpKind;
use iolab_order::Arrange;
use iolab_plan::{ReplayFile, ReplayRules, ReplayShare, ReplaySurvey};
use iolab_trace::{FileKind, Flags, Operation};

use crate::feeder::{self, Feeder};
use crate::translation::{self, LeftOut, Part};

/// Most workers; if more threads exist at a time, they share them.
const MOST_SHARES: usize = 256;
/// Most files of a replay.
const MOST_FILES: usize = 1 << 20;

/// What is known of one thread.
#[derive(Debug, Default)]
struct Thread {
    first_ns: u64,
    last_ns: u64,
    share: ReplayShare,
    files: BTreeSet<u32>,
    /// End times of operations in progress.
    under_way: Vec<u64>,
}

/// Reads a trace from the first operation to the last.
///
/// # Errors
/// It cannot be read, or has nothing that could be replayed.
pub fn survey(paths: &[String], rules: &ReplayRules) -> Result<ReplaySurvey, String> {
    let identity = feeder::identity(paths)?;
    let mut feeder = Feeder::open(paths)?;
    let mut threads: HashMap<u32, Thread> = HashMap::new();
    let mut files: BTreeMap<u32, ReplayFile> = BTreeMap::new();
    let mut left_out: BTreeMap<LeftOut, u64> = BTreeMap::new();
    let (mut parts, mut first_ns, mut last_ns) = (Vec::new(), None, 0);
    while let Some(operation) = feeder.next_operation()? {
        parts.clear();
        match translation::parts(&operation, feeder.trace().files(), rules, |part| parts.push(part)) {
            Err(reason) => *left_out.entry(reason).or_insert(0) += 1,
            Ok(()) => {
                let first_ns = *first_ns.get_or_insert(operation.time_ns);
                last_ns = last_ns.max(operation.time_ns);
                let since_ns = operation.time_ns.saturating_sub(first_ns);
                threads.entry(operation.thread).or_default().take(&operation, since_ns, &parts);
                let file = files.entry(operation.file).or_default();
                parts.iter().for_each(|part| reach(file, part));
                if files.len() > MOST_FILES {
                    return Err(format!("{}: more than {MOST_FILES} files", paths.join(":")));
                }
            }
        }
    }
    if threads.is_empty() {
        return Err(format!("{}: no transfer or sync of a file or block device is in it", paths.join(":")));
    }
    let trace = feeder.trace();
    for (number, file) in &mut files {
        let Some(known) = trace.files().get(*number as usize) else { continue };
        file.number = *number;
        file.path.clone_from(&known.path);
        file.block_device = known.kind == FileKind::BlockDevice;
        file.size_bytes = known.size_bytes.filter(|_| rules.divide_offsets <= 1);
    }
    let (shares, share_of_thread) = share_out(threads, trace.threads().len());
    let left_out = LeftOut::ALL.iter().filter_map(|why| Some((why.text().to_owned(), *left_out.get(why)?)));
    Ok(ReplaySurvey {
        identity,
        shares,
        share_of_thread,
        left_out: left_out.collect(),
        files: files.into_values().collect(),
        span_ns: last_ns.saturating_sub(first_ns.unwrap_or(0)),
    })
}

/// Whether operations of one thread overlap, among the first million: a synchronous engine cannot
/// replay that.
///
/// # Errors
/// The trace cannot be read.
pub fn overlaps(paths: &[PathBuf]) -> Result<bool, String> {
    const ENOUGH: u32 = 1_000_000;
    let paths: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let mut feeder = Feeder::open(&paths)?;
    let mut ends: HashMap<u32, u64> = HashMap::new();
    for _ in 0..ENOUGH {
        let Some(operation) = feeder.next_operation()? else { break };
        if translation::parts(&operation, feeder.trace().files(), &ReplayRules::default(), |_| {}).is_ok() {
            let end_ns = ends.entry(operation.thread).or_insert(0);
            // Both sides of a call between two files have the same times.
            if operation.time_ns < *end_ns && operation.end_ns() != *end_ns {
                return Ok(true);
            }
            *end_ns = (*end_ns).max(operation.end_ns());
        }
    }
    Ok(false)
}

fn reach(file: &mut ReplayFile, part: &Part) {
    let end = part.offset.saturating_add(u64::from(part.length));
    match part.kind {
        OpKind::Read => {
            file.read_end_bytes = file.read_end_bytes.max(end);
            file.end_bytes = file.end_bytes.max(end);
        }
        OpKind::Write | OpKind::Trim => file.end_bytes = file.end_bytes.max(end),
        _ => {}
    }
}

impl Thread {
    fn take(&mut self, operation: &Operation, since_ns: u64, parts: &[Part]) {
        if self.share.operations == 0 {
            self.first_ns = operation.time_ns;
        }
        self.last_ns = self.last_ns.max(operation.end_ns());
        self.files.insert(operation.file);
        self.under_way.retain(|end_ns| *end_ns > operation.time_ns);
        parts.iter().for_each(|_| self.under_way.push(operation.end_ns()));
        let share = &mut self.share;
        share.span_ns = share.span_ns.max(since_ns);
        share.most_in_flight = share.most_in_flight.max(self.under_way.len() as u32);
        for part in parts {
            share.operations += 1;
            let place = (part.kind as usize).min(3);
            share.counts[place] += 1;
            if place < 3 {
                share.bytes[place] += u64::from(part.length);
                share.longest_bytes = share.longest_bytes.max(u64::from(part.length));
                share.direct += u64::from(operation.flags.has(Flags::DIRECT));
            }
        }
    }
}

/// Assigns a share to each thread: the one that has been free for the longest time, a new one, or,
/// at the maximum number, the one that will be free first.
fn share_out(threads: HashMap<u32, Thread>, count: usize) -> (Vec<ReplayShare>, Vec<u32>) {
    let mut threads: Vec<(u32, Thread)> = threads.into_iter().collect();
    threads.arrange_by_key(|(number, thread)| (thread.first_ns, *number));
    let mut shares: Vec<(ReplayShare, BTreeSet<u32>)> = Vec::new();
    let mut share_of_thread = vec![0; count];
    // When each share is free.
    let mut free: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for (number, thread) in threads {
        let earliest = free.peek().map(|Reverse((free_ns, _))| *free_ns);
        let takes_over = earliest.is_some_and(|free_ns| free_ns <= thread.first_ns) || shares.len() == MOST_SHARES;
        let place = match if takes_over { free.pop() } else { None } {
            Some(Reverse((_, place))) => place,
            None => {
                shares.push(Default::default());
                shares.len() - 1
            }
        };
        let (share, files) = &mut shares[place];
        add(share, &thread.share);
        files.extend(thread.files);
        free.push(Reverse((thread.last_ns, place)));
        if let Some(known) = share_of_thread.get_mut(number as usize) {
            *known = place as u32;
        }
    }
    let whole =
        |(share, files): (ReplayShare, BTreeSet<u32>)| ReplayShare { files: files.into_iter().collect(), ..share };
    (shares.into_iter().map(whole).collect(), share_of_thread)
}

fn add(share: &mut ReplayShare, other: &ReplayShare) {
    share.operations += other.operations;
    for place in 0..3 {
        share.bytes[place] += other.bytes[place];
    }
    for place in 0..4 {
        share.counts[place] += other.counts[place];
    }
    share.direct += other.direct;
    share.longest_bytes = share.longest_bytes.max(other.longest_bytes);
    share.most_in_flight = share.most_in_flight.max(other.most_in_flight);
    share.span_ns = share.span_ns.max(other.span_ns);
}
