//! Latency heat map: time to the right, latency upwards on a logarithmic axis, the number of
//! operations as colour.
//!
//! Gregg, "Visualizing system latency", CACM 53(7), 2010: it shows modes and outliers that a
//! summary hides.

use iolab_order::Arrange;

use super::{NO_DATA, ranging};
use crate::data::sound;
use crate::gradient::{COLOURS, shade};
use crate::plot::{Frame, Plot};
use crate::scale::{Scale, Span};
use crate::sheet::Sheet;
use crate::svg::{Attributes, Path};
use crate::{AxisUnit, Datum, DrawnChart, Heading, Spacing, Table, viridis};

/// Counts of operations by time and latency.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    /// Title and note.
    pub heading: Heading,
    /// Ascending in time.
    pub columns: Vec<HeatColumn>,
}

/// One interval.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatColumn {
    /// ns since the start of the run.
    pub start_ns: f64,
    /// ns.
    pub length_ns: f64,
    /// Buckets that are not empty.
    pub cells: Vec<HeatCell>,
}

/// One bucket of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeatCell {
    /// Smallest latency, ns.
    pub low_ns: f64,
    /// Largest latency, ns.
    pub high_ns: f64,
    /// Operations.
    pub count: f64,
}

/// Most columns and rows.
const COLUMNS: usize = 120;
pub(super) const ROWS: usize = 36;

/// Counts on an even grid.
pub(super) struct Raster {
    pub(super) columns: usize,
    pub(super) counts: Vec<f64>,
    pub(super) most: f64,
}

impl HeatMap {
    /// Draws the chart.
    pub fn draw(&self) -> DrawnChart {
        let mut sheet = Sheet::new(&self.heading);
        let up = Span::of(self.cells().flat_map(|(_, cell)| [cell.low_ns.max(1.0), cell.high_ns]));
        let along = Span::of(
            self.columns.iter().flat_map(|column| [column.start_ns, column.start_ns + column.length_ns.max(0.0)]),
        );
        if up.is_empty(Spacing::Log) || along.is_empty(Spacing::Linear) {
            sheet.nothing(NO_DATA);
            return sheet.finish("Latency heat map.", self.table());
        }
        let y = Scale::new(up, Spacing::Log, AxisUnit::Nanoseconds, 7);
        let x = Scale::close(along, AxisUnit::Nanoseconds, 9);
        let raster = self.raster(&x, &y);
        sheet.gradient("operations in a cell:", "1", &AxisUnit::Count.format(raster.most));
        let plot = sheet.frame(Frame::over_time(x, y, "latency", 288.0));
        raster.draw(&mut sheet, &plot);
        sheet.see(&self.seen());
        sheet.finish(&self.describe(), self.table())
    }

    /// Cells that are not empty, with their columns.
    fn cells(&self) -> impl Iterator<Item = (&HeatColumn, &HeatCell)> {
        let sane = |column: &HeatColumn| sound(column.start_ns).is_some() && sound(column.length_ns).is_some();
        let counts =
            |cell: &HeatCell| sound(cell.count).is_some_and(|count| count > 0.0) && sound(cell.high_ns).is_some();
        let columns = self.columns.iter().filter(move |column| sane(column));
        columns.flat_map(move |column| {
            column.cells.iter().filter(move |cell| counts(cell)).map(move |cell| (column, cell))
        })
    }

    /// Puts the count of each bucket at its middle.
    fn raster(&self, x: &Scale, y: &Scale) -> Raster {
        let columns = self.columns.len().clamp(1, COLUMNS);
        let mut raster = Raster { columns, counts: vec![0.0; columns * ROWS], most: 0.0 };
        for (column, cell) in self.cells() {
            let middle = x.fraction(column.start_ns + column.length_ns.max(0.0) / 2.0);
            let height = y.fraction((cell.low_ns.max(1.0) * cell.high_ns.max(1.0)).sqrt());
            let (Some(along), Some(up)) = (middle, height) else { continue };
            let place = |fraction: f64, count: usize| ((fraction * count as f64) as usize).min(count - 1);
            raster.counts[place(up, ROWS) * columns + place(along, columns)] += cell.count;
        }
        raster.most = raster.counts.iter().copied().fold(0.0, f64::max);
        raster
    }

    /// The range of nine in ten operations, and the slowest one.
    fn seen(&self) -> String {
        let mut cells: Vec<(f64, f64, f64)> =
            self.cells().map(|(_, cell)| (cell.low_ns, cell.high_ns, cell.count)).collect();
        cells.arrange_by(|one, other| one.0.total_cmp(&other.0));
        let total: f64 = cells.iter().map(|cell| cell.2).sum();
        let reach = |share: f64| {
            let mut so_far = 0.0;
            cells.iter().find(|cell| {
                so_far += cell.2;
                so_far >= share * total
            })
        };
        let slowest = self.cells().max_by(|one, other| one.1.high_ns.total_cmp(&other.1.high_ns));
        let (Some(low), Some(high), Some((column, slow))) = (reach(0.05), reach(0.95), slowest) else {
            return String::new();
        };
        let shown = |ns: f64| AxisUnit::Nanoseconds.format(ns);
        format!(
            "Nine in ten operations took {} to {}; the slowest, {}, came {} after the start.",
            shown(low.0),
            shown(high.1),
            shown(slow.high_ns),
            shown(column.start_ns)
        )
    }

    fn describe(&self) -> String {
        let total: f64 = self.cells().map(|(_, cell)| cell.count).sum();
        let lows = ranging(self.cells().flat_map(|(_, cell)| [cell.low_ns, cell.high_ns]), AxisUnit::Nanoseconds);
        format!(
            "Heat map of {} operations by time and latency, {lows}; the lighter, the more operations.",
            AxisUnit::Count.format(total)
        )
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["from", "to", "operations", "fastest", "most frequent", "slowest"]);
        for column in &self.columns {
            let cells = || column.cells.iter().filter(|cell| cell.count > 0.0);
            let count: f64 = cells().map(|cell| cell.count).sum();
            let fastest = cells().map(|cell| cell.low_ns).reduce(f64::min);
            let slowest = cells().map(|cell| cell.high_ns).reduce(f64::max);
            let frequent = cells().max_by(|a, b| a.count.total_cmp(&b.count)).map(|cell| cell.high_ns);
            let time = |ns: Option<f64>| Datum::Number(ns, AxisUnit::Nanoseconds);
            let (from, to) = (Some(column.start_ns), Some(column.start_ns + column.length_ns));
            let cells = [
                time(from),
                time(to),
                Datum::Number(Some(count), AxisUnit::Count),
                time(fastest),
                time(frequent),
                time(slowest),
            ];
            table.row(&[], cells);
        }
        table
    }
}

/// Logarithmic, so that a single slow operation is visible next to thousands of fast ones.
fn level(count: f64, most: f64) -> usize {
    if most <= 1.0 {
        return COLOURS - 1;
    }
    let share = (count.max(1.0).ln() / most.ln()).clamp(0.0, 1.0);
    (share * (COLOURS - 1) as f64).round() as usize
}

impl Raster {
    /// One path for each colour; adjacent cells in a row form one rectangle.
    pub(super) fn draw(&self, sheet: &mut Sheet<'_>, plot: &Plot) {
        let mut paths: Vec<Path> = (0..COLOURS).map(|_| Path::default()).collect();
        let (wide, high) = ((plot.right - plot.left) / self.columns as f64, (plot.bottom - plot.top) / ROWS as f64);
        for row in 0..ROWS {
            let counts = &self.counts[row * self.columns..][..self.columns];
            let levels: Vec<Option<usize>> =
                counts.iter().map(|count| (*count > 0.0).then(|| level(*count, self.most))).collect();
            let mut at = 0;
            for run in levels.chunk_by(|a, b| a == b) {
                if let Some(level) = run[0] {
                    let (left, right) = (plot.left + wide * at as f64, plot.left + wide * (at + run.len()) as f64);
                    let bottom = plot.bottom - high * row as f64;
                    let path = &mut paths[level];
                    path.move_to(left, bottom);
                    path.across(right);
                    path.upright(bottom - high);
                    path.across(left);
                    path.end();
                }
                at += run.len();
            }
        }
        sheet.svg.open("g", &[("shape-rendering", "crispEdges")]);
        for (level, path) in paths.iter().enumerate().filter(|(_, path)| !path.d.is_empty()) {
            // The darkest colours would be invisible on a dark background.
            let class: Attributes<'_> = if level < COLOURS / 4 { &[("class", "faint")] } else { &[] };
            let colour = viridis::colour(shade(level));
            sheet.svg.leaf("path", &[class, &[("fill", colour.as_str()), ("d", &path.d)]].concat());
        }
        sheet.svg.close("g");
    }
}
