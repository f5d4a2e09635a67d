//! Counts the requests to a device.

use std::cell::Cell;
use std::rc::Rc;

use crate::{ActionKind, BlockDevice, DiskCompletion, DiskRequest, Geometry};

/// Requests and bytes so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
}

/// A device that counts its requests.
#[derive(Debug)]
pub struct Counting<D> {
    device: D,
    counts: Rc<Cell<Counts>>,
}

impl<D: BlockDevice> Counting<D> {
    /// Wraps a device; also returns the counts, which are updated as it is used.
    pub fn new(device: D) -> (Counting<D>, Rc<Cell<Counts>>) {
        let counts = Rc::default();
        (Counting { device, counts: Rc::clone(&counts) }, counts)
    }
}

impl<D: BlockDevice> BlockDevice for Counting<D> {
    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        let (kind, (_, bytes)) = (request.action.kind(), request.action.range());
        self.device.submit(request)?;
        let mut counts = self.counts.get();
        match kind {
            ActionKind::Read => (counts.reads, counts.read_bytes) = (counts.reads + 1, counts.read_bytes + bytes),
            ActionKind::Write => {
                (counts.writes, counts.written_bytes) = (counts.writes + 1, counts.written_bytes + bytes);
            }
            ActionKind::Flush => counts.flushes += 1,
            ActionKind::Discard => counts.discards += 1,
        }
        self.counts.set(counts);
        Ok(())
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>) {
        self.device.reap(wait, done);
    }
}
