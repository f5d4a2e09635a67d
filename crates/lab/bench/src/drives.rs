//! Measured figures against the sheets of known drives.
//!
//! A drive is called alike only where at least two figures were measured and every one of them is
//! near its sheet. Random writes are not compared: a fresh flash drive writes above its sheet, a
//! used one below. What the page cache answered is not compared at all.

use crate::profiles::AccessPattern;
use crate::results::{BenchResults, Case, KnownDrive};

/// What can be said.
#[derive(Debug, Clone, PartialEq)]
pub enum Likeness {
    /// Nothing, because.
    Unknown(&'static str),
    /// Every figure is near the drive's sheet.
    Like(KnownDrive, Vec<Ratio>),
    /// No drive is near; the nearest of them.
    Unlike(KnownDrive, Vec<Ratio>),
}

/// A figure and its part of the sheet's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Which figure.
    pub figure: &'static str,
    /// Measured divided by the sheet's.
    pub ratio: f64,
    least: f64,
}

/// Near a sheet: not more than this above it.
const MOST: f64 = 1.25;
/// Not more than this below it.
const LEAST: f64 = 0.8;
/// The same of random reads: sheets give them at depths above 32 and from several threads.
const LEAST_IOPS: f64 = 0.5;

/// Holds results against the sheets.
pub fn likeness(results: &BenchResults) -> Likeness {
    if !results.measured.direct {
        return Likeness::Unknown("the page cache was measured, not a drive");
    }
    if results.measured.is_new_each_time {
        return Likeness::Unknown(
            "a new virtual SSD for every pattern holds no data, so reads do not access its flash",
        );
    }
    let figures = Figures::of(&results.cases);
    let rated = results.drives.iter().map(|drive| (drive, figures.against(drive)));
    let mut rated: Vec<_> = rated.filter(|(_, ratios)| ratios.len() >= 2).collect();
    rated.sort_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)));
    match rated.into_iter().next() {
        None => Likeness::Unknown("fewer than two values that data sheets state were measured"),
        Some((drive, ratios)) => {
            let near = ratios.iter().all(|one| (one.least..=MOST).contains(&one.ratio));
            let make = if near { Likeness::Like } else { Likeness::Unlike };
            make(drive.clone(), ratios)
        }
    }
}

/// Sequential reads, sequential writes and random reads as parts of the drive's sheet.
pub(crate) fn of_sheet(cases: &[Case], drive: &KnownDrive) -> [Option<f64>; 3] {
    let figures = Figures::of(cases);
    let part = |measured: Option<f64>, sheet: u64| Some(measured.filter(|_| sheet > 0)? / sheet as f64);
    [
        part(figures.read, drive.read_bytes_per_second),
        part(figures.write, drive.write_bytes_per_second),
        part(figures.read_iops, drive.read_iops),
    ]
}

fn distance(ratios: &[Ratio]) -> f64 {
    ratios.iter().map(|one| one.ratio.max(f64::MIN_POSITIVE).ln().abs()).fold(0.0, f64::max)
}

/// The figures that sheets have.
struct Figures {
    read: Option<f64>,
    write: Option<f64>,
    read_iops: Option<f64>,
}

impl Figures {
    fn of(cases: &[Case]) -> Figures {
        let best = |access: AccessPattern, block: fn(u64) -> bool, depth: u32, value: fn(&Case) -> Option<f64>| {
            let of_its_kind = |case: &&Case| {
                case.pattern.access == access && block(case.pattern.block_bytes) && case.pattern.depth >= depth
            };
            cases.iter().filter(of_its_kind).filter_map(value).max_by(f64::total_cmp)
        };
        let bytes = |case: &Case| case.bytes_per_second().map(|interval| interval.estimate);
        let iops = |case: &Case| case.iops().map(|interval| interval.estimate);
        Figures {
            read: best(AccessPattern::Read, |bytes| bytes >= 64 << 10, 8, bytes),
            write: best(AccessPattern::Write, |bytes| bytes >= 64 << 10, 8, bytes),
            read_iops: best(AccessPattern::RandomRead, |bytes| bytes == 4 << 10, 32, iops),
        }
    }

    fn against(&self, drive: &KnownDrive) -> Vec<Ratio> {
        let ratio = |figure, measured: Option<f64>, sheet: u64, least| {
            let of_sheet = measured.filter(|_| sheet > 0)? / sheet as f64;
            Some(Ratio { figure, ratio: of_sheet, least })
        };
        let all = [
            ratio("sequential read", self.read, drive.read_bytes_per_second, LEAST),
            ratio("sequential write", self.write, drive.write_bytes_per_second, LEAST),
            ratio("random read, 32 deep", self.read_iops, drive.read_iops, LEAST_IOPS),
        ];
        all.into_iter().flatten().collect()
    }
}
