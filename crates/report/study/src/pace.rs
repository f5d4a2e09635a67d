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

    /// Time for these trials: for each configuration its measured mean, otherwise its plan,
    /// otherwise the mean of all measured trials. `None` when nothing is known.
    pub fn left_ns(&self, missing: impl Iterator<Item = usize>) -> Option<u64> {
        let (sum, count) = self.measured.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        let usual = (count > 0).then(|| sum / count.max(1));
        let of = |configuration: usize| match self.measured.get(configuration) {
            Some((sum, count)) if *count > 0 => Some(sum / count),
            _ => self.planned_ns.get(configuration).copied().flatten().or(usual),
        };
        missing.map(of).try_fold(0_u64, |left, one| Some(left.saturating_add(one?)))
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
}
