//! Keeps all CPUs as busy as asked (`cpu_busy`), whatever else runs.

use iolab_observe::{CpuActivity, System};
use iolab_options::Settings;

/// Between two looks, ns.
const LOOK_EVERY_NS: u64 = 250_000_000;
/// Least load, percent: what is multiplied must not become 0.
const LEAST_LOAD: f64 = 0.1;

/// The load of one job, which follows what the CPUs do.
#[derive(Debug)]
pub(crate) struct Governor {
    system: System,
    /// Share of the time in which CPUs are to be busy.
    target: f64,
    /// Share of one CPU that this job uses, percent.
    load: f64,
    before: Option<CpuActivity>,
    look_at_ns: u64,
}

impl Governor {
    /// `None` without `cpu_busy`.
    pub(crate) fn from_options(options: &Settings) -> Option<Governor> {
        let percent = options.integer("cpu_busy")?;
        let load = options.integer("cpuload").unwrap_or(1) as f64;
        let (system, before) = (System::live(), None);
        Some(Governor { system, target: percent as f64 / 100.0, load, before, look_at_ns: 0 })
    }

    /// The load from now on, percent, if it is time to look again.
    pub(crate) fn look(&mut self, now_ns: u64) -> Option<f64> {
        if now_ns < self.look_at_ns {
            return None;
        }
        self.look_at_ns = now_ns.saturating_add(LOOK_EVERY_NS);
        let now = self.system.cpu_activity()?;
        let share = self.before.replace(now).and_then(|before| now.since(before).busy_share())?;
        self.load = adjusted(self.load, share, self.target);
        Some(self.load)
    }
}

/// The next load, percent. Each job changes its own by the factor that all the work would have to
/// change by. However many there are, their sum does not overshoot; and the less of all work is
/// theirs, the more looks they need.
fn adjusted(load: f64, share: f64, target: f64) -> f64 {
    (load * target / share.max(0.01)).clamp(LEAST_LOAD, 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Jobs beside a program that is busy for `other` CPUs of two: how busy all are after 5 s.
    fn settles(jobs: f64, other: f64, target: f64) -> f64 {
        let mut load = 10.0;
        let share = |load: f64| ((other + jobs * load / 100.0) / 2.0).min(1.0);
        for _ in 0..20 {
            load = adjusted(load, share(load), target);
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
        let mut governor = Governor { system: System::live(), target: 0.5, load: 10.0, before: None, look_at_ns: 0 };
        assert_eq!(governor.look(1_000), None, "the first look has nothing to compare with");
        assert!(governor.before.is_some());
        assert_eq!(governor.look(2_000), None);
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(governor.look(1_000 + LOOK_EVERY_NS).is_some_and(|load| load > 0.0));
    }
}
