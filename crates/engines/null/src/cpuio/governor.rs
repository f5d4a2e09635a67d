//! Keeps CPUs as busy as requested (`cpu_busy`): by all programs on the machine together, or by the
//! processes of this run (`cpu_busy_by`).

use iolab_observe::{CpuActivity, System};
use iolab_options::Settings;

/// Time between two readings, ns.
const LOOK_EVERY_NS: u64 = 250_000_000;
/// Smallest load, percent: a factor cannot change 0.
const LEAST_LOAD: f64 = 0.1;
/// If only this run counts, a job uses at most this many times its `cpuload`: more would take
/// processor time from other programs that the run would not get beside them.
const MOST_OF_OWN: f64 = 1.25;

/// The load of one job, which follows the load of the CPUs.
#[derive(Debug)]
pub(crate) struct Governor {
    system: System,
    /// Share of the time in which CPUs should be busy.
    target: f64,
    /// The process that started this run; `None` if all programs count.
    run: Option<i32>,
    /// Share of one CPU that this job uses, percent.
    load: f64,
    most: f64,
    before: Option<Look>,
    look_at_ns: u64,
}

/// Accumulated times at a reading.
#[derive(Debug, Clone, Copy)]
struct Look {
    all: CpuActivity,
    /// Processor time of the run.
    run_ns: u64,
}

impl Governor {
    /// `None` without `cpu_busy`.
    pub(crate) fn from_options(options: &Settings) -> Option<Governor> {
        let percent = options.integer("cpu_busy")?;
        let load = options.integer("cpuload").unwrap_or(1) as f64;
        let system = System::live();
        let run = (options.choice("cpu_busy_by") == Some("run")).then(|| run_of(&system));
        let most = if run.is_some() { (load * MOST_OF_OWN).min(100.0) } else { 100.0 };
        Some(Governor { system, target: percent as f64 / 100.0, run, load, most, before: None, look_at_ns: 0 })
    }

    /// The new load, percent, if it is time for a reading.
    pub(crate) fn look(&mut self, now_ns: u64) -> Option<f64> {
        if now_ns < self.look_at_ns {
            return None;
        }
        self.look_at_ns = now_ns.saturating_add(LOOK_EVERY_NS);
        let run_ns = self.run.map_or(0, |process| used_by_run(&self.system, process));
        let now = Look { all: self.system.cpu_activity()?, run_ns };
        let before = self.before.replace(now)?;
        let all = now.all.since(before.all);
        let share = match self.run {
            None => all.busy_share()?,
            Some(_) => now.run_ns.saturating_sub(before.run_ns) as f64 / (all.busy_ns + all.idle_ns).max(1) as f64,
        };
        self.load = adjusted(self.load, share, self.target, self.most);
        Some(self.load)
    }
}

/// The process that started this worker's run: the one that forked it, or this one if workers are
/// threads.
fn run_of(system: &System) -> i32 {
    let own = std::process::id() as i32;
    let parent = system.process_time(own).map_or(own, |process| process.parent);
    let program = |process: i32| std::fs::read_link(system.path(&format!("proc/{process}/exe"))).ok();
    if program(own).is_some() && program(parent) == program(own) { parent } else { own }
}

/// Processor time of a process and its children, ns.
fn used_by_run(system: &System, process: i32) -> u64 {
    let made = system.read(&format!("proc/{process}/task/{process}/children")).unwrap_or_default();
    let made = made.split_ascii_whitespace().filter_map(|word| word.parse().ok());
    made.chain([process]).filter_map(|one| system.process_time(one)).map(|one| one.used_ns).sum()
}

/// The next load, percent. Each job changes its own by the factor by which all the work would have
/// to change. The sum of any number of jobs does not overshoot. The smaller their share of all
/// work, the more readings they need.
fn adjusted(load: f64, share: f64, target: f64, most: f64) -> f64 {
    (load * target / share.max(0.01)).clamp(LEAST_LOAD, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_observe::Fixture;

    /// Jobs beside a program that keeps `other` of two CPUs busy: the total load after 5 s.
    fn settles(jobs: f64, other: f64, target: f64) -> f64 {
        let mut load = 10.0;
        let share = |load: f64| ((other + jobs * load / 100.0) / 2.0).min(1.0);
        for _ in 0..20 {
            load = adjusted(load, share(load), target, 100.0);
        }
        share(load)
    }

    #[test]
    fn the_share_settles_where_it_is_to_be() {
        for (jobs, other, target) in [(1.0, 0.5, 0.6), (4.0, 0.8, 0.82), (8.0, 0.1, 0.95), (16.0, 1.2, 0.8)] {
            let share = settles(jobs, other, target);
            assert!((share - target).abs() < 0.01, "{jobs} jobs beside {other}: {share} for {target}");
        }
        let busier_anyway = settles(4.0, 1.9, 0.5);
        assert!((busier_anyway - 0.952).abs() < 0.001, "{busier_anyway}");
    }

    #[test]
    fn it_looks_four_times_a_second() {
        let (system, before) = (System::live(), None);
        let mut governor = Governor { system, target: 0.5, run: None, load: 10.0, most: 100.0, before, look_at_ns: 0 };
        assert_eq!(governor.look(1_000), None, "the first look has nothing to compare with");
        assert!(governor.before.is_some());
        assert_eq!(governor.look(2_000), None);
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(governor.look(1_000 + LOOK_EVERY_NS).is_some_and(|load| load > 0.0));
    }

    /// A machine of two CPUs after `ticks` of work of each process: the run's two, and another.
    fn machine(run: u64, worker: u64, other: u64, idle: u64) -> (Fixture, System) {
        let mut fixture = Fixture::new();
        for (id, ticks) in [(7, run), (8, worker), (9, other)] {
            let text = format!("{id} (x) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 5 1 1");
            fixture.file(&format!("proc/{id}/stat"), &text);
        }
        fixture.file("proc/7/task/7/children", "8 ");
        fixture.file("proc/stat", &format!("cpu {} 0 0 {idle} 0 0 0 0 0 0\nctxt 1\n", run + worker + other));
        let system = fixture.system();
        (fixture, system)
    }

    #[test]
    fn where_only_the_run_counts_others_change_nothing_and_there_is_a_limit() {
        let (first, system) = machine(10, 10, 10, 10);
        let (run, before) = (Some(7), None);
        let mut governor = Governor { system, target: 0.4, run, load: 20.0, most: 25.0, before, look_at_ns: 0 };
        assert_eq!(governor.look(0), None);
        // The run has used 40 of 100 ticks; the other program does not count.
        let (second, system) = machine(20, 40, 50, 30);
        governor.system = system;
        assert_eq!(governor.look(LOOK_EVERY_NS), Some(20.0));
        let (third, system) = machine(25, 55, 100, 60);
        governor.system = system;
        assert_eq!(governor.look(2 * LOOK_EVERY_NS), Some(25.0), "20 of 100 ask for twice as much");
        drop((first, second, third));
    }
}
