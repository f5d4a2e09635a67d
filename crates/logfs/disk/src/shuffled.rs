//! A device that completes requests in any order, and with a delay.

use crate::{BlockDevice, DiskCompletion, DiskRequest, Geometry};

/// Holds completions back and returns them in an order that depends on a seed. The same seed and
/// requests give the same order.
#[derive(Debug)]
pub struct Shuffled<D> {
    device: D,
    kept: Vec<DiskCompletion>,
    state: u64,
}

impl<D: BlockDevice> Shuffled<D> {
    /// Wraps a device, with the seed of the order.
    pub fn new(device: D, seed: u64) -> Shuffled<D> {
        Shuffled { device, kept: Vec::new(), state: seed }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) % limit as u64) as usize
    }
}

impl<D: BlockDevice> BlockDevice for Shuffled<D> {
    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        self.device.submit(request)
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>) {
        self.device.reap(wait && self.kept.is_empty(), &mut self.kept);
        if self.kept.is_empty() {
            return;
        }
        let count = if wait { 1 } else { self.below(2) };
        for _ in 0..count {
            let chosen = self.below(self.kept.len());
            done.push(self.kept.swap_remove(chosen));
        }
    }
}
