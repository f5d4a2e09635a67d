//! Offsets over time: time to the right, offset in the file upwards, the number of operations as
//! colour.
//!
//! A scan shows as a slope, a log that is rewritten as a flat line, a random load as a cloud.

use super::heat_map::{ROWS, Raster};
use super::{NO_DATA, ranging};
use crate::data::sound;
use crate::plot::Frame;
use crate::scale::{Scale, Span};
use crate::sheet::Sheet;
use crate::{AxisUnit, Datum, DrawnChart, Heading, Spacing, Table};

/// Most columns.
const COLUMNS: usize = 160;
/// Rows of the table, which would otherwise have as many as the picture has cells.
const TABLE_STEPS: usize = 40;

/// Counts of operations by time and offset.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetMap {
    /// Title and note.
    pub heading: Heading,
    /// In any order.
    pub points: Vec<OffsetPoint>,
}

/// Operations at one time and offset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OffsetPoint {
    /// ns since the start.
    pub at_ns: f64,
    /// Bytes from the start of the file.
    pub offset_bytes: f64,
    /// Number of operations.
    pub count: f64,
}

impl OffsetMap {
    /// Draws the chart.
    pub fn draw(&self) -> DrawnChart {
        let mut sheet = Sheet::new(&self.heading);
        let up = Span::of(self.sane().flat_map(|point| [0.0, point.offset_bytes]));
        let along = Span::of(self.sane().map(|point| point.at_ns));
        if up.is_empty(Spacing::Linear) || along.is_empty(Spacing::Linear) {
            sheet.nothing(NO_DATA);
            return sheet.finish("Offsets over time.", self.table());
        }
        let y = Scale::new(up, Spacing::Linear, AxisUnit::Bytes, 7);
        let x = Scale::close(along, AxisUnit::Nanoseconds, 9);
        let mut raster = Raster { columns: COLUMNS, counts: vec![0.0; COLUMNS * ROWS], most: 0.0 };
        for point in self.sane() {
            let (Some(along), Some(up)) = (x.fraction(point.at_ns), y.fraction(point.offset_bytes)) else { continue };
            let place = |fraction: f64, count: usize| ((fraction * count as f64) as usize).min(count - 1);
            raster.counts[place(up, ROWS) * COLUMNS + place(along, COLUMNS)] += point.count;
        }
        raster.most = raster.counts.iter().copied().fold(0.0, f64::max);
        sheet.gradient("operations in a cell:", "1", &AxisUnit::Count.format(raster.most));
        let plot = sheet.frame(Frame::over_time(x, y, "offset", 240.0));
        raster.draw(&mut sheet, &plot);
        let total: f64 = self.sane().map(|point| point.count).sum();
        let places = ranging(self.sane().map(|point| point.offset_bytes), AxisUnit::Bytes);
        let seen = format!(
            "{} operations by time and offset, {places}; the lighter, the more operations.",
            AxisUnit::Count.format(total)
        );
        sheet.see(&seen);
        sheet.finish(&seen, self.table())
    }

    fn sane(&self) -> impl Iterator<Item = &OffsetPoint> {
        let is_sane = |point: &&OffsetPoint| {
            sound(point.at_ns).is_some()
                && sound(point.offset_bytes).is_some()
                && sound(point.count).is_some_and(|count| count > 0.0)
        };
        self.points.iter().filter(is_sane)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["from", "operations", "lowest offset", "highest offset"]);
        let Some((first, last)) = self.sane().fold(None, |span: Option<(f64, f64)>, point| {
            let (first, last) = span.unwrap_or((point.at_ns, point.at_ns));
            Some((first.min(point.at_ns), last.max(point.at_ns)))
        }) else {
            return table;
        };
        let step = ((last - first) / TABLE_STEPS as f64).max(1.0);
        for number in 0..=TABLE_STEPS {
            let from = first + step * number as f64;
            let inside = || self.sane().filter(move |point| point.at_ns >= from && point.at_ns < from + step);
            let count: f64 = inside().map(|point| point.count).sum();
            if count == 0.0 {
                continue;
            }
            let bytes = |value: Option<f64>| Datum::Number(value, AxisUnit::Bytes);
            let cells = [
                Datum::Number(Some(from), AxisUnit::Nanoseconds),
                Datum::Number(Some(count), AxisUnit::Count),
                bytes(inside().map(|point| point.offset_bytes).reduce(f64::min)),
                bytes(inside().map(|point| point.offset_bytes).reduce(f64::max)),
            ];
            table.row(&[], cells);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_number_is_not_drawn() {
        let point = |at_ns: f64, offset_bytes: f64| OffsetPoint { at_ns, offset_bytes, count: 1.0 };
        let map = |points: Vec<OffsetPoint>| OffsetMap { heading: Heading::new("x", "x"), points }.draw();
        let good = map(vec![point(0.0, 0.0), point(1e9, 4096.0)]);
        assert!(good.svg.contains("<path"), "{}", good.svg);
        let odd = map(vec![point(f64::NAN, 1.0), point(1.0, f64::INFINITY)]);
        assert!(!odd.svg.contains("NaN"));
    }
}
