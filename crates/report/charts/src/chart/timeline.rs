//! Time series: median, p99 and largest latency as a band, and below on the same axis what the
//! block layer and the host did meanwhile.

use super::{MOST_SERIES, NO_DATA, counted, note_left_out, ranging};
use crate::data::sound;
use crate::figure::{MOST_ROWS, Table};
use crate::plot::{Frame, Mark, gutter};
use crate::scale::{Scale, Span};
use crate::series::{Look, Style};
use crate::sheet::{Entry, Sheet};
use crate::{Figure, Heading, Measure, Spacing, Unit};

/// Latencies and other series on one axis of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// What it is called.
    pub heading: Heading,
    /// How the latency axis is divided.
    pub latency: Spacing,
    /// One for each kind of operation; may be empty.
    pub latencies: Vec<LatencyBand>,
    /// Plots below, in order.
    pub panels: Vec<Panel>,
    /// Moments that all plots show: end of the ramp, change points, faults.
    pub marks: Vec<TimeMark>,
}

/// Latencies of one kind of operation.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyBand {
    /// E.g. `read`.
    pub name: String,
    /// Ascending in time.
    pub moments: Vec<LatencyMoment>,
}

/// Latencies of one interval; `None` where it had too few operations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyMoment {
    /// Middle of the interval, ns since the start of the run.
    pub at_ns: f64,
    /// Median, ns.
    pub p50_ns: Option<f64>,
    /// 99th percentile, ns.
    pub p99_ns: Option<f64>,
    /// Largest, ns.
    pub max_ns: Option<f64>,
}

/// Series that share an axis below the latencies, e.g. queue depth, device bandwidth, share of time
/// busy.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What is shown.
    pub measure: Measure,
    /// The lines.
    pub series: Vec<TimeSeries>,
}

/// One line over time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeSeries {
    /// Name.
    pub name: String,
    /// Time in ns since the start of the run, and value; ascending in time. A value that is not
    /// finite is a gap.
    pub points: Vec<(f64, f64)>,
}

/// A moment with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeMark {
    /// ns since the start of the run.
    pub at_ns: f64,
    /// What happened.
    pub label: String,
}

/// Values over time, whatever they are of.
struct Line {
    name: String,
    style: Style,
    values: Vec<(f64, Option<f64>)>,
}

impl LatencyBand {
    fn line(&self, which: fn(&LatencyMoment) -> Option<f64>) -> Vec<(f64, Option<f64>)> {
        self.moments.iter().map(|moment| (moment.at_ns, which(moment).and_then(sound))).collect()
    }
}

impl Timeline {
    /// Draws it.
    pub fn draw(&self) -> Figure {
        let mut sheet = Sheet::new(&self.heading);
        let time = self.time();
        let (has_latencies, has_panels) =
            (self.latency_span(), self.panels.iter().any(|panel| !span(panel).is_empty(panel.measure.spacing)));
        if time.is_empty(Spacing::Linear) || (has_latencies.is_empty(self.latency) && !has_panels) {
            sheet.nothing(NO_DATA);
            return sheet.finish("Latency and other series over time.", self.table());
        }
        let y = Scale::new(has_latencies, self.latency, Unit::Nanoseconds, 6);
        let scales: Vec<Scale> = self.panels.iter().map(panel_scale).collect();
        let left = gutter(scales.iter().chain([&y]));
        let x = Scale::close(time, Unit::Nanoseconds, 9);
        let marks: Vec<Mark> =
            self.marks.iter().map(|mark| Mark { at: mark.at_ns, label: mark.label.clone(), dash: 2 }).collect();
        if !self.latencies.is_empty() {
            let (x, marks) = (x.clone(), marks.clone());
            let frame = Frame {
                x,
                y,
                x_title: axis_title(self.panels.is_empty()),
                y_title: "latency".to_owned(),
                height: 210.0,
                left,
                says_x: self.panels.is_empty(),
                named: false,
                marks,
                legend: Vec::new(),
            };
            self.latencies(&mut sheet, frame);
        }
        for (number, (panel, y)) in self.panels.iter().zip(scales).enumerate() {
            let last = number + 1 == self.panels.len();
            // The first plot says what the marks are.
            let named = |mark: &Mark| {
                if number == 0 && self.latencies.is_empty() {
                    mark.clone()
                } else {
                    Mark { label: String::new(), ..*mark }
                }
            };
            let frame = Frame {
                x: x.clone(),
                y,
                x_title: axis_title(last),
                y_title: panel.measure.title(),
                height: 74.0,
                left,
                says_x: last,
                named: false,
                marks: marks.iter().map(named).collect(),
                legend: Vec::new(),
            };
            draw_panel(&mut sheet, panel, frame);
        }
        sheet.finish(&self.describe(), self.table())
    }

    /// The latencies: a band from the median to p99, the median as its strong line, the largest as
    /// a thin one.
    fn latencies(&self, sheet: &mut Sheet<'_>, frame: Frame) {
        let mut entries = Vec::new();
        for (number, band) in self.latencies.iter().enumerate().take(MOST_SERIES) {
            let style = Style { dash: 0, ..Style::of(number) }.plain();
            let p99 = Style { dash: 1, ..style };
            let max = Style { dash: 2, ..style };
            let name =
                |what: &str| if band.name.is_empty() { what.to_owned() } else { format!("{} {what}", band.name) };
            entries.push(Entry::new(&name("median"), Look::Line(style)));
            entries.push(Entry::new(&name("p99"), Look::Line(p99)));
            entries.push(Entry::new(&name("largest"), Look::Line(max)));
        }
        sheet.legend(&entries);
        let plot = sheet.frame(frame);
        for (number, band) in self.latencies.iter().enumerate().take(MOST_SERIES) {
            let style = Style { dash: 0, ..Style::of(number) };
            sheet.svg.open("g", &[("class", &style.class())]);
            let limits =
                |moment: &LatencyMoment| Some((moment.p50_ns.and_then(sound)?, moment.p99_ns.and_then(sound)?));
            sheet.band(&plot, &band.moments.iter().map(|moment| (moment.at_ns, limits(moment))).collect::<Vec<_>>());
            sheet.curve(&plot, &band.line(|moment| moment.max_ns), "l thin d2");
            sheet.curve(&plot, &band.line(|moment| moment.p99_ns), "l thin d1");
            sheet.curve(&plot, &band.line(|moment| moment.p50_ns), "l");
            sheet.svg.close("g");
        }
        note_left_out(sheet, self.latencies.len(), MOST_SERIES);
    }

    fn latency_span(&self) -> Span {
        let moments = self.latencies.iter().flat_map(|band| &band.moments);
        Span::of(moments.flat_map(|moment| [moment.p50_ns, moment.p99_ns, moment.max_ns]).flatten())
    }

    fn time(&self) -> Span {
        let latencies = self.latencies.iter().flat_map(|band| &band.moments).map(|moment| moment.at_ns);
        let panels = self.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
        let mut span = Span::of(latencies.chain(panels.map(|point| point.0)));
        if !span.is_empty(Spacing::Linear) {
            span.add(0.0);
        }
        span
    }

    fn describe(&self) -> String {
        let mut text = format!(
            "Series over time in {}.",
            counted(self.panels.len() + usize::from(!self.latencies.is_empty()), "plot")
        );
        for band in self.latencies.iter().take(MOST_SERIES) {
            let median = ranging(band.moments.iter().filter_map(|moment| moment.p50_ns), Unit::Nanoseconds);
            let largest = ranging(band.moments.iter().filter_map(|moment| moment.max_ns), Unit::Nanoseconds);
            text.push_str(&format!(" {} latency: median {median}, largest {largest}.", band.name));
        }
        for panel in &self.panels {
            for series in panel.series.iter().take(MOST_SERIES) {
                let values = ranging(series.points.iter().map(|point| point.1), panel.measure.unit);
                text.push_str(&format!(" {}, {}: {values}.", panel.measure.name, series.name));
            }
        }
        if self.table_step() > 1 {
            text.push_str(&format!(" The table has one moment of {}.", self.table_step()));
        }
        for mark in self.marks.iter().filter(|mark| !mark.label.is_empty()) {
            text.push_str(&format!(" {} at {}.", mark.label, Unit::Nanoseconds.format(mark.at_ns)));
        }
        text
    }

    /// The table has one moment of so many: a long run has more than can be read, or even be made
    /// into text quickly.
    fn table_step(&self) -> usize {
        let moments: usize = self.latencies.iter().map(|band| 3 * band.moments.len()).sum();
        let points: usize = self.panels.iter().flat_map(|panel| &panel.series).map(|series| series.points.len()).sum();
        (moments + points).div_ceil(MOST_ROWS / 2).max(1)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["measure", "series", "time", "value"]);
        let step = self.table_step();
        let mut add = |measure: &str, name: &str, unit: Unit, values: &[(f64, Option<f64>)]| {
            for (at, value) in values.iter().step_by(step) {
                let value = value.map_or("–".to_owned(), |value| unit.format(value));
                table.row(&[measure, name], &[Unit::Nanoseconds.format(*at), value]);
            }
        };
        for band in &self.latencies {
            add("median latency", &band.name, Unit::Nanoseconds, &band.line(|moment| moment.p50_ns));
            add("p99 latency", &band.name, Unit::Nanoseconds, &band.line(|moment| moment.p99_ns));
            add("largest latency", &band.name, Unit::Nanoseconds, &band.line(|moment| moment.max_ns));
        }
        for panel in &self.panels {
            for line in lines(panel, usize::MAX) {
                add(&panel.measure.name, &line.name, panel.measure.unit, &line.values);
            }
        }
        table
    }
}

fn axis_title(shown: bool) -> String {
    if shown { "time since the start".to_owned() } else { String::new() }
}

fn span(panel: &Panel) -> Span {
    Span::of(panel.series.iter().flat_map(|series| &series.points).map(|point| point.1))
}

fn panel_scale(panel: &Panel) -> Scale {
    Scale::new(span(panel), panel.measure.spacing, panel.measure.unit, 3)
}

fn lines(panel: &Panel, most: usize) -> Vec<Line> {
    let line = |(number, series): (usize, &TimeSeries)| Line {
        name: series.name.clone(),
        style: Style::of(number).plain(),
        values: series.points.iter().map(|(at, value)| (*at, sound(*value))).collect(),
    };
    panel.series.iter().enumerate().take(most).map(line).collect()
}

fn draw_panel(sheet: &mut Sheet<'_>, panel: &Panel, mut frame: Frame) {
    let lines = lines(panel, MOST_SERIES);
    if lines.len() > 1 {
        frame.legend = lines.iter().map(|line| Entry::new(&line.name, Look::Line(line.style))).collect();
    }
    let plot = sheet.frame(frame);
    for line in &lines {
        sheet.svg.open("g", &[("class", &line.style.class())]);
        sheet.curve(&plot, &line.values, &line.style.line_class());
        sheet.svg.close("g");
        let hidden = line.values.iter().filter(|(_, value)| value.is_some_and(|value| plot.y(value).is_none()));
        sheet.hidden += hidden.count();
    }
    note_left_out(sheet, panel.series.len(), MOST_SERIES);
}
