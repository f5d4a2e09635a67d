//! What happened to operations on their way: split into several requests, merged with others, or
//! left in a cache of the device.

use iolab_plan::Direction;
use iolab_recording::Severity;

use super::RuleMatch;
use crate::facts::{Facts, Job, Stage};
use crate::traffic::{DATA, Traffic, is_top, setting, uncounted as uncounted_devices};
use crate::wording::{bytes, percent};

/// With fewer operations, the rules return nothing.
const LEAST_IOS: f64 = 100.0;

/// If requests exceed operations by this factor, operations were split.
const CUT: f64 = 1.2;

/// Requests below this share of the largest size were split by another limit.
const WELL_BELOW: f64 = 0.6;

/// From this share of merged requests on, the device saw a different load than the job sent.
const MERGED: f64 = 0.1;

/// Devices that do not count.
pub(crate) fn uncounted(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let names = uncounted_devices(facts.recording);
    if names.is_empty() {
        return Vec::new();
    }
    vec![RuleMatch::of_run(Severity::Note, format!("queue/iostats of {} is 0", names.join(", ")))]
}

/// Operations that became several requests. Reads and writes of a stage are split alike: one
/// finding is enough.
pub(crate) fn split(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let mut seen = Vec::new();
    for (stage, traffic) in direct_only(facts) {
        let cut = DATA.into_iter().find_map(|direction| {
            let way = direction as usize;
            let ios: f64 = facts.of(stage).map(|job| job.whole_ios(direction) as f64).sum();
            let moved: f64 = facts.of(stage).map(|job| job.whole_bytes(direction) as f64).sum();
            let near = moved > 0.0 && (0.8..1.2).contains(&(traffic.bytes[way] / moved));
            let request = traffic.bytes[way] / traffic.requests[way].max(1.0);
            let is_cut = ios >= LEAST_IOS && near && traffic.requests[way] >= CUT * ios;
            is_cut.then(|| (direction, moved / ios, traffic.requests[way] / ios, request))
        });
        if let Some((direction, operation, requests, request)) = cut {
            let evidence = format!(
                "each operation ({} on average) became {requests:.1} requests of {}{}",
                bytes(operation),
                bytes(request),
                largest_request(facts, request)
            );
            seen.push(RuleMatch::of_several(Severity::Note, names(facts, stage, direction), &evidence));
        }
    }
    seen
}

/// Requests that were merged before they reached the device.
pub(crate) fn merged(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let mut seen = Vec::new();
    for (stage, traffic) in direct_only(facts) {
        for direction in DATA {
            let way = direction as usize;
            let all = traffic.requests[way] + traffic.merges[way];
            let ios: f64 = facts.of(stage).map(|job| job.whole_ios(direction) as f64).sum();
            // Merges of requests that were split before, or of others' requests, do not change the
            // job's operations.
            let fewer = traffic.requests[way] < (1.0 - MERGED) * ios;
            if ios < LEAST_IOS || !fewer || traffic.merges[way] < MERGED * all {
                continue;
            }
            let evidence = format!(
                "{} of the {} requests were merged; the device received requests of {} on average",
                percent(traffic.merges[way] / all),
                if direction == Direction::Read { "read" } else { "write" },
                bytes(traffic.bytes[way] / traffic.requests[way].max(1.0))
            );
            seen.push(RuleMatch::of_several(Severity::Note, names(facts, stage, direction), &evidence));
        }
    }
    seen
}

/// Writes that may still be in the device's volatile cache, because the job never flushed it.
pub(crate) fn volatile_cache(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let cached = facts.recording.devices.iter().find(|device| {
        device.parts.is_empty() && setting(facts.recording, &device.name, "write_cache") == Some("write back")
    });
    let Some(device) = cached else { return Vec::new() };
    let unsafe_jobs = facts.shown().filter(|job| {
        let writes = job.is_direct() && job.whole_bytes(Direction::Write) > 0;
        writes && !job.members.iter().any(|member| member.flushes())
    });
    let jobs: Vec<String> = unsafe_jobs.map(|job| job.name.to_owned()).collect();
    if jobs.is_empty() {
        return Vec::new();
    }
    let evidence = format!("{} has a volatile write cache, and the job never flushes it", device.name);
    vec![RuleMatch::of_several(Severity::Note, jobs, &evidence)]
}

/// The limit of requests: their size, or, if they stay well below it, the number of memory segments
/// in one.
fn largest_request(facts: &Facts<'_>, request: f64) -> String {
    let tops = facts.recording.devices.iter().filter(|device| is_top(&device.name, facts.recording));
    let limits = tops.filter_map(|device| {
        let of = |name: &str| setting(facts.recording, &device.name, name);
        let kib = of("max_sectors_kb")?;
        let is_smaller = kib.parse::<f64>().is_ok_and(|kib| request < WELL_BELOW * kib * 1024.0);
        let pieces = of("max_segments").filter(|_| is_smaller);
        let pieces = pieces.map(|pieces| format!(" and max_segments={pieces} (pieces of memory in one request)"));
        Some(format!("; {} has max_sectors_kb={kib}{}", device.name, pieces.unwrap_or_default()))
    });
    limits.collect()
}

/// Stages with direct I/O only, so that the devices' requests are the jobs'.
fn direct_only<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = (&'f Stage, Traffic)> {
    let only = |stage: &&Stage| !stage.jobs.is_empty() && facts.of(stage).all(Job::is_direct);
    facts.stages.iter().filter(only).filter_map(|stage| Some((stage, stage.traffic?)))
}

fn names(facts: &Facts<'_>, stage: &Stage, direction: Direction) -> Vec<String> {
    let jobs = facts.of(stage).filter(|job| job.whole_bytes(direction) > 0);
    jobs.map(|job| job.name.to_owned()).collect()
}
