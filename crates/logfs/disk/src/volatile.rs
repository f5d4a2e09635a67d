//! A disk with a volatile write cache: writes stay in memory until a flush sends them on.
//!
//! ```text
//!  writes ─▶ memory ─┬─ flush ─────────────▶ device, then its own flush
//!                    └─ now and then, some ─▶ device (whole, or a few blocks of it)
//! ```
//!
//! Dropping it, or killing its process, is a power failure. Of the writes that no completed flush
//! covers, the device below then has those written back meanwhile, in any order, whole or torn,
//! depending on the seed, and no others. Reads return what was written. A discard drops the cached
//! part of its range, and goes to the device at once.

use std::collections::{HashMap, HashSet, VecDeque};
use std::os::fd::OwnedFd;

use iolab_random::SplitMix64;

use crate::{Action, BlockDevice, Buffer, DiskCompletion, DiskRequest, Geometry};

/// One in this number of writes is written back without a flush.
const WRITTEN_BACK_OF: u64 = 4;
/// Most bytes of one write to the device below.
const MOST_BYTES: usize = 1 << 20;
/// Tags of internal requests begin here; those of the caller are lower.
const OWN_TAGS: u64 = 1 << 63;

/// A part of a read: its offset in the buffer, and its bytes.
type Piece = (usize, Box<[u8]>);

/// The decorator.
pub struct Volatile<D> {
    device: D,
    random: SplitMix64,
    /// Blocks not on the device yet, by number, each with the number of its write.
    cached: HashMap<u64, (u64, Box<[u8]>)>,
    writes: u64,
    /// Blocks being written back without a flush.
    leaving: HashSet<u64>,
    /// Internal requests in flight, and the blocks that they write.
    own: HashMap<u64, Vec<u64>>,
    next_tag: u64,
    /// Requests that the device had no room for.
    backlog: VecDeque<DiskRequest>,
    /// Reads in flight, with the pieces that come from the cache.
    reads: HashMap<u64, Vec<Piece>>,
    flushing: Option<Flushing>,
    waiting: VecDeque<DiskRequest>,
    done: Vec<DiskCompletion>,
    /// Whether requests were submitted to the device since its last reap.
    has_sent: bool,
}

/// A flush in progress: first all blocks are written, then the device flushes.
struct Flushing {
    request: DiskRequest,
    /// Blocks written for this flush, with the numbers of their writes.
    blocks: Vec<(u64, u64)>,
    /// Internal requests that have to end before the device flushes.
    left: HashSet<u64>,
    failed: Option<crate::DeviceError>,
    is_last_step: bool,
}

impl<D> std::fmt::Debug for Volatile<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Volatile({} blocks cached)", self.cached.len())
    }
}

impl<D: BlockDevice> Volatile<D> {
    /// Wraps a device, with the seed that decides what is written back without a flush.
    pub fn new(device: D, seed: u64) -> Volatile<D> {
        Volatile {
            device,
            random: SplitMix64::new(seed),
            cached: HashMap::new(),
            writes: 0,
            leaving: HashSet::new(),
            own: HashMap::new(),
            next_tag: OWN_TAGS,
            backlog: VecDeque::new(),
            reads: HashMap::new(),
            flushing: None,
            waiting: VecDeque::new(),
            done: Vec::new(),
            has_sent: false,
        }
    }

    fn block_bytes(&self) -> usize {
        self.device.geometry().block_bytes as usize
    }

    fn send(&mut self, request: DiskRequest) {
        self.has_sent = true;
        if self.backlog.is_empty() {
            self.backlog.extend(self.device.submit(request).err());
        } else {
            self.backlog.push_back(request);
        }
    }

    /// Writes cached blocks to the device, adjacent ones together, and returns the tags.
    fn write_back(&mut self, mut blocks: Vec<u64>) -> Vec<u64> {
        blocks.sort_unstable();
        let (unit, mut tags) = (self.block_bytes(), Vec::new());
        let follows = |run: &Vec<u64>, block: u64| {
            run.last().is_some_and(|last| last + 1 == block) && (run.len() + 1) * unit <= MOST_BYTES
        };
        let mut runs: Vec<Vec<u64>> = Vec::new();
        for block in blocks {
            match runs.last_mut() {
                Some(run) if follows(run, block) => run.push(block),
                _ => runs.push(vec![block]),
            }
        }
        for run in runs {
            let mut buffer = Buffer::zeroed(run.len() * unit);
            for (block, place) in run.iter().zip(buffer.chunks_exact_mut(unit)) {
                place.copy_from_slice(&self.cached[block].1);
            }
            let (tag, at) = (self.next_tag, run[0] * unit as u64);
            self.next_tag += 1;
            self.own.insert(tag, run);
            tags.push(tag);
            self.send(DiskRequest { tag, action: Action::Write { at, buffer } });
        }
        tags
    }

    fn take_write(&mut self, at: u64, bytes: &[u8]) {
        let unit = self.block_bytes();
        self.writes += 1;
        let blocks: Vec<u64> = (at / unit as u64..).take(bytes.len() / unit).collect();
        for (block, bytes) in blocks.iter().zip(bytes.chunks_exact(unit)) {
            self.cached.insert(*block, (self.writes, bytes.into()));
        }
        // During a flush, everything keeps its order.
        if self.flushing.is_some() || self.random.below(WRITTEN_BACK_OF) != 0 {
            return;
        }
        let whole = self.random.below(2) == 0;
        let chosen: Vec<u64> = blocks.into_iter().filter(|_| whole || self.random.below(2) == 0).collect();
        let chosen: Vec<u64> = chosen.into_iter().filter(|block| self.leaving.insert(*block)).collect();
        self.write_back(chosen);
    }

    fn take_read(&mut self, request: DiskRequest) {
        let (at, length) = request.action.range();
        let unit = self.block_bytes();
        let numbers = (at / unit as u64..).take(length as usize / unit);
        let found = numbers.enumerate().filter_map(|(place, block)| {
            let (_, bytes) = self.cached.get(&block)?;
            Some((place * unit, bytes.clone()))
        });
        self.reads.insert(request.tag, found.collect());
        self.send(request);
    }

    fn take_discard(&mut self, request: DiskRequest) {
        let (at, length) = request.action.range();
        let unit = self.block_bytes() as u64;
        for block in at / unit..(at + length) / unit {
            self.cached.remove(&block);
        }
        self.send(request);
    }

    /// Starts the next flush, once nothing is in flight that could complete after it.
    fn begin_flush(&mut self) {
        if self.flushing.is_some() || !self.own.is_empty() {
            return;
        }
        let Some(request) = self.waiting.pop_front() else { return };
        let blocks: Vec<(u64, u64)> = self.cached.iter().map(|(block, (write, _))| (*block, *write)).collect();
        let left = self.write_back(blocks.iter().map(|(block, _)| *block).collect()).into_iter().collect();
        self.flushing = Some(Flushing { request, blocks, left, failed: None, is_last_step: false });
        self.go_on_flushing();
    }

    fn go_on_flushing(&mut self) {
        let Some(flushing) = &mut self.flushing else { return };
        if flushing.left.is_empty() && !flushing.is_last_step {
            flushing.is_last_step = true;
            let tag = self.next_tag;
            self.next_tag += 1;
            flushing.left.insert(tag);
            self.own.insert(tag, Vec::new());
            self.send(DiskRequest { tag, action: Action::Flush });
        }
    }

    /// An internal request has completed.
    fn ended(&mut self, completion: &DiskCompletion, blocks: &[u64]) {
        for block in blocks {
            self.leaving.remove(block);
        }
        let Some(flushing) = &mut self.flushing else { return };
        if !flushing.left.remove(&completion.tag) {
            return;
        }
        flushing.failed = flushing.failed.or(completion.result.err());
        if flushing.left.is_empty() && flushing.is_last_step {
            let Some(Flushing { request, blocks, failed, .. }) = self.flushing.take() else { return };
            if failed.is_none() {
                for (block, write) in blocks {
                    if self.cached.get(&block).is_some_and(|(latest, _)| *latest == write) {
                        self.cached.remove(&block);
                    }
                }
            }
            self.done.push(request.complete(failed.map_or(Ok(()), Err)));
        } else {
            self.go_on_flushing();
        }
    }

    fn sort_out(&mut self, mut completion: DiskCompletion) {
        if let Some(blocks) = self.own.remove(&completion.tag) {
            self.ended(&completion, &blocks);
            return;
        }
        let found = self.reads.remove(&completion.tag).unwrap_or_default();
        if let Some(buffer) = completion.buffer.as_mut() {
            for (place, bytes) in found {
                buffer[place..place + bytes.len()].copy_from_slice(&bytes);
            }
        }
        self.done.push(completion);
    }
}

impl<D: BlockDevice> BlockDevice for Volatile<D> {
    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        if let Some(answer) = self.device.geometry().answer(&request.action) {
            self.done.push(request.complete(answer));
            return Ok(());
        }
        match &request.action {
            Action::Write { at, buffer } => {
                self.take_write(*at, buffer);
                self.done.push(request.complete(Ok(())));
            }
            Action::Read { .. } => self.take_read(request),
            Action::Discard { .. } => self.take_discard(request),
            Action::Flush => {
                self.waiting.push_back(request);
                self.begin_flush();
            }
        }
        Ok(())
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>) {
        let mut arrived = Vec::new();
        loop {
            while let Some(request) = self.backlog.pop_front() {
                if let Err(refused) = self.device.submit(request) {
                    self.backlog.push_front(refused);
                    break;
                }
            }
            self.has_sent = false;
            self.device.reap(wait && self.done.is_empty(), &mut arrived);
            arrived.drain(..).for_each(|completion| self.sort_out(completion));
            self.begin_flush();
            let is_under_way = !self.own.is_empty() || !self.reads.is_empty();
            // Only internal requests may have completed, and submitted requests have to be started.
            if !self.has_sent && (!wait || !self.done.is_empty() || !is_under_way) {
                break;
            }
        }
        done.append(&mut self.done);
    }

    fn waking(&mut self) -> Option<OwnedFd> {
        self.device.waking()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::{SIZE, exercise};
    use crate::{RamDisk, Shuffled};

    #[test]
    fn it_agrees_with_the_others() {
        let expected = exercise(&mut RamDisk::new(SIZE, 512));
        for seed in 0..20 {
            let mut plain = Volatile::new(RamDisk::new(SIZE, 512), seed);
            assert!(exercise(&mut plain) == expected, "seed {seed}");
            let mut shuffled = Volatile::new(Shuffled::new(RamDisk::new(SIZE, 512), seed), seed);
            assert!(exercise(&mut shuffled) == expected, "shuffled, seed {seed}");
        }
    }

    fn write(device: &mut impl BlockDevice, at: u64, byte: u8) {
        let mut buffer = Buffer::zeroed(2048);
        buffer.fill(byte);
        device.submit(DiskRequest { tag: 1, action: Action::Write { at, buffer } }).unwrap();
        device.reap(true, &mut Vec::new());
    }

    fn flush(device: &mut impl BlockDevice) {
        device.submit(DiskRequest { tag: 2, action: Action::Flush }).unwrap();
        let mut done = Vec::new();
        device.reap(true, &mut done);
        assert!(matches!(&done[..], [DiskCompletion { result: Ok(()), .. }]), "{done:?}");
    }

    /// The content of the device below at an offset.
    fn below(device: &mut Volatile<RamDisk>, at: u64) -> u8 {
        let action = Action::Read { at, buffer: Buffer::zeroed(512) };
        device.device.submit(DiskRequest { tag: 3, action }).unwrap();
        let mut done = Vec::new();
        device.device.reap(true, &mut done);
        let answer = done.iter().find(|completion| completion.tag == 3).unwrap();
        answer.buffer.as_ref().unwrap()[0]
    }

    #[test]
    fn what_was_flushed_is_there_and_the_rest_may_be_lost_kept_or_torn() {
        let mut seen = HashSet::new();
        for seed in 0..200 {
            let mut device = Volatile::new(RamDisk::new(SIZE, 512), seed);
            write(&mut device, 0, 1);
            flush(&mut device);
            write(&mut device, 0, 2);
            write(&mut device, 4096, 3);
            let blocks = [0, 512, 1024, 1536].map(|at| below(&mut device, at));
            assert!(blocks.iter().all(|byte| matches!(byte, 1 | 2)), "{blocks:?}");
            seen.insert(blocks);
        }
        assert!(seen.contains(&[1; 4]) && seen.contains(&[2; 4]) && seen.len() > 4, "{seen:?}");
    }
}
