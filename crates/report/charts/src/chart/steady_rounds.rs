//! Steady-state plot: rounds, the window that was judged, its band and its line (SNIA SSS PTS
//! 2.0.2, section 2.1.24).

use super::{MOST_SERIES, NO_DATA, counted, note_left_out};
use crate::data::sound;
use crate::plot::{Frame, Mark, Plot, gutter};
use crate::scale::{Scale, Span};
use crate::series::{Look, Style};
use crate::sheet::{Entry, LINE, MARGIN, Sheet, WIDTH};
use crate::svg::Anchor;
use crate::text::{Face, fit};
use crate::{AxisMeasure, AxisUnit, Datum, DrawnChart, Heading, Table};

/// Rounds, and whether they reached a steady state.
#[derive(Debug, Clone, PartialEq)]
pub struct SteadyRounds {
    /// Title and note.
    pub heading: Heading,
    /// The measure of each round.
    pub measure: AxisMeasure,
    /// One for each load of a round.
    pub series: Vec<Rounds>,
    /// Index of the series that was judged.
    pub tracked: usize,
    /// The window that was judged; `None` before the first window is full.
    pub window: Option<Window>,
    /// Largest allowed difference of the largest and smallest value, as a share of the mean (0.2).
    pub range_limit: f64,
    /// Largest allowed rise or fall of the line over the window, as a share of the mean (0.1).
    pub slope_limit: f64,
    /// Whether the steady state was reached.
    pub reached: bool,
    /// The verdict in words.
    pub verdict: String,
}

/// One load in every round.
#[derive(Debug, Clone, PartialEq)]
pub struct Rounds {
    /// Name.
    pub name: String,
    /// Values by round; `None` where a round failed.
    pub values: Vec<Option<f64>>,
}

/// The rounds that were judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// First round, from 0.
    pub start: usize,
    /// Round after the last.
    pub end: usize,
    /// Mean over the window.
    pub mean: f64,
    /// Slope of the least-squares line, per round.
    pub slope: f64,
    /// Largest minus smallest value, as a share of the mean.
    pub range_share: f64,
    /// Rise or fall of the line over the window, as a share of the mean.
    pub slope_share: f64,
}

impl Window {
    /// Rounds on the axis are numbered from 1.
    fn from(&self) -> f64 {
        self.start as f64 + 1.0
    }

    fn to(&self) -> f64 {
        self.end.max(self.start + 1) as f64
    }

    /// Value of the line at a round.
    fn line_at(&self, round: f64) -> f64 {
        self.mean + self.slope * (round - (self.from() + self.to()) / 2.0)
    }
}

impl SteadyRounds {
    /// Draws the chart.
    pub fn draw(&self) -> DrawnChart {
        let mut sheet = Sheet::new(&self.heading);
        self.verdict(&mut sheet);
        let values = self.series.iter().flat_map(|series| &series.values).flatten().copied();
        let mut up = Span::of(values);
        let rounds = self.series.iter().map(|series| series.values.len()).max().unwrap_or(0);
        if up.is_empty(self.measure.spacing) {
            sheet.nothing(NO_DATA);
            return sheet.finish("Rounds until steady state.", self.table());
        }
        let window =
            self.window.filter(|window| window.start < rounds && window.end <= rounds && sound(window.mean).is_some());
        if let Some(window) = window {
            self.band(&window).into_iter().for_each(|value| up.add(value));
            [window.from(), window.to()].into_iter().for_each(|round| up.add(window.line_at(round)));
        }
        self.legend(&mut sheet, window.is_some());
        let y = Scale::new(up, self.measure.spacing, self.measure.unit, 6);
        let x = Scale::close(Span::of([1.0, rounds.max(2) as f64]), AxisUnit::Count, 12).aired();
        let frame = Frame {
            left: gutter([&y]),
            x,
            y,
            x_title: "round".to_owned(),
            y_title: self.measure.title(),
            height: 260.0,
            says_x: true,
            named: false,
            marks: Vec::<Mark>::new(),
            legend: Vec::new(),
        };
        let plot = sheet.frame(frame);
        if let Some(window) = &window {
            self.judged(&mut sheet, &plot, window);
        }
        self.lines(&mut sheet, &plot);
        note_left_out(&mut sheet, self.series.len(), MOST_SERIES);
        sheet.see(&self.seen());
        sheet.finish(&self.describe(), self.table())
    }

    fn verdict(&self, sheet: &mut Sheet<'_>) {
        let text = fit(&self.verdict, Face::Label, (WIDTH - 2.0 * MARGIN) / 1.13);
        if !text.is_empty() {
            sheet.svg.open("g", &[("class", if self.reached { "good" } else { "bad" })]);
            sheet.svg.words((MARGIN, sheet.y + 12.0), Anchor::Start, Face::Label, &text);
            sheet.svg.close("g");
            sheet.y += LINE;
        }
    }

    /// The allowed range of the values in the window.
    fn band(&self, window: &Window) -> [f64; 2] {
        let half = window.mean * sound(self.range_limit).unwrap_or(0.2) / 2.0;
        [window.mean - half, window.mean + half]
    }

    fn legend(&self, sheet: &mut Sheet<'_>, judged: bool) {
        let names = self.series.iter().enumerate().take(MOST_SERIES);
        let mut entries: Vec<Entry> =
            names.map(|(number, series)| Entry::of(number, &series.name, Look::Line(self.style(number)))).collect();
        if judged {
            let percent = AxisUnit::Share.format(self.range_limit);
            entries.push(Entry::new("window", Look::Zone));
            entries.push(Entry::new(&format!("{percent} band around the mean"), Look::Rule(2)));
            entries.push(Entry::new("least-squares line", Look::Rule(0)));
        }
        sheet.legend(&entries);
    }

    /// The judged series is solid.
    fn style(&self, number: usize) -> Style {
        let style = Style::of(number);
        if number == self.tracked {
            Style { dash: 0, ..style }
        } else {
            Style { marked: false, dash: style.dash.max(1), ..style }
        }
    }

    fn judged(&self, sheet: &mut Sheet<'_>, plot: &Plot, window: &Window) {
        sheet.zone(plot, (window.from() - 0.3).max(plot.x.low), (window.to() + 0.3).min(plot.x.high));
        let ends = [window.from(), window.to()];
        for limit in self.band(window) {
            sheet.curve(plot, &ends.map(|round| (round, Some(limit))), "r d2");
        }
        sheet.curve(plot, &ends.map(|round| (round, Some(window.line_at(round)))), "r");
    }

    fn lines(&self, sheet: &mut Sheet<'_>, plot: &Plot) {
        for (number, series) in self.series.iter().enumerate().take(MOST_SERIES) {
            let style = self.style(number);
            let values: Vec<(f64, Option<f64>)> =
                series.values.iter().enumerate().map(|(n, value)| (n as f64 + 1.0, value.and_then(sound))).collect();
            sheet.open_series(style);
            sheet.curve(plot, &values, &style.line_class());
            sheet.hidden +=
                values.iter().filter(|(_, value)| value.is_some_and(|value| plot.y(value).is_none())).count();
            for (round, value) in values.iter().filter(|_| style.marked).take(100) {
                let Some(value) = value else { continue };
                let (Some(x), Some(y)) = (plot.x(*round), plot.y(*value)) else { continue };
                let tip = format!("{} round {round}: {}", series.name, self.measure.unit.format(*value));
                style.mark(&mut sheet.svg, (x, y), &tip);
            }
            sheet.svg.close("g");
        }
    }

    /// The verdict and its margin.
    fn seen(&self) -> String {
        let share = |value: f64| AxisUnit::Share.format(value);
        let window = self.window.map(|window| {
            format!(
                ": values spread over {} of the mean ({} allowed), trend {} ({} allowed)",
                share(window.range_share),
                share(self.range_limit),
                share(window.slope_share),
                share(self.slope_limit)
            )
        });
        format!("{}{}.", self.verdict, window.unwrap_or_default())
    }

    fn describe(&self) -> String {
        let rounds = self.series.iter().map(|series| series.values.len()).max().unwrap_or(0);
        let mut text = format!("{} over {}. {}", self.measure.name, counted(rounds, "round"), self.verdict);
        if !self.verdict.is_empty() && !self.verdict.ends_with('.') {
            text.push('.');
        }
        if let Some(window) = &self.window {
            let share = |value: f64| AxisUnit::Share.format(value);
            text.push_str(&format!(
                " Window: rounds {} to {}, mean {}, range {} of the mean (limit {}), trend {} (limit {}).",
                window.from(),
                window.to(),
                self.measure.unit.format(window.mean),
                share(window.range_share),
                share(self.range_limit),
                share(window.slope_share),
                share(self.slope_limit)
            ));
        }
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["round", "series", &self.measure.name, "in the window"]);
        let rounds = self.series.iter().map(|series| series.values.len()).max().unwrap_or(0);
        for round in 0..rounds {
            for (number, series) in self.series.iter().enumerate() {
                let value = series.values.get(round).copied().flatten();
                let inside = number == self.tracked
                    && self.window.is_some_and(|window| (window.start..window.end).contains(&round));
                let cells = [
                    Datum::Number(Some((round + 1) as f64), AxisUnit::Count),
                    Datum::Text(series.name.clone()),
                    Datum::Number(value, self.measure.unit),
                    Datum::Text(if inside { "yes" } else { "no" }.to_owned()),
                ];
                table.row(&[], cells);
            }
        }
        table
    }
}
