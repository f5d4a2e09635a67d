//! Block-device counters before and after the measured part.
//!
//! Two looks at `/sys/block/*/stat`, nothing between them: the run is not disturbed. Devices that vanish are
//! left out; paths without a device give an empty list. The caller owns the clock and passes the times.

use std::path::PathBuf;

use iolab_recording::{DeviceCounters, DeviceUse};

use crate::{BlockDevice, System};

/// Counters as they were when the measured part began.
#[derive(Debug)]
pub struct DeviceSampler {
    system: System,
    started_ns: u64,
    before: Vec<(BlockDevice, DeviceCounters)>,
}

impl DeviceSampler {
    /// Finds the devices under `paths` and reads their counters. `now_ns` is any monotonic time, ns.
    pub fn start(system: &System, paths: &[PathBuf], now_ns: u64) -> DeviceSampler {
        let with_counters = |device: BlockDevice| {
            let counters = counters(system, &device.name)?;
            Some((device, counters))
        };
        let before = system.devices_under(paths).into_iter().filter_map(with_counters).collect();
        DeviceSampler { system: system.clone(), started_ns: now_ns, before }
    }

    /// Reads the counters again. `now_ns` is on the clock given to [`DeviceSampler::start`].
    pub fn finish(self, now_ns: u64) -> Vec<DeviceUse> {
        let elapsed_ns = now_ns.saturating_sub(self.started_ns);
        let uses = self.before.into_iter().filter_map(|(device, before)| {
            let after = counters(&self.system, &device.name)?;
            Some(DeviceUse { name: device.name, parts: device.parts, before, after, elapsed_ns })
        });
        uses.collect()
    }
}

fn counters(system: &System, name: &str) -> Option<DeviceCounters> {
    parse_counters(&system.read(&format!("sys/block/{name}/stat"))?)
}

/// Documentation/block/stat.rst: 11 fields, since Linux 4.18 four of discards, since 5.5 two of flushes.
fn parse_counters(text: &str) -> Option<DeviceCounters> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    if fields.len() < 11 {
        return None;
    }
    let field = |at: usize| fields.get(at).copied().unwrap_or(0);
    Some(DeviceCounters {
        read_ios: field(0),
        read_merges: field(1),
        read_sectors: field(2),
        read_ticks_ms: field(3),
        write_ios: field(4),
        write_merges: field(5),
        write_sectors: field(6),
        write_ticks_ms: field(7),
        in_flight: field(8),
        io_ticks_ms: field(9),
        time_in_queue_ms: field(10),
        discard_ios: field(11),
        discard_merges: field(12),
        discard_sectors: field(13),
        discard_ticks_ms: field(14),
        flush_ios: field(15),
        flush_ticks_ms: field(16),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fixtures::Fixture;

    #[test]
    fn counters_of_old_and_new_kernels() {
        let new = parse_counters("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n").unwrap();
        assert_eq!((new.read_ios, new.time_in_queue_ms, new.discard_ios, new.flush_ticks_ms), (1, 11, 12, 17));
        let old = parse_counters("  1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!((old.write_sectors, old.discard_ios, old.flush_ios), (7, 0, 0));
        assert_eq!(parse_counters("1 2 3"), None);
    }

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
