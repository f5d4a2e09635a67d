//! Checks whether the device was reached at all: page cache, blocks that were never written, layers
//! in between.

use iolab_order::Arrange;
use iolab_plan::Direction;
use iolab_recording::Severity;

use super::{RuleMatch, of_jobs};
use crate::facts::{Facts, Job, Stage};
use crate::traffic::{DATA, Traffic, is_top};
use crate::wording::{bytes, percent};

/// With fewer bytes, the rule returns nothing.
const LEAST_BYTES: f64 = 1048576.0;

/// Up to this share of the job's bytes, the device did so little that the figures do not describe
/// it.
const HARDLY: f64 = 0.5;

/// Below this share, enough bytes bypassed the device to mention it.
const NOT_ALL: f64 = 0.95;

/// Buffered I/O of which little reached the device.
pub(crate) fn page_cache(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let mut seen = Vec::new();
    for (stage, traffic) in observed(facts) {
        for direction in DATA {
            let asked = sum(facts, stage, direction, Job::is_buffered);
            let direct = sum(facts, stage, direction, Job::is_direct);
            let device = (traffic.bytes[direction as usize] - direct).max(0.0);
            if asked < LEAST_BYTES || device > NOT_ALL * asked {
                continue;
            }
            let severity = if device <= HARDLY * asked { Severity::Invalid } else { Severity::Warning };
            let files = file_bytes(facts, stage);
            let memory = facts.recording.host.memory_bytes as f64;
            let fits = if files > 0.0 && files < memory {
                format!("; the files ({}) fit in RAM ({})", bytes(files), bytes(memory))
            } else {
                String::new()
            };
            let evidence = format!(
                "{} {} without direct=1, but the device {} only {} ({}){fits}",
                bytes(asked),
                if direction == Direction::Read { "read" } else { "written" },
                past(direction),
                bytes(device),
                percent(device / asked)
            );
            let found = RuleMatch::of_several(severity, names(facts, stage, direction, Job::is_buffered), &evidence);
            seen.push(match (severity, direction) {
                (Severity::Invalid, Direction::Read) => found,
                (Severity::Invalid, _) => {
                    found.meaning("Most of these writes stopped in the page cache: you measured RAM.")
                }
                _ => found
                    .meaning("Part of this I/O went no further than the page cache: that part of the result is RAM."),
            });
        }
    }
    seen
}

/// Direct reads that reached no device.
pub(crate) fn unwritten_blocks(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let mut seen = Vec::new();
    for (stage, traffic) in observed(facts) {
        let asked = sum(facts, stage, Direction::Read, Job::is_direct);
        let device = traffic.bytes[Direction::Read as usize];
        if asked >= LEAST_BYTES && device <= HARDLY * asked {
            let evidence = format!(
                "{} read with direct=1, but the device read only {} ({})",
                bytes(asked),
                bytes(device),
                percent(device / asked)
            );
            let jobs = names(facts, stage, Direction::Read, Job::is_direct);
            seen.push(RuleMatch::of_several(Severity::Invalid, jobs, &evidence));
        }
    }
    seen
}

/// Direct writes that did not reach the device as writes.
pub(crate) fn device_bytes(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let mut seen = Vec::new();
    for (stage, traffic) in observed(facts) {
        let asked = sum(facts, stage, Direction::Write, Job::is_direct);
        let device = traffic.bytes[Direction::Write as usize];
        if asked >= LEAST_BYTES && device <= HARDLY * asked {
            let evidence = format!(
                "{} written with direct=1, but the device wrote only {} ({})",
                bytes(asked),
                bytes(device),
                percent(device / asked)
            );
            let jobs = names(facts, stage, Direction::Write, Job::is_direct);
            seen.push(RuleMatch::of_several(Severity::Invalid, jobs, &evidence));
        }
    }
    seen
}

/// A stacked device whose lower devices did less than it did.
pub(crate) fn cache_beneath(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let devices = &facts.recording.devices;
    let mut seen = Vec::new();
    for device in devices.iter().filter(|device| !device.parts.is_empty() && is_top(&device.name, facts.recording)) {
        let own = Traffic::between(&device.before, &device.after);
        let parts = devices.iter().filter(|part| device.parts.contains(&part.name));
        let below = parts.map(|part| Traffic::between(&part.before, &part.after)).reduce(Traffic::add);
        let Some(below) = below else { continue };
        for direction in DATA {
            let (above, below) = (own.bytes[direction as usize], below.bytes[direction as usize]);
            if above >= LEAST_BYTES && below <= HARDLY * above {
                let evidence = format!(
                    "{} {} {}, but {} below it only {} ({})",
                    device.name,
                    past(direction),
                    bytes(above),
                    device.parts.join(" and "),
                    bytes(below),
                    percent(below / above)
                );
                seen.push(RuleMatch::of_run(Severity::Invalid, evidence));
            }
        }
    }
    seen
}

/// Buffered reads of small files where no counters say what reached a device.
pub(crate) fn fits_in_memory(facts: &Facts<'_>) -> Vec<RuleMatch> {
    if !facts.recording.devices.is_empty() {
        return Vec::new();
    }
    let memory = facts.recording.host.memory_bytes;
    of_jobs(facts, Severity::Warning, |job| {
        let files = job_file_bytes(job);
        let is_about_reads = job.is_buffered() && job.whole_bytes(Direction::Read) as f64 >= LEAST_BYTES;
        (is_about_reads && files > 0 && files < memory).then(|| {
            format!(
                "the files ({}), read without direct=1, fit in RAM ({}), and no block device was found below them",
                bytes(files as f64),
                bytes(memory as f64)
            )
        })
    })
}

/// Direct I/O on a file system without a known device.
pub(crate) fn no_device(facts: &Facts<'_>) -> Vec<RuleMatch> {
    if !facts.recording.devices.is_empty() {
        return Vec::new();
    }
    of_jobs(facts, Severity::Note, |job| {
        let moved: u64 = DATA.iter().map(|direction| job.whole_bytes(*direction)).fold(0, u64::saturating_add);
        let looked = job.first().plan.measurement.disk_util;
        (looked && job.is_direct() && moved as f64 >= LEAST_BYTES)
            .then(|| format!("no block device was found below its files; {} were read or written", bytes(moved as f64)))
    })
}

/// Stages with data through the kernel and with observed devices.
fn observed<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = (&'f Stage, Traffic)> {
    facts.stages.iter().filter_map(|stage| Some((stage, stage.traffic?)))
}

fn sum<'a>(facts: &Facts<'a>, stage: &Stage, direction: Direction, of: impl Fn(&Job<'a>) -> bool) -> f64 {
    facts.of(stage).filter(|job| of(job)).map(|job| job.whole_bytes(direction) as f64).sum()
}

fn names<'a>(facts: &Facts<'a>, stage: &Stage, direction: Direction, of: impl Fn(&Job<'a>) -> bool) -> Vec<String> {
    let jobs = facts.of(stage).filter(|job| of(job) && job.whole_bytes(direction) > 0);
    jobs.map(|job| job.name.to_owned()).collect()
}

/// Bytes of the files of a stage's buffered jobs; each file counts once.
fn file_bytes(facts: &Facts<'_>, stage: &Stage) -> f64 {
    let mut files: Vec<_> = facts
        .of(stage)
        .filter(|job| job.is_buffered())
        .flat_map(|job| job.members.iter().flat_map(|member| &member.plan.files))
        .map(|file| (&file.path, file.start_bytes, file.length_bytes))
        .collect();
    files.arrange();
    files.dedup();
    files.iter().map(|file| file.2 as f64).sum()
}

fn job_file_bytes(job: &Job<'_>) -> u64 {
    job.sum(|member| member.plan.files.iter().map(|file| file.length_bytes).fold(0, u64::saturating_add))
}

fn past(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "read",
        Direction::Write => "wrote",
        Direction::Trim => "trimmed",
    }
}
