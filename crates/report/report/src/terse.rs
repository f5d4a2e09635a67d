//! fio's terse report: one line per job, fields separated by semicolons, times in microseconds.
//!
//! Number of fields without description and errors, for one device and separate directions: version
//! 2 has 161 (no device), 3 has 130, 4 has 171, 5 has 189. Percentiles are in 20 slots, unused ones
//! as `0%=0`; they are those of total latency if the plan asks for them, otherwise of completion
//! latency.

use std::fmt::Write;

use iolab_aggregate::{DeviceFigures, DirectionFigures, JobFigures, SeriesSummary, shown_tenths};
use iolab_histogram::SparseHistogram;
use iolab_plan::PercentilePlan;
use iolab_recording::{DeviceCounters, Recording};

/// Slots for percentiles; fio accepts no longer list.
const PERCENTILE_SLOTS: usize = 20;

/// The arrangement of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TerseVersion {
    /// With trims, without the program's version and devices.
    V2 = 2,
    /// fio's default: without trims.
    V3 = 3,
    /// With trims.
    V4 = 4,
    /// With trims, sample counts and IOPS.
    V5 = 5,
}

impl TerseVersion {
    /// The version of `--terse-version=NUMBER`; `None` outside 2 to 5.
    pub fn from_number(number: u64) -> Option<TerseVersion> {
        [TerseVersion::V2, TerseVersion::V3, TerseVersion::V4, TerseVersion::V5]
            .into_iter()
            .find(|version| *version as u64 == number)
    }
}

/// The report; every line ends with a line break.
pub fn terse(recording: &Recording, version: TerseVersion) -> String {
    let figures = iolab_aggregate::figures(recording);
    let mut text = String::new();
    for job in &figures.jobs {
        let mut line = Line::new();
        write_job(&mut line, job, version);
        if version >= TerseVersion::V3 {
            figures.devices.iter().for_each(|device| write_device(&mut line, device));
        }
        if job.errors.shown {
            line.field(job.errors.total);
            line.field(job.errors.first);
        }
        if let Some(description) = &job.plan.description {
            line.name(description);
        }
        text.push_str(&line.text);
        text.push('\n');
    }
    text
}

/// A line of fields.
struct Line {
    text: String,
}

impl Line {
    fn new() -> Line {
        Line { text: String::new() }
    }

    fn field(&mut self, value: impl std::fmt::Display) {
        let separator = if self.text.is_empty() { "" } else { ";" };
        let _ = write!(self.text, "{separator}{value}");
    }

    /// Writes a text of the user, in which a separator or a line break would break the row.
    fn name(&mut self, text: &str) {
        self.field(text.replace(|letter: char| letter == ';' || letter.is_control(), "_"));
    }

    fn float(&mut self, value: f64) {
        self.field(format_args!("{value:.6}"));
    }
}

fn write_job(line: &mut Line, job: &JobFigures<'_>, version: TerseVersion) {
    line.field(version as u32);
    if version >= TerseVersion::V3 {
        line.field(crate::FIO_VERSION);
    }
    line.name(&job.plan.job);
    line.field(job.plan.group);
    line.field(job.reported_errno());
    let trims = version != TerseVersion::V3;
    for figures in job.directions.iter().filter(|figures| trims || figures.name != "trim").chain(&job.mixed) {
        write_direction(line, figures, &job.plan.measurement.percentiles, version);
    }
    line.field(format_args!("{:.6}%", job.cpu.user_percent));
    line.field(format_args!("{:.6}%", job.cpu.system_percent));
    line.field(job.cpu.context_switches);
    line.field(job.cpu.major_faults);
    line.field(job.cpu.minor_faults);
    for tenths in shown_tenths(&job.depth.0) {
        line.field(format_args!("{}.{}%", tenths / 10, tenths % 10));
    }
    // Ten microsecond bands: latencies below a microsecond belong to the first.
    let mut us = job.bands.us;
    us[0] += job.bands.ns.iter().sum::<f64>();
    for share in us.iter().chain(&job.bands.ms) {
        let shown = if *share > 0.0 { share.max(0.01) } else { 0.0 };
        line.field(format_args!("{shown:3.2}%"));
    }
}

fn write_direction(line: &mut Line, figures: &DirectionFigures, percentiles: &PercentilePlan, version: TerseVersion) {
    line.field(figures.bytes >> 10);
    line.field(figures.bytes_per_second() as u64 >> 10);
    line.field(figures.ios_per_second() as u64);
    line.field(figures.runtime_ms());
    write_latency(line, &figures.slat);
    write_latency(line, &figures.clat);
    let of = if percentiles.lat { &figures.lat } else { &figures.clat };
    let wanted = if percentiles.lat || percentiles.clat { percentiles.list.as_slice() } else { &[] };
    for slot in 0..PERCENTILE_SLOTS {
        match wanted.get(slot) {
            Some(percent) => line.field(format_args!("{percent:.6}%={}", of.percentile(*percent) / 1000)),
            None => line.field("0%=0"),
        }
    }
    write_latency(line, &figures.lat);
    let SeriesSummary { samples, min, max, mean, stddev } = figures.bandwidth;
    line.field(min);
    line.field(max);
    line.field(format_args!("{:.6}%", figures.share_percent));
    line.float(mean);
    line.float(stddev);
    if version == TerseVersion::V5 {
        let iops = &figures.iops;
        line.field(samples);
        line.field(iops.min);
        line.field(iops.max);
        line.float(iops.mean);
        line.float(iops.stddev);
        line.field(iops.samples);
    }
}

fn write_latency(line: &mut Line, histogram: &SparseHistogram) {
    line.field(histogram.min / 1000);
    line.field(histogram.max / 1000);
    line.float(histogram.mean() / 1000.0);
    line.float(histogram.stddev() / 1000.0);
}

fn write_device(line: &mut Line, device: &DeviceFigures) {
    let mut counters = |name: &str, of: &DeviceCounters, util_percent: f64| {
        line.name(name);
        let ios = [of.read_ios, of.write_ios, of.read_merges, of.write_merges];
        for value in ios.into_iter().chain([of.read_ticks_ms, of.write_ticks_ms, of.time_in_queue_ms]) {
            line.field(value);
        }
        line.field(format_args!("{util_percent:3.2}%"));
    };
    counters(&device.name, &device.gained, device.util_percent);
    if let Some((mean, util)) = &device.parts {
        counters("slaves", mean, *util);
    }
}
