//! Facts about the host, as the recording keeps them, and the limits that a run meets.
//!
//! What cannot be read is left empty or 0: a recording without a CPU model is better than no recording.

use iolab_recording::HostFacts;
use rustix::process::{Resource, getrlimit};

use crate::System;

/// Size of a page of memory, bytes.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// Most bytes this process may lock (`RLIMIT_MEMLOCK`, getrlimit(2)); `None`: no limit.
pub fn locked_memory_limit() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

impl System {
    /// The facts a recording keeps. `clock` names the source of time stamps, `command_line` is the program's own.
    pub fn host_facts(&self, clock: &str, command_line: Vec<String>) -> HostFacts {
        let uname = rustix::system::uname();
        HostFacts {
            hostname: uname.nodename().to_string_lossy().into_owned(),
            kernel: uname.release().to_string_lossy().into_owned(),
            cpu_model: self.cpu_model().unwrap_or_else(|| uname.machine().to_string_lossy().into_owned()),
            cpus: self.cpus_online(),
            memory_bytes: self.memory_bytes(),
            clock: clock.to_owned(),
            command_line,
        }
    }

    /// CPUs online, at least 1.
    pub fn cpus_online(&self) -> u32 {
        let text = self.read("sys/devices/system/cpu/online").unwrap_or_default();
        count_list(&text).max(1)
    }

    /// Memory, bytes; 0 if unknown.
    pub fn memory_bytes(&self) -> u64 {
        let text = self.read("proc/meminfo").unwrap_or_default();
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        total.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
    }

    /// `model name` of the first CPU; some architectures have none.
    fn cpu_model(&self) -> Option<String> {
        let text = self.read("proc/cpuinfo")?;
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    }
}

/// How many numbers a kernel list such as `0-3,8` names; parts that are no numbers count nothing.
fn count_list(text: &str) -> u32 {
    let count_part = |part: &str| -> Option<u32> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    text.trim().split(',').filter_map(count_part).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fixtures::Fixture;

    #[test]
    fn kernel_lists() {
        for (text, expected) in [("0", 1), ("0-3\n", 4), ("0-1,4,6-7", 5), ("", 0), ("x,3", 1), ("5-2", 0)] {
            assert_eq!(count_list(text), expected, "{text}");
        }
    }

    #[test]
    fn facts_of_a_fixture() {
        let mut fixture = Fixture::new();
        fixture
            .file("sys/devices/system/cpu/online", "0-7\n")
            .file("proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");
        fixture.file("proc/cpuinfo", "processor\t: 0\nmodel name\t: Quick CPU @ 3 GHz\n");
        let facts = fixture.system().host_facts("tsc", vec!["iolab".into()]);
        assert_eq!((facts.cpus, facts.memory_bytes), (8, 2 << 20));
        assert_eq!((facts.cpu_model.as_str(), facts.clock.as_str()), ("Quick CPU @ 3 GHz", "tsc"));
    }

    #[test]
    fn facts_of_an_empty_machine_are_modest() {
        let fixture = Fixture::new();
        assert_eq!((fixture.system().cpus_online(), fixture.system().memory_bytes()), (1, 0));
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
