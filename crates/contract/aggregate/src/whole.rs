//! Figures of a whole run: all workers that count, whatever jobs and groups they belong to.

use iolab_histogram::SparseHistogram;
use iolab_plan::Direction;
use iolab_recording::{DirectionRecording, Recording, WorkerRecording};

use crate::members::{Member, members};
use crate::throughput::Throughput;

/// The work of all workers that count.
#[derive(Debug)]
pub struct WholeRun<'a> {
    members: Vec<Member<'a>>,
}

/// Which latency of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Latency {
    /// reaped - begun.
    Total,
    /// reaped - submitted.
    Completion,
    /// reaped - intended, of a paced load.
    Response,
}

impl<'a> WholeRun<'a> {
    /// Of a recording.
    pub fn new(recording: &'a Recording) -> WholeRun<'a> {
        WholeRun { members: members(recording) }
    }

    /// Its workers.
    pub fn workers(&self) -> impl Iterator<Item = &'a WorkerRecording> + '_ {
        self.members.iter().map(|(_, worker)| *worker)
    }

    /// The rate of some directions together.
    pub fn throughput(&self, directions: &[Direction]) -> Throughput {
        Throughput::of(directions, &self.members)
    }

    /// The latencies of some directions together, ns.
    pub fn latencies(&self, directions: &[Direction], latency: Latency) -> SparseHistogram {
        let mut all = SparseHistogram::default();
        for worker in self.workers() {
            directions.iter().for_each(|direction| all.merge(latency.of(&worker.directions[direction.index()])));
        }
        all
    }

    /// CPU time of the workers, ns: user, system.
    pub fn cpu_ns(&self) -> [u64; 2] {
        [self.sum(|worker| worker.cpu.user_ns), self.sum(|worker| worker.cpu.system_ns)]
    }

    /// Adds up one value of each worker.
    pub fn sum(&self, of: fn(&WorkerRecording) -> u64) -> u64 {
        self.workers().map(of).fold(0, u64::saturating_add)
    }
}

impl Latency {
    /// The histogram of one direction, ns.
    pub fn of(self, direction: &DirectionRecording) -> &SparseHistogram {
        match self {
            Latency::Total => &direction.lat,
            Latency::Completion => &direction.clat,
            Latency::Response => &direction.response,
        }
    }
}
