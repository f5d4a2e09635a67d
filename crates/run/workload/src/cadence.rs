//! Syncs inserted into the stream after a given number of writes.
//!
//! If several are due after the same write, only the strongest is sent: `fsync` (also for
//! barriers), then `fdatasync`, then `sync_file_range`. A sync comes before the operation that
//! follows the write, and goes to the written file. After the last write of a pass it waits for the
//! next pass, as in fio. Syncs count towards no limit.

use iolab_engine::{Op, OpKind};
use iolab_plan::SyncCadence;

use crate::OpBatch;
use crate::stream::Source;
use crate::within::Within;

/// Inserts syncs between the operations of the inner stream.
pub(crate) struct Cadence {
    within: Within,
    /// Fsync, barrier, fdatasync, sync_file_range.
    countdowns: [Countdown; 4],
    /// For each file, the range written since its last `sync_file_range`: first byte and end.
    written: Box<[(u64, u64)]>,
    due: Option<Op>,
}

#[derive(Debug, Clone, Copy)]
struct Countdown {
    every: u32,
    left: u32,
    kind: OpKind,
}

impl Countdown {
    fn new(every: u32, kind: OpKind) -> Countdown {
        Countdown { every, left: every, kind }
    }

    /// Counts one write. Returns whether a sync is due.
    #[inline]
    fn tick(&mut self) -> bool {
        if self.every == 0 {
            return false;
        }
        self.left -= 1;
        let due = self.left == 0;
        if due {
            self.left = self.every;
        }
        due
    }
}

const NOTHING_WRITTEN: (u64, u64) = (u64::MAX, 0);

impl Cadence {
    /// Whether the plan asks for any sync.
    pub(crate) fn is_asked(plan: &SyncCadence) -> bool {
        let range = plan.file_range.is_some_and(|range| range.every > 0);
        range || plan.fsync_every > 0 || plan.fdatasync_every > 0 || plan.barrier_every > 0
    }

    pub(crate) fn new(within: Box<dyn Source>, plan: &SyncCadence, files: usize) -> Cadence {
        let range_every = plan.file_range.map_or(0, |range| range.every);
        let ranged = if range_every > 0 { files } else { 0 };
        Cadence {
            within: Within::new(within, files),
            countdowns: [
                Countdown::new(plan.fsync_every, OpKind::Sync),
                Countdown::new(plan.barrier_every, OpKind::Sync),
                Countdown::new(plan.fdatasync_every, OpKind::DataSync),
                Countdown::new(range_every, OpKind::SyncFileRange),
            ],
            written: vec![NOTHING_WRITTEN; ranged].into(),
            due: None,
        }
    }

    #[inline]
    fn note_write(&mut self, op: &Op) {
        if let Some(written) = self.written.get_mut(op.file as usize) {
            written.0 = written.0.min(op.offset);
            written.1 = written.1.max(op.offset + u64::from(op.length));
        }
        let mut strongest = None;
        for countdown in &mut self.countdowns {
            if countdown.tick() {
                strongest = strongest.or(Some(countdown.kind));
            }
        }
        if let Some(kind) = strongest {
            self.due = Some(self.sync(kind, op));
        }
    }

    fn sync(&mut self, kind: OpKind, after: &Op) -> Op {
        let sync = Op { offset: 0, length: 0, buffer_offset: 0, file: after.file, slot: 0, kind, priority: 0 };
        match self.written.get_mut(after.file as usize) {
            Some(written) if kind == OpKind::SyncFileRange => {
                let (first, end) = std::mem::replace(written, NOTHING_WRITTEN);
                // In sync_file_range(2), 0 means "to the end of the file". It covers ranges too
                // long for a u32.
                let length = u32::try_from(end - first).unwrap_or(0);
                Op { offset: first, length, ..sync }
            }
            _ => sync,
        }
    }
}

impl Source for Cadence {
    fn fill(&mut self, out: &mut OpBatch) {
        out.clear();
        self.within.begin_batch();
        while out.room() > 0 && self.within.goes_on(out) {
            if let Some(sync) = self.due.take() {
                out.push(sync);
                continue;
            }
            let Some(op) = self.within.next() else { return };
            out.push(op);
            if op.kind == OpKind::Write {
                self.note_write(&op);
            }
        }
    }

    fn restart(&mut self) {
        self.within.restart();
    }

    fn begun_again(&self) -> &[u32] {
        self.within.begun_again()
    }

    fn memory_bytes(&self) -> usize {
        std::mem::size_of::<Cadence>() + std::mem::size_of_val(&*self.written) + self.within.memory_bytes()
    }
}
