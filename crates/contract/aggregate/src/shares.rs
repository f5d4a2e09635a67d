//! Shares in percent: latency bands, queue depths and batches.

use iolab_histogram::{SparseHistogram, bucket_middle};

use crate::direction::DirectionFigures;

/// Upper ends of the nanosecond bands; the first begins at 0.
pub const NANOSECOND_BANDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// Upper ends of the microsecond bands; the first begins at 1.
pub const MICROSECOND_BANDS: [u64; 10] = NANOSECOND_BANDS;
/// Upper ends of the millisecond bands; the first begins at 1, and one more has no end.
pub const MILLISECOND_BANDS: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];

/// Shares of operations by latency, percent.
#[derive(Debug, Clone, PartialEq)]
pub struct Bands {
    /// Bands of [`NANOSECOND_BANDS`].
    pub ns: [f64; 10],
    /// Bands of [`MICROSECOND_BANDS`].
    pub us: [f64; 10],
    /// Bands of [`MILLISECOND_BANDS`], then everything slower.
    pub ms: [f64; 12],
}

impl Bands {
    /// Shares of completion latencies; of total latencies where completion was not recorded. A
    /// histogram bucket that spans two bands counts in the one that contains its middle.
    pub(crate) fn of(directions: &[DirectionFigures]) -> Bands {
        let mut bands = Bands { ns: [0.0; 10], us: [0.0; 10], ms: [0.0; 12] };
        let histogram = |figures: &DirectionFigures| {
            if figures.clat.is_empty() { figures.lat.clone() } else { figures.clat.clone() }
        };
        let mut all = SparseHistogram::default();
        directions.iter().for_each(|figures| all.merge(&histogram(figures)));
        for &(bucket, count) in &all.buckets {
            let latency_ns = bucket_middle(bucket as usize).clamp(all.min, all.max);
            *bands.band_mut(latency_ns) += count as f64 * 100.0 / all.count as f64;
        }
        bands
    }

    fn band_mut(&mut self, latency_ns: u64) -> &mut f64 {
        let index = |ends: &[u64], value: u64| ends.iter().position(|end| value < *end).unwrap_or(ends.len());
        if latency_ns < 1000 {
            &mut self.ns[index(&NANOSECOND_BANDS, latency_ns)]
        } else if latency_ns < 1_000_000 {
            &mut self.us[index(&MICROSECOND_BANDS, latency_ns / 1000)]
        } else {
            &mut self.ms[index(&MILLISECOND_BANDS, latency_ns / 1_000_000)]
        }
    }
}

/// Shares of seven classes of depth or batch size, percent; all zero when nothing was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DepthShares(pub [f64; 7]);

impl DepthShares {
    /// Depths fall into 1, 2, 4, 8, 16, 32, >=64 (each class up to the next); batches into 0, and
    /// up to and including 4, 8, 16, 32, 64, and more.
    pub(crate) fn of<'a>(counted: impl Iterator<Item = &'a (u32, u64)>, by_batch: bool) -> DepthShares {
        let mut counts = [0_u64; 7];
        for &(size, count) in counted {
            let class = match (by_batch, size) {
                (true, 0) => 0,
                (true, size) => (size.saturating_sub(1) / 4).checked_ilog2().map_or(1, |log| log as usize + 2),
                (false, size) => size.max(1).ilog2() as usize,
            };
            counts[class.min(6)] += count;
        }
        let total: u64 = counts.iter().sum();
        DepthShares(counts.map(|count| if total == 0 { 0.0 } else { count as f64 * 100.0 / total as f64 }))
    }
}

/// Shares as shown with one decimal, in tenths of a percent: they add up to exactly 100 %, and
/// every non-zero share shows as at least 0.1 %.
pub fn shown_tenths(shares: &[f64; 7]) -> [u32; 7] {
    let mut shown = shares.map(|share| if share > 0.0 { ((share * 10.0).round() as u32).max(1) } else { 0 });
    let total: i64 = shown.iter().map(|tenths| i64::from(*tenths)).sum();
    if total > 0 {
        // The largest share absorbs the rounding, where it is least visible.
        if let Some(largest) = shown.iter_mut().max_by_key(|tenths| **tenths) {
            *largest = (i64::from(*largest) + 1000 - total) as u32;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_classes() {
        for (by_batch, size, class) in [
            (false, 1, 0),
            (false, 2, 1),
            (false, 3, 1),
            (false, 4, 2),
            (false, 63, 5),
            (false, 64, 6),
            (false, 4096, 6),
            (true, 0, 0),
            (true, 1, 1),
            (true, 4, 1),
            (true, 5, 2),
            (true, 8, 2),
            (true, 9, 3),
            (true, 16, 3),
            (true, 17, 4),
            (true, 32, 4),
            (true, 33, 5),
            (true, 64, 5),
            (true, 65, 6),
        ] {
            let shares = DepthShares::of([(size, 3)].iter(), by_batch);
            assert_eq!(shares.0[class], 100.0, "{size} {by_batch}");
        }
    }

    #[test]
    fn shown_shares_add_to_a_hundred() {
        for counts in [[1, 1, 1, 99_999, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0], [7, 7, 7, 7, 7, 7, 7], [0, 0, 0, 0, 0, 0, 5]]
        {
            let sizes: Vec<(u32, u64)> = counts.iter().enumerate().map(|(i, count)| (1 << i, *count)).collect();
            let shown = shown_tenths(&DepthShares::of(sizes.iter(), false).0);
            assert_eq!(shown.iter().sum::<u32>(), 1000, "{counts:?}");
            assert!(counts.iter().zip(shown).all(|(count, tenths)| (*count > 0) == (tenths > 0)), "{shown:?}");
        }
        assert_eq!(shown_tenths(&[0.0; 7]), [0; 7]);
    }

    #[test]
    fn band_edges_belong_to_the_band_above() {
        let mut bands = Bands { ns: [0.0; 10], us: [0.0; 10], ms: [0.0; 12] };
        for latency in [0, 1, 2, 999, 1000, 1999, 2000, 999_999, 1_000_000, 1_999_999_999, 2_000_000_000, u64::MAX] {
            *bands.band_mut(latency) += 1.0;
        }
        assert_eq!((bands.ns[0], bands.ns[1], bands.ns[9]), (2.0, 1.0, 1.0));
        assert_eq!((bands.us[0], bands.us[1], bands.us[9]), (2.0, 1.0, 1.0));
        assert_eq!((bands.ms[0], bands.ms[10], bands.ms[11]), (1.0, 1.0, 2.0));
    }
}
