//! Delays the completions of a device by any clock; with a simulated one, waiting advances the
//! clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use iolab_clock::Clock;

use crate::{ActionKind, BlockDevice, DiskCompletion, DiskRequest, Geometry};

/// How long requests take, from submission to completion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delays {
    /// A read, ns.
    pub read_ns: u64,
    /// A write, ns.
    pub write_ns: u64,
    /// A flush, ns.
    pub flush_ns: u64,
    /// Added for each KiB transferred, ns.
    pub per_kib_ns: u64,
}

impl Delays {
    fn of(&self, request: &DiskRequest) -> u64 {
        let base = match request.action.kind() {
            ActionKind::Read => self.read_ns,
            ActionKind::Write => self.write_ns,
            ActionKind::Flush => self.flush_ns,
            ActionKind::Discard => 0,
        };
        base.saturating_add((request.action.range().1 / 1024).saturating_mul(self.per_kib_ns))
    }
}

/// Holds each completion back until its time.
#[derive(Debug)]
pub struct Delayed<D> {
    device: D,
    clock: Clock,
    delays: Delays,
    due_ns: HashMap<u64, u64>,
    /// Held completions, by time, then by arrival.
    kept: BTreeMap<(u64, u64), DiskCompletion>,
    arrivals: u64,
}

impl<D: BlockDevice> Delayed<D> {
    /// Wraps a device, with the clock to use and the delays.
    pub fn new(device: D, clock: Clock, delays: Delays) -> Delayed<D> {
        Delayed { device, clock, delays, due_ns: HashMap::new(), kept: BTreeMap::new(), arrivals: 0 }
    }

    fn hand_out(&mut self, done: &mut Vec<DiskCompletion>) {
        let now = self.clock.now_ns();
        while let Some(first) = self.kept.first_entry().filter(|first| Reverse(first.key().0) >= Reverse(now)) {
            done.push(first.remove());
        }
    }
}

impl<D: BlockDevice> BlockDevice for Delayed<D> {
    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        let (tag, due) = (request.tag, self.clock.now_ns().saturating_add(self.delays.of(&request)));
        self.device.submit(request)?;
        self.due_ns.insert(tag, due);
        Ok(())
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>) {
        let mut arrived = Vec::new();
        self.device.reap(wait && self.kept.is_empty(), &mut arrived);
        for completion in arrived {
            let due = self.due_ns.remove(&completion.tag).unwrap_or(0);
            self.kept.insert((due, self.arrivals), completion);
            self.arrivals += 1;
        }
        let before = done.len();
        self.hand_out(done);
        while wait && done.len() == before {
            let Some((&(due, _), _)) = self.kept.first_key_value() else { return };
            self.clock.sleep_until(due, 0);
            self.hand_out(done);
        }
    }
}
