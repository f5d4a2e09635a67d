//! Percentile spectrum: latency over 1/(1-p) on a logarithmic axis, on which each further nine
//! takes the same space.
//!
//! The form is known from HdrHistogram's plots (Tene).

use super::{MOST_SERIES, NO_DATA, note_left_out, ranging};
use crate::captions::times;
use crate::data::{cells, say};
use crate::plot::{Frame, gutter};
use crate::points::Point;
use crate::scale::{Scale, Span, Tick};
use crate::series::{Look, Style};
use crate::sheet::{Entry, Sheet};
use crate::{AxisUnit, Datum, DrawnChart, Estimate, Heading, Spacing, Table};

/// Latency over percentiles.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// Title and note.
    pub heading: Heading,
    /// One for each kind of operation, time or configuration.
    pub series: Vec<SpectrumSeries>,
    /// Scale of the latency axis.
    pub latency: Spacing,
    /// Series of other pictures that readers compare with this one: the axes cover them too.
    pub beside: Vec<SpectrumSeries>,
}

/// One distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct SpectrumSeries {
    /// Name.
    pub name: String,
    /// Ascending in percentile.
    pub points: Vec<SpectrumPoint>,
}

/// One percentile.
#[derive(Debug, Clone, PartialEq)]
pub struct SpectrumPoint {
    /// From 0 to below 100.
    pub percentile: f64,
    /// Latency, ns.
    pub latency_ns: Estimate,
}

/// Percentile, and its label on the axis.
const PLACES: [(f64, &str); 10] = [
    (0.0, "0\u{A0}%"),
    (50.0, "50\u{A0}%"),
    (90.0, "90\u{A0}%"),
    (99.0, "99\u{A0}%"),
    (99.9, "99.9\u{A0}%"),
    (99.99, "99.99\u{A0}%"),
    (99.999, "99.999\u{A0}%"),
    (99.9999, "99.9999\u{A0}%"),
    (99.99999, "99.99999\u{A0}%"),
    (99.999999, "99.999999\u{A0}%"),
];

/// 1/(1-p); `None` outside of 0 ≤ p < 100 and beyond the end of the axis.
fn rarity(percentile: f64) -> Option<f64> {
    (0.0..100.0).contains(&percentile).then(|| 1.0 / (1.0 - percentile / 100.0)).filter(|rarity| *rarity <= 1.001e8)
}

impl Spectrum {
    /// Draws the chart.
    pub fn draw(&self) -> DrawnChart {
        let mut sheet = Sheet::new(&self.heading);
        let shown =
            || self.series.iter().flat_map(|series| &series.points).filter(|point| rarity(point.percentile).is_some());
        let others = || {
            let points = self.beside.iter().flat_map(|series| &series.points);
            points.filter(|point| rarity(point.percentile).is_some())
        };
        let up = Span::of(shown().chain(others()).flat_map(|point| point.latency_ns.numbers()));
        if shown().all(|point| point.latency_ns.sound().value.is_none()) || up.is_empty(self.latency) {
            sheet.nothing(NO_DATA);
            return sheet.finish("Latency by percentile.", self.table());
        }
        // Markers at every point of a fine curve would hide the curve.
        let coarse = self.series.iter().all(|series| series.points.len() <= 12);
        let styles = |number: usize| if coarse { Style::of(number) } else { Style::of(number).plain() };
        let names = self.series.iter().enumerate().take(MOST_SERIES);
        let entries: Vec<Entry> =
            names.map(|(number, series)| Entry::of(number, &series.name, Look::Line(styles(number)))).collect();
        sheet.legend(&entries);
        let rarest = shown().chain(others()).filter_map(|point| rarity(point.percentile)).fold(100.0, f64::max);
        let y = Scale::new(up, self.latency, AxisUnit::Nanoseconds, 6);
        let frame = Frame {
            left: gutter([&y]),
            x: axis(rarest),
            y,
            x_title: "percentile, one more nine per step".to_owned(),
            y_title: "latency".to_owned(),
            height: 300.0,
            says_x: true,
            named: false,
            marks: Vec::new(),
            legend: Vec::new(),
        };
        let plot = sheet.frame(frame);
        for (number, series) in self.series.iter().enumerate().take(MOST_SERIES) {
            let points: Vec<Point<'_>> = series.points.iter().filter_map(|point| place(series, point)).collect();
            sheet.series(&plot, &points, styles(number));
        }
        note_left_out(&mut sheet, self.series.len(), MOST_SERIES);
        sheet.see(&self.seen());
        sheet.finish(&self.describe(), self.table())
    }

    /// How long the tails are, and where series are farthest apart at the last percentile that all
    /// of them reach.
    fn seen(&self) -> String {
        let at = |series: &SpectrumSeries, percent: f64| {
            let point = series.points.iter().find(|point| (point.percentile - percent).abs() < 1e-6)?;
            point.latency_ns.sound().value.filter(|value| *value > 0.0)
        };
        let reached = |percent: &f64| self.series.iter().all(|series| at(series, *percent).is_some());
        let Some(far) = [99.99, 99.9, 99.0, 90.0].into_iter().find(reached) else { return String::new() };
        let tail = |series: &SpectrumSeries| {
            let last = at(series, far).unwrap_or(1.0);
            (series.name.clone(), last, last / middle(series).unwrap_or(last))
        };
        let tails: Vec<(String, f64, f64)> = self.series.iter().map(tail).collect();
        let shown = |ns: f64| AxisUnit::Nanoseconds.format(ns);
        let slowest = tails.iter().max_by(|one, other| one.1.total_cmp(&other.1));
        let fastest = tails.iter().min_by(|one, other| one.1.total_cmp(&other.1));
        match (tails.as_slice(), slowest, fastest) {
            ([(name, last, tail)], ..) => {
                format!("{name}: p{} is {}, {} the median.", short(far), shown(*last), times(*tail))
            }
            (_, Some(slow), Some(fast)) if slow.1 < 1.02 * fast.1 => {
                format!("At p{} all lie within 2 % of {}.", short(far), shown(fast.1))
            }
            (_, Some(slow), Some(fast)) => format!(
                "At p{} {} is lowest with {}, {} highest with {}, {} that. Farthest above its own median is {}: {}.",
                short(far),
                fast.0,
                shown(fast.1),
                slow.0,
                shown(slow.1),
                times(slow.1 / fast.1),
                tails.iter().max_by(|one, other| one.2.total_cmp(&other.2)).map_or("", |one| one.0.as_str()),
                times(tails.iter().map(|one| one.2).fold(0.0, f64::max)),
            ),
            _ => String::new(),
        }
    }

    fn describe(&self) -> String {
        let mut text = "Latency by percentile, on an axis where each additional nine has the same width.".to_owned();
        for series in self.series.iter().take(MOST_SERIES) {
            let values = series.points.iter().filter_map(|point| point.latency_ns.value);
            text.push_str(&format!(" {}: {}.", series.name, ranging(values, AxisUnit::Nanoseconds)));
        }
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["series", "percentile", "latency", "low", "high"]);
        for series in &self.series {
            for point in &series.points {
                table.row(
                    &[&series.name],
                    [percent(point.percentile)].into_iter().chain(cells(&point.latency_ns, AxisUnit::Nanoseconds)),
                );
            }
        }
        table
    }
}

/// The value nearest to the median.
fn middle(series: &SpectrumSeries) -> Option<f64> {
    let distance = |point: &&SpectrumPoint| (point.percentile - 50.0).abs();
    let nearest = series.points.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)))?;
    nearest.latency_ns.sound().value.filter(|value| *value > 0.0)
}

/// A percentile as a table cell; for programs a share of one.
fn percent(percentile: f64) -> Datum {
    Datum::Labelled(format!("{}\u{A0}%", short(percentile)), percentile / 100.0, AxisUnit::Share)
}

/// With as many decimals as distinguish it from 100.
fn short(percentile: f64) -> String {
    let decimals =
        if percentile < 90.0 { 1 } else { (1.0 - (100.0 - percentile).log10()).ceil().clamp(1.0, 9.0) as usize };
    let text = format!("{percentile:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn place<'p>(series: &SpectrumSeries, point: &'p SpectrumPoint) -> Option<Point<'p>> {
    let x = rarity(point.percentile)?;
    let tip = format!("{} p{} {}", series.name, short(point.percentile), say(&point.latency_ns, AxisUnit::Nanoseconds));
    Some(Point { x, estimate: &point.latency_ns, tip })
}

fn axis(rarest: f64) -> Scale {
    let ticks = PLACES.iter().filter_map(|(percentile, label)| {
        let value = rarity(*percentile)?;
        (value <= rarest * 1.001).then(|| Tick { value, label: (*label).to_owned() })
    });
    Scale::with_ticks(1.0, rarest * 1.001, Spacing::Log, ticks.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_keep_their_nines() {
        for (percentile, expected) in [
            (50.0, "50"),
            (99.0, "99"),
            (99.9, "99.9"),
            (99.99, "99.99"),
            (99.999, "99.999"),
            (17.4595, "17.5"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(short(percentile), expected);
        }
    }
}
