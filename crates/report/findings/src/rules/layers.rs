//! The state of layers below the files: arrays that are not whole, loop devices that use the page
//! cache.

use iolab_recording::{DeviceSeries, Severity};

use super::RuleMatch;
use crate::facts::Facts;

/// A parameter of a device when the run began.
fn parameter<'a>(device: &'a DeviceSeries, name: &str) -> Option<&'a str> {
    device.settings.get(name).map(|text| text.trim())
}

fn devices<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = &'a DeviceSeries> {
    facts.recording.observations.iter().flat_map(|observations| &observations.devices)
}

/// Arrays that lack disks, or that rebuild or check themselves.
pub(crate) fn array_not_whole(facts: &Facts<'_>) -> Vec<RuleMatch> {
    devices(facts).filter_map(not_whole).collect()
}

fn not_whole(device: &DeviceSeries) -> Option<RuleMatch> {
    let level = parameter(device, "md/level")?;
    let missing: u32 = parameter(device, "md/degraded").and_then(|text| text.parse().ok()).unwrap_or(0);
    let action = parameter(device, "md/sync_action").filter(|action| *action != "idle");
    let disks = parameter(device, "md/raid_disks").unwrap_or("its");
    let lacks = (missing > 0).then(|| format!("{missing} of {disks} disks missing"));
    let works = action.map(|action| format!("{action} going on"));
    let state: Vec<String> = lacks.into_iter().chain(works).collect();
    let evidence = format!("{} ({level}): {} when the run began", device.name, state.join(", "));
    (!state.is_empty()).then(|| RuleMatch::of_run(Severity::Warning, evidence))
}

/// Loop devices that go through the page cache below jobs that do not.
pub(crate) fn loop_through_cache(facts: &Facts<'_>) -> Vec<RuleMatch> {
    if !facts.jobs.iter().any(|job| job.is_direct()) {
        return Vec::new();
    }
    let buffered = |device: &&DeviceSeries| parameter(device, "loop/dio") == Some("0");
    let names: Vec<&str> = devices(facts).filter(buffered).map(|device| device.name.as_str()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    vec![RuleMatch::of_run(Severity::Warning, format!("loop/dio of {} is 0", names.join(", ")))]
}
