//! Estimates how long the rest of a study takes, from the measured trials of each configuration.

/// Measured and planned times.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialTimes {
    /// Sum and count of measured times of each configuration, ns.
    measured: Vec<(u64, u64)>,
    /// The length according to the plan, ns, if the plan determines it.
    planned_ns: Vec<Option<u64>>,
}

impl TrialTimes {
    /// Nothing measured yet.
    pub fn new(planned_ns: Vec<Option<u64>>) -> TrialTimes {
        TrialTimes { measured: vec![(0, 0); planned_ns.len()], planned_ns }
    }

    /// Adds a measured trial.
    pub fn add(&mut self, configuration: usize, took_ns: u64) {
        if let Some((sum, count)) = self.measured.get_mut(configuration) {
            *sum += took_ns;
            *count += 1;
        }
    }

    /// Time for these trials: for each configuration its measured mean, otherwise its plan and what
    /// measured trials took beyond theirs (commands of the study, files that are laid out),
    /// otherwise the mean of all measured trials. `None` when nothing is known.
    pub fn left_ns(&self, missing: impl Iterator<Item = usize>) -> Option<u64> {
        let (sum, count) = self.measured.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        let usual = (count > 0).then(|| sum / count.max(1));
        let beyond = self.beyond_plan_ns();
        let of = |configuration: usize| match self.measured.get(configuration) {
            Some((sum, count)) if *count > 0 => Some(sum / count),
            _ => self.planned_ns.get(configuration).copied().flatten().map(|ns| ns.saturating_add(beyond)).or(usual),
        };
        missing.map(of).try_fold(0_u64, |left, one| Some(left.saturating_add(one?)))
    }

    /// What a measured trial took beyond its plan, in the mean of those that have one, ns.
    fn beyond_plan_ns(&self) -> u64 {
        let planned = self.measured.iter().zip(&self.planned_ns).filter_map(|(one, planned)| Some((one, (*planned)?)));
        let (beyond, count) = planned.fold((0_u64, 0_u64), |(beyond, count), ((sum, trials), planned)| {
            (beyond.saturating_add(sum.saturating_sub(trials.saturating_mul(planned))), count + trials)
        });
        beyond / count.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_configuration_has_a_pace_of_its_own() {
        let mut pace = TrialTimes::new(vec![Some(10), None, None]);
        assert_eq!(pace.left_ns([0, 0].into_iter()), Some(20));
        assert_eq!(pace.left_ns([0, 1].into_iter()), None, "nobody knows how long 1 takes");
        pace.add(0, 12);
        pace.add(0, 14);
        assert_eq!(pace.left_ns([0, 1].into_iter()), Some(26), "as long as the others, until it is measured");
        pace.add(1, 100);
        assert_eq!(pace.left_ns([0, 1, 1].into_iter()), Some(213));
        assert_eq!(pace.left_ns(std::iter::empty()), Some(0));
    }

    #[test]
    fn what_a_plan_does_not_contain_is_learned_from_other_trials() {
        let mut pace = TrialTimes::new(vec![Some(10), Some(10), None, Some(100)]);
        pace.add(0, 40);
        pace.add(2, 1000);
        assert_eq!(pace.left_ns([1, 3].into_iter()), Some(40 + 130), "each takes 30 beyond its plan");
        pace.add(0, 60);
        assert_eq!(pace.left_ns([0, 1].into_iter()), Some(50 + 50));
        pace.add(3, 90);
        assert_eq!(pace.left_ns([1].into_iter()), Some(10 + 26), "80 beyond the plan in three trials");
    }
}
