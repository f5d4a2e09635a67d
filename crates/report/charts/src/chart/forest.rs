//! Forest plot: ratios with their intervals against the zone in which a difference does not matter,
//! and the verdicts in words.

use super::{NO_DATA, counted};
use crate::data::{cells, say};
use crate::scale::{Scale, Span};
use crate::series::Style;
use crate::sheet::{LINE, MARGIN, Sheet, WIDTH};
use crate::svg::{Anchor, Path, Rect};
use crate::text::{Face, fit, width};
use crate::{AxisUnit, Datum, DrawnChart, Estimate, Heading, Table};

/// Ratios of candidate to baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    /// Title and note.
    pub heading: Heading,
    /// One for each comparison.
    pub rows: Vec<ForestRow>,
    /// Half-width of the zone: ratios from 1 / (1 + zone) to 1 + zone count as the same.
    pub zone: f64,
    /// The meaning of a ratio below one, e.g. `candidate lower`.
    pub below: String,
    /// The meaning of a ratio above one.
    pub above: String,
}

/// One comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestRow {
    /// Name of the comparison.
    pub name: String,
    /// Candidate / baseline, with its interval and the ratios of the blocks.
    pub ratio: Estimate,
    /// The verdict in words.
    pub verdict: String,
    /// Class of the verdict, for colour and marker.
    pub outcome: VerdictClass,
}

/// Class of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictClass {
    /// The candidate is better.
    Better,
    /// The candidate is worse.
    Worse,
    /// There is no difference that matters.
    Same,
    /// The data do not decide.
    Open,
}

impl VerdictClass {
    fn class(self) -> &'static str {
        match self {
            VerdictClass::Better => "good",
            VerdictClass::Worse => "bad",
            VerdictClass::Same => "same",
            VerdictClass::Open => "open",
        }
    }

    /// Filled circle, square, diamond; open circle for an open verdict.
    fn style(self) -> Style {
        let shape = match self {
            VerdictClass::Better => 2,
            VerdictClass::Worse => 4,
            VerdictClass::Same => 1,
            VerdictClass::Open => 0,
        };
        Style::of(shape)
    }
}

/// Most rows drawn.
const MOST_ROWS: usize = 60;
/// Height of a row, px.
const HIGH: f64 = 24.0;

/// Positions of the columns of the plot.
struct Columns {
    left: f64,
    right: f64,
    numbers: f64,
    verdicts: f64,
}

impl Forest {
    /// Draws the chart.
    pub fn draw(&self) -> DrawnChart {
        let mut sheet = Sheet::new(&self.heading);
        let zone = crate::data::sound(self.zone).unwrap_or(0.0).clamp(0.0, 10.0);
        let numbers = self.rows.iter().take(MOST_ROWS).flat_map(|row| row.ratio.numbers());
        let span = Span::of(numbers.chain([1.0, 1.0 + zone, 1.0 / (1.0 + zone)]));
        if self.rows.iter().all(|row| row.ratio.sound().value.is_none()) {
            sheet.nothing(NO_DATA);
            return sheet.finish("Ratios of candidate to baseline.", self.table());
        }
        let columns = self.columns();
        let scale = Scale::ratios(span, 6);
        let x =
            |value: f64| scale.fraction(value).map(|fraction| columns.left + fraction * (columns.right - columns.left));
        let shown = &self.rows[..self.rows.len().min(MOST_ROWS)];
        sheet.y += 4.0;
        let (top, bottom) = (sheet.y, sheet.y + HIGH * shown.len() as f64);
        if let (Some(from), Some(to)) = (x(1.0 / (1.0 + zone)), x(1.0 + zone)) {
            sheet.svg.rect(
                &[("class", "z")],
                Rect { x: from, y: top, width: to - from, height: bottom - top },
                "no important difference",
            );
        }
        if let Some(one) = x(1.0) {
            sheet.svg.line("r", (one, top), (one, bottom));
        }
        for row in shown {
            self.row(&mut sheet, row, &columns, &x);
        }
        axis(&mut sheet, &scale, &columns, &x);
        self.sides(&mut sheet, &columns);
        super::note_left_out(&mut sheet, self.rows.len(), MOST_ROWS);
        sheet.see(&self.seen());
        sheet.finish(&self.describe(), self.table())
    }

    fn columns(&self) -> Columns {
        let widest = |texts: &mut dyn Iterator<Item = String>, face: Face, most: f64| {
            texts.map(|text| width(&text, face)).fold(0.0, f64::max).min(most)
        };
        let rows = || self.rows.iter().take(MOST_ROWS);
        let names = widest(&mut rows().map(|row| row.name.clone()), Face::Label, 240.0);
        let numbers = widest(&mut rows().map(|row| numbers(&row.ratio)), Face::Tick, 170.0);
        // Verdicts are bold.
        let verdicts = (widest(&mut rows().map(|row| row.verdict.clone()), Face::Label, 200.0) * 1.15).min(200.0);
        let verdicts_at = WIDTH - MARGIN - verdicts;
        let numbers_at = verdicts_at - 14.0 - numbers;
        Columns { left: MARGIN + names + 16.0, right: numbers_at - 16.0, numbers: numbers_at, verdicts: verdicts_at }
    }

    fn row(&self, sheet: &mut Sheet<'_>, row: &ForestRow, columns: &Columns, x: &impl Fn(f64) -> Option<f64>) {
        let (middle, base) = (sheet.y + HIGH / 2.0, sheet.y + HIGH / 2.0 + 4.0);
        let name = fit(&row.name, Face::Label, columns.left - MARGIN - 12.0);
        sheet.svg.words((MARGIN, base), Anchor::Start, Face::Label, &name);
        let ratio = row.ratio.sound();
        let text = fit(&numbers(&ratio), Face::Tick, columns.verdicts - columns.numbers - 8.0);
        sheet.svg.number((columns.numbers, base), Anchor::Start, Face::Tick, &text);
        sheet.svg.open("g", &[("class", row.outcome.class())]);
        let verdict = fit(&row.verdict, Face::Label, (WIDTH - MARGIN - columns.verdicts) / 1.13);
        sheet.svg.words((columns.verdicts, base), Anchor::Start, Face::Label, &verdict);
        let mut dots = Path::default();
        for (n, trial) in ratio.trials.iter().enumerate() {
            if let Some(at) = x(*trial) {
                dots.dot(at, middle + [-5.0, 5.0, -7.0, 7.0][n % 4]);
            }
        }
        if !dots.d.is_empty() {
            sheet.svg.leaf("path", &[("class", "p"), ("d", &dots.d)]);
        }
        if let Some((low, high)) = ratio.interval
            && let Some(high) = x(high)
        {
            let mut path = Path::default();
            let from = x(low);
            path.move_to(from.unwrap_or(columns.left), middle);
            path.line_to(high, middle);
            for at in from.into_iter().chain([high]) {
                path.move_to(at, middle - 4.0);
                path.line_to(at, middle + 4.0);
            }
            sheet.svg.leaf("path", &[("class", "e"), ("d", &path.d)]);
        }
        let tip = format!("{}: {}, {}", row.name, say(&ratio, AxisUnit::Ratio), row.verdict);
        match ratio.value.map(x) {
            Some(Some(at)) => {
                Style { hollow: ratio.interval.is_none() || row.outcome == VerdictClass::Open, ..row.outcome.style() }
                    .mark(&mut sheet.svg, (at, middle), &tip)
            }
            Some(None) => sheet.hidden += 1,
            None => {}
        }
        sheet.svg.close("g");
        sheet.y += HIGH;
    }

    /// The meaning of each side of one.
    fn sides(&self, sheet: &mut Sheet<'_>, columns: &Columns) {
        // Each text stays on its own side of the middle.
        let middle = (columns.left + columns.right) / 2.0;
        let room = (columns.right - columns.left) / 2.0 + 60.0 - width("← ", Face::Label);
        let below = fit(&self.below, Face::Label, room.min(middle - 40.0));
        let above = fit(&self.above, Face::Label, room.min(WIDTH - middle - 40.0));
        if below.is_empty() && above.is_empty() {
            return;
        }
        if !below.is_empty() {
            sheet.svg.words((middle - 8.0, sheet.y + 13.0), Anchor::End, Face::Label, &format!("← {below}"));
        }
        if !above.is_empty() {
            sheet.svg.words((middle + 8.0, sheet.y + 13.0), Anchor::Start, Face::Label, &format!("{above} →"));
        }
        sheet.y += LINE;
    }

    /// The number of rows with each verdict.
    fn seen(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for row in &self.rows {
            match counts.iter_mut().find(|(verdict, _)| *verdict == row.verdict) {
                Some((_, count)) => *count += 1,
                None => counts.push((&row.verdict, 1)),
            }
        }
        if let [only] = self.rows.as_slice() {
            return format!("{}: {}.", only.verdict, say(&only.ratio, AxisUnit::Ratio));
        }
        let told: Vec<String> = counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        let open = if self.rows.iter().any(|row| row.outcome == VerdictClass::Open) {
            " An interval that crosses the line at 1 leaves the direction undecided."
        } else {
            ""
        };
        format!("{}.{open}", told.join(", "))
    }

    fn describe(&self) -> String {
        let mut text = format!("Ratios of candidate to baseline for {}.", counted(self.rows.len(), "comparison"));
        for row in self.rows.iter().take(20) {
            text.push_str(&format!(" {}: {}, {}.", row.name, say(&row.ratio, AxisUnit::Ratio), row.verdict));
        }
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["comparison", "ratio", "low", "high", "blocks", "verdict"]);
        for row in &self.rows {
            let blocks = Datum::Number(Some(row.ratio.trials.len() as f64), AxisUnit::Count);
            let rest = [blocks, Datum::Text(row.verdict.clone())];
            table.row(&[&row.name], cells(&row.ratio, AxisUnit::Ratio).into_iter().chain(rest));
        }
        table
    }
}

/// Ratio and interval with three decimals: the ratios are usually near one.
fn numbers(ratio: &Estimate) -> String {
    let ratio = ratio.sound();
    let number = |value: f64| if value.abs() < 100.0 { format!("{value:.3}") } else { AxisUnit::Count.format(value) };
    match (ratio.value, ratio.interval) {
        (Some(value), Some((low, high))) => format!("{} [{} … {}]", number(value), number(low), number(high)),
        (Some(value), None) => number(value),
        (None, _) => "too few blocks".to_owned(),
    }
}

fn axis(sheet: &mut Sheet<'_>, scale: &Scale, columns: &Columns, x: &impl Fn(f64) -> Option<f64>) {
    let mut path = Path::default();
    path.move_to(columns.left, sheet.y);
    path.line_to(columns.right, sheet.y);
    let mut free = f64::NEG_INFINITY;
    for tick in &scale.ticks {
        let Some(at) = x(tick.value) else { continue };
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
    sheet.y += 22.0;
}
