//! Bars in groups, each with its interval and trials: interfaces by load, and any other measure
//! with names on both sides.
//!
//! A bar without an interval would claim more than is known: such a value is drawn as a hollow
//! marker. A bar on a logarithmic axis would have no baseline: there, all values are markers.

use super::{MOST_SERIES, NO_DATA, counted, note_left_out, ranging};
use crate::captions::{Spot, extremes};
use crate::data::{TRIAL_COLUMNS, cells, say, trial_cells};
use crate::plot::{Frame, Plot, gutter};
use crate::points::explanations;
use crate::scale::{Scale, Span};
use crate::series::{Look, Style, missing};
use crate::sheet::{Entry, Sheet};
use crate::svg::Rect;
use crate::{AxisMeasure, DrawnChart, Estimate, Heading, Spacing, Table};

/// One measure for every pair of group and series.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    /// Title and note.
    pub heading: Heading,
    /// The measure and its axis.
    pub measure: AxisMeasure,
    /// What the groups vary, e.g. `load`.
    pub group_title: String,
    /// Names of the groups, e.g. loads.
    pub groups: Vec<String>,
    /// One for each colour, e.g. interfaces.
    pub series: Vec<GroupSeries>,
}

/// One series.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupSeries {
    /// Name.
    pub name: String,
    /// One for each group, in order; missing ones at the end count as unknown.
    pub values: Vec<Estimate>,
}

/// Minimum width of a bar, px.
const LEAST_BAR: f64 = 13.0;
/// Most rows of groups.
const MOST_ROWS: usize = 5;

/// Most values that a description lists one by one.
const MOST_TOLD: usize = 8;

impl Groups {
    /// Draws the chart.
    pub fn draw(&self) -> DrawnChart {
        let mut sheet = Sheet::new(&self.heading);
        let numbers = self
            .series
            .iter()
            .flat_map(|series| series.values.iter().take(self.groups.len()))
            .flat_map(Estimate::numbers);
        let up = Span::of(numbers);
        if up.is_empty(self.measure.spacing) {
            sheet.nothing(NO_DATA);
            return sheet.finish(&format!("{} by {}.", self.measure.name, self.group_title), self.table());
        }
        self.legend(&mut sheet);
        let y = Scale::new(up, self.measure.spacing, self.measure.unit, 6);
        let drawn = self.series.len().min(MOST_SERIES) as f64;
        let slot = (drawn * LEAST_BAR + 14.0).max(62.0);
        let in_row = (((crate::sheet::WIDTH - gutter([&y]) - 30.0) / slot).floor() as usize).max(1);
        let rows = self.groups.len().div_ceil(in_row);
        // Rows of equal length look better than full rows and a short last one.
        let in_row = self.groups.len().div_ceil(rows.max(1)).max(1);
        for (row, names) in self.groups.chunks(in_row).enumerate().take(MOST_ROWS) {
            let last = row + 1 == rows.min(MOST_ROWS);
            let frame = Frame {
                left: gutter([&y]),
                x: Scale::named(names),
                y: y.clone(),
                x_title: if last { self.group_title.clone() } else { String::new() },
                y_title: if row == 0 { self.measure.title() } else { String::new() },
                height: if rows == 1 { 280.0 } else { 190.0 },
                says_x: true,
                named: true,
                marks: Vec::new(),
                legend: Vec::new(),
            };
            let plot = sheet.frame(frame);
            for (number, series) in self.series.iter().enumerate().take(MOST_SERIES) {
                self.bars(&mut sheet, &plot, (number, series), row * in_row);
            }
        }
        note_left_out(&mut sheet, self.series.len(), MOST_SERIES);
        note_left_out(&mut sheet, self.groups.len(), MOST_ROWS * in_row);
        sheet.see(&self.seen());
        sheet.finish(&self.describe(), self.table())
    }

    fn legend(&self, sheet: &mut Sheet<'_>) {
        let shown = || self.series.iter().take(MOST_SERIES).flat_map(|series| &series.values);
        let names = self.series.iter().enumerate().take(MOST_SERIES).filter(|_| self.series.len() > 1);
        let mut entries: Vec<Entry> =
            names.map(|(number, series)| Entry::of(number, &series.name, self.look(number))).collect();
        entries.extend(explanations(shown()));
        let short = |series: &GroupSeries| series.values.len() < self.groups.len();
        if shown().any(|one| one.sound().value.is_none()) || self.series.iter().any(short) {
            entries.push(Entry::new("no value: too few samples", Look::Missing));
        }
        sheet.legend(&entries);
    }

    fn look(&self, number: usize) -> Look {
        if self.measure.spacing == Spacing::Linear { Look::Area(number) } else { Look::Marker(Style::of(number)) }
    }

    /// The bars of one series in one row of groups, which starts with group `first`.
    fn bars(&self, sheet: &mut Sheet<'_>, plot: &Plot, (number, series): (usize, &GroupSeries), first: usize) {
        let drawn = self.series.len().min(MOST_SERIES) as f64;
        let wide = ((plot.slot() - 14.0) / drawn).min(46.0);
        let fill = sheet.fill(number);
        let base = plot.y(0.0).unwrap_or(plot.bottom);
        let style = Style::of(number);
        sheet.open_series(style);
        for (n, group) in plot.x.ticks.iter().enumerate() {
            let unknown = Estimate::default();
            let estimate = series.values.get(first + n).unwrap_or(&unknown);
            let Some(middle) = plot.x(group.value) else { continue };
            let x = middle + (number as f64 - (drawn - 1.0) / 2.0) * wide;
            let tip = format!("{}, {}: {}", series.name, group.label, say(estimate, self.measure.unit));
            let sound = estimate.sound();
            let top = sound.value.and_then(|value| plot.y(value));
            match (top, sound.interval) {
                (Some(top), Some(_)) if self.measure.spacing == Spacing::Linear => {
                    let place =
                        Rect { x: x - wide * 0.42, y: top.min(base), width: wide * 0.84, height: (base - top).abs() };
                    sheet.svg.rect(&[("class", "f"), ("fill", &fill)], place, &tip);
                    sheet.svg.open("g", &[("class", "s6")]);
                    sheet.interval_and_trials(plot, x, &sound);
                    sheet.svg.close("g");
                }
                (None, _) if sound.value.is_none() => missing(&mut sheet.svg, (x, plot.bottom), &tip),
                _ => sheet.estimate(plot, x, &sound, style, &tip),
            }
        }
        sheet.svg.close("g");
    }

    fn seen(&self) -> String {
        let of = |series: &'_ GroupSeries| -> Vec<Spot> {
            let name = if self.series.len() > 1 { series.name.as_str() } else { "" };
            let groups = self.groups.iter().zip(&series.values);
            groups.filter_map(|(group, one)| Some(Spot::new(&[name, group], one.sound().value?))).collect()
        };
        extremes(&self.series.iter().flat_map(of).collect::<Vec<_>>(), self.measure.unit)
    }

    fn describe(&self) -> String {
        // With a single series, the description lists the value of each group.
        if let [only] = self.series.as_slice()
            && self.groups.len() <= MOST_TOLD
        {
            let told = |(n, group): (usize, &String)| {
                let value = only.values.get(n).and_then(|estimate| estimate.sound().value);
                format!("{group} {}", value.map_or("no value".to_owned(), |value| self.measure.unit.format(value)))
            };
            let values: Vec<String> = self.groups.iter().enumerate().map(told).collect();
            return format!("{}: {}.", self.measure.name, values.join("; "));
        }
        let mut text = format!(
            "{} for {} and {}.",
            self.measure.name,
            counted(self.groups.len(), "group"),
            counted(self.series.len(), "series").replace("seriess", "series")
        );
        for series in self.series.iter().take(MOST_SERIES) {
            let values = series.values.iter().filter_map(|one| one.value);
            text.push_str(&format!(" {}: {}.", series.name, ranging(values, self.measure.unit)));
        }
        text
    }

    fn table(&self) -> Table {
        let group = if self.group_title.is_empty() { "group" } else { &self.group_title };
        let [deviation, trials] = TRIAL_COLUMNS;
        let mut table = Table::new(&[group, "series", &self.measure.name, "low", "high", deviation, trials]);
        for (n, group) in self.groups.iter().enumerate() {
            for series in &self.series {
                let unknown = Estimate::default();
                let estimate = series.values.get(n).unwrap_or(&unknown);
                let unit = self.measure.unit;
                table.row(&[group, &series.name], cells(estimate, unit).into_iter().chain(trial_cells(estimate, unit)));
            }
        }
        table
    }
}
