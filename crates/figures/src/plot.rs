//! One pair of axes on a sheet: frame, grid, tick labels that keep apart, marked places, and drawing in it.

use crate::data::Estimate;
use crate::scale::Scale;
use crate::series::Style;
use crate::sheet::{Entry, LINE, MARGIN, Sheet, WIDTH, legend_width};
use crate::svg::{Anchor, Path, Rect};
use crate::text::{Face, fit, width, wrap};

/// What a pair of axes is to look like.
pub(crate) struct Frame {
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    pub(crate) x_title: String,
    pub(crate) y_title: String,
    /// Of the area for data, px.
    pub(crate) height: f64,
    /// From the left edge to the axis, px; see [`gutter`].
    pub(crate) left: f64,
    /// Whether the x axis says its numbers, or leaves it to the plot below.
    pub(crate) says_x: bool,
    /// Whether the labels of the x axis are words, which may take two lines and are cut.
    pub(crate) named: bool,
    /// Places on the x axis that have a label above the plot.
    pub(crate) marks: Vec<Mark>,
    /// A legend of this plot alone, beside the title of the y axis.
    pub(crate) legend: Vec<Entry>,
}

/// A vertical line with a label.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    pub(crate) at: f64,
    pub(crate) label: String,
    pub(crate) dash: usize,
}

/// One point of a series.
pub(crate) struct Point<'e> {
    pub(crate) x: f64,
    pub(crate) estimate: &'e Estimate,
    pub(crate) tip: String,
}

/// Axes with their places on the sheet.
pub(crate) struct Plot {
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    named: bool,
}

/// Room that the tick labels of these axes need to their left.
pub(crate) fn gutter<'s>(scales: impl IntoIterator<Item = &'s Scale>) -> f64 {
    let labels = scales.into_iter().flat_map(|scale| &scale.ticks).map(|tick| width(&tick.label, Face::Tick));
    labels.fold(20.0, f64::max) + MARGIN + 8.0
}

impl Plot {
    pub(crate) fn x(&self, value: f64) -> Option<f64> {
        self.x.fraction(value).map(|fraction| self.left + fraction * (self.right - self.left))
    }

    pub(crate) fn y(&self, value: f64) -> Option<f64> {
        self.y.fraction(value).map(|fraction| self.bottom - fraction * (self.bottom - self.top))
    }

    /// Width of one place of a named axis.
    pub(crate) fn slot(&self) -> f64 {
        (self.right - self.left) / (self.x.high - self.x.low)
    }
}

impl Sheet<'_> {
    /// Draws axes below what is there.
    pub(crate) fn frame(&mut self, frame: Frame) -> Plot {
        let Frame { x, y, x_title, y_title, height, left, says_x, named, marks, legend } = frame;
        let last = x.ticks.last().filter(|_| !named).map_or(0.0, |tick| width(&tick.label, Face::Tick) / 2.0);
        let right = WIDTH - MARGIN - last.clamp(6.0, 80.0);
        let mut plot = Plot { x, y, left, right, top: 0.0, bottom: 0.0, named };
        let taken = self.y_title(&y_title, &legend);
        let rows = self.mark_labels(&plot, &marks, taken);
        self.y += LINE * rows.max(1) as f64 + 5.0;
        (plot.top, plot.bottom) = (self.y, self.y + height);
        self.grid(&plot);
        for mark in &marks {
            if let Some(at) = plot.x(mark.at) {
                self.svg.line(&format!("r d{}", mark.dash), (at, plot.top - 3.0), (at, plot.bottom));
            }
        }
        self.y = plot.bottom;
        if says_x {
            self.y += 4.0;
            if named {
                self.names(&plot)
            } else {
                self.numbers(&plot)
            }
            if !x_title.is_empty() {
                let title = fit(&x_title, Face::Label, right - left);
                self.svg.words(((left + right) / 2.0, self.y + 14.0), Anchor::Middle, Face::Label, &title);
                self.y += LINE;
            }
        }
        self.y += 8.0;
        plot
    }

    /// Title of the y axis and the plot's own legend; gives how far to the right they reach.
    fn y_title(&mut self, y_title: &str, legend: &[Entry]) -> f64 {
        let title = fit(y_title, Face::Label, WIDTH * 0.6);
        let end = if title.is_empty() { MARGIN } else { MARGIN + width(&title, Face::Label) + 14.0 };
        if end + legend_width(legend) > WIDTH - MARGIN {
            self.legend(legend);
        } else if !legend.is_empty() {
            let y = self.y;
            self.legend_from(legend, end);
            self.y = y;
        }
        self.svg.words((MARGIN, self.y + 13.0), Anchor::Start, Face::Label, &title);
        let beside = end + legend_width(legend) <= WIDTH - MARGIN;
        if beside { end + legend_width(legend) } else { end }
    }

    /// Labels of marked places, each in the first row where it fits; gives the number of rows.
    fn mark_labels(&mut self, plot: &Plot, marks: &[Mark], taken: f64) -> usize {
        const MOST_ROWS: usize = 4;
        let mut rows: Vec<Vec<(f64, f64)>> = vec![vec![(0.0, taken)]];
        for mark in marks.iter().filter(|mark| !mark.label.is_empty()) {
            let Some(at) = plot.x(mark.at) else { continue };
            let text = fit(&mark.label, Face::Label, (plot.right - plot.left) * 0.7);
            let half = width(&text, Face::Label) / 2.0;
            let middle = at.max(MARGIN + half).min(WIDTH - MARGIN - half);
            let (from, to) = (middle - half - 6.0, middle + half + 6.0);
            let free = |row: &Vec<(f64, f64)>| row.iter().all(|(a, b)| to <= *a || from >= *b);
            let row = rows.iter().position(free).unwrap_or(rows.len());
            if row >= MOST_ROWS {
                continue;
            }
            if row == rows.len() {
                rows.push(Vec::new());
            }
            rows[row].push((from, to));
            let y = self.y + 13.0 + LINE * row as f64;
            self.svg.words((middle, y), Anchor::Middle, Face::Label, &text);
        }
        rows.len()
    }

    /// Lines at the ticks, labels of the y axis, and the axes themselves.
    fn grid(&mut self, plot: &Plot) {
        let mut lines = Path::default();
        let places: Vec<(f64, &str)> =
            plot.y.ticks.iter().filter_map(|tick| Some((plot.y(tick.value)?, tick.label.as_str()))).collect();
        let stride = stride(&places, |_| 15.0);
        for (y, label) in places.iter().step_by(stride) {
            lines.move_to(plot.left, *y);
            lines.line_to(plot.right, *y);
            self.svg.number((plot.left - 6.0, y + 4.0), Anchor::End, Face::Tick, label);
        }
        self.svg.leaf("path", &[("class", "g"), ("d", &lines.d)]);
        let mut axes = Path::default();
        axes.move_to(plot.left, plot.top);
        axes.line_to(plot.left, plot.bottom);
        axes.line_to(plot.right, plot.bottom);
        self.svg.leaf("path", &[("class", "a"), ("d", &axes.d)]);
    }

    /// Numbers below the x axis, thinned until they keep apart.
    fn numbers(&mut self, plot: &Plot) {
        let inside = |(x, label): &(f64, &str)| width(label, Face::Tick) / 2.0 <= x.min(WIDTH - x);
        let places: Vec<(f64, &str)> = plot
            .x
            .ticks
            .iter()
            .filter_map(|tick| Some((plot.x(tick.value)?, tick.label.as_str())))
            .filter(inside)
            .collect();
        let stride = stride(&places, |label| width(label, Face::Tick) + 8.0);
        let mut marks = Path::default();
        for (x, label) in places.iter().step_by(stride) {
            marks.move_to(*x, plot.bottom);
            marks.line_to(*x, plot.bottom + 4.0);
            self.svg.number((*x, self.y + 12.0), Anchor::Middle, Face::Tick, label);
        }
        self.svg.leaf("path", &[("class", "a"), ("d", &marks.d)]);
        self.y += 16.0;
    }

    /// Names below their places, in at most two lines.
    fn names(&mut self, plot: &Plot) {
        let room = plot.slot() - 8.0;
        let wrapped = plot.x.ticks.iter().map(|tick| (tick, wrap(&tick.label, Face::Tick, room, 2)));
        let mut most = 1;
        for (tick, lines) in wrapped {
            let Some(x) = plot.x(tick.value) else { continue };
            most = most.max(lines.len());
            for (n, line) in lines.iter().enumerate() {
                self.svg.words((x, self.y + 12.0 + 15.0 * n as f64), Anchor::Middle, Face::Tick, line);
            }
        }
        self.y += 15.0 * most as f64 + 2.0;
    }

    /// A horizontal reference line.
    pub(crate) fn rule(&mut self, plot: &Plot, value: f64, dash: usize) {
        if let Some(y) = plot.y(value) {
            self.svg.line(&format!("r d{dash}"), (plot.left, y), (plot.right, y));
        }
    }

    /// A line through the points, broken where one is missing, thinned where there are more than can be seen.
    pub(crate) fn curve(&mut self, plot: &Plot, points: &[(f64, Option<f64>)], class: &str) {
        let mut path = Path::default();
        let mut pieces: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
        for (x, y) in points {
            let place = y.and_then(|y| Some((plot.x(*x)?, plot.y(y)?)));
            match place {
                Some(place) => pieces.last_mut().expect("there is always a piece").push(place),
                None => pieces.push(Vec::new()),
            }
        }
        for piece in &pieces {
            for (n, (x, y)) in thinned(piece).iter().enumerate() {
                if n == 0 { path.move_to(*x, *y) } else { path.line_to(*x, *y) }
            }
            // A point between gaps would be invisible as a line.
            if let [(x, y)] = piece[..] {
                path.line_to(x + 0.6, y);
            }
        }
        if !path.d.is_empty() {
            self.svg.leaf("path", &[("class", class), ("d", &path.d)]);
        }
    }

    /// The area between lower and upper limits, open where they are missing.
    pub(crate) fn band(&mut self, plot: &Plot, limits: &[(f64, Option<(f64, f64)>)]) {
        let place = |(x, limits): &(f64, Option<(f64, f64)>)| {
            let (low, high) = (*limits)?;
            Some((plot.x(*x)?, plot.y(low)?, plot.y(high)?))
        };
        let places: Vec<Option<(f64, f64, f64)>> = limits.iter().map(place).collect();
        for piece in places.split(Option::is_none).filter(|piece| piece.len() > 1) {
            self.area(&piece.iter().flatten().copied().collect::<Vec<_>>());
        }
    }

    /// The area between the lower and upper ends of places, px.
    fn area(&mut self, places: &[(f64, f64, f64)]) {
        let upper = thinned(&places.iter().map(|(x, _, high)| (*x, *high)).collect::<Vec<_>>());
        let lower = thinned(&places.iter().map(|(x, low, _)| (*x, *low)).collect::<Vec<_>>());
        let mut path = Path::default();
        for (n, (x, y)) in upper.iter().chain(lower.iter().rev()).enumerate() {
            if n == 0 { path.move_to(*x, *y) } else { path.line_to(*x, *y) }
        }
        path.end();
        self.svg.leaf("path", &[("class", "b"), ("d", &path.d)]);
    }

    /// Trials, interval and value at the place `x`, px. Values that the axis cannot show are counted.
    pub(crate) fn estimate(&mut self, plot: &Plot, x: f64, estimate: &Estimate, (style, tip): (Style, &str)) {
        let estimate = estimate.sound();
        self.interval_and_trials(plot, x, &estimate);
        let Some(value) = estimate.value else { return };
        match plot.y(value) {
            Some(y) => style.mark(self, (x, y), tip),
            None => self.hidden += 1,
        }
    }

    /// What lies around a value.
    pub(crate) fn interval_and_trials(&mut self, plot: &Plot, x: f64, estimate: &Estimate) {
        self.trials(plot, x, &estimate.trials);
        if let Some(interval) = estimate.interval {
            self.whisker(plot, x, interval);
        }
    }

    /// An interval with caps.
    fn whisker(&mut self, plot: &Plot, x: f64, (low, high): (f64, f64)) {
        // A lower limit that a logarithmic axis cannot show goes down to the axis, without a cap.
        let Some(top) = plot.y(high) else { return };
        let cap = plot.y(low);
        let bottom = cap.unwrap_or(plot.bottom);
        let mut path = Path::default();
        path.move_to(x, bottom);
        path.line_to(x, top);
        for y in [cap, Some(top)].into_iter().flatten() {
            path.move_to(x - 4.0, y);
            path.line_to(x + 4.0, y);
        }
        self.svg.leaf("path", &[("class", "e"), ("d", &path.d)]);
    }

    /// One series of estimates along the x axis: band and line, or whiskers and markers while there are few.
    pub(crate) fn series(&mut self, plot: &Plot, points: &[Point<'_>], style: Style) {
        const FEW: usize = 40;
        let sound: Vec<(f64, Estimate)> = points.iter().map(|point| (point.x, point.estimate.sound())).collect();
        self.svg.open("g", &[("class", &style.class())]);
        if !plot.named {
            self.band(plot, &sound.iter().map(|(x, one)| (*x, one.interval)).collect::<Vec<_>>());
        }
        let line: Vec<(f64, Option<f64>)> = sound.iter().map(|(x, one)| (*x, one.value)).collect();
        self.curve(plot, &line, &style.line_class());
        if points.len() <= FEW {
            for point in points {
                if let Some(x) = plot.x(point.x) {
                    self.estimate(plot, x, point.estimate, (style, &point.tip));
                }
            }
        } else {
            self.hidden +=
                sound.iter().filter(|(_, one)| one.value.is_some_and(|value| plot.y(value).is_none())).count();
        }
        self.svg.close("g");
    }

    /// Dots beside each other, in the order of the trials.
    fn trials(&mut self, plot: &Plot, x: f64, trials: &[f64]) {
        let step = (12.0 / trials.len().max(1) as f64).min(3.0);
        let start = x - step * (trials.len().saturating_sub(1)) as f64 / 2.0;
        let mut dots = Path::default();
        for (n, value) in trials.iter().enumerate() {
            if let Some(y) = plot.y(*value) {
                dots.dot(start + step * n as f64, y);
            }
        }
        if !dots.d.is_empty() {
            self.svg.leaf("path", &[("class", "p"), ("d", &dots.d)]);
        }
    }

    /// A tinted region over the whole height between two places of the x axis.
    pub(crate) fn zone(&mut self, plot: &Plot, from: f64, to: f64) {
        let (Some(from), Some(to)) = (plot.x(from), plot.x(to)) else { return };
        let place = Rect { x: from, y: plot.top, width: to - from, height: plot.bottom - plot.top };
        self.svg.rect(&[("class", "z")], place, "");
    }
}

/// Every how many labels can stand so that neighbours keep apart.
fn stride(places: &[(f64, &str)], need: impl Fn(&str) -> f64) -> usize {
    let fits = |stride: usize| {
        let chosen: Vec<&(f64, &str)> = places.iter().step_by(stride).collect();
        chosen.windows(2).all(|pair| (pair[1].0 - pair[0].0).abs() >= (need(pair[0].1) + need(pair[1].1)) / 2.0)
    };
    (1..=places.len().max(1)).find(|stride| fits(*stride)).unwrap_or(1)
}

/// At most two points for each px of width: where the line is lowest and where it is highest.
pub(crate) fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    const ENOUGH: usize = 600;
    if points.len() <= ENOUGH {
        return points.to_vec();
    }
    let column = |x: f64| (x / 2.0).floor() as i64;
    let mut kept = Vec::new();
    for group in points.chunk_by(|a, b| column(a.0) == column(b.0)) {
        let lowest = (0..group.len()).min_by(|a, b| group[*a].1.total_cmp(&group[*b].1));
        let highest = (0..group.len()).max_by(|a, b| group[*a].1.total_cmp(&group[*b].1));
        let (Some(a), Some(b)) = (lowest, highest) else { continue };
        kept.push(group[a.min(b)]);
        if a != b {
            kept.push(group[a.max(b)]);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_extremes() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|n| (f64::from(n) / 200.0, f64::from(n % 7))).collect();
        points[50_000].1 = 1e6;
        let few = thinned(&points);
        assert!(few.len() <= 502 && few.iter().any(|point| point.1 == 1e6), "{}", few.len());
        assert!(few.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }

    #[test]
    fn labels_keep_apart() {
        let places: Vec<(f64, &str)> = (0..20).map(|n| (f64::from(n) * 10.0, "100")).collect();
        assert_eq!(stride(&places, |_| 25.0), 3);
        assert_eq!(stride(&[], |_| 25.0), 1);
    }
}
