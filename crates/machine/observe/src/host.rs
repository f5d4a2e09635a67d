//! Facts about the host for the recording, and the limits of a run.
//!
//! What cannot be read is left empty or 0: a recording without a CPU model is better than no
//! recording.

use iolab_recording::HostFacts;
use rustix::process::{Resource, getrlimit};

use crate::{System, counters};

/// Size of a page of memory, bytes.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// The name of this host.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Most bytes this process may lock (`RLIMIT_MEMLOCK`, getrlimit(2)); `None`: no limit.
pub fn locked_memory_limit() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

impl System {
    /// The facts for the recording. `clock` names the source of time stamps, `command_line` is the
    /// program's own.
    pub fn host_facts(&self, clock: &str, command_line: Vec<String>) -> HostFacts {
        let uname = rustix::system::uname();
        HostFacts {
            hostname: host_name(),
            kernel: uname.release().to_string_lossy().into_owned(),
            cpu_model: self.cpu_model().unwrap_or_else(|| uname.machine().to_string_lossy().into_owned()),
            cpus: self.cpus_online(),
            memory_bytes: self.memory_bytes(),
            clock: clock.to_owned(),
            command_line,
            device_settings: Vec::new(),
            cpu_quotas: self.cpu_quotas().unwrap_or_default(),
        }
    }

    /// How many CPUs are online, at least 1.
    pub fn cpus_online(&self) -> u32 {
        u32::try_from(self.cpu_numbers().len()).unwrap_or(u32::MAX)
    }

    /// Numbers of the online CPUs, ascending; only CPU 0 if unknown.
    pub fn cpu_numbers(&self) -> Vec<usize> {
        let cpus = parse_list(&self.read("sys/devices/system/cpu/online").unwrap_or_default());
        if cpus.is_empty() { vec![0] } else { cpus }
    }

    /// Memory, bytes; 0 if unknown.
    pub fn memory_bytes(&self) -> u64 {
        self.meminfo_bytes("MemTotal:").unwrap_or(0)
    }

    /// Default size of a huge page, bytes; 2 MiB if unknown.
    pub fn huge_page_bytes(&self) -> u64 {
        self.meminfo_bytes("Hugepagesize:").unwrap_or(2 << 20)
    }

    fn meminfo_bytes(&self, name: &str) -> Option<u64> {
        counters::meminfo_bytes(&self.read("proc/meminfo")?, name)
    }

    /// `model name` of the first CPU, which some architectures lack.
    fn cpu_model(&self) -> Option<String> {
        let text = self.read("proc/cpuinfo")?;
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    }
}

/// Most numbers taken from one list: more CPUs than any kernel supports.
const LONGEST_LIST: usize = 1 << 16;

/// Parses a kernel list such as `0-3,8`; invalid parts are ignored.
pub(crate) fn parse_list(text: &str) -> Vec<usize> {
    let part = |part: &str| -> Option<std::ops::RangeInclusive<usize>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    text.trim().split(',').filter_map(part).flatten().take(LONGEST_LIST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fixtures::Fixture;

    #[test]
    fn kernel_lists() {
        for (text, expected) in [
            ("0", vec![0]),
            ("0-3\n", vec![0, 1, 2, 3]),
            ("0-1,4,6-7", vec![0, 1, 4, 6, 7]),
            ("", vec![]),
            ("x,3", vec![3]),
            ("5-2", vec![]),
        ] {
            assert_eq!(parse_list(text), expected, "{text}");
        }
        assert_eq!(parse_list("0-99999999999").len(), LONGEST_LIST);
    }

    #[test]
    fn facts_of_a_fixture() {
        let mut fixture = Fixture::new();
        fixture
            .file("sys/devices/system/cpu/online", "0-7\n")
            .file("proc/meminfo", "MemTotal:       2048 kB\nHugepagesize:  32 kB\n");
        fixture.file("proc/cpuinfo", "processor\t: 0\nmodel name\t: Quick CPU @ 3 GHz\n");
        let facts = fixture.system().host_facts("tsc", vec!["iolab".into()]);
        assert_eq!((facts.cpus, facts.memory_bytes), (8, 2 << 20));
        assert_eq!(fixture.system().huge_page_bytes(), 32 << 10);
        assert_eq!((facts.cpu_model.as_str(), facts.clock.as_str()), ("Quick CPU @ 3 GHz", "tsc"));
    }

    #[test]
    fn facts_of_an_empty_machine_are_modest() {
        let fixture = Fixture::new();
        let system = fixture.system();
        assert_eq!((system.cpu_numbers(), system.memory_bytes(), system.huge_page_bytes()), (vec![0], 0, 2 << 20));
        assert!(!fixture.system().host_facts("", vec![]).cpu_model.is_empty());
    }

    #[test]
    fn the_live_machine_has_memory_and_pages() {
        let facts = System::live().host_facts("clock_gettime", vec![]);
        assert!(facts.cpus >= 1 && facts.memory_bytes > 1 << 20);
        assert!(!facts.kernel.is_empty());
        assert!(page_bytes().is_power_of_two());
        assert_ne!(locked_memory_limit(), Some(u64::MAX));
    }
}
