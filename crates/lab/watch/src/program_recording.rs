//! A foreign program as the worker of a recording.
//!
//! There is one worker, with the program's name: its reads and writes are the calls of all its
//! processes, its intervals those between samples. The calls were not timed, so it has no latencies
//! and no depths. Notes report the resulting storage activity, because caches are in between. The
//! activity of devices is recorded with the devices, for all programs together.

use std::path::Path;

use iolab_options::{Direction, EngineTraits};
use iolab_plan::{BlockSizes, EnginePlan, Plan, SourceText};
use iolab_recording::{
    CpuUse, DeviceSeries, DirectionRecording, FORMAT, HostFacts, Interval, Observations, Recording, WorkerOutcome,
    WorkerRecording,
};
use iolab_text::grouped;

use crate::process_tree::{Counts, ProcessTree};
use crate::watched::{ProgramEnd, Watched};

/// Replaces the name of an engine.
const ENGINE: &str = "program";
/// The most bytes that one call moves (read(2), write(2)); it may move none.
const LARGEST_CALL: u64 = 0x7fff_f000;

/// What was counted until a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// ns since the beginning.
    pub(crate) at_ns: u64,
    pub(crate) counts: Counts,
}

/// Turns the plan of a job with one worker into that of a program. The job's operations have no
/// meaning any more.
pub fn describe_program(mut plan: Plan, watched: &Watched) -> Plan {
    let (name, command) = match watched {
        Watched::Command(words) => {
            let first = words.first().map_or("", String::as_str);
            let name = Path::new(first).file_name().map_or(first.into(), |name| name.to_string_lossy());
            (name.into_owned(), words.join(" "))
        }
        Watched::Process(process) => {
            let name = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
            (name, format!("process {process}"))
        }
    };
    let name: String = name.trim().chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    plan.sources = vec![SourceText { name: "program".to_owned(), text: command.clone() }];
    plan.global_options.clear();
    for worker in &mut plan.workers {
        worker.job = if name.is_empty() { ENGINE.to_owned() } else { name.clone() };
        worker.description = Some(command.clone());
        worker.job_options = [(ENGINE.to_owned(), command.clone())].into();
        worker.files.clear();
        worker.workload.block_sizes = std::array::from_fn(|_| BlockSizes::Range { min: 0, max: LARGEST_CALL });
        // Only the program knows which cache is used.
        let traits = Some(EngineTraits::UNKNOWN);
        worker.engine = EnginePlan { name: ENGINE.to_owned(), options: Default::default(), traits };
        let measured = &mut worker.measurement;
        (measured.slat, measured.clat, measured.lat) = (false, false, false);
        (measured.histogram_interval_ns, measured.calibrate, measured.trace_block) = (0, false, true);
    }
    plan
}

/// The recording before anything was seen.
pub(crate) fn empty(mut plan: Plan, interval_ns: u64, host: HostFacts, version: &str) -> Recording {
    for worker in &mut plan.workers {
        worker.measurement.interval_ns = interval_ns;
        worker.measurement.sample_interval_ns = interval_ns;
    }
    Recording {
        iolab_recording: FORMAT,
        iolab_version: version.to_owned(),
        plan,
        host,
        hosts: Vec::new(),
        calibration: None,
        started_unix_ns: 0,
        elapsed_ns: 0,
        workers: Vec::new(),
        devices: Vec::new(),
        observations: None,
        idleness: None,
        agreed_start_unix_ns: None,
        findings: Vec::new(),
        warnings: Vec::new(),
        interrupted: false,
    }
}

/// Takes out devices that nobody has used since the machine began.
pub(crate) fn leave_out_unused(observations: &mut Observations) {
    let is_used = |device: &DeviceSeries| device.samples.last().is_some_and(|last| last.counters != Default::default());
    observations.devices.retain(is_used);
}

/// The worker of what was counted; the last look was made when the program had ended.
pub(crate) fn worker(looks: &[Look], tree: &ProcessTree, process: i32, end: ProgramEnd) -> WorkerRecording {
    let none = Look { at_ns: 0, counts: Counts::default() };
    let last = looks.last().unwrap_or(&none);
    let (counts, elapsed_ns) = (last.counts, last.at_ns);
    let mut worker = WorkerRecording {
        pid: process.unsigned_abs(),
        outcome: outcome(end),
        runtime_ns: elapsed_ns,
        intervals: intervals(looks),
        cpu: processor_time(&counts),
        notes: notes(&counts, tree, end),
        ..WorkerRecording::default()
    };
    let both =
        [(Direction::Read, counts.reads, counts.read_bytes), (Direction::Write, counts.writes, counts.written_bytes)];
    for (direction, ios, bytes) in both {
        let runtime_ns = if ios > 0 { elapsed_ns } else { 0 };
        worker.directions[direction as usize] =
            DirectionRecording { ios, bytes, issued: ios, runtime_ns, ..DirectionRecording::default() };
    }
    worker
}

fn outcome(end: ProgramEnd) -> WorkerOutcome {
    match end {
        ProgramEnd::Killed(signal) => {
            WorkerOutcome::Crashed { signal, message: format!("the command was ended by signal {signal}") }
        }
        ProgramEnd::Exited(_) | ProgramEnd::Gone | ProgramEnd::GoesOn => WorkerOutcome::Finished,
    }
}

fn intervals(looks: &[Look]) -> Vec<Interval> {
    let between = |pair: &[Look]| {
        let done = pair[1].counts.since(&pair[0].counts);
        Interval {
            start_ns: pair[0].at_ns,
            length_ns: pair[1].at_ns - pair[0].at_ns,
            ios: [done.reads, done.writes, 0],
            bytes: [done.read_bytes, done.written_bytes, 0],
        }
    };
    looks.windows(2).map(between).filter(|interval| interval.length_ns > 0).collect()
}

fn processor_time(counts: &Counts) -> CpuUse {
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    CpuUse { user_ns: counts.user_ticks * tick_ns, system_ns: counts.system_ticks * tick_ns, ..CpuUse::default() }
}

/// What was counted, and the part of it that reached storage.
fn notes(counts: &Counts, tree: &ProcessTree, end: ProgramEnd) -> Vec<String> {
    let processes = if tree.seen == 1 { "process" } else { "processes" };
    let mut notes = vec![
        format!(
            "counted by /proc/PID/io: read and write calls of {} {processes} seen, and of all that these waited for; \
             also those on pipes, sockets and terminals, but no access to mapped memory",
            grouped(tree.seen)
        ),
        format!(
            "of these bytes, storage had to deliver {} and to take {}; {} were removed before they were written",
            grouped(counts.from_storage),
            grouped(counts.to_storage),
            grouped(counts.cancelled)
        ),
        "the figures of devices and machine are of everything that went on, not only of this program".to_owned(),
    ];
    match end {
        ProgramEnd::Exited(code) if code != 0 => notes.push(format!("the command exited with code {code}")),
        ProgramEnd::GoesOn => notes.push("it went on when the recording ended".to_owned()),
        _ => {}
    }
    if tree.unreadable > 0 {
        notes.push(format!(
            "not counted: {} of other users (/proc/PID/io cannot be read); run as root to count them",
            iolab_text::counted(tree.unreadable, "process")
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_what_was_counted_between_looks() {
        let look = |at_ns, writes, written_bytes| Look {
            at_ns,
            counts: Counts { writes, written_bytes, ..Counts::default() },
        };
        let looks = [look(0, 0, 0), look(100, 2, 50), look(100, 2, 50), look(250, 3, 90)];
        let seen = intervals(&looks);
        let rows: Vec<_> = seen.iter().map(|one| (one.start_ns, one.length_ns, one.ios[1], one.bytes[1])).collect();
        assert_eq!(rows, [(0, 100, 2, 50), (100, 150, 1, 40)]);
        let tree = ProcessTree::new(Path::new("/nowhere"), 1, None);
        let worker = worker(&looks, &tree, 7, ProgramEnd::Killed(9));
        assert_eq!((worker.runtime_ns, worker.directions[1].bytes, worker.directions[0].runtime_ns), (250, 90, 0));
        assert!(matches!(worker.outcome, WorkerOutcome::Crashed { signal: 9, .. }));
    }
}
