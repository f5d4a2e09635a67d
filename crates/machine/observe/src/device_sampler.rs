//! Block-device counters before and after the measured part.
//!
//! Reads `/sys/block/*/stat` twice and does nothing in between, so that the run is not disturbed.
//! Devices that vanish are left out; paths without a device give an empty list. The caller owns the
//! clock and passes the times.

use std::path::PathBuf;

use iolab_recording::{DeviceCounters, DeviceUse};

use crate::counters::device_counters;
use crate::{BlockDeviceFacts, System, folder_names};

/// Counters at the beginning of the measured part.
#[derive(Debug)]
pub struct DeviceSampler {
    system: System,
    started_ns: u64,
    before: Vec<(BlockDeviceFacts, DeviceCounters)>,
}

impl DeviceSampler {
    /// Finds the devices below `paths` and reads their counters. `now_ns` is any monotonic time,
    /// ns.
    pub fn start(system: &System, paths: &[PathBuf], now_ns: u64) -> DeviceSampler {
        DeviceSampler::of(system, system.devices_under(paths), now_ns)
    }

    /// Reads the counters of every whole device, for callers that learn later which they need.
    /// `now_ns` is any monotonic time, ns.
    pub fn start_all(system: &System, now_ns: u64) -> DeviceSampler {
        let names = folder_names(&system.path("sys/block"));
        let devices = names.into_iter().map(|name| BlockDeviceFacts { name, parts: Vec::new() }).collect();
        DeviceSampler::of(system, devices, now_ns)
    }

    fn of(system: &System, devices: Vec<BlockDeviceFacts>, now_ns: u64) -> DeviceSampler {
        let with_counters = |device: BlockDeviceFacts| {
            let counters = counters(system, &device.name)?;
            Some((device, counters))
        };
        let before = devices.into_iter().filter_map(with_counters).collect();
        DeviceSampler { system: system.clone(), started_ns: now_ns, before }
    }

    /// Reads the counters again. `now_ns` is on the clock given to [`DeviceSampler::start`].
    pub fn finish(self, now_ns: u64) -> Vec<DeviceUse> {
        let elapsed_ns = now_ns.saturating_sub(self.started_ns);
        let uses = self.before.into_iter().filter_map(|(device, before)| {
            let after = counters(&self.system, &device.name)?;
            Some(DeviceUse { name: device.name, host: 0, parts: device.parts, before, after, elapsed_ns })
        });
        uses.collect()
    }
}

fn counters(system: &System, name: &str) -> Option<DeviceCounters> {
    device_counters(&system.read(&format!("sys/block/{name}/stat"))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fixtures::Fixture;

    #[test]
    fn a_device_is_read_twice_and_one_that_vanishes_is_left_out() {
        let mut fixture = Fixture::new();
        fixture.disk("sda", "8:0").disk("sdb", "8:16").place("/a", "8:0").place("/b", "8:16");
        fixture.file("sys/block/sda/stat", "1 0 8 0 0 0 0 0 0 0 0").file("sys/block/sdb/stat", "0 0 0 0 0 0 0 0 0 0 0");
        let sampler = DeviceSampler::start(&fixture.system(), &[PathBuf::from("/a"), PathBuf::from("/b")], 100);
        fixture.file("sys/block/sda/stat", "5 0 40 0 0 0 0 0 0 0 0").file("sys/block/sdb/stat", "");
        let uses = sampler.finish(350);
        assert_eq!(uses.len(), 1);
        assert_eq!((uses[0].name.as_str(), uses[0].elapsed_ns), ("sda", 250));
        assert_eq!((uses[0].before.read_ios, uses[0].after.read_sectors), (1, 40));
    }

    #[test]
    fn live_sampling_of_a_path_without_a_device_is_empty() {
        let sampler = DeviceSampler::start(&System::live(), &[PathBuf::from("/proc/version")], 0);
        assert_eq!(sampler.finish(1), []);
    }
}
