//! What limits the CPU time of tasks: quotas of control groups, and heat.
//!
//! The control group is that of this process, which the workers of a run share, together with all
//! enclosing groups as far as the mounts show them: in a container, those of the machine may not be
//! visible. A quota is enforced where the `cpu` controller is, in the unified hierarchy or in its
//! own. What cannot be read is `None`, never zero: a quota that is not visible may still exist.

use std::fs::File;
use std::path::{Component, Path, PathBuf};

use iolab_recording::{CpuQuota, QuotaUse};

use crate::counters::{quota_and_period_ns, quota_use};
use crate::host::parse_list;
use crate::system::{BUFFER_BYTES, read_again};
use crate::{MountEntry, System};

/// The control group of this process, where CPU quotas are enforced.
#[derive(Debug, PartialEq, Eq)]
struct CpuGroup {
    /// Its folder, and that of the outermost visible group, relative to the root of the machine.
    folder: PathBuf,
    outermost: PathBuf,
    /// Whether it is in the unified hierarchy (cgroup v2).
    is_unified: bool,
}

impl System {
    /// CPU quotas of the control group of this process and of the enclosing ones, the innermost
    /// first; `None` when the group cannot be found.
    pub fn cpu_quotas(&self) -> Option<Vec<CpuQuota>> {
        let group = self.cpu_group()?;
        let quotas = group.folders().filter_map(|folder| {
            let (quota_ns, period_ns) = quota_and_period_ns(&self.quota_text(&group, folder)?)?;
            let name = Path::new("/").join(folder.strip_prefix(&group.outermost).ok()?);
            Some(CpuQuota { group: name.to_string_lossy().into_owned(), quota_ns, period_ns })
        });
        Some(quotas.collect())
    }

    /// Quota and period in the form of `cpu.max`. A quota of -1 means none, and does not parse as
    /// an unsigned number.
    fn quota_text(&self, group: &CpuGroup, folder: &Path) -> Option<String> {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        if group.is_unified {
            return read("cpu.max");
        }
        Some(format!("{} {}", read("cpu.cfs_quota_us")?.trim(), read("cpu.cfs_period_us")?.trim()))
    }

    /// From `/proc/self/cgroup` (cgroups(7)) and the mounts.
    fn cpu_group(&self) -> Option<CpuGroup> {
        let text = self.read("proc/self/cgroup")?;
        let lines = || text.lines().filter_map(group_line);
        let own = lines().find(|(controllers, _)| has_word(controllers, "cpu"));
        let is_unified = own.is_none();
        let (_, path) = own.or_else(|| lines().find(|(controllers, _)| controllers.is_empty()))?;
        let holds = |mount: &MountEntry| match is_unified {
            true => mount.fs_type == "cgroup2",
            false => mount.fs_type == "cgroup" && has_word(&mount.options, "cpu"),
        };
        let mount = self.mounts().into_iter().find(holds)?;
        let below = Path::new(path).strip_prefix(&mount.root).ok()?;
        // The path of a group outside of what is mounted begins with `..`.
        if below.components().any(|part| part == Component::ParentDir) {
            return None;
        }
        let outermost = self.path(mount.mount_point.strip_prefix("/").ok()?.to_str()?);
        let folder = outermost.join(below);
        folder.is_dir().then_some(CpuGroup { folder, outermost, is_unified })
    }
}

impl CpuGroup {
    /// Its folder and those of the enclosing groups, the innermost first.
    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folder.ancestors().take_while(|folder| folder.starts_with(&self.outermost))
    }
}

/// Parses `4:cpu,cpuacct:/system.slice`: the controllers, empty for the unified hierarchy, and the
/// path of the group.
fn group_line(line: &str) -> Option<(&str, &str)> {
    line.split_once(':')?.1.split_once(':')
}

fn has_word(list: &str, word: &str) -> bool {
    list.split(',').any(|one| one == word)
}

/// The open counters.
#[derive(Debug)]
pub(crate) struct OpenThrottling {
    /// `cpu.stat` of every group with quota counters.
    groups: Vec<File>,
    /// One counter for every core and every package.
    heat: Vec<File>,
}

impl OpenThrottling {
    pub(crate) fn open(system: &System) -> OpenThrottling {
        let counts = |file: &File| read_again(file, &mut [0; BUFFER_BYTES]).and_then(quota_use).is_some();
        let group = system.cpu_group();
        let stats =
            group.iter().flat_map(CpuGroup::folders).filter_map(|folder| File::open(folder.join("cpu.stat")).ok());
        OpenThrottling { groups: stats.filter(counts).collect(), heat: open_heat(system) }
    }

    /// The sum over all groups; `None` when one of them can no longer be read.
    pub(crate) fn quota(&self, buffer: &mut [u8; BUFFER_BYTES]) -> Option<QuotaUse> {
        let mut sum: Option<QuotaUse> = None;
        for file in &self.groups {
            let of_group = quota_use(read_again(file, buffer)?)?;
            let so_far = sum.unwrap_or_default();
            sum = Some(QuotaUse {
                periods: so_far.periods.saturating_add(of_group.periods),
                throttled_periods: so_far.throttled_periods.saturating_add(of_group.throttled_periods),
                throttled_ns: so_far.throttled_ns.saturating_add(of_group.throttled_ns),
            });
        }
        sum
    }

    /// The sum over all cores and packages; `None` when one of them can no longer be read.
    pub(crate) fn thermal_events(&self, buffer: &mut [u8; BUFFER_BYTES]) -> Option<u64> {
        let mut sum: Option<u64> = None;
        for file in &self.heat {
            let events: u64 = read_again(file, buffer)?.trim().parse().ok()?;
            sum = Some(sum.unwrap_or(0).saturating_add(events));
        }
        sum
    }
}

/// Every thread of a core, and every core of a package, counts the same events: one file of each is
/// enough.
fn open_heat(system: &System) -> Vec<File> {
    let mut packages: Vec<String> = Vec::new();
    let mut files = Vec::new();
    for cpu in system.cpu_numbers() {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        let open =
            |name: &str| File::open(system.path(&format!("{folder}/thermal_throttle/{name}_throttle_count"))).ok();
        let threads = system.read(&format!("{folder}/topology/thread_siblings_list")).unwrap_or_default();
        if parse_list(&threads).first().is_none_or(|first| *first == cpu) {
            files.extend(open("core"));
        }
        let package = system.read(&format!("{folder}/topology/physical_package_id")).unwrap_or_else(|| cpu.to_string());
        if !packages.contains(&package) {
            files.extend(open("package"));
            packages.push(package);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fixtures::Fixture;

    const UNIFIED: &str = "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n";
    const OF_CPU: &str = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpuacct,cpu\n";

    fn quotas(fixture: &Fixture) -> Option<Vec<(String, u64, u64)>> {
        let quotas = fixture.system().cpu_quotas()?.into_iter();
        Some(quotas.map(|quota| (quota.group, quota.quota_ns / 1000, quota.period_ns / 1000)).collect())
    }

    fn look(fixture: &Fixture) -> (Option<QuotaUse>, Option<u64>) {
        let (open, mut buffer) = (OpenThrottling::open(&fixture.system()), [0; BUFFER_BYTES]);
        (open.quota(&mut buffer), open.thermal_events(&mut buffer))
    }

    #[test]
    fn the_unified_hierarchy_is_read_to_its_root() {
        let mut fixture = Fixture::new();
        fixture.file("proc/self/mountinfo", UNIFIED).file("proc/self/cgroup", "0::/pod/box\n");
        fixture.file("sys/fs/cgroup/cpu.stat", "usage_usec 7\n");
        fixture.file("sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
        fixture.file("sys/fs/cgroup/pod/cpu.stat", "nr_periods 10\nnr_throttled 1\nthrottled_usec 5\n");
        fixture.file("sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
        fixture.file("sys/fs/cgroup/pod/box/cpu.stat", "nr_periods 3\nnr_throttled 2\nthrottled_usec 8\n");
        assert_eq!(quotas(&fixture), Some(vec![("/pod".to_owned(), 150_000, 100_000)]));
        let expected = QuotaUse { periods: 13, throttled_periods: 3, throttled_ns: 13_000 };
        assert_eq!(look(&fixture).0, Some(expected));
    }

    #[test]
    fn a_hierarchy_of_the_controller_goes_before_the_unified_one() {
        let mut fixture = Fixture::new();
        fixture.file("proc/self/mountinfo", &format!("{UNIFIED}{OF_CPU}"));
        fixture.file("proc/self/cgroup", "5:cpuset:/other\n4:cpuacct,cpu:/box\n0::/\n");
        fixture
            .file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
            .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
        let stat = "nr_periods 4\nnr_throttled 3\nthrottled_time 2000\n";
        fixture.file("sys/fs/cgroup/cpu/box/cpu.stat", stat);
        fixture.file("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "20000\n");
        fixture.file("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
        assert_eq!(quotas(&fixture), Some(vec![("/box".to_owned(), 20_000, 100_000)]));
        assert_eq!(look(&fixture).0, Some(QuotaUse { periods: 4, throttled_periods: 3, throttled_ns: 2000 }));
    }

    #[test]
    fn a_part_of_a_hierarchy_is_mounted() {
        let mut fixture = Fixture::new();
        fixture.file("proc/self/mountinfo", &UNIFIED.replace("0:38 /", "0:38 /docker/abc"));
        fixture.file("proc/self/cgroup", "0::/docker/abc/inner\n");
        fixture.file("sys/fs/cgroup/cpu.max", "50000 100000\n").file("sys/fs/cgroup/inner/cpu.max", "max 100000\n");
        assert_eq!(quotas(&fixture), Some(vec![("/".to_owned(), 50_000, 100_000)]));
    }

    #[test]
    fn what_is_not_seen_is_not_zero() {
        let mut fixture = Fixture::new();
        assert_eq!((quotas(&fixture), look(&fixture)), (None, (None, None)));
        // A group outside of the namespace, and one whose hierarchy is not mounted.
        fixture.file("proc/self/mountinfo", UNIFIED).file("sys/fs/cgroup/cpu.stat", "usage_usec 7\n");
        for group in ["0::/../elsewhere\n", "4:cpu:/box\n", "0::/gone\n"] {
            fixture.file("proc/self/cgroup", group);
            assert_eq!((quotas(&fixture), look(&fixture)), (None, (None, None)), "{group}");
        }
        // The root group of the machine has no quota, and nothing to count.
        fixture.file("proc/self/cgroup", "0::/\n");
        assert_eq!((quotas(&fixture), look(&fixture)), (Some(Vec::new()), (None, None)));
    }

    #[test]
    fn heat_is_counted_once_for_each_core_and_package() {
        let mut fixture = Fixture::new();
        fixture.file("sys/devices/system/cpu/online", "0-3\n");
        for (cpu, siblings, core) in [(0, "0,2", 5), (1, "1,3", 7), (2, "0,2", 5), (3, "1,3", 7)] {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            fixture.file(&format!("{folder}/topology/thread_siblings_list"), &format!("{siblings}\n"));
            fixture.file(&format!("{folder}/topology/physical_package_id"), "0\n");
            fixture.file(&format!("{folder}/thermal_throttle/core_throttle_count"), &format!("{core}\n"));
            fixture.file(&format!("{folder}/thermal_throttle/package_throttle_count"), "100\n");
        }
        let (open, mut buffer) = (OpenThrottling::open(&fixture.system()), [0; BUFFER_BYTES]);
        assert_eq!(open.thermal_events(&mut buffer), Some(112));
        fixture.file("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "9\n");
        assert_eq!(open.thermal_events(&mut buffer), Some(114));
        fixture.file("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "");
        assert_eq!(open.thermal_events(&mut buffer), None);
    }

    #[test]
    fn heat_without_a_topology_is_counted_for_every_cpu() {
        let mut fixture = Fixture::new();
        fixture.file("sys/devices/system/cpu/online", "0-1\n");
        fixture.file("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "1\n");
        fixture.file("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "2\n");
        assert_eq!(look(&fixture).1, Some(3));
    }
}
