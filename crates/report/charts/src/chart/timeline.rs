//! Time series: median, p99 and largest latency as a band, and below on the same axis the activity
//! of the block layer and the host.

use iolab_order::Arrange;

use super::{MOST_SERIES, NO_DATA, counted, note_left_out, ranging};
use crate::captions::middle;
use crate::data::sound;
use crate::plot::{Frame, Mark, Plot, gutter};
use crate::scale::{Scale, Span};
use crate::series::{Look, Style};
use crate::sheet::{Entry, Sheet};
use crate::svg::Rect;
use crate::{AxisMeasure, AxisUnit, Datum, DrawnChart, Heading, Spacing, Table};

/// Latencies and other series on one time axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Title and note.
    pub heading: Heading,
    /// Scale of the latency axis.
    pub latency: Spacing,
    /// One for each kind of operation; may be empty.
    pub latencies: Vec<LatencyBand>,
    /// Plots below, in order.
    pub panels: Vec<Panel>,
    /// Moments shown in all plots: end of the ramp, change points, faults.
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

/// Series below the latencies that share an axis, e.g. queue depth, device bandwidth, share of time
/// busy.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The measure and its axis.
    pub measure: AxisMeasure,
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
    /// Its name.
    pub label: String,
}

/// A line over time, whatever its quantity.
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
    /// Draws the chart.
    pub fn draw(&self) -> DrawnChart {
        let mut sheet = Sheet::new(&self.heading);
        let time = self.time();
        let (has_latencies, has_panels) =
            (self.latency_span(), self.panels.iter().any(|panel| !span(panel).is_empty(panel.measure.spacing)));
        if time.is_empty(Spacing::Linear) || (has_latencies.is_empty(self.latency) && !has_panels) {
            sheet.nothing(NO_DATA);
            return sheet.finish("Latency and other series over time.", self.table());
        }
        let y = Scale::new(has_latencies, self.latency, AxisUnit::Nanoseconds, 6);
        // A plot without anything to draw is left out.
        let panels: Vec<&Panel> =
            self.panels.iter().filter(|panel| !span(panel).is_empty(panel.measure.spacing)).collect();
        let draws_latencies = !has_latencies.is_empty(self.latency);
        let scales: Vec<Scale> = panels.iter().map(|panel| panel_scale(panel)).collect();
        let left = gutter(scales.iter().chain([&y]));
        let x = Scale::close(time, AxisUnit::Nanoseconds, 9);
        let marks: Vec<Mark> =
            self.marks.iter().map(|mark| Mark { at: mark.at_ns, label: mark.label.clone(), dash: 2 }).collect();
        let tips = MOST_TIPS / (panels.len() + usize::from(draws_latencies)).max(1);
        if draws_latencies {
            let (x, marks) = (x.clone(), marks.clone());
            let frame = Frame {
                x,
                y,
                x_title: axis_title(panels.is_empty()),
                y_title: "latency".to_owned(),
                height: 210.0,
                left,
                says_x: panels.is_empty(),
                named: false,
                marks,
                legend: Vec::new(),
            };
            self.latencies(&mut sheet, frame, tips);
        }
        for (number, (panel, y)) in panels.iter().zip(scales).enumerate() {
            sheet.plot = number + 1;
            let last = number + 1 == panels.len();
            // Only the first plot labels the marks.
            let named = |mark: &Mark| {
                if number == 0 && !draws_latencies { mark.clone() } else { Mark { label: String::new(), ..*mark } }
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
            draw_panel(&mut sheet, panel, frame, tips);
        }
        sheet.see(&self.seen());
        sheet.finish(&self.describe(), self.table())
    }

    /// Draws the latencies: a band from the median to p99, the median as its strong line, the
    /// largest as a thin one.
    fn latencies(&self, sheet: &mut Sheet<'_>, frame: Frame, tips: usize) {
        let mut entries = Vec::new();
        for (number, band) in self.latencies.iter().enumerate().take(MOST_SERIES) {
            let style = Style { dash: 0, ..Style::of(number) }.plain();
            let p99 = Style { dash: 1, ..style };
            let max = Style { dash: 2, ..style };
            let name =
                |what: &str| if band.name.is_empty() { what.to_owned() } else { format!("{} {what}", band.name) };
            type Value = fn(&LatencyMoment) -> Option<f64>;
            let lines: [(&str, Style, Value); 3] = [
                ("median", style, |moment| moment.p50_ns),
                ("p99", p99, |moment| moment.p99_ns),
                ("largest", max, |moment| moment.max_ns),
            ];
            // The legend omits what has no value.
            for (what, look, value) in lines {
                if band.moments.iter().any(|moment| value(moment).is_some()) {
                    entries.push(Entry::of(number, &name(what), Look::Line(look)));
                }
            }
        }
        sheet.legend(&entries);
        let plot = sheet.frame(frame);
        for (number, band) in self.latencies.iter().enumerate().take(MOST_SERIES) {
            let style = Style { dash: 0, ..Style::of(number) };
            sheet.open_series(style);
            let limits =
                |moment: &LatencyMoment| Some((moment.p50_ns.and_then(sound)?, moment.p99_ns.and_then(sound)?));
            sheet.band(&plot, &band.moments.iter().map(|moment| (moment.at_ns, limits(moment))).collect::<Vec<_>>());
            sheet.curve(&plot, &band.line(|moment| moment.max_ns), "l thin d2");
            sheet.curve(&plot, &band.line(|moment| moment.p99_ns), "l thin d1");
            sheet.curve(&plot, &band.line(|moment| moment.p50_ns), "l");
            sheet.svg.close("g");
        }
        tell(sheet, &plot, &self.latency_lines(), AxisUnit::Nanoseconds, tips);
        note_left_out(sheet, self.latencies.len(), MOST_SERIES);
    }

    /// Each line of the latencies, by name.
    fn latency_lines(&self) -> Vec<Line> {
        let of = |(number, band): (usize, &LatencyBand)| {
            let line = |what: &str, values| Line {
                name: [band.name.as_str(), what].join(" ").trim().to_owned(),
                style: Style::of(number),
                values,
            };
            [
                line("median", band.line(|moment| moment.p50_ns)),
                line("p99", band.line(|moment| moment.p99_ns)),
                line("largest", band.line(|moment| moment.max_ns)),
            ]
        };
        self.latencies.iter().take(MOST_SERIES).enumerate().flat_map(of).collect()
    }

    /// The slowest moment, and where the first line of the first plot is lowest.
    fn seen(&self) -> String {
        let mut said = Vec::new();
        let moments = self.latencies.iter().flat_map(|band| &band.moments);
        let known = moments.filter_map(|moment| Some((moment.at_ns, moment.max_ns.and_then(sound)?)));
        if let Some((at, slowest)) = known.max_by(|one, other| one.1.total_cmp(&other.1)) {
            let shown = |ns: f64| AxisUnit::Nanoseconds.format(ns);
            said.push(format!("The slowest operation, {}, ended about {} after the start.", shown(slowest), shown(at)));
        }
        if let Some((panel, line)) = self.panels.first().and_then(|panel| Some((panel, panel.series.first()?)))
            && let Some(usual) = middle(line.points.iter().map(|point| point.1).collect())
            && let Some((at, least)) =
                line.points.iter().filter(|point| sound(point.1).is_some()).min_by(|a, b| a.1.total_cmp(&b.1))
            && usual > 0.0
        {
            let (name, unit) = (format!("{}, {}", panel.measure.name, line.name), panel.measure.unit);
            let most = line.points.iter().filter_map(|point| sound(point.1)).fold(usual, f64::max);
            let spread = ((most - usual).max(usual - least) / usual * 100.0).ceil();
            said.push(match *least < usual / 2.0 {
                true => format!(
                    "{name}: usually {}, but {} at {}.",
                    unit.format(usual),
                    unit.format(*least),
                    AxisUnit::Nanoseconds.format(*at)
                ),
                false => format!("{name}: within {spread:.0} % of {}.", unit.format(usual)),
            });
        }
        let capital = |text: &String| {
            let mut letters = text.chars();
            letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
        };
        said.iter().map(capital).collect::<Vec<_>>().join(" ")
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
            let median = ranging(band.moments.iter().filter_map(|moment| moment.p50_ns), AxisUnit::Nanoseconds);
            let largest = ranging(band.moments.iter().filter_map(|moment| moment.max_ns), AxisUnit::Nanoseconds);
            text.push_str(&format!(" {} latency: median {median}, largest {largest}.", band.name));
        }
        for panel in &self.panels {
            for series in panel.series.iter().take(MOST_SERIES) {
                let values = ranging(series.points.iter().map(|point| point.1), panel.measure.unit);
                text.push_str(&format!(" {}, {}: {values}.", panel.measure.name, series.name));
            }
        }
        for mark in self.marks.iter().filter(|mark| !mark.label.is_empty()) {
            text.push_str(&format!(" {} at {}.", mark.label, AxisUnit::Nanoseconds.format(mark.at_ns)));
        }
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["measure", "series", "time", "value"]);
        let mut add = |measure: &str, name: &str, unit: AxisUnit, values: &[(f64, Option<f64>)]| {
            for (at, value) in values {
                table.row(
                    &[measure, name],
                    [Datum::Number(Some(*at), AxisUnit::Nanoseconds), Datum::Number(*value, unit)],
                );
            }
        };
        for band in &self.latencies {
            add("median latency", &band.name, AxisUnit::Nanoseconds, &band.line(|moment| moment.p50_ns));
            add("p99 latency", &band.name, AxisUnit::Nanoseconds, &band.line(|moment| moment.p99_ns));
            add("largest latency", &band.name, AxisUnit::Nanoseconds, &band.line(|moment| moment.max_ns));
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

/// Most moments with tooltips, in all plots together.
const MOST_TIPS: usize = 110;

/// Strips over the whole height of a plot whose tooltips show the values of all lines at a moment.
fn tell(sheet: &mut Sheet<'_>, plot: &Plot, lines: &[Line], unit: AxisUnit, most: usize) {
    let mut moments: Vec<f64> = lines.iter().flat_map(|line| &line.values).map(|value| value.0).collect();
    moments.retain(|at| plot.x(*at).is_some());
    moments.arrange_by(f64::total_cmp);
    moments.dedup();
    let step = moments.len().div_ceil(most.max(1)).max(1);
    let moments: Vec<f64> = moments.into_iter().step_by(step).collect();
    let places: Vec<f64> = moments.iter().filter_map(|at| plot.x(*at)).collect();
    for (number, (at, x)) in moments.iter().zip(&places).enumerate() {
        let from = number.checked_sub(1).map_or(plot.left, |before| (places[before] + x) / 2.0);
        let to = places.get(number + 1).map_or(plot.right, |next| (x + next) / 2.0);
        let value = |line: &Line| {
            let value = line.values.iter().find(|value| value.0 == *at)?.1?;
            Some(format!("{} {}", line.name, unit.format(value)))
        };
        let values: Vec<String> = lines.iter().filter_map(value).collect();
        if !values.is_empty() {
            let tip = format!("{}: {}", AxisUnit::Nanoseconds.format(*at), values.join(", "));
            let place = Rect { x: from, y: plot.top, width: to - from, height: plot.bottom - plot.top };
            sheet.svg.rect(&[("class", "i")], place, &tip);
        }
    }
}

fn draw_panel(sheet: &mut Sheet<'_>, panel: &Panel, mut frame: Frame, tips: usize) {
    let lines = lines(panel, MOST_SERIES);
    if lines.len() > 1 {
        let entry = |(number, line): (usize, &Line)| Entry::of(number, &line.name, Look::Line(line.style));
        frame.legend = lines.iter().enumerate().map(entry).collect();
    }
    let plot = sheet.frame(frame);
    for line in &lines {
        sheet.open_series(line.style);
        sheet.curve(&plot, &line.values, &line.style.line_class());
        sheet.svg.close("g");
        let hidden = line.values.iter().filter(|(_, value)| value.is_some_and(|value| plot.y(value).is_none()));
        sheet.hidden += hidden.count();
    }
    tell(sheet, &plot, &lines, panel.measure.unit, tips);
    note_left_out(sheet, panel.series.len(), MOST_SERIES);
}
