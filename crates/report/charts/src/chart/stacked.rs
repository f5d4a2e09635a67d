//! Stacked bars: the parts of a whole, such as requests that were merged or not, or requests by
//! size.

use super::{MOST_SERIES, NO_DATA, note_left_out};
use crate::captions::{Spot, extremes};
use crate::data::{cells, say};
use crate::scale::{Scale, Span, Tick};
use crate::series::Look;
use crate::sheet::{Entry, LINE, MARGIN, Sheet, WIDTH};
use crate::svg::{Anchor, Path, Rect};
use crate::text::{Face, fit, width};
use crate::{AxisMeasure, AxisUnit, Datum, DrawnChart, Estimate, Heading, Spacing, Table};

/// Wholes and their parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Stacked {
    /// Title and note.
    pub heading: Heading,
    /// The unit of the parts. Every bar starts at zero, so the axis is always linear.
    pub measure: AxisMeasure,
    /// Names of the parts, in the order of the stack.
    pub parts: Vec<String>,
    /// One for each whole.
    pub bars: Vec<StackedBar>,
    /// Every bar is drawn as 100 %, whatever its size.
    pub as_shares: bool,
}

/// One whole.
#[derive(Debug, Clone, PartialEq)]
pub struct StackedBar {
    /// Name.
    pub name: String,
    /// One for each part, not negative.
    pub parts: Vec<Estimate>,
}

/// Most bars drawn.
const MOST_BARS: usize = 40;
/// Height of a row, px.
const HIGH: f64 = 28.0;

impl StackedBar {
    /// Values of the parts; an unknown or negative one counts as zero.
    fn values(&self, parts: usize) -> Vec<f64> {
        let value = |part: &Estimate| part.sound().value.map_or(0.0, |value| value.max(0.0));
        self.parts.iter().take(parts).map(value).collect()
    }
}

/// Positions of the bars.
struct Columns {
    left: f64,
    right: f64,
}

impl Stacked {
    /// Draws the chart.
    pub fn draw(&self) -> DrawnChart {
        let mut sheet = Sheet::new(&self.heading);
        let parts = self.parts.len().min(MOST_SERIES);
        let whole = |bar: &StackedBar| bar.values(parts).iter().sum::<f64>();
        let largest = self.bars.iter().take(MOST_BARS).map(whole).fold(0.0, f64::max);
        if largest <= 0.0 {
            sheet.nothing(NO_DATA);
            return sheet.finish(&format!("{} by parts.", self.measure.name), self.table());
        }
        let entries: Vec<Entry> =
            self.parts.iter().take(parts).enumerate().map(|(n, name)| Entry::new(name, Look::Area(n))).collect();
        sheet.legend(&entries);
        let scale = if self.as_shares {
            let tick = |n: u32| Tick { value: f64::from(n) / 5.0, label: format!("{}\u{A0}%", n * 20) };
            Scale::with_ticks(0.0, 1.0, Spacing::Linear, (0..=5).map(tick).collect())
        } else {
            Scale::new(Span::of([largest]), Spacing::Linear, self.measure.unit, 6)
        };
        let columns = self.columns(&scale, parts);
        let top = sheet.y;
        for bar in self.bars.iter().take(MOST_BARS) {
            self.bar(&mut sheet, bar, &scale, &columns);
        }
        self.axis(&mut sheet, &scale, &columns, top);
        note_left_out(&mut sheet, self.bars.len(), MOST_BARS);
        note_left_out(&mut sheet, self.parts.len(), MOST_SERIES);
        sheet.see(&self.seen());
        sheet.finish(&self.describe(), self.table())
    }

    fn columns(&self, scale: &Scale, parts: usize) -> Columns {
        let shown = || self.bars.iter().take(MOST_BARS);
        let names = shown().map(|bar| width(&bar.name, Face::Label)).fold(30.0, f64::max).min(200.0);
        let totals = shown().map(|bar| width(&self.total(bar, parts), Face::Tick)).fold(0.0, f64::max);
        let last = scale.ticks.last().map_or(0.0, |tick| width(&tick.label, Face::Tick) / 2.0);
        Columns { left: MARGIN + names + 10.0, right: WIDTH - MARGIN - (totals + 8.0).max(last) }
    }

    fn total(&self, bar: &StackedBar, parts: usize) -> String {
        let total: f64 = bar.values(parts).iter().sum();
        if total > 0.0 { self.measure.unit.format(total) } else { "no data".to_owned() }
    }

    fn bar(&self, sheet: &mut Sheet<'_>, bar: &StackedBar, scale: &Scale, columns: &Columns) {
        let parts = self.parts.len().min(MOST_SERIES);
        let base = sheet.y + HIGH / 2.0 + 4.0;
        let name = fit(&bar.name, Face::Label, columns.left - MARGIN - 8.0);
        sheet.svg.words((columns.left - 8.0, base), Anchor::End, Face::Label, &name);
        sheet.svg.number((WIDTH - MARGIN, base), Anchor::End, Face::Tick, &self.total(bar, parts));
        let values = bar.values(parts);
        let whole: f64 = values.iter().sum();
        let unit = if self.as_shares && whole > 0.0 { 1.0 / whole } else { 1.0 };
        let x =
            |value: f64| columns.left + scale.fraction(value * unit).unwrap_or(1.0) * (columns.right - columns.left);
        let mut below = 0.0;
        for (number, value) in values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            let (from, to) = (x(below), x(below + value));
            below += value;
            let share = AxisUnit::Share.format(value / whole);
            let tip = format!(
                "{}, {}: {}, {share} of all",
                bar.name,
                self.parts[number],
                say(&bar.parts[number], self.measure.unit)
            );
            let fill = sheet.fill(number);
            let class = format!("s{} f", number % 8);
            let place = Rect { x: from, y: sheet.y + 4.0, width: to - from, height: HIGH - 8.0 };
            sheet.svg.rect(&[("class", &class), ("fill", &fill)], place, &tip);
            share_label(sheet, place, value / whole);
        }
        sheet.y += HIGH;
    }

    fn axis(&self, sheet: &mut Sheet<'_>, scale: &Scale, columns: &Columns, top: f64) {
        let mut path = Path::default();
        path.move_to(columns.left, top);
        path.line_to(columns.left, sheet.y);
        path.line_to(columns.right, sheet.y);
        let mut free = f64::NEG_INFINITY;
        for tick in &scale.ticks {
            let at = columns.left + scale.fraction(tick.value).unwrap_or(0.0) * (columns.right - columns.left);
            let half = width(&tick.label, Face::Tick) / 2.0 + 5.0;
            if at - half < free {
                continue;
            }
            free = at + half;
            path.move_to(at, sheet.y);
            path.line_to(at, sheet.y + 4.0);
            sheet.svg.number((at, sheet.y + 16.0), Anchor::Middle, Face::Tick, &tick.label);
        }
        sheet.svg.leaf("path", &[("class", "a"), ("d", &path.d)]);
        sheet.y += 20.0;
        let title = if self.as_shares { format!("share of {}", self.measure.name) } else { self.measure.title() };
        let title = fit(&title, Face::Label, columns.right - columns.left);
        sheet.svg.words(((columns.left + columns.right) / 2.0, sheet.y + 14.0), Anchor::Middle, Face::Label, &title);
        sheet.y += LINE;
    }

    /// Names the second part if there are two, otherwise the largest.
    fn seen(&self) -> String {
        let shares = |part: usize| -> Vec<Spot> {
            let of = |bar: &StackedBar| {
                let values = bar.values(self.parts.len());
                let whole: f64 = values.iter().sum();
                values.get(part).filter(|_| whole > 0.0).map(|value| Spot::new(&[&bar.name], value / whole))
            };
            self.bars.iter().filter_map(of).collect()
        };
        let size = |part: &usize| shares(*part).iter().map(|spot| spot.value).sum::<f64>();
        let largest = (0..self.parts.len()).max_by(|one, other| size(one).total_cmp(&size(other)));
        let part = if self.parts.len() == 2 { Some(1) } else { largest };
        let Some(part) = part else { return String::new() };
        let spots = shares(part);
        match spots.as_slice() {
            [only] => format!("{}: {}.", self.parts[part], AxisUnit::Share.format(only.value)),
            several => {
                let told = extremes(several, AxisUnit::Share);
                if told.is_empty() {
                    told
                } else {
                    format!("{}: {}", self.parts[part], told.replacen("Highest:", "highest", 1))
                }
            }
        }
    }

    fn describe(&self) -> String {
        let mut text = format!(
            "{}: {}.",
            self.measure.name,
            self.parts.iter().take(MOST_SERIES).cloned().collect::<Vec<_>>().join(", ")
        );
        for bar in self.bars.iter().take(20) {
            let values = bar.values(self.parts.len());
            let whole: f64 = values.iter().sum();
            let share = |(name, value): (&String, &f64)| format!("{name} {}", AxisUnit::Share.format(value / whole));
            let shares: Vec<String> = self.parts.iter().zip(&values).filter(|_| whole > 0.0).map(share).collect();
            let shares = if shares.is_empty() { "no data".to_owned() } else { shares.join(", ") };
            text.push_str(&format!(" {}: {shares}.", bar.name));
        }
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["whole", "part", &self.measure.name, "low", "high", "share"]);
        for bar in &self.bars {
            let whole: f64 = bar.values(self.parts.len()).iter().sum();
            for (name, part) in self.parts.iter().zip(&bar.parts) {
                let share = part.sound().value.filter(|_| whole > 0.0).map(|value| value.max(0.0) / whole);
                let share = Datum::Number(share, AxisUnit::Share);
                table.row(&[&bar.name, name], cells(part, self.measure.unit).into_iter().chain([share]));
            }
        }
        table
    }
}

/// Draws the share with its own background, so that it is readable on every hatching; only where
/// there is room.
fn share_label(sheet: &mut Sheet<'_>, place: Rect, share: f64) {
    let text = format!("{:.0}\u{A0}%", share * 100.0);
    let wide = width(&text, Face::Tick) + 8.0;
    if place.width < wide + 6.0 {
        return;
    }
    let middle = place.x + place.width / 2.0;
    let ground = Rect { x: middle - wide / 2.0, y: place.y + 2.5, width: wide, height: place.height - 5.0 };
    sheet.svg.rect(&[("class", "ground"), ("rx", "3")], ground, "");
    sheet.svg.number((middle, place.y + place.height / 2.0 + 4.0), Anchor::Middle, Face::Tick, &text);
}
