//! The processes of the machine: whose processor time is whose, and how long threads waited for a
//! processor (proc_pid_stat(5), `Documentation/scheduler/sched-stats.rst`).

use crate::System;
use crate::block_tree::folder_names;

/// `PF_KTHREAD` of the kernel's `include/linux/sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A process, and what it had used when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessTime {
    /// Its number.
    pub id: i32,
    /// Who made it, or has adopted it.
    pub parent: i32,
    /// Its name, as the kernel shortens it.
    pub name: String,
    /// Whether it is a thread of the kernel.
    pub is_kernel: bool,
    /// When it began, in ticks since boot: with the number, no other process has both.
    pub started: u64,
    /// Processor time of all its threads, those that have ended included, ns.
    pub used_ns: u64,
    /// Processor time of the processes that it has made and waited for, and of theirs, ns.
    pub children_ns: u64,
}

/// How long the threads of a process ran, and how long they could have but had to wait, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunAndWait {
    /// On a processor.
    pub ran_ns: u64,
    /// Ready, without a processor.
    pub waited_ns: u64,
}

impl System {
    /// All processes.
    pub fn processes(&self) -> Vec<ProcessTime> {
        let numbers = folder_names(&self.path("proc")).into_iter().filter_map(|name| name.parse().ok());
        numbers.filter_map(|id| self.process_time(id)).collect()
    }

    /// One process; `None` if it is gone.
    pub fn process_time(&self, id: i32) -> Option<ProcessTime> {
        let text = self.read(&format!("proc/{id}/stat"))?;
        // The name may hold spaces and parentheses.
        let (name, rest) = text.split_once(" (")?.1.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
        let ns = |place: usize| {
            let ticks = number(place)?.saturating_add(number(place + 1)?);
            Some(ticks.saturating_mul(System::tick_ns()))
        };
        Some(ProcessTime {
            id,
            parent: fields.get(1)?.parse().ok()?,
            name: name.to_owned(),
            is_kernel: number(6)? & KERNEL_THREAD != 0,
            started: number(19)?,
            used_ns: ns(11)?,
            children_ns: ns(13)?,
        })
    }

    /// The threads of a process that are there; `None` where the kernel does not count, or the
    /// process is gone.
    pub fn run_and_wait(&self, id: i32) -> Option<RunAndWait> {
        let mut sum = RunAndWait::default();
        let mut is_known = false;
        for thread in folder_names(&self.path(&format!("proc/{id}/task"))) {
            let Some(text) = self.read(&format!("proc/{id}/task/{thread}/schedstat")) else { continue };
            let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
            if let (Some(Ok(ran_ns)), Some(Ok(waited_ns))) = (numbers.next(), numbers.next()) {
                sum.ran_ns = sum.ran_ns.saturating_add(ran_ns);
                sum.waited_ns = sum.waited_ns.saturating_add(waited_ns);
                is_known = true;
            }
        }
        is_known.then_some(sum)
    }
}

/// Which of them come from one of these processes, those included, by their numbers.
pub fn descendants(processes: &[ProcessTime], heads: &[i32]) -> std::collections::BTreeSet<i32> {
    let mut found: std::collections::BTreeSet<i32> = heads.iter().copied().collect();
    // A child may be listed before its parent, since numbers begin again.
    loop {
        let known = found.len();
        found.extend(processes.iter().filter(|one| found.contains(&one.parent)).map(|one| one.id).collect::<Vec<_>>());
        if found.len() == known {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fixtures::Fixture;

    fn stat(id: i32, name: &str, parent: i32, flags: u64, ticks: [u64; 2]) -> String {
        let [user, system] = ticks;
        format!("{id} ({name}) S {parent} 1 1 0 -1 {flags} 0 0 0 0 {user} {system} 9 9 20 0 1 0 777 1 1")
    }

    #[test]
    fn processes_with_any_name_their_makers_and_their_time() {
        let mut fixture = Fixture::new();
        fixture.file("proc/12/stat", &stat(12, "a) b (c", 7, 0, [3, 4]));
        fixture.file("proc/7/stat", &stat(7, "sh", 1, 0, [1, 0]));
        fixture.file("proc/2/stat", &stat(2, "kthreadd", 0, KERNEL_THREAD, [0, 5]));
        fixture.file("proc/9/stat", "9 (gone");
        fixture.file("proc/stat", "cpu 1\n");
        fixture.file("proc/12/task/12/schedstat", "1000 50 3\n").file("proc/12/task/13/schedstat", "200 7 1\n");
        let system = fixture.system();
        let all = system.processes();
        let tick = System::tick_ns();
        let told: Vec<(i32, i32, &str, bool, u64)> =
            all.iter().map(|one| (one.id, one.parent, one.name.as_str(), one.is_kernel, one.used_ns / tick)).collect();
        assert_eq!(told, [(12, 7, "a) b (c", false, 7), (2, 0, "kthreadd", true, 5), (7, 1, "sh", false, 1)]);
        assert_eq!((all[0].started, all[0].children_ns / tick), (777, 18));
        assert_eq!(system.run_and_wait(12), Some(RunAndWait { ran_ns: 1200, waited_ns: 57 }));
        assert_eq!(system.run_and_wait(7), None);
        assert_eq!(descendants(&all, &[7]).into_iter().collect::<Vec<_>>(), [7, 12]);
    }

    #[test]
    fn this_process_is_among_them() {
        let own = std::process::id() as i32;
        assert!(System::live().processes().iter().any(|one| one.id == own && !one.is_kernel));
    }
}
