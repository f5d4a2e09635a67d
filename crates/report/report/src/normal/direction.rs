//! The lines of one direction: rates, latencies, percentiles, and the spread over time.

use std::fmt::Write;

use iolab_aggregate::{DirectionFigures, SeriesSummary};
use iolab_histogram::SparseHistogram;
use iolab_plan::{IoPriority, MeasurementPlan};

use super::latency::{write_percentiles, write_summary};
use crate::number::NumberStyle;

/// Writes nothing for a direction without I/O. `end` is the end of its first line.
pub(super) fn write_direction(text: &mut String, figures: &DirectionFigures, measurement: &MeasurementPlan, end: &str) {
    if figures.ios == 0 {
        return;
    }
    let style = NumberStyle::of(measurement);
    let bytes_per_second = figures.bytes_per_second() as u64;
    let _ = writeln!(
        text,
        "  {}: IOPS={}, BW={} ({})({}/{}msec){end}",
        figures.name,
        style.count(figures.ios_per_second() as u64),
        style.rate(bytes_per_second),
        style.rate_other(bytes_per_second),
        style.bytes(figures.bytes),
        figures.runtime_ms()
    );
    let percentiles = &measurement.percentiles;
    let latencies = [
        ("slat", &figures.slat, percentiles.slat),
        ("clat", &figures.clat, percentiles.clat),
        ("lat", &figures.lat, percentiles.lat),
        ("resp", &figures.response, true),
        // The summary says when all of them are 0.
        ("wait", &figures.backlog_wait, figures.backlog_wait.max > 0),
        ("late", &figures.generator_late, figures.generator_late.max > 0),
    ];
    for (name, histogram, _) in latencies {
        write_summary(text, name, histogram);
    }
    let kind = if percentiles.lat { "lat" } else { "clat" };
    let priorities = figures.priorities.iter().map(|one| {
        let IoPriority { class, level, hint } = one.priority;
        (format!("{kind} prio {class}/{level}/{hint}"), &one.latency)
    });
    let priorities: Vec<(String, &SparseHistogram)> = priorities.collect();
    for (name, histogram) in &priorities {
        write_summary(text, name, histogram);
    }
    for (name, histogram, wanted) in latencies {
        if wanted {
            write_percentiles(text, name, histogram, &percentiles.list);
        }
    }
    let all: u64 = priorities.iter().map(|(_, histogram)| histogram.count).sum();
    for (name, histogram) in priorities.iter().filter(|_| percentiles.lat || percentiles.clat) {
        let share = histogram.count as f64 * 100.0 / all.max(1) as f64;
        write_percentiles(text, &format!("{name} ({share:.2}% of IOs)"), histogram, &percentiles.list);
    }
    write_bandwidth(text, figures, style);
    let SeriesSummary { samples, min, max, mean, stddev } = figures.iops;
    if samples > 0 {
        let _ = writeln!(
            text,
            "   iops        : min={min:5}, max={max:5}, avg={mean:5.2}, stdev={stddev:5.2}, samples={samples}"
        );
    }
}

fn write_bandwidth(text: &mut String, figures: &DirectionFigures, style: NumberStyle) {
    let SeriesSummary { samples, min, max, mean, stddev } = figures.bandwidth;
    if samples == 0 {
        return;
    }
    // The series is in KiB/s; show it in KiB/s or kB/s, or one prefix larger above a million.
    let step = if style.binary { 1024.0 } else { 1000.0 };
    let mut factor = if style.binary { 1.0 } else { 1.024 } * if style.bits { 8.0 } else { 1.0 };
    let large = mean * factor > step * step;
    if large {
        factor /= step;
    }
    let unit = match (style.binary, style.bits, large) {
        (true, false, false) => "KiB",
        (true, false, true) => "MiB",
        (true, true, false) => "Kibit",
        (true, true, true) => "Mibit",
        (false, false, false) => "kB",
        (false, false, true) => "MB",
        (false, true, false) => "kbit",
        (false, true, true) => "Mbit",
    };
    let _ = writeln!(
        text,
        "   bw ({unit:>5}/s): min={:5}, max={:5}, per={:3.2}%, avg={:5.2}, stdev={:5.2}, samples={samples}",
        (min as f64 * factor) as u64,
        (max as f64 * factor) as u64,
        figures.share_percent,
        mean * factor,
        stddev * factor
    );
}
