//! Operations of verification: read-back, and operations inserted between the writes.

use std::collections::VecDeque;
use std::sync::Arc;

use iolab_engine::{Op, OpKind};
use iolab_plan::{VerifyBacklog, VerifyTrim};
use iolab_random::SplitMix64;
use iolab_workload::{OpBatch, OpStream, Source};

use crate::generations::GenerationMap;

/// Reads the written data of a stream: repeats its writes as reads, in the same order, each place
/// once.
pub struct ReadBack {
    stream: OpStream,
    batch: OpBatch,
    maps: Arc<[GenerationMap]>,
    /// Writes that were sent.
    left: u64,
}

impl ReadBack {
    /// `stream` begins where the writes began; `writes` of them were sent.
    pub fn new(stream: OpStream, maps: Arc<[GenerationMap]>, writes: u64) -> ReadBack {
        ReadBack { stream, batch: OpBatch::new(), maps, left: writes }
    }
}

impl Source for ReadBack {
    fn fill(&mut self, out: &mut OpBatch) {
        out.clear();
        while out.room() > 0 && self.left > 0 {
            let Some(op) = self.batch.pop_front() else {
                if self.stream.fill(&mut self.batch) == 0 {
                    self.left = 0;
                }
                continue;
            };
            if op.kind != OpKind::Write {
                continue;
            }
            self.left -= 1;
            let map = &self.maps[op.file as usize];
            if map.see(&map.range(op.offset, u64::from(op.length))) {
                out.push(Op { kind: OpKind::Read, ..op });
            }
        }
    }

    fn restart(&mut self) {}

    fn memory_bytes(&self) -> usize {
        self.stream.memory_bytes()
    }
}

/// A stream with verification and discards between its writes.
pub struct Beside {
    stream: OpStream,
    batch: OpBatch,
    backlog: Option<VerifyBacklog>,
    trim: Option<VerifyTrim>,
    random: SplitMix64,
    /// Written, not yet read back.
    written: VecDeque<Op>,
    /// Writes since the last batch was read back, and reads of the batch that is due.
    since_read: u64,
    reads_due: u64,
    /// Written and chosen to be discarded.
    chosen: VecDeque<Op>,
    since_trim: u64,
    trims_due: u64,
}

impl Beside {
    /// Wraps `stream`. `seed` determines which writes are discarded.
    pub fn new(stream: OpStream, backlog: Option<VerifyBacklog>, trim: Option<VerifyTrim>, seed: u64) -> Beside {
        let room = |count: u64| VecDeque::with_capacity(count.min(1 << 20) as usize);
        Beside {
            stream,
            batch: OpBatch::new(),
            written: room(backlog.map_or(0, |backlog| backlog.writes)),
            chosen: room(trim.map_or(0, |trim| trim.writes)),
            random: SplitMix64::new(seed),
            since_read: 0,
            reads_due: 0,
            since_trim: 0,
            trims_due: 0,
            backlog,
            trim,
        }
    }

    /// An operation that comes before the next of the stream.
    fn due(&mut self) -> Option<Op> {
        if self.trims_due > 0 {
            if let Some(op) = self.chosen.pop_front() {
                self.trims_due -= 1;
                return Some(Op { kind: OpKind::Trim, ..op });
            }
            self.trims_due = 0;
        }
        if self.reads_due > 0 {
            if let Some(op) = self.written.pop_front() {
                self.reads_due -= 1;
                return Some(Op { kind: OpKind::Read, ..op });
            }
            self.reads_due = 0;
        }
        None
    }

    fn wrote(&mut self, op: Op) {
        if let Some(backlog) = self.backlog {
            self.written.push_back(op);
            // Writes that were not read back in time are read at the end.
            if self.written.len() as u64 > backlog.writes {
                self.written.pop_front();
            }
            self.since_read += 1;
            if self.since_read >= backlog.writes {
                self.since_read = 0;
                self.reads_due = backlog.batch;
            }
        }
        if let Some(trim) = self.trim {
            if self.random.below(100) < u64::from(trim.percent) {
                self.chosen.push_back(op);
            }
            self.since_trim += 1;
            if self.since_trim >= trim.writes {
                self.since_trim = 0;
                self.trims_due = trim.batch;
            }
        }
    }
}

impl Source for Beside {
    fn fill(&mut self, out: &mut OpBatch) {
        out.clear();
        while out.room() > 0 {
            if let Some(op) = self.due() {
                out.push(op);
                continue;
            }
            let Some(op) = self.batch.pop_front() else {
                if self.stream.fill(&mut self.batch) == 0 {
                    return;
                }
                continue;
            };
            out.push(op);
            if op.kind == OpKind::Write {
                self.wrote(op);
            }
        }
    }

    fn restart(&mut self) {
        self.stream.restart();
        self.batch.clear();
        self.written.clear();
        self.chosen.clear();
        (self.since_read, self.reads_due, self.since_trim, self.trims_due) = (0, 0, 0, 0);
    }

    fn memory_bytes(&self) -> usize {
        self.stream.memory_bytes() + (self.written.capacity() + self.chosen.capacity()) * size_of::<Op>()
    }
}

/// Reads everything that the maps know, file by file, by ascending offset.
pub struct ReadKnown {
    maps: Arc<[GenerationMap]>,
    /// End of each file, bytes.
    ends: Vec<u64>,
    most_bytes: u64,
    file: usize,
    interval: usize,
}

impl ReadKnown {
    /// For files that end at `ends`, in reads of at most `most_bytes`.
    pub fn new(maps: Arc<[GenerationMap]>, ends: Vec<u64>, most_bytes: u64) -> ReadKnown {
        ReadKnown { maps, ends, most_bytes, file: 0, interval: 0 }
    }
}

impl Source for ReadKnown {
    fn fill(&mut self, out: &mut OpBatch) {
        out.clear();
        while out.room() > 0 {
            let (Some(map), Some(end)) = (self.maps.get(self.file), self.ends.get(self.file)) else { return };
            let most = usize::try_from(self.most_bytes / map.interval_bytes()).unwrap_or(usize::MAX);
            let known = map.known_from(self.interval, most).filter(|known| map.offset_of(known.start) < *end);
            let Some(known) = known else {
                (self.file, self.interval) = (self.file + 1, 0);
                continue;
            };
            let offset = map.offset_of(known.start);
            let length = map.offset_of(known.end).min(*end) - offset;
            self.interval = known.end;
            out.push(Op {
                offset,
                length: length as u32,
                buffer_offset: 0,
                file: self.file as u32,
                slot: 0,
                kind: OpKind::Read,
                priority: 0,
            });
        }
    }

    fn restart(&mut self) {
        (self.file, self.interval) = (0, 0);
    }

    fn memory_bytes(&self) -> usize {
        self.ends.capacity() * size_of::<u64>()
    }
}

/// Advances the maps as if `passes` of a stream had been written, without writing.
pub fn simulate(stream: &mut OpStream, maps: &[GenerationMap], passes: u64) -> u64 {
    let (mut batch, mut writes) = (OpBatch::new(), 0);
    for pass in 0..passes {
        writes = 0;
        while stream.fill(&mut batch) > 0 {
            for op in batch.by_ref().filter(|op| op.kind == OpKind::Write) {
                let map = &maps[op.file as usize];
                let range = map.range(op.offset, u64::from(op.length));
                map.written(&range, false);
                writes += 1;
            }
        }
        if pass + 1 < passes {
            stream.restart();
        }
    }
    writes
}
