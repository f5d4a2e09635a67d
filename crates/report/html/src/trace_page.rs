//! The page of a trace: what a program did to storage, over time and in total.

use std::collections::BTreeMap;

use iolab_charts::{
    AxisMeasure, AxisUnit, Heading, OffsetMap, OffsetPoint, Panel, Spacing, Spectrum, TimeSeries, Timeline,
};
use iolab_histogram::SparseHistogram;
use iolab_order::Arrange;
use iolab_trace_summary::{FilePicture, Picture};
use maud::html;

use crate::Page;
use crate::charts::{Gallery, spectrum_of};
use crate::frame::{Cell, Header, Section, document, name, table};

/// Most files whose offsets are drawn: those with most transfers.
const FILES: usize = 6;
/// Most rows of a table of sizes.
const SIZES: usize = 12;

/// The content of the page of a trace.
#[derive(Debug, Clone, Copy)]
pub struct TraceReport<'a> {
    /// What was traced.
    pub title: &'a str,
    /// What the trace does not contain, and its tables as text.
    pub text: &'a str,
    /// The data of the figures.
    pub picture: &'a Picture,
    /// Paths of its files, by number.
    pub paths: &'a [String],
    /// Commands that repeat it.
    pub again: &'a str,
    /// Version of the program that makes the report.
    pub version: &'a str,
}

/// The page and its figures.
pub fn trace_page(report: &TraceReport<'_>) -> Page {
    let picture = report.picture;
    let mut gallery = Gallery::new("");
    gallery.group("Over time", "Operations as they began; how many were going on; the longest sync of each moment.");
    gallery.add(over_time(picture).draw());
    gallery.group(
        "Offsets over time",
        "One picture for each of the files with most reads and writes. A scan is a slope, a log that is written again and again a flat line, a random load a cloud.",
    );
    let mut files: Vec<(&u32, &FilePicture)> = picture.files.iter().collect();
    files.arrange_by_key(|(number, file)| (std::cmp::Reverse(file.count), **number));
    for (place, (number, file)) in files.into_iter().take(FILES).enumerate() {
        let path = report.paths.get(*number as usize).map_or("?", String::as_str);
        gallery.add(offsets(place, path, file, picture.slot_ns).draw());
    }
    gallery.group("How long they took", "Each nine to the right is ten times rarer.");
    let [reads, writes, syncs] = [0, 1, 2].map(|kind| picture.durations[kind].to_sparse());
    gallery.add(spectrum(
        "durations",
        "Duration by percentile",
        &[("reads", &reads), ("writes", &writes), ("syncs", &syncs)],
    ));
    gallery.group(
        "Think time",
        "From the end of an operation to the next one of the same thread: what the program did in between.",
    );
    let thinks = picture.thinks.to_sparse();
    gallery.add(spectrum("thinks", "Time between operations by percentile", &[("between operations", &thinks)]));
    let sections = [
        Section::new("summary", "In sum", html! { pre { (name(report.text)) } }),
        Section::new("figures", "Figures", gallery.markup()),
        Section::new(
            "sizes",
            "Sizes",
            html! { (sizes("Reads", &picture.sizes[0])) (sizes("Writes", &picture.sizes[1])) },
        ),
        Section::new("again", "How to do it again", crate::environment::code(report.again)),
    ];
    let facts = html! { p { "What a program did to storage, call by call." } };
    let header = Header { title: report.title, question: "", facts, version: report.version };
    Page { html: document(&header, &sections), figures: gallery.into_figures() }
}

fn spectrum(id: &str, title: &str, all: &[(&str, &SparseHistogram)]) -> iolab_charts::DrawnChart {
    let series: Vec<_> =
        all.iter().filter(|(_, one)| !one.is_empty()).map(|(name, one)| spectrum_of(name, one)).collect();
    Spectrum { heading: Heading::new(id, title), beside: series.clone(), series, latency: Spacing::Log }.draw()
}

fn over_time(picture: &Picture) -> Timeline {
    let used = picture.slots.iter().rposition(|slot| slot.counts != [0; 3]).map_or(0, |last| last + 1);
    let seconds = picture.slot_ns as f64 / 1e9;
    let points = |of: &dyn Fn(&iolab_trace_summary::Slot) -> f64| -> Vec<(f64, f64)> {
        let at = |number: usize| (number as f64 + 0.5) * picture.slot_ns as f64;
        picture.slots[..used].iter().enumerate().map(|(number, slot)| (at(number), of(slot))).collect()
    };
    let series = |name: &str, points: Vec<(f64, f64)>| TimeSeries { name: name.to_owned(), points };
    let counts = ["reads", "writes", "syncs"].iter().enumerate();
    let counts = counts.map(|(kind, name)| series(name, points(&|slot| slot.counts[kind] as f64 / seconds))).collect();
    let panel = |measure: AxisMeasure, series: Vec<TimeSeries>| Panel { measure, series };
    let has_syncs = picture.slots.iter().any(|slot| slot.counts[2] > 0);
    let longest_sync = has_syncs.then(|| {
        panel(
            AxisMeasure::linear("longest sync", AxisUnit::Nanoseconds),
            vec![series("syncs", points(&|slot| slot.longest_sync_ns as f64))],
        )
    });
    Timeline {
        heading: Heading::new("over-time", "Operations over time"),
        latency: Spacing::Log,
        latencies: Vec::new(),
        panels: [
            panel(AxisMeasure::linear("operations", AxisUnit::PerSecond), counts),
            panel(
                AxisMeasure::linear("bytes", AxisUnit::BytesPerSecond),
                vec![series("bytes", points(&|slot| slot.bytes as f64 / seconds))],
            ),
            panel(
                AxisMeasure::linear("going on", AxisUnit::Count),
                vec![series("operations", points(&|slot| slot.busy_ns as f64 / picture.slot_ns as f64))],
            ),
        ]
        .into_iter()
        .chain(longest_sync)
        .collect(),
        marks: Vec::new(),
    }
}

fn offsets(place: usize, path: &str, file: &FilePicture, slot_ns: u64) -> OffsetMap {
    let middle = |number: u32, step: u64| (f64::from(number) + 0.5) * step as f64;
    let point = |(cell, count): (&(u32, u32), &u64)| OffsetPoint {
        at_ns: middle(cell.0, slot_ns),
        offset_bytes: middle(cell.1, file.place_bytes),
        count: *count as f64,
    };
    OffsetMap {
        heading: Heading::new(&format!("offsets-{place}"), path),
        points: file.cells.iter().map(point).collect(),
    }
}

fn sizes(title: &str, sizes: &BTreeMap<u64, u64>) -> maud::Markup {
    let all: u64 = sizes.values().sum();
    let mut most: Vec<(&u64, &u64)> = sizes.iter().collect();
    most.arrange_by_key(|(bytes, count)| (std::cmp::Reverse(**count), **bytes));
    let others = most.len().saturating_sub(SIZES);
    let row = |(bytes, count): &(&u64, &u64)| {
        let share = **count as f64 * 100.0 / all.max(1) as f64;
        vec![Cell::Head(format!("{bytes} B")), Cell::Number(count.to_string()), Cell::Number(format!("{share:.1} %"))]
    };
    let rows: Vec<Vec<Cell>> = most.iter().take(SIZES).map(row).collect();
    html! {
        @if all == 0 { p { (title) ": none." } }
        @else {
            (table(&html! { (title) }, title, &["size", "operations", "share"], &rows))
            @if others > 0 { p.weak { (others) " rarer sizes are not shown." } }
        }
    }
}
