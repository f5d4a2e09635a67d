//! What there is to watch: the block devices of the machine, and its time and CPUs as tools like
//! iostat see them.

use std::fs;

use crate::block_tree::{folder_names, partitions};
use crate::{DeviceNumber, System, counters};

/// CPU time since boot, ticks, in the order of `/proc/stat`: user, nice, system, idle, iowait, irq,
/// softirq, steal.
pub type CpuTicks = [u64; 8];

impl System {
    /// Kernel names of the whole block devices, sorted.
    pub fn block_devices(&self) -> Vec<String> {
        folder_names(&self.path("sys/block"))
    }

    /// Kernel names of the whole block devices in the order of the folder, which is arbitrary.
    pub fn block_devices_unsorted(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("sys/block")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Kernel names of the partitions of a whole block device, sorted.
    pub fn partitions_of(&self, disk: &str) -> Vec<String> {
        partitions(&self.path(&format!("sys/block/{disk}")))
    }

    /// Kernel names of block devices and partitions in the order in which the kernel lists them
    /// (`/proc/diskstats`).
    pub fn listed_devices(&self) -> Vec<String> {
        let text = self.read("proc/diskstats").unwrap_or_default();
        text.lines().filter_map(|line| line.split_whitespace().nth(2).map(str::to_owned)).collect()
    }

    /// Whether there is a block device or partition of this kernel name.
    pub fn has_block_device(&self, name: &str) -> bool {
        !name.contains('/') && self.path(&self.statistics_path(name)).exists()
    }

    /// The number of a block device or partition.
    pub fn device_number(&self, name: &str) -> Option<DeviceNumber> {
        DeviceNumber::parse(&self.read(&self.statistics_path(name).replace("/stat", "/dev"))?)
    }

    /// Where the counters of a block device or partition are, below the root.
    pub(crate) fn statistics_path(&self, name: &str) -> String {
        let whole = format!("sys/block/{name}/stat");
        if self.path(&whole).exists() { whole } else { format!("sys/class/block/{name}/stat") }
    }

    /// Time since boot as `/proc/uptime` has it, in hundredths of a second: what iostat divides by.
    pub fn uptime_hundredths(&self) -> Option<u64> {
        let text = self.read("proc/uptime")?;
        let (seconds, hundredths) = text.split_whitespace().next()?.split_once('.')?;
        Some(seconds.parse::<u64>().ok()? * 100 + hundredths.parse::<u64>().ok()?)
    }

    /// CPU time since boot.
    pub fn cpu_ticks(&self) -> Option<CpuTicks> {
        counters::cpu_ticks(&self.read("proc/stat")?)
    }

    /// Whether a block device has a request queue. Those that have none (zram, device mapper, md)
    /// work on what file systems hand them, without a scheduler, merging or request tracepoints.
    pub fn has_requests(&self, disk: &str) -> bool {
        fs::metadata(self.path(&format!("sys/block/{disk}/mq"))).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use crate::system::fixtures::Fixture;

    #[test]
    fn devices_partitions_and_numbers() {
        let mut fixture = Fixture::new();
        fixture.disk("sdb", "8:16").disk("sda", "8:0").partition("sda", "sda1", "8:1");
        fixture
            .file("sys/block/sda/stat", "0")
            .file("sys/block/sda/dev", "8:0\n")
            .file("sys/block/sda/mq/0/cpu_list", "0\n");
        fixture.file("sys/class/block/sda1/stat", "0").file("sys/class/block/sda1/dev", "8:1\n");
        fixture.file("proc/diskstats", "   8      16 sdb 1 2\n   8       0 sda 1 2\n   8 1 sda1 3\n");
        let system = fixture.system();
        assert_eq!(system.block_devices(), ["sda", "sdb"]);
        assert_eq!((system.partitions_of("sda"), system.partitions_of("sdb")), (vec!["sda1".to_owned()], vec![]));
        assert_eq!(system.listed_devices(), ["sdb", "sda", "sda1"]);
        let exist = ["sda", "sda1", "sdb", "sdz", "../sda"].map(|name| system.has_block_device(name));
        assert_eq!(exist, [true, true, false, false, false]);
        let numbers = ["sda", "sda1", "sdb"].map(|name| system.device_number(name).map(|number| number.to_string()));
        assert_eq!(numbers, [Some("8:0".into()), Some("8:1".into()), None]);
        assert_eq!((system.has_requests("sda"), system.has_requests("sdb")), (true, false));
    }

    #[test]
    fn time_and_ticks() {
        let mut fixture = Fixture::new();
        fixture.file("proc/uptime", "38043.90 16095.95\n").file("proc/stat", "cpu  1 2 3 4 5 6 7 8 9 10\n");
        assert_eq!(fixture.system().uptime_hundredths(), Some(3_804_390));
        assert_eq!(fixture.system().cpu_ticks(), Some([1, 2, 3, 4, 5, 6, 7, 8]));
        let nothing = Fixture::new();
        assert_eq!((nothing.system().uptime_hundredths(), nothing.system().cpu_ticks()), (None, None));
        assert!(nothing.system().listed_devices().is_empty());
    }
}
