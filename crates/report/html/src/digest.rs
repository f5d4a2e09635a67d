//! The part of each trial that a report of a study keeps, so that a study of any length fits into
//! memory.
//!
//! Whole histograms are kept: percentiles of several trials come from their sum, never from
//! averages of percentiles.

use iolab_aggregate::{Latency, Throughput, WholeRun};
use iolab_histogram::SparseHistogram;
use iolab_plan::Direction;
use iolab_recording::{Finding, HostFacts, LoopOverhead, Recording};
use iolab_study::TrialId;

/// One trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Digest {
    /// The trial in the design.
    pub planned: TrialId,
    /// The machine it ran on.
    pub host: HostFacts,
    /// Version of the program.
    pub iolab_version: String,
    /// Start, ns since the Unix epoch.
    pub started_unix_ns: u64,
    /// Its length, ns.
    pub elapsed_ns: u64,
    /// Reads, writes and trims, of all workers.
    pub directions: [DirectionDigest; 3],
    /// The sum of all directions.
    pub done: Throughput,
    /// User time of the workers, ns.
    pub user_ns: u64,
    /// System time of the workers, ns.
    pub system_ns: u64,
    /// Context switches of the workers.
    pub context_switches: u64,
    /// Sum of the workers' measured times, ns.
    pub runtime_ns: u64,
    /// The tool's own cost.
    pub overheads: Vec<LoopOverhead>,
    /// Its findings.
    pub findings: Vec<Finding>,
    /// Other warnings about the run.
    pub warnings: Vec<String>,
    /// Merges and request sizes of the topmost device, if there is one.
    pub device: Option<DeviceDigest>,
}

/// One direction of a trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DirectionDigest {
    /// Operations, bytes, and the time that they took.
    pub done: Throughput,
    /// Latencies (reaped - begun), ns.
    pub lat: SparseHistogram,
    /// Response times of a paced load, ns.
    pub response: SparseHistogram,
}

/// The activity of a block device in a trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceDigest {
    /// Kernel name.
    pub name: String,
    /// Requests completed, of reads and writes.
    pub requests: [u64; 2],
    /// Requests merged.
    pub merges: [u64; 2],
    /// Bytes moved.
    pub bytes: [u64; 2],
}

/// A sector of `/sys/block/*/stat`, bytes.
const SECTOR_BYTES: u64 = 512;

impl Digest {
    /// The digest of a trial's recording.
    pub fn of(planned: TrialId, recording: &Recording) -> Digest {
        let whole = WholeRun::new(recording);
        let [user_ns, system_ns] = whole.cpu_ns();
        let members: Vec<_> = recording.plan.workers.iter().zip(&recording.workers).collect();
        let overheads = recording.calibration.as_ref().map(|calibration| calibration.of_workers().overheads(&members));
        Digest {
            planned,
            host: recording.host.clone(),
            iolab_version: recording.iolab_version.clone(),
            started_unix_ns: recording.started_unix_ns,
            elapsed_ns: recording.elapsed_ns,
            directions: Direction::ALL.map(|direction| direction_digest(&whole, direction)),
            done: whole.throughput(&Direction::ALL),
            user_ns,
            system_ns,
            context_switches: whole.sum(|worker| worker.cpu.context_switches),
            runtime_ns: whole.sum(|worker| worker.runtime_ns),
            overheads: overheads.unwrap_or_default(),
            findings: recording.findings.clone(),
            warnings: warnings(recording),
            device: recording.devices.first().map(|device| {
                let gained = |of: fn(&iolab_recording::DeviceCounters) -> u64| {
                    of(&device.after).saturating_sub(of(&device.before))
                };
                DeviceDigest {
                    name: device.name.clone(),
                    requests: [gained(|counters| counters.read_ios), gained(|counters| counters.write_ios)],
                    merges: [gained(|counters| counters.read_merges), gained(|counters| counters.write_merges)],
                    bytes: [
                        gained(|counters| counters.read_sectors) * SECTOR_BYTES,
                        gained(|counters| counters.write_sectors) * SECTOR_BYTES,
                    ],
                }
            }),
        }
    }

    /// Operations of all directions.
    pub fn ios(&self) -> u64 {
        self.done.ios
    }
}

fn direction_digest(whole: &WholeRun<'_>, direction: Direction) -> DirectionDigest {
    DirectionDigest {
        done: whole.throughput(&[direction]),
        lat: whole.latencies(&[direction], Latency::Total),
        response: whole.latencies(&[direction], Latency::Response),
    }
}

/// Notes about a run besides its findings, without duplicates.
pub(crate) fn warnings(recording: &Recording) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    let of_workers =
        recording.workers.iter().flat_map(|worker| worker.notes.iter().cloned().chain(worker.saturation()));
    let all = recording.plan.warnings.iter().cloned().chain(recording.warnings.iter().cloned());
    for text in all.chain(recording.tool_limits()).chain(of_workers) {
        if !said.contains(&text) {
            said.push(text);
        }
    }
    said
}
