//! Measured figures compared with the data sheets of known drives.
//!
//! A drive is called similar only if at least two figures were measured and each of them is near
//! the data sheet. Random writes are not compared: a fresh flash drive writes faster than its data
//! sheet, a used one slower. Figures from the page cache are not compared at all.

use iolab_order::Arrange;

use crate::profiles::AccessPattern;
use crate::results::{BenchResults, Case, KnownDrive};

/// The result of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Likeness {
    /// No statement is possible, for this reason.
    Unknown(&'static str),
    /// Every figure is near the data sheet.
    Like(KnownDrive, Vec<Ratio>),
    /// No drive is near; the nearest of them.
    Unlike(KnownDrive, Vec<Ratio>),
}

/// A figure, and its ratio to the data sheet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Which figure.
    pub figure: &'static str,
    /// The measured figure divided by that of the data sheet.
    pub ratio: f64,
    least: f64,
}

/// Near a data sheet: at most this much above it.
const MOST: f64 = 1.25;
/// At most this much below it.
const LEAST: f64 = 0.8;
/// The limit below for random reads: data sheets state them for depths above 32 and several
/// threads.
const LEAST_IOPS: f64 = 0.5;

/// Compares results with the data sheets.
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
    rated.arrange_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)));
    match rated.into_iter().next() {
        None => Likeness::Unknown("fewer than two values that data sheets state were measured"),
        Some((drive, ratios)) => {
            let near = ratios.iter().all(|one| (one.least..=MOST).contains(&one.ratio));
            let make = if near { Likeness::Like } else { Likeness::Unlike };
            make(drive.clone(), ratios)
        }
    }
}

/// Sequential reads, sequential writes and random reads as ratios to the drive's data sheet.
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

/// The figures of data sheets.
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
