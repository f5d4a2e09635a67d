//! Bandwidth and IOPS against block size, with the limits of the device.
//!
//! The roofline is min(IOPS limit, bandwidth limit / block size): left of its corner a device is
//! limited by operations, right of it by bytes (after Williams, Waterman, Patterson, "Roofline",
//! CACM 52(4), 2009).

use iolab_order::Arrange;

use super::{MOST_SERIES, NO_DATA, note_left_out, ranging};
use crate::captions::{Spot, extremes};
use crate::data::{cells, say, sound};
use crate::plot::{Frame, gutter};
use crate::points::{Point, explanations};
use crate::scale::{Scale, Span};
use crate::series::{Look, Style};
use crate::sheet::{Entry, Sheet};
use crate::{AxisMeasure, AxisUnit, Datum, DrawnChart, Estimate, Heading, Spacing, Table};

/// Speed over block size.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockSizeChart {
    /// Title and note.
    pub heading: Heading,
    /// One for each load.
    pub series: Vec<BlockSizeSeries>,
    /// The limits of the device.
    pub roofline: Option<Roofline>,
    /// Scale of the two speed axes.
    pub spacing: Spacing,
}

/// One load.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockSizeSeries {
    /// Name.
    pub name: String,
    /// Ascending in block size.
    pub points: Vec<BlockSizePoint>,
}

/// One block size.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockSizePoint {
    /// Block size, bytes.
    pub block_bytes: f64,
    /// Bandwidth, bytes/s.
    pub bandwidth: Estimate,
    /// Operations/s.
    pub iops: Estimate,
}

/// Limits of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Roofline {
    /// Source of the limits: data sheet, measured, preset.
    pub name: String,
    /// Operations/s.
    pub iops: f64,
    /// Bytes/s.
    pub bandwidth: f64,
}

impl Roofline {
    /// Operations/s at a block size.
    pub fn iops_at(&self, block_bytes: f64) -> f64 {
        self.iops.min(self.bandwidth / block_bytes)
    }

    fn is_sound(&self) -> bool {
        [self.iops, self.bandwidth].into_iter().all(|limit| sound(limit).is_some_and(|limit| limit > 0.0))
    }
}

/// One of the two speeds.
#[derive(Clone, Copy, PartialEq)]
enum Speed {
    Bandwidth,
    Iops,
}

impl Speed {
    fn of(self, point: &BlockSizePoint) -> &Estimate {
        if self == Speed::Bandwidth { &point.bandwidth } else { &point.iops }
    }

    fn limit(self, roofline: &Roofline, block_bytes: f64) -> f64 {
        roofline.iops_at(block_bytes) * if self == Speed::Bandwidth { block_bytes } else { 1.0 }
    }

    fn measure(self, spacing: Spacing) -> AxisMeasure {
        let (name, unit) = if self == Speed::Bandwidth {
            ("bandwidth", AxisUnit::BytesPerSecond)
        } else {
            ("operations", AxisUnit::PerSecond)
        };
        AxisMeasure { name: name.to_owned(), unit, spacing }
    }
}

impl BlockSizeChart {
    /// Draws the chart.
    pub fn draw(&self) -> DrawnChart {
        let mut sheet = Sheet::new(&self.heading);
        let sizes = Span::of(self.points().map(|point| point.block_bytes));
        let speeds = [Speed::Bandwidth, Speed::Iops].map(|speed| (speed, self.span(speed)));
        let shown: Vec<_> = speeds.into_iter().filter(|(_, span)| !span.is_empty(self.spacing)).collect();
        if sizes.is_empty(Spacing::Log) || shown.is_empty() {
            sheet.nothing(NO_DATA);
            return sheet.finish("Speed against block size.", self.table());
        }
        self.legend(&mut sheet);
        let x = Scale::new(sizes, Spacing::Log, AxisUnit::Bytes, 14).aired();
        let scales: Vec<Scale> = shown.iter().map(|(speed, span)| self.scale(*speed, *span, &x)).collect();
        let left = gutter(&scales);
        for (number, ((speed, _), y)) in shown.iter().zip(scales).enumerate() {
            let last = number + 1 == shown.len();
            let frame = Frame {
                x: x.clone(),
                y,
                x_title: if last { "block size".to_owned() } else { String::new() },
                y_title: speed.measure(self.spacing).title(),
                height: 180.0,
                left,
                says_x: last,
                named: false,
                marks: Vec::new(),
                legend: Vec::new(),
            };
            self.plot(&mut sheet, *speed, frame);
        }
        note_left_out(&mut sheet, self.series.len(), MOST_SERIES);
        sheet.see(&shown.iter().map(|(speed, _)| self.seen(*speed)).collect::<Vec<_>>().join(" "));
        sheet.finish(&self.describe(), self.table())
    }

    fn points(&self) -> impl Iterator<Item = &BlockSizePoint> + Clone {
        self.series.iter().flat_map(|series| &series.points)
    }

    fn roofline(&self) -> Option<&Roofline> {
        self.roofline.as_ref().filter(|roofline| roofline.is_sound())
    }

    fn span(&self, speed: Speed) -> Span {
        Span::of(self.points().flat_map(|point| speed.of(point).numbers()))
    }

    fn scale(&self, speed: Speed, mut span: Span, x: &Scale) -> Scale {
        if let Some(roofline) = self.roofline() {
            roof_places(roofline, x).into_iter().for_each(|block| span.add(speed.limit(roofline, block)));
        }
        Scale::new(span, self.spacing, speed.measure(self.spacing).unit, 5)
    }

    fn legend(&self, sheet: &mut Sheet<'_>) {
        let names = self.series.iter().enumerate().take(MOST_SERIES);
        let mut entries: Vec<Entry> =
            names.map(|(number, series)| Entry::of(number, &series.name, Look::Line(Style::of(number)))).collect();
        if let Some(roofline) = self.roofline() {
            entries.push(Entry::new(&format!("limit: {}", roofline.name), Look::Rule(1)));
        }
        entries.extend(explanations(self.points().flat_map(|point| [&point.bandwidth, &point.iops])));
        sheet.legend(&entries);
    }

    fn plot(&self, sheet: &mut Sheet<'_>, speed: Speed, frame: Frame) {
        let plot = sheet.frame(frame);
        if let Some(roofline) = self.roofline() {
            let places = roof_places(roofline, &plot.x).into_iter();
            let line: Vec<(f64, Option<f64>)> =
                places.map(|block| (block, Some(speed.limit(roofline, block)))).collect();
            sheet.curve(&plot, &line, "r d1");
        }
        let unit = speed.measure(self.spacing).unit;
        for (number, series) in self.series.iter().enumerate().take(MOST_SERIES) {
            let tip = |point: &BlockSizePoint| {
                format!(
                    "{}, {}: {}",
                    series.name,
                    AxisUnit::Bytes.format(point.block_bytes),
                    say(speed.of(point), unit)
                )
            };
            let points = series.points.iter();
            let points = points.map(|point| Point { x: point.block_bytes, estimate: speed.of(point), tip: tip(point) });
            let points: Vec<Point<'_>> = points.collect();
            sheet.series(&plot, &points, Style::of(number));
        }
    }

    fn seen(&self, speed: Speed) -> String {
        let measure = speed.measure(self.spacing);
        let of = |series: &BlockSizeSeries| -> Vec<Spot> {
            let spot = |point: &BlockSizePoint| {
                let place = [series.name.clone(), AxisUnit::Bytes.format(point.block_bytes)];
                Some(Spot::new(&[&place[0], &place[1]], speed.of(point).sound().value?))
            };
            series.points.iter().filter_map(spot).collect()
        };
        let told = extremes(&self.series.iter().flat_map(of).collect::<Vec<_>>(), measure.unit);
        told.replacen("Highest:", &format!("Highest {}:", measure.name), 1)
    }

    fn describe(&self) -> String {
        let mut text = "Bandwidth and operations per second against block size.".to_owned();
        for series in self.series.iter().take(MOST_SERIES) {
            let bandwidth =
                ranging(series.points.iter().filter_map(|point| point.bandwidth.value), AxisUnit::BytesPerSecond);
            let iops = ranging(series.points.iter().filter_map(|point| point.iops.value), AxisUnit::PerSecond);
            text.push_str(&format!(" {}: bandwidth {bandwidth}, operations {iops}.", series.name));
        }
        if let Some(roofline) = self.roofline() {
            let (iops, bandwidth) =
                (AxisUnit::PerSecond.format(roofline.iops), AxisUnit::BytesPerSecond.format(roofline.bandwidth));
            text.push_str(&format!(" Limits of {}: {iops} and {bandwidth}.", roofline.name));
        }
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            "series",
            "block size",
            "bandwidth",
            "bandwidth low",
            "bandwidth high",
            "operations",
            "operations low",
            "operations high",
            "limit",
        ]);
        for series in &self.series {
            for point in &series.points {
                let limit = self.roofline().map(|roofline| roofline.iops_at(point.block_bytes));
                let mut rest = vec![Datum::Number(Some(point.block_bytes), AxisUnit::Bytes)];
                rest.extend(cells(&point.bandwidth, AxisUnit::BytesPerSecond));
                rest.extend(cells(&point.iops, AxisUnit::PerSecond));
                rest.push(Datum::Number(limit, AxisUnit::PerSecond));
                table.row(&[&series.name], rest);
            }
        }
        table
    }
}

/// The ends of the axis, the corner, and enough points between them for a smooth curve on a linear
/// axis.
fn roof_places(roofline: &Roofline, x: &Scale) -> Vec<f64> {
    const PIECES: u32 = 24;
    let piece = |n: u32| x.low * (x.high / x.low).powf(f64::from(n) / f64::from(PIECES));
    let corner = Some(roofline.bandwidth / roofline.iops).filter(|corner| *corner > x.low && *corner < x.high);
    let mut places: Vec<f64> = (0..=PIECES).map(piece).chain(corner).collect();
    places.arrange_by(f64::total_cmp);
    places
}
