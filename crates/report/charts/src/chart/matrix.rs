//! One value for each pair of two settings, as numbers on colours: depth by jobs, block size by
//! depth.

use super::{NO_DATA, ranging};
use crate::captions::{Spot, extremes};
use crate::data::{cells, say};
use crate::scale::Span;
use crate::sheet::{LINE, MARGIN, Sheet, WIDTH};
use crate::svg::{Anchor, Rect, escaped, px};
use crate::text::{Face, fit, width};
use crate::{AxisMeasure, DrawnChart, Estimate, Heading, Spacing, Table, viridis};

/// Values by row and column.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// Title and note.
    pub heading: Heading,
    /// The measure; with a logarithmic spacing, equal ratios are equal steps of colour.
    pub measure: AxisMeasure,
    /// What the rows vary, e.g. `jobs`.
    pub row_title: String,
    /// What the columns vary, e.g. `depth`.
    pub column_title: String,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// For each row, an estimate for each column; missing ones count as unknown.
    pub cells: Vec<Vec<Estimate>>,
}

/// Most rows and columns drawn.
const MOST: usize = 16;
/// Height of a row, px.
const HIGH: f64 = 34.0;

impl Matrix {
    /// Draws the chart.
    pub fn draw(&self) -> DrawnChart {
        let mut sheet = Sheet::new(&self.heading);
        let values =
            || self.cells.iter().take(MOST).flat_map(|row| row.iter().take(MOST)).filter_map(|one| one.sound().value);
        let span = Span::of(values());
        if self.rows.is_empty() || self.columns.is_empty() || span.is_empty(self.measure.spacing) {
            sheet.nothing(NO_DATA);
            return sheet.finish(
                &format!("{} by {} and {}.", self.measure.name, self.row_title, self.column_title),
                self.table(),
            );
        }
        let (low, high) =
            values().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(one), high.max(one)));
        sheet.gradient(
            &format!("{}:", self.measure.title()),
            &self.measure.unit.format(low),
            &self.measure.unit.format(high),
        );
        let left = self.names(&mut sheet);
        let wide = (WIDTH - MARGIN - left) / self.columns.len().min(MOST) as f64;
        for row in 0..self.rows.len().min(MOST) {
            for column in 0..self.columns.len().min(MOST) {
                let place = Rect { x: left + wide * column as f64, y: sheet.y, width: wide - 2.0, height: HIGH - 2.0 };
                self.cell(&mut sheet, (row, column), place, (low, high));
            }
            sheet.y += HIGH;
        }
        super::note_left_out(&mut sheet, self.rows.len().max(self.columns.len()), MOST);
        sheet.see(&self.seen());
        sheet.finish(&self.describe(), self.table())
    }

    /// Draws names of columns above and of rows to the left; returns where the cells begin.
    fn names(&self, sheet: &mut Sheet<'_>) -> f64 {
        let room = 150.0;
        let names: Vec<String> = self.rows.iter().take(MOST).map(|name| fit(name, Face::Tick, room)).collect();
        let widest = names.iter().map(|name| width(name, Face::Tick)).fold(0.0, f64::max);
        let title = fit(&self.row_title, Face::Label, room);
        let left = MARGIN + widest.max(width(&title, Face::Label)) + 10.0;
        let columns = self.columns.len().min(MOST);
        let wide = (WIDTH - MARGIN - left) / columns as f64;
        let above = fit(&self.column_title, Face::Label, WIDTH - MARGIN - left);
        sheet.svg.words(((left + WIDTH - MARGIN) / 2.0, sheet.y + 13.0), Anchor::Middle, Face::Label, &above);
        sheet.y += LINE;
        sheet.svg.words((MARGIN, sheet.y + 12.0), Anchor::Start, Face::Label, &title);
        for (n, name) in self.columns.iter().take(MOST).enumerate() {
            let name = fit(name, Face::Tick, wide - 6.0);
            let middle = left + wide * (n as f64 + 0.5) - 1.0;
            sheet.svg.words((middle, sheet.y + 12.0), Anchor::Middle, Face::Tick, &name);
        }
        sheet.y += LINE;
        for (n, name) in names.iter().enumerate() {
            let y = sheet.y + HIGH * n as f64 + HIGH / 2.0 + 3.0;
            sheet.svg.words((left - 8.0, y), Anchor::End, Face::Tick, name);
        }
        left
    }

    fn estimate(&self, row: usize, column: usize) -> Estimate {
        self.cells.get(row).and_then(|row| row.get(column)).map(Estimate::sound).unwrap_or_default()
    }

    fn cell(&self, sheet: &mut Sheet<'_>, (row, column): (usize, usize), place: Rect, (low, high): (f64, f64)) {
        let estimate = self.estimate(row, column);
        let tip = format!(
            "{} {}, {} {}: {}",
            self.row_title,
            self.rows[row],
            self.column_title,
            self.columns[column],
            say(&estimate, self.measure.unit)
        );
        let log = self.measure.spacing == Spacing::Log;
        let Some(value) = estimate.value.filter(|value| !log || *value > 0.0) else {
            sheet.svg.rect(&[("class", "none"), ("rx", "2")], place, &tip);
            sheet.svg.words((place.x + place.width / 2.0, place.y + 20.0), Anchor::Middle, Face::Tick, "–");
            return;
        };
        let low = if log { low.max(high * 1e-9) } else { low };
        let share = if low >= high {
            1.0
        } else if log {
            (value.max(low) / low).ln() / (high / low).ln()
        } else {
            (value - low) / (high - low)
        };
        sheet.svg.rect(&[("fill", &viridis::colour(share)), ("rx", "2")], place, &tip);
        let text = self.measure.unit.format(value).trim_end_matches("/s").trim_end().to_owned();
        let text = if width(&text, Face::Tick) <= place.width - 4.0 { text } else { String::new() };
        let spread = estimate.interval.filter(|_| value != 0.0).map(|(low, high)| spread(value, low, high));
        let spread = spread.filter(|spread| !text.is_empty() && width(spread, Face::Tick) <= place.width - 4.0);
        let class = viridis::text_class(share);
        let middle = place.x + place.width / 2.0;
        let first = place.y + if spread.is_some() { 14.0 } else { 20.0 };
        for (text, y) in [(Some(text), first), (spread, place.y + 27.0)] {
            let Some(text) = text.filter(|text| !text.is_empty()) else { continue };
            let class = format!("k n {class}");
            sheet.svg.open("text", &[("class", &class), ("x", &px(middle)), ("y", &px(y)), ("text-anchor", "middle")]);
            sheet.svg.text.push_str(&escaped(&text));
            sheet.svg.close("text");
        }
    }

    fn seen(&self) -> String {
        let mut spots = Vec::new();
        for (row, row_name) in self.rows.iter().enumerate() {
            for (column, column_name) in self.columns.iter().enumerate() {
                let place = [format!("{} {row_name}", self.row_title), format!("{} {column_name}", self.column_title)];
                let value = self.estimate(row, column).value;
                spots.extend(value.map(|value| Spot::new(&[&place[0], &place[1]], value)));
            }
        }
        extremes(&spots, self.measure.unit)
    }

    fn describe(&self) -> String {
        let values = || self.cells.iter().flatten().filter_map(|one| one.sound().value);
        let mut text = format!(
            "{} by {} and {}: {}.",
            self.measure.name,
            self.row_title,
            self.column_title,
            ranging(values(), self.measure.unit)
        );
        let places = (0..self.rows.len()).flat_map(|row| (0..self.columns.len()).map(move |column| (row, column)));
        let known = places.filter_map(|(row, column)| Some((self.estimate(row, column).value?, row, column)));
        if let Some((value, row, column)) = known.max_by(|a, b| a.0.total_cmp(&b.0)) {
            let (row, column) = (&self.rows[row], &self.columns[column]);
            let largest = self.measure.unit.format(value);
            text.push_str(&format!(" Largest: {largest} at {} {row}, {} {column}.", self.row_title, self.column_title));
        }
        text
    }

    fn table(&self) -> Table {
        let name =
            |title: &str, otherwise: &str| if title.is_empty() { otherwise.to_owned() } else { title.to_owned() };
        let (row_title, column_title) = (name(&self.row_title, "row"), name(&self.column_title, "column"));
        let mut table = Table::new(&[&row_title, &column_title, &self.measure.name, "low", "high"]);
        for (row, row_name) in self.rows.iter().enumerate() {
            for (column, column_name) in self.columns.iter().enumerate() {
                table.row(&[row_name, column_name], cells(&self.estimate(row, column), self.measure.unit));
            }
        }
        table
    }
}

/// Half of the interval in percent of the value.
fn spread(value: f64, low: f64, high: f64) -> String {
    let percent = (high - low) / 2.0 / value.abs() * 100.0;
    if percent < 10.0 { format!("±{percent:.1}\u{A0}%") } else { format!("±{percent:.0}\u{A0}%") }
}
