//! The activity of the topmost block devices while jobs ran, from samples of their counters or from
//! their values before and after.
//!
//! ```text
//! stage     |---- one ----|------- two -------|
//! samples   o----o----o----o----o----o----o----o      counters between two samples: interpolated
//! before/after             the whole run only: all jobs are one stage then
//! ```

use iolab_plan::Direction;
use iolab_recording::{DeviceCounters, DeviceSeries, DeviceUse, Recording};

/// A stage with fewer samples cannot be distinguished from its neighbours.
const SAMPLES_WITHIN: usize = 4;

/// Bytes, requests and merges of reads and writes; trims are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Traffic {
    pub(crate) bytes: [f64; 2],
    pub(crate) requests: [f64; 2],
    pub(crate) merges: [f64; 2],
}

/// Reads and writes, the directions that page cache and devices have in common.
pub(crate) const DATA: [Direction; 2] = [Direction::Read, Direction::Write];

impl Traffic {
    pub(crate) fn between(before: &DeviceCounters, after: &DeviceCounters) -> Traffic {
        let difference = |of: fn(&DeviceCounters) -> u64| of(after).saturating_sub(of(before)) as f64;
        Traffic {
            // Counters are in 512-byte sectors whatever the device's block size
            // (Documentation/block/stat.rst).
            bytes: [difference(|at| at.read_sectors) * 512.0, difference(|at| at.write_sectors) * 512.0],
            requests: [difference(|at| at.read_ios), difference(|at| at.write_ios)],
            merges: [difference(|at| at.read_merges), difference(|at| at.write_merges)],
        }
    }

    pub(crate) fn add(mut self, other: Traffic) -> Traffic {
        for at in 0..2 {
            self.bytes[at] += other.bytes[at];
            self.requests[at] += other.requests[at];
            self.merges[at] += other.merges[at];
        }
        self
    }

    /// Linear interpolation between two samples.
    fn part(self, share: f64) -> Traffic {
        Traffic {
            bytes: self.bytes.map(|value| value * share),
            requests: self.requests.map(|value| value * share),
            merges: self.merges.map(|value| value * share),
        }
    }
}

/// The activity of a device in a part of the run; `None` when it contains too few samples.
pub(crate) fn within(device: &DeviceSeries, from_ns: u64, to_ns: u64) -> Option<Traffic> {
    let inside = device.samples.iter().filter(|sample| (from_ns..=to_ns).contains(&sample.at_ns)).count();
    if inside < SAMPLES_WITHIN {
        return None;
    }
    let share_of = |start_ns: u64, end_ns: u64| {
        let overlap = end_ns.min(to_ns).saturating_sub(start_ns.max(from_ns));
        overlap as f64 / end_ns.saturating_sub(start_ns).max(1) as f64
    };
    let pairs = device.samples.windows(2);
    let parts = pairs.map(|pair| {
        Traffic::between(&pair[0].counters, &pair[1].counters).part(share_of(pair[0].at_ns, pair[1].at_ns))
    });
    parts.reduce(Traffic::add)
}

pub(crate) fn whole_run(recording: &Recording) -> Option<Traffic> {
    if !uncounted(recording).is_empty() {
        return None;
    }
    let tops = recording.devices.iter().filter(|device| is_top(&device.name, recording));
    tops.map(|device| Traffic::between(&device.before, &device.after)).reduce(Traffic::add)
}

/// Devices whose request counting was disabled (`queue/iostats`) and that did not count, so that
/// their activity is unknown. Some drivers count regardless of the setting, such as zram.
pub(crate) fn uncounted(recording: &Recording) -> Vec<&str> {
    let stands_still = |device: &&DeviceUse| Traffic::between(&device.before, &device.after) == Traffic::default();
    let told_not_to = |name: &&str| setting(recording, name, "iostats") == Some("0");
    recording.devices.iter().filter(stands_still).map(|device| device.name.as_str()).filter(told_not_to).collect()
}

/// Whether no other device of the run is built on this one.
pub(crate) fn is_top(name: &str, recording: &Recording) -> bool {
    !recording.devices.iter().any(|device| device.parts.iter().any(|part| part == name))
}

/// A setting of a device when the run began.
pub(crate) fn setting<'a>(recording: &'a Recording, device: &str, name: &str) -> Option<&'a str> {
    let devices = &recording.observations.as_ref()?.devices;
    Some(devices.iter().find(|series| series.name == device)?.settings.get(name)?.trim())
}
