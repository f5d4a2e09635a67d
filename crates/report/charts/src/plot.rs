//! One pair of axes on a sheet: frame, grid, tick labels that do not overlap, marked positions.

use crate::scale::Scale;
use crate::sheet::{Entry, LINE, MARGIN, Sheet, WIDTH, legend_width};
use crate::svg::{Anchor, Path};
use crate::text::{Face, fit, width, wrap};

/// The layout of a pair of axes.
pub(crate) struct Frame {
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    pub(crate) x_title: String,
    pub(crate) y_title: String,
    /// Height of the data area, px.
    pub(crate) height: f64,
    /// Distance of the axis from the left edge, px; see [`gutter`].
    pub(crate) left: f64,
    /// Whether the x axis has numbers, or leaves them to the plot below.
    pub(crate) says_x: bool,
    /// Whether the labels of the x axis are words, which may take two lines and be cut.
    pub(crate) named: bool,
    /// Positions on the x axis with a label above the plot.
    pub(crate) marks: Vec<Mark>,
    /// A legend for this plot only, next to the title of the y axis.
    pub(crate) legend: Vec<Entry>,
}

impl Frame {
    /// Axes of a quantity over the time since the start.
    pub(crate) fn over_time(x: Scale, y: Scale, y_title: &str, height: f64) -> Frame {
        Frame {
            left: gutter([&y]),
            x,
            y,
            x_title: "time since the start".to_owned(),
            y_title: y_title.to_owned(),
            height,
            says_x: true,
            named: false,
            marks: Vec::new(),
            legend: Vec::new(),
        }
    }
}

/// A vertical line with a label.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    pub(crate) at: f64,
    pub(crate) label: String,
    pub(crate) dash: usize,
}

/// Axes with their positions on the sheet.
pub(crate) struct Plot {
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    pub(crate) named: bool,
}

/// Space that the tick labels of these axes need on the left.
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

    /// Width of one position of a named axis.
    pub(crate) fn slot(&self) -> f64 {
        (self.right - self.left) / (self.x.high - self.x.low)
    }
}

impl Sheet<'_> {
    /// Draws axes below what has been drawn.
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

    /// Draws the title of the y axis and the plot's own legend. Returns how far they reach to the
    /// right.
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

    /// Draws the labels of marked positions, each in the first row where it fits. Returns the
    /// number of rows.
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

    /// Numbers below the x axis, thinned until they do not overlap.
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

    /// Names below their positions, in at most two lines.
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
}

/// Returns n if every n-th label can be drawn without touching its neighbours.
fn stride(places: &[(f64, &str)], need: impl Fn(&str) -> f64) -> usize {
    let fits = |stride: usize| {
        let chosen: Vec<&(f64, &str)> = places.iter().step_by(stride).collect();
        chosen.windows(2).all(|pair| (pair[1].0 - pair[0].0).abs() >= (need(pair[0].1) + need(pair[1].1)) / 2.0)
    };
    (1..=places.len().max(1)).find(|stride| fits(*stride)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_apart() {
        let places: Vec<(f64, &str)> = (0..20).map(|n| (f64::from(n) * 10.0, "100")).collect();
        assert_eq!(stride(&places, |_| 25.0), 3);
        assert_eq!(stride(&[], |_| 25.0), 1);
    }
}
