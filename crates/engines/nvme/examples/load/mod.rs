//! Random 4 KiB reads of an NVMe device through the driver alone: no lane, no statistics, as little
//! other work as possible.
//!
//! The driver's work is in two functions that are never inlined, so that callgrind can count them
//! separately (`--toggle-collect=*driver_submit*`). Deliberately not here: output, and serving
//! devices.

#![allow(dead_code, reason = "each example uses a part of it")]

use std::error::Error;
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_engine_nvme::{AnyPair, DeviceName, Opened, open, open_inline};
use iolab_memory::SharedBytes;
use iolab_nvme_driver::{DataWindow, Namespace, QueueOptions, Submit};
use iolab_virtual_ssd::{Config, Subsystem};

/// Bytes of a read.
pub(crate) const BYTES: u32 = 4096;
/// Bytes of a write that lays out the device.
const LONG_BYTES: u32 = 128 << 10;
/// Rounds between two readings of the clock.
const ROUNDS_PER_LOOK: u32 = 64;
/// How far a simulated clock advances per round: a fraction of the time of a flash read, so that a
/// poll of the device finds a few completed reads, and hardly ever none.
const STEP_NS: u64 = 20_000;

/// When a loop ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    AfterReads(u64),
    AfterNs(u64),
}

/// A device and a queue pair on it.
#[derive(Debug)]
pub(crate) struct Load {
    // Before the device, which must outlive it.
    pair: AnyPair,
    opened: Opened,
    namespace: Namespace,
    clock: Clock,
    /// Bus address of the data: room for [`LONG_BYTES`] for each slot.
    address: u64,
    depth: u16,
    idle: Vec<u16>,
    random: u64,
    /// Blocks of a read, and the number of possible offsets: computed beforehand, so that only the
    /// driver is counted.
    reads: (u32, u64),
    /// Where the last read was.
    offset_bytes: u64,
}

impl Load {
    /// A device by its name, with the best clock there is.
    pub(crate) fn on(name: &str, depth: u16) -> Result<Load, Box<dyn Error>> {
        let name: DeviceName = DeviceName::parse(name)?;
        Load::of(open(&name)?, Clock::best().0, depth)
    }

    /// A device in this thread whose time is `clock`.
    pub(crate) fn inline(parameters: &str, clock: &Clock, depth: u16) -> Result<Load, Box<dyn Error>> {
        let drive: Arc<Subsystem> = Subsystem::new(Config::parse(parameters)?)?;
        Load::of(open_inline(&drive, clock)?, clock.clone(), depth)
    }

    fn of(opened: Opened, clock: Clock, depth: u16) -> Result<Load, Box<dyn Error>> {
        let memory = SharedBytes::memfd("load", usize::from(depth) * LONG_BYTES as usize)?;
        let address = opened.controller.map(&memory)?;
        let namespace = opened.controller.namespace(1)?;
        let pair = opened.controller.queue_pair(QueueOptions::with_slots(depth))?;
        let idle = (0..depth).collect();
        let blocks = BYTES / namespace.block_bytes();
        Ok(Load {
            pair,
            opened,
            namespace,
            clock,
            address,
            depth,
            reads: (blocks, namespace.blocks() / u64::from(blocks)),
            idle,
            random: 0x9e37_79b9_7f4a_7c15,
            offset_bytes: 0,
        })
    }

    /// Writes the whole device, so that its memory is allocated and its map is full.
    pub(crate) fn lay_out(&mut self) -> Result<(), Box<dyn Error>> {
        let blocks = LONG_BYTES / self.namespace.block_bytes();
        let mut lba = 0;
        while lba < self.namespace.blocks() || self.pair.in_flight() > 0 {
            while lba < self.namespace.blocks()
                && let Some(slot) = self.idle.pop()
            {
                let data = self.data(slot, LONG_BYTES);
                expect(self.pair.write(slot, &self.namespace, lba, blocks, data))?;
                lba += u64::from(blocks);
            }
            self.pair.flush();
            self.opened.poll();
            let (idle, mut failed) = (&mut self.idle, false);
            self.pair.reap(usize::from(self.depth), |ended| {
                idle.push(ended.slot);
                failed |= !ended.outcome.is_done();
            })?;
            if failed {
                return Err("a write failed".into());
            }
            self.clock.advance(STEP_NS);
        }
        Ok(())
    }

    /// Reads at the depth until `end`. Returns reads and nanoseconds.
    pub(crate) fn reads(&mut self, end: End) -> Result<(u64, u64), Box<dyn Error>> {
        let start_ns = self.clock.now_ns();
        let (mut done, mut rounds) = (0, 0u32);
        loop {
            self.driver_submit()?;
            self.opened.poll();
            done += self.driver_reap()?;
            self.clock.advance(STEP_NS);
            rounds += 1;
            let over = match end {
                End::AfterReads(reads) => done >= reads,
                End::AfterNs(ns) => {
                    rounds.is_multiple_of(ROUNDS_PER_LOOK) && self.clock.now_ns().saturating_sub(start_ns) >= ns
                }
            };
            if over {
                let spent_ns = self.clock.now_ns() - start_ns;
                self.drain()?;
                return Ok((done, spent_ns));
            }
        }
    }

    /// One read after the other. Calls `each` with its place, the time before its submission and
    /// after its completion.
    pub(crate) fn one_by_one(&mut self, reads: u64, mut each: impl FnMut(u64, u64, u64)) -> Result<(), Box<dyn Error>> {
        self.idle.truncate(1);
        let mut start_ns = self.clock.now_ns();
        for _ in 0..reads {
            self.driver_submit()?;
            while self.driver_reap()? == 0 {
                self.opened.poll();
            }
            let end_ns = self.clock.now_ns();
            each(self.offset_bytes, start_ns, end_ns);
            start_ns = self.clock.now_ns();
        }
        Ok(())
    }

    /// Submits a read from every idle slot, with one doorbell.
    #[inline(never)]
    fn driver_submit(&mut self) -> Result<(), Box<dyn Error>> {
        let (blocks, places) = self.reads;
        while let Some(slot) = self.idle.pop() {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            // The upper half of the product is uniform below `places`, without a division.
            let place = ((u128::from(self.random) * u128::from(places)) >> 64) as u64;
            self.offset_bytes = place * u64::from(BYTES);
            let data = self.data(slot, BYTES);
            expect(self.pair.read(slot, &self.namespace, place * u64::from(blocks), blocks, data))?;
        }
        self.pair.flush();
        Ok(())
    }

    #[inline(never)]
    fn driver_reap(&mut self) -> Result<u64, Box<dyn Error>> {
        let (idle, mut failed) = (&mut self.idle, false);
        let reaped = self.pair.reap(usize::from(self.depth), |ended| {
            idle.push(ended.slot);
            failed |= !ended.outcome.is_done();
        })?;
        if failed { Err("a read failed".into()) } else { Ok(reaped as u64) }
    }

    /// Slots are adjacent, as in a pool: a large power of two between them would make them share a
    /// few sets of the cache.
    #[inline]
    fn data(&self, slot: u16, bytes: u32) -> DataWindow {
        DataWindow::new(self.address + u64::from(slot) * u64::from(bytes), bytes)
    }

    /// Waits for reads in flight.
    fn drain(&mut self) -> Result<(), Box<dyn Error>> {
        while self.pair.in_flight() > 0 {
            self.opened.poll();
            self.driver_reap()?;
            self.clock.advance(STEP_NS);
        }
        Ok(())
    }
}

#[inline]
fn expect(submit: Submit) -> Result<(), Box<dyn Error>> {
    if submit == Submit::Accepted { Ok(()) } else { Err(format!("not accepted: {submit:?}").into()) }
}

/// The quantile of this share.
pub(crate) fn quantile(values: &mut [u64], share: f64) -> u64 {
    values.sort_unstable();
    let place = (values.len() as f64 * share) as usize;
    values.get(place.min(values.len().saturating_sub(1))).copied().unwrap_or(0)
}
