//! Loads in virtual time: they measure a drive in only the time that computing takes.
//!
//! Guarantees: the same seed gives the same numbers. This module does not draw, and has no loads
//! that a job file could describe. Its loads are for curves that would take days on a real drive.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use iolab_random::SplitMix64;

use crate::model::TimingModel;
use crate::request::{CommandKind, CompletionTime, TimedCommand};

/// A host that keeps a number of commands outstanding in one queue. A command that finds no room
/// blocks those behind it.
#[derive(Debug, Clone)]
pub struct ClosedLoop {
    depth: usize,
    now_ns: u64,
    outstanding: BinaryHeap<Reverse<u64>>,
}

impl ClosedLoop {
    /// Starts at `now_ns` with no outstanding commands. A depth of 0 counts as 1.
    pub fn new(depth: usize, now_ns: u64) -> Self {
        Self { depth: depth.max(1), now_ns, outstanding: BinaryHeap::new() }
    }

    /// Issues a command as soon as the depth and the drive's buffer allow. Returns when it was
    /// accepted and when it completes.
    pub fn issue(&mut self, drive: &mut TimingModel, request: &TimedCommand) -> (u64, u64) {
        while self.outstanding.len() >= self.depth {
            self.complete_one();
        }
        loop {
            match drive.schedule(self.now_ns, request) {
                CompletionTime::At(target_ns) => {
                    self.outstanding.push(Reverse(target_ns));
                    return (self.now_ns, target_ns);
                }
                CompletionTime::Retry { not_before_ns } => match self.outstanding.peek() {
                    Some(Reverse(at_ns)) if *at_ns <= not_before_ns => self.complete_one(),
                    _ => self.now_ns = self.now_ns.max(not_before_ns),
                },
            }
        }
    }

    /// Waits for all commands. Returns the time after that.
    pub fn drain(&mut self) -> u64 {
        while !self.outstanding.is_empty() {
            self.complete_one();
        }
        self.now_ns
    }

    /// The time of the last event.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn complete_one(&mut self) {
        if let Some(Reverse(at_ns)) = self.outstanding.pop() {
            self.now_ns = self.now_ns.max(at_ns);
        }
    }
}

/// A load of one kind of command.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Reads or writes.
    pub kind: CommandKind,
    /// Whether offsets are uniformly random; otherwise sequential from the start.
    pub random: bool,
    /// Size of a command in bytes; offsets are multiples of it.
    pub bytes: u64,
    /// Commands outstanding.
    pub depth: usize,
    /// Number of commands.
    pub count: u64,
    /// Seed of the random offsets.
    pub seed: u64,
}

/// The result of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadResult {
    /// When the last command completed.
    pub end_ns: u64,
    /// Commands per second.
    pub iops: f64,
    /// 10^6 bytes per second.
    pub mb_per_second: f64,
    /// Mean time from acceptance to completion.
    pub mean_ns: f64,
}

/// Runs a load from `start_ns`, in a closed loop with its depth.
pub fn run(drive: &mut TimingModel, start_ns: u64, load: &Load) -> LoadResult {
    let bytes = load.bytes.max(1);
    let places = (drive.visible_bytes() / bytes).max(1);
    let (mut host, mut random) = (ClosedLoop::new(load.depth, start_ns), SplitMix64::new(load.seed));
    let mut total_ns = 0;
    for number in 0..load.count {
        let place = if load.random { random.below(places) } else { number % places };
        let request = TimedCommand { kind: load.kind, offset_bytes: place * bytes, length_bytes: bytes, fua: false };
        let (accepted_ns, target_ns) = host.issue(drive, &request);
        total_ns += target_ns - accepted_ns;
    }
    let end_ns = host.drain();
    let iops = load.count as f64 * 1e9 / (end_ns - start_ns).max(1) as f64;
    let mean_ns = total_ns as f64 / load.count.max(1) as f64;
    LoadResult { end_ns, iops, mb_per_second: iops * bytes as f64 / 1e6, mean_ns }
}

/// The age of a drive before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// Fresh: no page is mapped.
    Fresh,
    /// Written once sequentially.
    Filled,
    /// Filled, then overwritten at random in pieces of 4 KiB.
    Overwritten {
        /// How much is overwritten, in multiples of the visible capacity.
        drive_writes: u64,
        /// Seed of the random offsets.
        seed: u64,
    },
}

/// Ages a drive in virtual time and settles it, so that it starts idle at time 0 with its counters
/// at zero. Zoned drives can only be filled: they accept no random writes.
pub fn age(drive: &mut TimingModel, age: Age) {
    let most_bytes = 128 << 10;
    let bytes = match drive {
        // A write ends where its zone ends, so a whole number of writes must fill a zone.
        TimingModel::Zoned(zoned) => most_bytes.min(1 << zoned.zone_bytes().trailing_zeros()),
        _ => most_bytes,
    };
    let fill = Load {
        kind: CommandKind::Write,
        random: false,
        bytes,
        depth: 8,
        count: drive.visible_bytes() / bytes,
        seed: 0,
    };
    match age {
        Age::Fresh => {}
        Age::Filled => {
            run(drive, 0, &fill);
        }
        Age::Overwritten { drive_writes, seed } => {
            let end_ns = run(drive, 0, &fill).end_ns;
            let count = (drive.visible_bytes() / 4096).saturating_mul(drive_writes);
            if !matches!(drive, TimingModel::Zoned(_)) {
                run(drive, end_ns, &Load { random: true, bytes: 4096, depth: 32, count, seed, ..fill });
            }
        }
    }
    drive.settle();
}

/// A section of a drive's life.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Host bytes written since the curve began, in multiples of its visible capacity.
    pub drive_writes: f64,
    /// Time since the curve began, in seconds.
    pub seconds: f64,
    /// Writes per second in this section.
    pub iops: f64,
    /// Bytes written to flash per byte written by the host, in this section.
    pub write_amplification: f64,
    /// Free lines at its end.
    pub free_lines: u64,
}

/// The parameters of an overwrite curve.
#[derive(Debug, Clone, Copy)]
pub struct Overwriting {
    /// Commands outstanding.
    pub depth: usize,
    /// Size of a write in bytes; writes are aligned to it.
    pub write_bytes: u64,
    /// How many times the visible capacity is written.
    pub drive_writes: u64,
    /// Points for each multiple of the visible capacity.
    pub points_per_drive_write: u64,
    /// Seed of the random offsets.
    pub seed: u64,
    /// Whether the drive is first written once sequentially. Otherwise, a part of the capacity
    /// stays unmapped for a long time, which acts like more spare.
    pub fill_first: bool,
}

/// Writes a drive at uniformly random offsets of its visible capacity, and returns the curve from
/// fresh to steady.
pub fn overwrite_at_random(drive: &mut TimingModel, how: &Overwriting, mut point: impl FnMut(CurvePoint)) {
    let visible = drive.visible_bytes();
    let places = (visible / how.write_bytes.max(1)).max(1);
    let per_point = (places / how.points_per_drive_write.max(1)).max(1);
    let fill_bytes = 128 << 10;
    let count = if how.fill_first { visible.div_ceil(fill_bytes) } else { 0 };
    let fill = Load { kind: CommandKind::Write, random: false, bytes: fill_bytes, depth: 8, count, seed: 0 };
    let began_ns = run(drive, 0, &fill).end_ns;
    let began = drive.statistics();
    let (mut host, mut random) = (ClosedLoop::new(how.depth, began_ns), SplitMix64::new(how.seed));
    let (mut before, mut started_ns) = (began, began_ns);
    let points = how.drive_writes.saturating_mul(places) / per_point;
    for _ in 0..points {
        for _ in 0..per_point {
            host.issue(drive, &TimedCommand::write(random.below(places) * how.write_bytes, how.write_bytes));
        }
        let (now, now_ns) = (drive.statistics(), host.now_ns());
        let stretch = now.since(&before);
        point(CurvePoint {
            drive_writes: now.since(&began).host_written_bytes as f64 / visible as f64,
            seconds: (now_ns - began_ns) as f64 / 1e9,
            iops: per_point as f64 * 1e9 / (now_ns - started_ns).max(1) as f64,
            write_amplification: stretch.write_amplification().unwrap_or(1.0),
            free_lines: now.free_lines,
        });
        (before, started_ns) = (now, now_ns);
    }
}
