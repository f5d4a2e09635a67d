//! Activity of the block device under a trial's files during the trial, in the terms of iostat(1).
//!
//! Of several devices the first counts: the one that holds the files, not those below it.

use iolab_recording::DeviceUse;
use serde::{Deserialize, Serialize};

/// One number of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceFigure {
    /// Read requests that were merged into others before they were issued, percent (`%rrqm`).
    ReadsMerged,
    /// Write requests that were merged into others before they were issued, percent (`%wrqm`).
    WritesMerged,
    /// Mean size of a read that was issued, bytes (`rareq-sz`).
    ReadSize,
    /// Mean size of a write that was issued, bytes (`wareq-sz`).
    WriteSize,
    /// Reads issued per second (`r/s`).
    Reads,
    /// Writes issued per second (`w/s`).
    Writes,
    /// Mean number of requests in the queue and the device (`aqu-sz`).
    QueueLength,
    /// Time with requests in flight, percent (`%util`).
    Utilization,
}

const SECTOR: u64 = 512;
const ALL: [(&str, DeviceFigure, &str); 8] = [
    ("%rrqm", DeviceFigure::ReadsMerged, "%"),
    ("%wrqm", DeviceFigure::WritesMerged, "%"),
    ("rareq-sz", DeviceFigure::ReadSize, "B"),
    ("wareq-sz", DeviceFigure::WriteSize, "B"),
    ("r/s", DeviceFigure::Reads, ""),
    ("w/s", DeviceFigure::Writes, ""),
    ("aqu-sz", DeviceFigure::QueueLength, ""),
    ("%util", DeviceFigure::Utilization, "%"),
];

impl DeviceFigure {
    pub(crate) fn from_name(name: &str) -> Option<DeviceFigure> {
        ALL.iter().find(|entry| entry.0 == name).map(|entry| entry.1)
    }

    /// The name of its column in iostat(1).
    pub fn name(self) -> &'static str {
        self.entry().0
    }

    pub(crate) fn unit(self) -> &'static str {
        self.entry().2
    }

    fn entry(self) -> (&'static str, DeviceFigure, &'static str) {
        *ALL.iter().find(|entry| entry.1 == self).unwrap_or(&ALL[0])
    }

    /// All names, for messages.
    pub(crate) fn names() -> String {
        ALL.map(|entry| format!("device.{}", entry.0)).join(", ")
    }

    /// Its value over a trial; `None` if there were no requests to compute it from.
    pub(crate) fn of(self, device: &DeviceUse) -> Option<f64> {
        let (before, after) = (&device.before, &device.after);
        let reads = after.read_ios.checked_sub(before.read_ios)?;
        let writes = after.write_ios.checked_sub(before.write_ios)?;
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let of_time = |amount: u64, unit_ns: u64| share(amount * unit_ns, device.elapsed_ns);
        match self {
            DeviceFigure::ReadsMerged => {
                let merges = after.read_merges.checked_sub(before.read_merges)?;
                share(merges, merges + reads).map(|share| share * 100.0)
            }
            DeviceFigure::WritesMerged => {
                let merges = after.write_merges.checked_sub(before.write_merges)?;
                share(merges, merges + writes).map(|share| share * 100.0)
            }
            DeviceFigure::ReadSize => share(after.read_sectors.checked_sub(before.read_sectors)? * SECTOR, reads),
            DeviceFigure::WriteSize => share(after.write_sectors.checked_sub(before.write_sectors)? * SECTOR, writes),
            DeviceFigure::Reads => of_time(reads, 1_000_000_000),
            DeviceFigure::Writes => of_time(writes, 1_000_000_000),
            DeviceFigure::QueueLength => {
                of_time(after.time_in_queue_ms.checked_sub(before.time_in_queue_ms)?, 1_000_000)
            }
            DeviceFigure::Utilization => {
                of_time(after.io_ticks_ms.checked_sub(before.io_ticks_ms)?, 1_000_000).map(|share| share * 100.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use iolab_recording::DeviceCounters;

    use super::*;

    #[test]
    fn figures_are_those_of_iostat() {
        let after = DeviceCounters {
            read_ios: 100,
            read_merges: 300,
            read_sectors: 3200,
            write_ios: 50,
            write_sectors: 400,
            io_ticks_ms: 500,
            time_in_queue_ms: 4000,
            ..Default::default()
        };
        let device = DeviceUse {
            name: "sda".to_owned(),
            host: 0,
            parts: Vec::new(),
            before: DeviceCounters::default(),
            after,
            elapsed_ns: 2_000_000_000,
        };
        let check = |name: &str, expected: f64| {
            assert_eq!(DeviceFigure::from_name(name).and_then(|figure| figure.of(&device)), Some(expected), "{name}");
        };
        check("%rrqm", 75.0);
        check("%wrqm", 0.0);
        check("rareq-sz", 16384.0);
        check("wareq-sz", 4096.0);
        check("r/s", 50.0);
        check("w/s", 25.0);
        check("aqu-sz", 2.0);
        check("%util", 25.0);
        let idle = DeviceUse { after: device.before, ..device };
        assert_eq!(DeviceFigure::ReadSize.of(&idle), None);
    }
}
