//! What a run cost below its engine: the bytes that disks moved for it, and the CPU time of the
//! whole machine.
//!
//! Layers of the kernel and servers work in processes of their own, so the workers' CPU time lacks
//! what they cost. Both figures count everything that happened meanwhile, also for others: they
//! need a quiet machine.

use iolab_plan::Direction;
use iolab_recording::{HostSample, Recording};

use crate::targets::leaf_devices;
use crate::whole::WholeRun;

const SECTOR_BYTES: u64 = 512;

/// Block devices below which the kernel knows no disk: the clients of network block devices (`nbd`,
/// `rbd`) and the volumes of ZFS (`zd`), by the names that their drivers give.
const OPAQUE: [&str; 3] = ["nbd", "rbd", "zd"];

/// Bytes that the disks at the bottom read, wrote and discarded for each byte of the run: 4 for
/// small writes to RAID 5, less than 1 if a cache has some of the data. `None` if the run moved
/// nothing, or if a disk is not known.
pub fn traffic_per_byte(recording: &Recording) -> Option<f64> {
    let mut disks = leaf_devices(recording).peekable();
    disks.peek()?;
    let is_opaque = leaf_devices(recording).any(|disk| OPAQUE.iter().any(|driver| disk.name.starts_with(driver)));
    let sectors: u64 = disks
        .map(|disk| {
            let (before, after) = (&disk.before, &disk.after);
            let read = after.read_sectors.saturating_sub(before.read_sectors);
            let written = after.write_sectors.saturating_sub(before.write_sectors);
            read + written + after.discard_sectors.saturating_sub(before.discard_sectors)
        })
        .sum();
    let bytes = WholeRun::new(recording).throughput(&Direction::ALL).bytes;
    (bytes > 0 && !is_opaque).then(|| (sectors * SECTOR_BYTES) as f64 / bytes as f64)
}

/// CPU time of the whole machine for each operation of the run, ns. `None` without operations, if
/// the machine was not observed, or if there were several.
pub fn machine_cpu_ns(recording: &Recording) -> Option<f64> {
    let samples = &recording.observations.as_ref()?.host;
    let (first, last) = (samples.first()?, samples.last()?);
    let busy = |sample: &HostSample| sample.user_ns.saturating_add(sample.system_ns);
    let observed_ns = last.at_ns.saturating_sub(first.at_ns);
    let done = WholeRun::new(recording).throughput(&Direction::ALL);
    if recording.hosts.len() > 1 || observed_ns == 0 || done.ios == 0 {
        return None;
    }
    let busy_share = busy(last).saturating_sub(busy(first)) as f64 / observed_ns as f64;
    Some(busy_share * done.runtime_ns as f64 / done.ios as f64)
}

#[cfg(test)]
mod tests {
    use iolab_recording::{DeviceCounters, DeviceUse, Observations};

    use super::*;

    fn recording() -> Recording {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../recording/tests/corpus/1-8-traits.json");
        Recording::from_json(&std::fs::read_to_string(path).expect(path)).expect(path)
    }

    #[test]
    fn only_the_disks_at_the_bottom_count() {
        let mut run = recording();
        let bytes = WholeRun::new(&run).throughput(&Direction::ALL).bytes;
        let sectors = bytes / SECTOR_BYTES;
        let device = |name: &str, parts: &[&str], read_sectors: u64, write_sectors: u64| DeviceUse {
            name: name.to_owned(),
            host: 0,
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
            before: DeviceCounters { read_sectors: 7, ..DeviceCounters::default() },
            after: DeviceCounters { read_sectors: 7 + read_sectors, write_sectors, ..DeviceCounters::default() },
            elapsed_ns: 1,
        };
        run.devices = vec![
            device("md0", &["sda", "sdb"], 9 * sectors, 9 * sectors),
            device("sda", &[], sectors, sectors),
            device("sdb", &[], 0, 2 * sectors),
        ];
        let traffic = traffic_per_byte(&run).expect("disks are known");
        assert!((traffic - 4.0).abs() < 0.01, "{traffic}");
        run.devices.push(device("nbd0", &[], sectors, sectors));
        assert_eq!(traffic_per_byte(&run), None, "the disks of a server are not known");
        run.devices.clear();
        assert_eq!(traffic_per_byte(&run), None);
    }

    #[test]
    fn the_machine_is_busy_for_the_operations_of_the_run() {
        let mut run = recording();
        let done = WholeRun::new(&run).throughput(&Direction::ALL);
        let sample = |at_ns: u64, user_ns: u64, system_ns: u64| HostSample {
            at_ns,
            user_ns,
            system_ns,
            ..HostSample::default()
        };
        let host = vec![sample(0, 500, 500), sample(500, 600, 600), sample(1000, 1000, 1500)];
        run.observations = Some(Observations { host, ..Observations::default() });
        let cpu_ns = machine_cpu_ns(&run).expect("it was observed");
        let expected = 1.5 * done.runtime_ns as f64 / done.ios as f64;
        assert!((cpu_ns - expected).abs() < 1e-6 * expected, "{cpu_ns} {expected}");
        run.observations = None;
        assert_eq!(machine_cpu_ns(&run), None);
    }
}
