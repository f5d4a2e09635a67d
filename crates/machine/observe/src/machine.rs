//! What can be observed: the block devices of the machine, and its time and CPUs as tools like
//! iostat see them.

use std::fs;

use iolab_units::NS_PER_SECOND;

use crate::block_tree::{folder_names, partitions};
use crate::{DeviceNumber, System, counters};

/// CPU time since boot, ticks, in the order of `/proc/stat`: user, nice, system, idle, iowait, irq,
/// softirq, steal.
pub type CpuTicks = [u64; 8];

/// Activity of all CPUs together since boot, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuActivity {
    /// Busy time, ns.
    pub busy_ns: u64,
    /// Idle time, including waiting for storage, ns.
    pub idle_ns: u64,
    /// Number of context switches.
    pub switches: u64,
}

impl CpuActivity {
    /// The activity since an earlier sample.
    pub fn since(self, before: CpuActivity) -> CpuActivity {
        CpuActivity {
            busy_ns: self.busy_ns.saturating_sub(before.busy_ns),
            idle_ns: self.idle_ns.saturating_sub(before.idle_ns),
            switches: self.switches.saturating_sub(before.switches),
        }
    }

    /// The share of busy time; `None` if no time has passed.
    pub fn busy_share(self) -> Option<f64> {
        let all_ns = self.busy_ns.saturating_add(self.idle_ns);
        (all_ns > 0).then(|| self.busy_ns as f64 / all_ns as f64)
    }
}

impl System {
    /// Kernel names of the whole block devices, sorted.
    pub fn block_devices(&self) -> Vec<String> {
        folder_names(&self.path("sys/block"))
    }

    /// Kernel names of the whole block devices in the arbitrary order of the folder.
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

    /// The path of the counters of a block device or partition, relative to the root.
    pub(crate) fn statistics_path(&self, name: &str) -> String {
        let whole = format!("sys/block/{name}/stat");
        if self.path(&whole).exists() { whole } else { format!("sys/class/block/{name}/stat") }
    }

    /// Time since boot from `/proc/uptime`, in hundredths of a second: what iostat divides by.
    pub fn uptime_hundredths(&self) -> Option<u64> {
        let text = self.read("proc/uptime")?;
        let (seconds, hundredths) = text.split_whitespace().next()?.split_once('.')?;
        Some(seconds.parse::<u64>().ok()? * 100 + hundredths.parse::<u64>().ok()?)
    }

    /// CPU time since boot.
    pub fn cpu_ticks(&self) -> Option<CpuTicks> {
        counters::cpu_ticks(&self.read("proc/stat")?)
    }

    /// Activity of all CPUs together since boot. Time that a hypervisor gave to others is neither
    /// busy nor idle.
    pub fn cpu_activity(&self) -> Option<CpuActivity> {
        let text = self.read("proc/stat")?;
        let [user, nice, system, idle, iowait, irq, softirq, _] = counters::cpu_ticks(&text)?;
        let ns = |parts: &[u64]| {
            parts.iter().fold(0_u64, |sum, ticks| sum.saturating_add(ticks.saturating_mul(System::tick_ns())))
        };
        let switches = text.lines().find_map(|line| line.strip_prefix("ctxt "))?.trim().parse().ok()?;
        Some(CpuActivity { busy_ns: ns(&[user, nice, system, irq, softirq]), idle_ns: ns(&[idle, iowait]), switches })
    }

    /// Length of a tick of `/proc/stat`, ns (proc_stat(5): USER_HZ).
    pub(crate) fn tick_ns() -> u64 {
        NS_PER_SECOND / rustix::param::clock_ticks_per_second().max(1)
    }

    /// Whether a block device has a request queue. Devices without one (zram, device mapper, md)
    /// process the block I/O of file systems without a scheduler, merging or request tracepoints.
    pub fn has_requests(&self, disk: &str) -> bool {
        fs::metadata(self.path(&format!("sys/block/{disk}/mq"))).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn what_cpus_did_between_two_looks() {
        let look = |ticks: &str, switches: u64| {
            let mut fixture = Fixture::new();
            fixture.file("proc/stat", &format!("cpu  {ticks} 9 0 0\ncpu0 1 1\nintr 5\nctxt {switches}\nbtime 1\n"));
            fixture.system().cpu_activity().unwrap()
        };
        let tick_ns = System::tick_ns();
        let did = look("13 2 6 20 5 1 1", 1050).since(look("10 2 4 15 5 0 0", 1000));
        assert_eq!(did, CpuActivity { busy_ns: 7 * tick_ns, idle_ns: 5 * tick_ns, switches: 50 });
        assert_eq!(did.busy_share(), Some(7.0 / 12.0));
        assert_eq!(did.since(did).busy_share(), None);
        assert!(System::live().cpu_activity().is_some_and(|now| now.busy_ns > 0 && now.switches > 0));
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
