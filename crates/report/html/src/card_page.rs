//! The page of a card. Its lines, such as patterns or interfaces, were measured in interleaved
//! rounds; each has its median, interval and latencies. Notes about all of them follow.

use iolab_aggregate::{Latency, WholeRun};
use iolab_charts::{
    AxisMeasure, AxisUnit, DecileSeries, Deciles, Estimate, GroupSeries, Groups, Heading, Spacing, Spectrum,
};
use iolab_histogram::SparseHistogram;
use iolab_order::Arrange;
use iolab_plan::Direction;
use iolab_recording::{Finding, Recording};
use iolab_statistics::{Interval, median_interval, samples_needed};
use maud::{Markup, html};

use crate::Page;
use crate::charts::{Gallery, deciles_of, spectrum_of};
use crate::findings::{self, Gathered};
use crate::frame::{Cell, Header, Section, document, name, number, table};
use crate::number::{megabytes_per_second, rate, time};

/// The content of the page of a card.
#[derive(Debug, Clone, Copy)]
pub struct CardReport<'a> {
    /// What was measured.
    pub title: &'a str,
    /// What was asked.
    pub question: &'a str,
    /// The answer in one sentence.
    pub answer: &'a str,
    /// How it was measured, a sentence each.
    pub facts: &'a [String],
    /// The results, in groups of lines that are compared with each other.
    pub groups: &'a [CardGroup],
    /// Each finding, with the names of the lines concerned.
    pub findings: &'a [(Finding, Vec<String>)],
    /// Headings and the text below them.
    pub notes: &'a [(String, Vec<String>)],
    /// Further tables.
    pub tables: &'a [CardTable],
    /// Commands that repeat the measurement.
    pub again: &'a str,
    /// Version of the program that makes the report.
    pub version: &'a str,
}

/// Lines shown next to each other in one picture.
#[derive(Debug, Clone, Default)]
pub struct CardGroup {
    /// Title of the group.
    pub title: String,
    /// Whether bandwidth is more meaningful for them than IOPS.
    pub is_bandwidth: bool,
    /// The lines.
    pub lines: Vec<CardLine>,
}

/// One line: a value for each round, and the latencies of all rounds.
#[derive(Debug, Clone, Default)]
pub struct CardLine {
    /// Its name.
    pub name: String,
    /// Operations per second of each round.
    pub iops: Vec<f64>,
    /// Bytes per second of each round.
    pub bytes_per_second: Vec<f64>,
    /// Latencies of all rounds, ns.
    pub latencies: SparseHistogram,
    /// What the latencies are of, if not of the operations; otherwise empty.
    pub latency_of: String,
}

impl CardLine {
    /// A line from the recordings of its rounds.
    pub fn of(name: &str, rounds: &[Recording]) -> CardLine {
        let mut line = CardLine { name: name.to_owned(), ..CardLine::default() };
        for recording in rounds {
            let whole = WholeRun::new(recording);
            let done = whole.throughput(&Direction::ALL);
            line.iops.push(done.ios_per_second());
            line.bytes_per_second.push(done.bytes_per_second());
            line.latencies.merge(&whole.latencies(&Direction::ALL, Latency::Total));
        }
        line
    }

    /// The median of its operations per second.
    pub fn median_iops(&self) -> Option<f64> {
        median_interval(&self.iops, CONFIDENCE).map(|one| one.estimate)
    }

    /// The findings of all lines' rounds: one for each rule, with the lines concerned, the most
    /// severe first.
    pub fn findings<'a>(lines: impl Iterator<Item = (&'a str, &'a Vec<Recording>)>) -> Vec<(Finding, Vec<String>)> {
        let mut all: Vec<(Finding, Vec<String>)> = Vec::new();
        for (name, rounds) in lines {
            for finding in rounds.iter().flat_map(|recording| &recording.findings) {
                match all.iter_mut().find(|(known, _)| known.rule == finding.rule) {
                    Some((_, names)) if names.iter().any(|known| known == name) => {}
                    Some((_, names)) => names.push(name.to_owned()),
                    None => all.push((finding.clone(), vec![name.to_owned()])),
                }
            }
        }
        all.arrange_by_key(|(finding, _)| finding.severity);
        all
    }
}

/// A table with a heading of its own.
#[derive(Debug, Clone, Default)]
pub struct CardTable {
    /// Its heading.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Its rows; the first cell of each is its name.
    pub rows: Vec<Vec<String>>,
}

/// Confidence level of the intervals.
const CONFIDENCE: f64 = 0.95;

/// The page and its figures.
pub fn card_page(report: &CardReport<'_>) -> Page {
    let gallery = gallery(report.groups);
    let mut sections = vec![Section::new("summary", "Results", summary(report))];
    if !gallery.is_empty() {
        sections.push(Section::new("figures", "Figures", gallery.markup()));
    }
    for (place, one) in report.tables.iter().enumerate() {
        sections.push(Section::new(format!("table-{place}"), one.title.clone(), further(one)));
    }
    sections.push(Section::new("again", "How to repeat it", crate::environment::code(report.again)));
    let facts = html! { p { @for fact in report.facts { (name(fact.trim_end_matches(['.', ';']))) ". " } } };
    let header = Header { title: report.title, question: report.question, facts, version: report.version };
    Page { html: document(&header, &sections), figures: gallery.into_figures() }
}

fn summary(report: &CardReport<'_>) -> Markup {
    let lines: usize = report.groups.iter().map(|group| group.lines.len()).sum();
    let gathered = report.findings.iter().map(|(finding, names)| {
        let seen = names.iter().map(|name| (name.clone(), finding.evidence.clone())).collect();
        Gathered { finding: finding.clone(), seen, of: lines, unit: ["line", "lines"] }
    });
    html! {
        p.answer { strong { (name(report.answer)) } }
        (findings::markup(&gathered.collect::<Vec<_>>(), &[]))
        @for group in report.groups { (lines_of(group)) }
        p.weak { "Medians of the rounds with their intervals; " (number("\u{b1}")) " is the standard deviation of \
            the rounds. Latencies combine all rounds; "
            "percentiles with too few samples are omitted." }
        @for (heading, lines) in report.notes {
            @if !lines.is_empty() { h3 { (name(heading)) } ul { @for line in lines { li { (name(line)) } } } }
        }
    }
}

fn lines_of(group: &CardGroup) -> Markup {
    let mut head = vec!["load", "median", "interval", "\u{b1}"];
    head.extend(group.is_bandwidth.then_some("IOPS"));
    head.extend(["p50", "p99", "p99.9"]);
    let row = |line: &CardLine| {
        let (values, shown): (&[f64], fn(f64) -> String) =
            if group.is_bandwidth { (&line.bytes_per_second, megabytes_per_second) } else { (&line.iops, rate) };
        let dash = || "\u{2013}".to_owned();
        let median = median_interval(values, CONFIDENCE);
        let limits = |one: &Interval| format!("{} to {}", shown(one.low), shown(one.high));
        let deviation = Estimate::default().from_trials(values).deviation();
        let percentile = |percent: f64| {
            let is_known = line.latencies.count >= samples_needed(percent);
            Cell::Number(if is_known { time(line.latencies.percentile(percent) as f64) } else { dash() })
        };
        let named = match line.latency_of.as_str() {
            "" => line.name.clone(),
            of => format!("{} (latencies of {of})", line.name),
        };
        let iops = median_interval(&line.iops, CONFIDENCE).map_or_else(dash, |one| rate(one.estimate));
        let mut cells = vec![
            Cell::Head(named),
            Cell::Number(median.as_ref().map_or_else(dash, |one| shown(one.estimate))),
            Cell::Number(median.as_ref().map_or_else(dash, limits)),
            Cell::Number(deviation.map_or_else(dash, |(_, deviation)| shown(deviation))),
        ];
        cells.extend(group.is_bandwidth.then_some(Cell::Number(iops)));
        cells.extend([50.0, 99.0, 99.9].map(percentile));
        cells
    };
    let rows: Vec<Vec<Cell>> = group.lines.iter().map(row).collect();
    table(&html! { (name(&group.title)) }, &group.title, &head, &rows)
}

fn gallery(groups: &[CardGroup]) -> Gallery {
    let mut gallery = Gallery::new("");
    gallery.group("Side by side", "Medians of the rounds with their intervals; the small points are the rounds.");
    // A single bar has nothing to compare with.
    for (place, group) in groups.iter().enumerate().filter(|(_, group)| group.lines.len() > 1) {
        gallery.add(bars(place, group).draw());
    }
    gallery.group("Latency by percentile", "Each nine to the right is ten times rarer. All figures share one scale.");
    let spectra = |group: &CardGroup| -> Vec<_> {
        group.lines.iter().map(|line| spectrum_of(&line.name, &line.latencies)).collect()
    };
    let beside: Vec<_> = groups.iter().flat_map(spectra).collect();
    for (place, group) in groups.iter().enumerate() {
        let mut series = spectra(group);
        series.retain(|one| !one.points.is_empty());
        let heading = Heading::new(&format!("latencies-{place}"), &format!("{}: latency by percentile", group.title));
        gallery.add(Spectrum { heading, series, latency: Spacing::Log, beside: beside.clone() }.draw());
    }
    gallery.group(
        "Latency by decile",
        "Latency of the fastest tenth of operations, the next tenth, and so on up to the \
            slowest.",
    );
    for (place, group) in groups.iter().enumerate() {
        let known = group.lines.iter().filter(|line| line.latencies.count >= 10).take(MOST_DECILES);
        let series: Vec<DecileSeries> = known.map(|line| deciles_of(&line.name, &line.latencies)).collect();
        let heading = Heading::new(&format!("deciles-{place}"), &format!("{}: latency by decile", group.title));
        gallery.add(Deciles { heading, series, latency: Spacing::Log }.draw());
    }
    gallery
}

/// Most lines in one picture of deciles; more are hard to distinguish.
const MOST_DECILES: usize = 6;

fn bars(place: usize, group: &CardGroup) -> Groups {
    let value = |line: &CardLine| {
        let values = if group.is_bandwidth { &line.bytes_per_second } else { &line.iops };
        match median_interval(values, CONFIDENCE) {
            Some(one) => Estimate::within(one.estimate, one.low, one.high).from_trials(values),
            None => Estimate::default(),
        }
    };
    // Lines that are far apart are compared as factors.
    let medians: Vec<f64> =
        group.lines.iter().filter_map(|line| value(line).value).filter(|value| *value > 0.0).collect();
    let (low, high) =
        (medians.iter().copied().fold(f64::INFINITY, f64::min), medians.iter().copied().fold(0.0, f64::max));
    let spacing = if high > 20.0 * low { Spacing::Log } else { Spacing::Linear };
    let (name, unit) =
        if group.is_bandwidth { ("bandwidth", AxisUnit::BytesPerSecond) } else { ("operations", AxisUnit::PerSecond) };
    Groups {
        heading: Heading::new(&format!("lines-{place}"), &group.title),
        measure: AxisMeasure { name: name.to_owned(), unit, spacing },
        group_title: String::new(),
        groups: group.lines.iter().map(|line| line.name.clone()).collect(),
        series: vec![GroupSeries { name: name.to_owned(), values: group.lines.iter().map(value).collect() }],
    }
}

fn further(one: &CardTable) -> Markup {
    let head: Vec<&str> = one.columns.iter().map(String::as_str).collect();
    let is_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit()) || text == "\u{2013}";
    let cell = |(place, text): (usize, &String)| match place {
        0 => Cell::Head(text.clone()),
        _ if is_number(text) => Cell::Number(text.clone()),
        _ => Cell::Text(text.clone()),
    };
    let rows: Vec<Vec<Cell>> = one.rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect();
    html! {
        @if !one.note.is_empty() { p { (name(&one.note)) } }
        (table(&html! { (name(&one.title)) }, &one.title, &head, &rows))
    }
}
