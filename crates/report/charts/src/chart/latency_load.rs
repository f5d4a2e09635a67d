//! Latency against load: the first chart that a storage engineer looks at.
//!
//! Response times (from the intended start; Tene's "coordinated omission") are solid, service times
//! dashed; where they differ, requests wait. Schroeder, Wierman, Harchol-Balter, "Open versus
//! closed: a cautionary tale", NSDI 2006.

use super::{MOST_SERIES, NO_DATA, counted, note_left_out, ranging};
use crate::captions::times;
use crate::data::{cells, say};
use crate::plot::{Frame, Mark, gutter};
use crate::points::{Point, explanations};
use crate::scale::{Scale, Span};
use crate::series::{Look, Style};
use crate::sheet::{Entry, Sheet};
use crate::{AxisUnit, Datum, DrawnChart, Estimate, Heading, Spacing, Table};

/// Percentiles of latency over throughput.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyLoad {
    /// Title and note.
    pub heading: Heading,
    /// One for each percentile.
    pub curves: Vec<LoadCurve>,
    /// Throughput at the knee, operations/s.
    pub knee: Option<f64>,
    /// The service-level objective.
    pub slo: Option<SloTarget>,
    /// Scale of the latency axis; logarithmic suits queues.
    pub latency: Spacing,
}

/// One percentile over all levels.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadCurve {
    /// E.g. `p99`.
    pub name: String,
    /// Latencies from the intended start, ascending in load.
    pub response: Vec<LoadPoint>,
    /// Latencies from the actual start; empty if only one of the two was recorded.
    pub service: Vec<LoadPoint>,
}

/// One level of load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadPoint {
    /// The requested rate, operations/s; `None` for a closed loop.
    pub offered: Option<f64>,
    /// The rate reached, operations/s.
    pub throughput: f64,
    /// Latency, ns.
    pub latency_ns: Estimate,
}

/// A service-level objective.
#[derive(Debug, Clone, PartialEq)]
pub struct SloTarget {
    /// E.g. `p99 ≤ 1 ms`.
    pub name: String,
    /// Latency, ns.
    pub target_ns: f64,
    /// Highest throughput that meets the objective, operations/s.
    pub capacity: Option<f64>,
}

impl LatencyLoad {
    /// Draws the chart.
    pub fn draw(&self) -> DrawnChart {
        let mut sheet = Sheet::new(&self.heading);
        let points = || self.curves.iter().flat_map(|curve| curve.response.iter().chain(&curve.service));
        let marks = [self.knee, self.slo.as_ref().and_then(|slo| slo.capacity)].into_iter().flatten();
        let along = Span::of(points().map(|point| point.throughput).chain(marks));
        let mut up = Span::of(points().flat_map(|point| point.latency_ns.numbers()));
        if points().all(|point| point.latency_ns.sound().value.is_none()) || up.is_empty(self.latency) {
            sheet.nothing(NO_DATA);
            return sheet.finish("Latency against load.", self.table());
        }
        if let Some(slo) = &self.slo {
            up.add(slo.target_ns);
        }
        self.legend(&mut sheet);
        let x = Scale::new(along, Spacing::Linear, AxisUnit::PerSecond, 8);
        let y = Scale::new(up, self.latency, AxisUnit::Nanoseconds, 6);
        let frame = Frame {
            left: gutter([&y]),
            x,
            y,
            x_title: "throughput, operations/s".to_owned(),
            y_title: "latency".to_owned(),
            height: 300.0,
            says_x: true,
            named: false,
            marks: self.marks(),
            legend: Vec::new(),
        };
        let plot = sheet.frame(frame);
        if let Some(slo) = &self.slo {
            sheet.rule(&plot, slo.target_ns, 1);
        }
        for (number, curve) in self.curves.iter().enumerate().take(MOST_SERIES) {
            let style = Style { dash: 0, ..Style::of(number) };
            let points = |which: &'static str, points| tips(&curve.name, which, points);
            sheet.series(&plot, &points("service", &curve.service), Style { dash: 1, ..style });
            sheet.series(&plot, &points("response", &curve.response), style);
        }
        note_left_out(&mut sheet, self.curves.len(), MOST_SERIES);
        sheet.see(&self.seen());
        sheet.finish(&self.describe(), self.table())
    }

    fn legend(&self, sheet: &mut Sheet<'_>) {
        let mut entries = Vec::new();
        let served = self.curves.iter().any(|curve| !curve.service.is_empty());
        for (number, curve) in self.curves.iter().enumerate().take(MOST_SERIES) {
            let style = Style { dash: 0, ..Style::of(number) };
            entries.push(Entry::of(number, &curve.name, Look::Line(style)));
        }
        if served {
            entries.push(Entry::new(
                "dashed: service time, solid: response time",
                Look::Line(Style { dash: 1, ..Style::of(6) }.plain()),
            ));
        }
        let curves = self.curves.iter().take(MOST_SERIES).flat_map(|curve| curve.response.iter().chain(&curve.service));
        entries.extend(explanations(curves.map(|point| &point.latency_ns)));
        if let Some(slo) = &self.slo {
            entries.push(Entry::new(&format!("objective: {}", slo.name), Look::Rule(1)));
        }
        sheet.legend(&entries);
    }

    fn marks(&self) -> Vec<Mark> {
        let knee = self.knee.map(|at| Mark { at, label: format!("knee {}", AxisUnit::PerSecond.format(at)), dash: 2 });
        let slo = self.slo.as_ref().and_then(|slo| slo.capacity);
        let capacity = slo.map(|at| Mark {
            at,
            label: format!("objective holds up to {}", AxisUnit::PerSecond.format(at)),
            dash: 1,
        });
        knee.into_iter().chain(capacity).collect()
    }

    /// The step of a curve that costs the most latency for its gain in throughput.
    fn seen(&self) -> String {
        let mut worst: Option<(f64, String)> = None;
        for curve in self.curves.iter().take(MOST_SERIES) {
            let points = if curve.response.is_empty() { &curve.service } else { &curve.response };
            for pair in points.windows(2) {
                let [Some(from), Some(to)] = [&pair[0], &pair[1]].map(|point| point.latency_ns.sound().value) else {
                    continue;
                };
                let (gain, cost) = (pair[1].throughput / pair[0].throughput, to / from);
                if !(gain.is_finite() && cost.is_finite() && gain > 1.0 && cost > 1.2) {
                    continue;
                }
                let price = cost.ln() / gain.ln().max(1e-6);
                if worst.as_ref().is_none_or(|(most, _)| price > *most) {
                    let [at, next] = [&pair[0], &pair[1]].map(|point| AxisUnit::PerSecond.format(point.throughput));
                    let gain = AxisUnit::Share.format(((gain - 1.0) * 100.0).round() / 100.0);
                    let name = if self.curves.len() > 1 { format!("{}, ", curve.name) } else { String::new() };
                    worst = Some((
                        price,
                        format!(
                            "The most expensive step: {name}from {at} to {next}: {gain} more, at {} the latency.",
                            times(cost)
                        ),
                    ));
                }
            }
        }
        let promise = match &self.slo {
            Some(SloTarget { name, capacity: Some(capacity), .. }) => {
                format!(" {name} holds up to {}.", AxisUnit::PerSecond.format(*capacity))
            }
            Some(slo) => format!(" {} holds at no level.", slo.name),
            None => String::new(),
        };
        worst.map(|(_, said)| said).unwrap_or_default() + &promise
    }

    fn describe(&self) -> String {
        let levels = self.curves.iter().map(|curve| curve.response.len().max(curve.service.len())).max().unwrap_or(0);
        let all = || self.curves.iter().flat_map(|curve| curve.response.iter().chain(&curve.service));
        let load = ranging(all().map(|point| point.throughput), AxisUnit::PerSecond);
        let mut text = format!("Latency against load at {}, throughput {load}.", counted(levels, "level"));
        for curve in self.curves.iter().take(MOST_SERIES) {
            let points = if curve.response.is_empty() { &curve.service } else { &curve.response };
            let values = points.iter().filter_map(|point| point.latency_ns.value);
            text.push_str(&format!(" {}: {}.", curve.name, ranging(values, AxisUnit::Nanoseconds)));
        }
        if let Some(knee) = self.knee {
            text.push_str(&format!(" Knee at {}.", AxisUnit::PerSecond.format(knee)));
        }
        match &self.slo {
            Some(SloTarget { name, capacity: Some(capacity), .. }) => {
                text.push_str(&format!(" {name} holds up to {}.", AxisUnit::PerSecond.format(*capacity)));
            }
            Some(slo) => text.push_str(&format!(" {} holds at no level.", slo.name)),
            None => {}
        }
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["percentile", "time", "offered", "throughput", "latency", "low", "high"]);
        for curve in &self.curves {
            for (which, points) in [("response", &curve.response), ("service", &curve.service)] {
                for point in points {
                    let rates = [point.offered, Some(point.throughput)];
                    let rates = rates.map(|rate| Datum::Number(rate, AxisUnit::PerSecond));
                    table.row(
                        &[&curve.name, which],
                        rates.into_iter().chain(cells(&point.latency_ns, AxisUnit::Nanoseconds)),
                    );
                }
            }
        }
        table
    }
}

fn tips<'p>(name: &str, which: &str, points: &'p [LoadPoint]) -> Vec<Point<'p>> {
    let tip = |point: &LoadPoint| {
        let offered =
            point.offered.map_or(String::new(), |rate| format!(" (offered {})", AxisUnit::PerSecond.format(rate)));
        let latency = say(&point.latency_ns, AxisUnit::Nanoseconds);
        format!("{name} {which} {latency} at {}{offered}", AxisUnit::PerSecond.format(point.throughput))
    };
    points.iter().map(|point| Point { x: point.throughput, estimate: &point.latency_ns, tip: tip(point) }).collect()
}
