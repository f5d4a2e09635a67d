//! Counts the clusters whose share of live content is below `k`, without a scan of the clusters.
//!
//! Clusters are counted in 256 steps of live content up to the highest `k`, so that the count for a
//! new `k` is available at once when `k` moves from one step to the next.

/// Number of steps up to the highest `k`.
const STEPS: u64 = 256;

/// The step of a cluster that is no candidate for any `k`.
pub(super) const NO_STEP: u16 = u16::MAX;

#[derive(Debug)]
pub(super) struct Candidates {
    /// Live bytes from which a cluster is above the highest `k`; 0 when counting is off.
    top_bytes: u64,
    counts: [u32; STEPS as usize],
    /// Number of steps below the current `k`.
    limit: u64,
    /// Clusters in the steps below `limit`.
    below: u32,
}

impl Candidates {
    /// Counting is off.
    pub(super) fn off() -> Candidates {
        Candidates { top_bytes: 0, counts: [0; STEPS as usize], limit: STEPS, below: 0 }
    }

    /// Counts clusters up to this `k`, which becomes the current one.
    pub(super) fn up_to(k: f64, cluster_bytes: u32) -> Candidates {
        Candidates { top_bytes: (k * f64::from(cluster_bytes)).ceil() as u64, ..Candidates::off() }
    }

    pub(super) fn are_counted(&self) -> bool {
        self.top_bytes > 0
    }

    /// The step of a cluster with this number of live bytes.
    pub(super) fn step_of(&self, live_bytes: u64) -> u16 {
        if live_bytes < self.top_bytes { (live_bytes * STEPS / self.top_bytes) as u16 } else { NO_STEP }
    }

    /// Moves a cluster from one step to another.
    pub(super) fn change(&mut self, from: u16, to: u16) {
        if let Some(count) = self.counts.get_mut(from as usize) {
            *count -= 1;
            self.below -= u32::from(u64::from(from) < self.limit);
        }
        if let Some(count) = self.counts.get_mut(to as usize) {
            *count += 1;
            self.below += u32::from(u64::from(to) < self.limit);
        }
    }

    /// Sets the current `k` to this share of the highest, rounded to a step.
    pub(super) fn set_share(&mut self, share: f64) {
        let limit = (share.clamp(0.0, 1.0) * STEPS as f64).round() as u64;
        while self.limit < limit {
            self.below += self.counts[self.limit as usize];
            self.limit += 1;
        }
        while self.limit > limit {
            self.limit -= 1;
            self.below -= self.counts[self.limit as usize];
        }
    }

    /// Clusters below the current `k`.
    pub(super) fn count(&self) -> u32 {
        self.below
    }

    /// Live bytes from which a cluster is above the current `k`.
    pub(super) fn limit_bytes(&self) -> u64 {
        (self.top_bytes * self.limit).div_ceil(STEPS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_with_a_look_at_every_cluster() {
        let mut seed = 5_u64;
        let mut random = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % limit
        };
        for k in [0.3, 0.07, 1.0] {
            let mut candidates = Candidates::up_to(k, 1 << 20);
            let mut live = vec![(0_u64, NO_STEP); 50];
            for round in 0..3_000 {
                let number = random(50) as usize;
                let (bytes, old) = (random(1 << 20), live[number].1);
                let step = if random(5) == 0 { NO_STEP } else { candidates.step_of(bytes) };
                candidates.change(old, step);
                live[number] = (bytes, step);
                if round % 7 == 0 {
                    candidates.set_share(random(300) as f64 / 280.0);
                }
                let limit = candidates.limit_bytes();
                let below = live.iter().filter(|(bytes, step)| *step != NO_STEP && *bytes < limit).count();
                assert_eq!(candidates.count() as usize, below, "k {k}, round {round}");
            }
            candidates.set_share(1.0);
            assert_eq!(candidates.limit_bytes(), (k * f64::from(1 << 20)).ceil() as u64);
        }
    }
}
