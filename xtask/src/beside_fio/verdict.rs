//! Whether two programs gave the same figure, judged from alternating runs.
//!
//! Each run of one program has a neighbour in time of the other, and both had the same state of a
//! shared machine. So the ratios of neighbours are judged, not the two sets. If both programs are
//! alike, a ratio is as likely to be above one as below. A figure counts as the same unless every
//! ratio is on one side (the sign test; with five pairs two alike programs look different in one
//! case of sixteen) and the middle ratio is farther from one than the resolution of the figures, a
//! histogram's bucket.

use crate::spread::{Spread, ratios, spread};

/// Relative width of a latency bucket of fio's histogram: 1/64 of its magnitude.
const RESOLUTION: f64 = 1.0 / 64.0;

/// The relation of iolab's figure to fio's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Not distinguishable.
    Same,
    /// iolab's is higher in every pair.
    Higher,
    /// iolab's is lower in every pair.
    Lower,
}

impl Verdict {
    /// As the tables say it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Higher => "higher",
            Verdict::Lower => "lower",
        }
    }
}

/// One figure of both programs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comparison {
    pub(super) fio: Spread,
    pub(super) iolab: Spread,
    /// Middle, smallest and largest of the ratios iolab/fio of neighbouring runs.
    pub(super) ratio: Spread,
    pub(super) verdict: Verdict,
}

/// Compares runs; the same position is the same pair.
pub(super) fn compare(fio: &[f64], iolab: &[f64]) -> Comparison {
    let ratio = spread(&ratios(iolab, fio));
    let verdict = if (ratio.median - 1.0).abs() <= RESOLUTION {
        Verdict::Same
    } else if ratio.min > 1.0 {
        Verdict::Higher
    } else if ratio.max < 1.0 {
        Verdict::Lower
    } else {
        Verdict::Same
    };
    Comparison { fio: spread(fio), iolab: spread(iolab), ratio, verdict }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_sided_and_visible_differences_count() {
        for (fio, iolab, expected) in [
            ([100.0, 110.0, 90.0], [101.0, 108.0, 91.0], Verdict::Same),
            ([100.0, 200.0, 300.0], [110.0, 220.0, 330.0], Verdict::Higher),
            ([100.0, 200.0, 300.0], [90.0, 180.0, 270.0], Verdict::Lower),
            // All above, yet by less than a bucket.
            ([100.0, 200.0, 300.0], [101.0, 202.0, 303.0], Verdict::Same),
            // Far apart in the middle, but not always on one side.
            ([100.0, 200.0, 300.0], [150.0, 300.0, 290.0], Verdict::Same),
        ] {
            assert_eq!(compare(&fio, &iolab).verdict, expected, "{fio:?} {iolab:?}");
        }
    }

    #[test]
    fn ratios_are_of_neighbours() {
        let found = compare(&[100.0, 1000.0], &[200.0, 1000.0]);
        assert_eq!(found.ratio, Spread { median: 1.5, min: 1.0, max: 2.0 });
        assert_eq!(found.fio, Spread { median: 550.0, min: 100.0, max: 1000.0 });
    }
}
