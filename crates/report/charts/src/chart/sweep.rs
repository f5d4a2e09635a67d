//! One measure over a swept axis: write share, jobs, depth, block size, or named choices.

use super::{MOST_SERIES, NO_DATA, note_left_out, ranging};
use crate::captions::{Spot, extremes};
use crate::data::{TRIAL_COLUMNS, cells, say, trial_cells};
use crate::plot::{Frame, gutter};
use crate::points::{Point, explanations};
use crate::scale::{Scale, Span};
use crate::series::{Look, Style};
use crate::sheet::{Entry, Sheet};
use crate::{AxisMeasure, AxisUnit, Datum, DrawnChart, Estimate, Heading, Spacing, Table};

/// Lines with intervals over an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// Title and note.
    pub heading: Heading,
    /// The swept setting, e.g. `share of writes`.
    pub axis_title: String,
    /// The positions on the axis.
    pub axis: SweepAxis,
    /// The measure and its axis.
    pub measure: AxisMeasure,
    /// One for each line.
    pub series: Vec<SweepSeries>,
    /// Values of other pictures that readers compare with this one: the axis covers them too.
    pub beside: Vec<f64>,
}

/// The positions on the axis.
#[derive(Debug, Clone, PartialEq)]
pub enum SweepAxis {
    /// Names; `x` of a point is the index of its name, from 0.
    Named(Vec<String>),
    /// Numbers, equally spaced.
    Linear(AxisUnit),
    /// Numbers, with equal distances between powers of two.
    Doubling(AxisUnit),
    /// Numbers on a logarithmic axis.
    Log(AxisUnit),
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepSeries {
    /// Name.
    pub name: String,
    /// Ascending along the axis.
    pub points: Vec<SweepPoint>,
}

/// One point of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepPoint {
    /// Position, in the axis' unit.
    pub x: f64,
    /// The measured value.
    pub y: Estimate,
}

impl Sweep {
    /// Draws the chart.
    pub fn draw(&self) -> DrawnChart {
        let mut sheet = Sheet::new(&self.heading);
        let points = || self.series.iter().flat_map(|series| &series.points);
        let up = Span::of(points().flat_map(|point| point.y.numbers()).chain(self.beside.iter().copied()));
        if up.is_empty(self.measure.spacing) || self.scale().is_none() {
            sheet.nothing(NO_DATA);
            return sheet.finish(&format!("{} over {}.", self.measure.name, self.axis_title), self.table());
        }
        self.legend(&mut sheet);
        let y = Scale::new(up, self.measure.spacing, self.measure.unit, 6);
        let frame = Frame {
            left: gutter([&y]),
            x: self.scale().unwrap_or_else(|| Scale::named(&[])),
            y,
            x_title: self.axis_title.clone(),
            y_title: self.measure.title(),
            height: 280.0,
            says_x: true,
            named: matches!(self.axis, SweepAxis::Named(_)),
            marks: Vec::new(),
            legend: Vec::new(),
        };
        let plot = sheet.frame(frame);
        for (number, series) in self.series.iter().enumerate().take(MOST_SERIES) {
            let points = series.points.iter();
            let points = points.map(|point| Point {
                x: self.x(point) + self.aside(number),
                estimate: &point.y,
                tip: self.tip(series, point),
            });
            let points: Vec<Point<'_>> = points.collect();
            sheet.series(&plot, &points, Style::of(number));
        }
        note_left_out(&mut sheet, self.series.len(), MOST_SERIES);
        sheet.see(&self.seen());
        sheet.finish(&self.describe(), self.table())
    }

    fn legend(&self, sheet: &mut Sheet<'_>) {
        let shown = || self.series.iter().enumerate().take(MOST_SERIES);
        let mut entries: Vec<Entry> = shown()
            .filter(|_| self.series.len() > 1)
            .map(|(number, series)| Entry::of(number, &series.name, Look::Line(Style::of(number))))
            .collect();
        entries.extend(explanations(shown().flat_map(|(_, series)| &series.points).map(|point| &point.y)));
        sheet.legend(&entries);
    }

    /// The axis; `None` when it has no position that can be shown.
    fn scale(&self) -> Option<Scale> {
        let places = || self.series.iter().flat_map(|series| &series.points).map(|point| point.x);
        let along = Span::of(places());
        match &self.axis {
            SweepAxis::Named(names) => (!names.is_empty()).then(|| Scale::named(names)),
            SweepAxis::Linear(unit) => {
                (!along.is_empty(Spacing::Linear)).then(|| Scale::close(along, *unit, 9).aired())
            }
            SweepAxis::Doubling(unit) => {
                (!along.is_empty(Spacing::Log)).then(|| Scale::doubling(places(), *unit, 12).aired())
            }
            SweepAxis::Log(unit) => {
                (!along.is_empty(Spacing::Log)).then(|| Scale::new(along, Spacing::Log, *unit, 9).aired())
            }
        }
    }

    fn x(&self, point: &SweepPoint) -> f64 {
        // Between named positions there is nothing.
        if matches!(self.axis, SweepAxis::Named(_)) && point.x.fract() != 0.0 { f64::NAN } else { point.x }
    }

    /// Series are drawn next to each other where there is room between the positions.
    fn aside(&self, number: usize) -> f64 {
        let drawn = self.series.len().min(MOST_SERIES) as f64;
        let step = if matches!(self.axis, SweepAxis::Named(_)) { (0.7 / drawn).min(0.14) } else { 0.0 };
        step * (number as f64 - (drawn - 1.0) / 2.0)
    }

    fn place(&self, x: f64) -> String {
        match &self.axis {
            SweepAxis::Named(names) if x >= 0.0 && x.fract() == 0.0 => {
                names.get(x as usize).cloned().unwrap_or_default()
            }
            SweepAxis::Named(_) => String::new(),
            SweepAxis::Linear(unit) | SweepAxis::Doubling(unit) | SweepAxis::Log(unit) => unit.format(x),
        }
    }

    fn place_cell(&self, x: f64) -> Datum {
        match &self.axis {
            SweepAxis::Named(_) => Datum::Text(self.place(x)),
            SweepAxis::Linear(unit) | SweepAxis::Doubling(unit) | SweepAxis::Log(unit) => Datum::Number(Some(x), *unit),
        }
    }

    fn tip(&self, series: &SweepSeries, point: &SweepPoint) -> String {
        format!("{}, {}: {}", series.name, self.place(point.x), say(&point.y, self.measure.unit))
    }

    /// Extremes; for a single line, whether it rises or falls throughout.
    fn seen(&self) -> String {
        let of = |series: &SweepSeries| -> Vec<Spot> {
            let spot = |point: &SweepPoint| {
                Some(Spot::new(&[&series.name, &format!("at {}", self.place(point.x))], point.y.sound().value?))
            };
            series.points.iter().filter_map(spot).collect()
        };
        let told = extremes(&self.series.iter().flat_map(of).collect::<Vec<_>>(), self.measure.unit);
        let [only] = self.series.as_slice() else { return told };
        let values: Vec<f64> = only.points.iter().filter_map(|point| point.y.sound().value).collect();
        let goes = |way: fn(&f64, &f64) -> bool| values.len() > 2 && values.is_sorted_by(way);
        match (goes(|one, next| next > one), goes(|one, next| next < one)) {
            (true, _) => format!("{told} It rises with every step."),
            (_, true) => format!("{told} It falls with every step."),
            _ => told,
        }
    }

    fn describe(&self) -> String {
        let mut text = format!("{} over {}.", self.measure.name, self.axis_title);
        for series in self.series.iter().take(MOST_SERIES) {
            let values = series.points.iter().filter_map(|point| point.y.value);
            text.push_str(&format!(" {}: {}.", series.name, ranging(values, self.measure.unit)));
        }
        text
    }

    fn table(&self) -> Table {
        let axis = if self.axis_title.is_empty() { "place" } else { &self.axis_title };
        let [deviation, trials] = TRIAL_COLUMNS;
        let mut table = Table::new(&["series", axis, &self.measure.name, "low", "high", deviation, trials]);
        for series in &self.series {
            for point in &series.points {
                let unit = self.measure.unit;
                let known = cells(&point.y, unit).into_iter().chain(trial_cells(&point.y, unit));
                table.row(&[&series.name], std::iter::once(self.place_cell(point.x)).chain(known));
            }
        }
        table
    }
}
