//! Given shares of the accesses to given ranges, uniform within each.
//!
//! Shares that do not sum to 100 are scaled. Zones that begin past the end of the file are left
//! out, and their share goes to the others. Blocks outside all zones are never visited.

use iolab_plan::ZoneShare;

use super::Domain;
use crate::random::Generator;

/// The zones of one domain.
#[derive(Debug, Clone)]
pub(crate) struct Zoned {
    zones: Box<[Zone]>,
}

#[derive(Debug, Clone, Copy)]
struct Zone {
    /// A 63-bit random number up to this falls into this zone or an earlier one.
    most: u64,
    first: u64,
    count: u64,
}

impl Zoned {
    /// Zones as shares of the range.
    pub(crate) fn relative(domain: Domain, shares: &[ZoneShare]) -> Result<Zoned, String> {
        let count = domain.count as f64;
        let mut end_percent = 0.0;
        Zoned::new(domain, shares, |share| {
            end_percent += share.size_percent;
            (end_percent / 100.0 * count).round()
        })
    }

    /// Zones as ranges of bytes.
    pub(crate) fn absolute(domain: Domain, shares: &[ZoneShare]) -> Result<Zoned, String> {
        let mut end_bytes = 0_u64;
        Zoned::new(domain, shares, |share| {
            end_bytes = end_bytes.saturating_add(share.size_bytes);
            end_bytes.div_ceil(domain.step_bytes.max(1)) as f64
        })
    }

    /// `end` returns the block at which the next zone ends.
    fn new(domain: Domain, shares: &[ZoneShare], mut end: impl FnMut(&ZoneShare) -> f64) -> Result<Zoned, String> {
        let mut zones = Vec::with_capacity(shares.len());
        let mut first = 0;
        for share in shares {
            let sane = |value: f64| value.is_finite() && value >= 0.0;
            if !sane(share.access_percent) || !sane(share.size_percent) {
                return Err("zones need percentages of 0 or more".to_owned());
            }
            let past = (end(share) as u64).min(domain.count);
            // A zone too small for a whole block takes the next block.
            let count = past.saturating_sub(first).max(1);
            if share.access_percent > 0.0 && first < domain.count {
                zones.push((share.access_percent, first, count));
            }
            first = first.max(past);
        }
        let total: f64 = zones.iter().map(|zone| zone.0).sum();
        if total <= 0.0 {
            return Err("no zone within the file has a share above 0; give one an access share".to_owned());
        }
        let mut sum = 0.0;
        let mut zones: Vec<Zone> = zones
            .into_iter()
            .map(|(access, first, count)| {
                sum += access;
                Zone { most: (sum / total * (1_u64 << 63) as f64) as u64, first, count }
            })
            .collect();
        if let Some(last) = zones.last_mut() {
            last.most = u64::MAX;
        }
        Ok(Zoned { zones: zones.into_boxed_slice() })
    }

    /// A block.
    #[inline]
    pub(crate) fn draw(&self, generator: &mut Generator) -> u64 {
        let dice = generator.next() >> 1;
        let index = self.zones.partition_point(|zone| zone.most <= dice);
        self.zones.get(index).map_or(0, |zone| zone.first + generator.below(zone.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(access_percent: f64, size_percent: f64, size_bytes: u64) -> ZoneShare {
        ZoneShare { access_percent, size_percent, size_bytes }
    }

    fn shares_between(zoned: &Zoned, edges: &[u64]) -> Vec<f64> {
        let mut generator = Generator::new(6);
        let draws = 100_000;
        let mut counts = vec![0.0; edges.len()];
        for _ in 0..draws {
            let block = zoned.draw(&mut generator);
            let cell = edges.iter().position(|edge| block < *edge).expect("below the last edge");
            counts[cell] += 100.0 / f64::from(draws);
        }
        counts
    }

    #[test]
    fn zones_get_their_shares() {
        let domain = Domain { count: 10_000, step_bytes: 4096 };
        let manual = [share(60.0, 10.0, 0), share(30.0, 20.0, 0), share(8.0, 30.0, 0), share(2.0, 40.0, 0)];
        let observed =
            shares_between(&Zoned::relative(domain, &manual).expect("good zones"), &[1000, 3000, 6000, 10_000]);
        for (got, expected) in observed.iter().zip([60.0, 30.0, 8.0, 2.0]) {
            assert!((got - expected).abs() < 0.7, "{observed:?}");
        }
        // The third zone begins past the end, so its share goes to the others. The second is cut
        // off.
        let absolute = [share(40.0, 0.0, 4096 * 5000), share(40.0, 0.0, 4096 * 50_000), share(20.0, 0.0, 1 << 40)];
        let observed = shares_between(&Zoned::absolute(domain, &absolute).expect("good zones"), &[5000, 10_000]);
        assert!((observed[0] - 50.0).abs() < 0.7, "{observed:?}");
    }

    #[test]
    fn tiny_and_senseless_zones() {
        let domain = Domain { count: 3, step_bytes: 4096 };
        let tiny =
            Zoned::absolute(domain, &[share(50.0, 0.0, 1), share(50.0, 0.0, 1), share(0.0, 0.0, 1)]).expect("good");
        assert!(shares_between(&tiny, &[3])[0] > 99.0);
        for bad in [vec![], vec![share(0.0, 50.0, 0)], vec![share(f64::NAN, 1.0, 0)], vec![share(1.0, -1.0, 0)]] {
            assert!(Zoned::relative(domain, &bad).is_err(), "{bad:?}");
        }
    }
}
