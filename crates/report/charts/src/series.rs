//! The look of series: colour, dash and marker for each number, so that no series is identified by
//! its colour alone.

use crate::svg::{Path, Svg, px};

/// The sample of a series, a marker or a region in a legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// A line with its marker.
    Line(Style),
    /// Only a marker.
    Marker(Style),
    /// A filled area with its hatching.
    Area(usize),
    /// A reference line with this dash.
    Rule(usize),
    /// The shaded zone.
    Zone,
    /// Small dots of trials.
    Trials,
    /// The pale bar of a standard deviation.
    Deviation,
    /// The cross of a value that is missing.
    Missing,
}

/// Colour, dash and marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Number of the series.
    pub(crate) number: usize,
    pub(crate) colour: usize,
    pub(crate) dash: usize,
    pub(crate) shape: usize,
    /// The value has no interval.
    pub(crate) hollow: bool,
    pub(crate) marked: bool,
}

impl Style {
    /// The look of the `number`-th series. Colours repeat after the last; they are then combined
    /// with other markers.
    pub(crate) fn of(number: usize) -> Style {
        let shape = (number + number / 8) % 8;
        Style { number, colour: number % 8, dash: number % 8, shape, hollow: false, marked: true }
    }

    /// The style without markers.
    pub(crate) fn plain(self) -> Style {
        Style { marked: false, ..self }
    }

    pub(crate) fn class(self) -> String {
        format!("s{}", self.colour)
    }

    pub(crate) fn line_class(self) -> String {
        if self.dash == 0 { "l".to_owned() } else { format!("l d{}", self.dash) }
    }

    /// Draws the marker at a point.
    pub(crate) fn mark(self, svg: &mut Svg, at: (f64, f64), tip: &str) {
        let class = if self.hollow { "o" } else { "m" };
        let d = marker(self.shape, at, 4.2);
        svg.tipped("path", &[("class", class), ("d", &d)], tip);
    }
}

/// Outline of marker `shape` around a point.
fn marker(shape: usize, (x, y): (f64, f64), r: f64) -> String {
    let polygon = |corners: &[(f64, f64)]| {
        let mut path = Path::default();
        for (n, (dx, dy)) in corners.iter().enumerate() {
            if n == 0 { path.move_to(x + dx * r, y + dy * r) } else { path.line_to(x + dx * r, y + dy * r) }
        }
        path.end();
        path.d
    };
    match shape % 8 {
        0 => format!("M{} {}a{r} {r} 0 1 0 {} 0a{r} {r} 0 1 0 {} 0Z", px(x - r), px(y), px(2.0 * r), px(-2.0 * r)),
        1 => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => polygon(&[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)]),
        3 => polygon(&[(0.0, -1.3), (1.2, 0.0), (0.0, 1.3), (-1.2, 0.0)]),
        4 => polygon(&[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)]),
        5 => polygon(&[
            (-0.4, -1.2),
            (0.4, -1.2),
            (0.4, -0.4),
            (1.2, -0.4),
            (1.2, 0.4),
            (0.4, 0.4),
            (0.4, 1.2),
            (-0.4, 1.2),
            (-0.4, 0.4),
            (-1.2, 0.4),
            (-1.2, -0.4),
            (-0.4, -0.4),
        ]),
        6 => polygon(&[(0.0, -1.2), (1.15, -0.35), (0.7, 1.0), (-0.7, 1.0), (-1.15, -0.35)]),
        _ => polygon(&[(-1.1, -1.2), (1.1, -1.2), (0.0, 0.0), (1.1, 1.2), (-1.1, 1.2), (0.0, 0.0)]),
    }
}

/// A cross at `foot`, where a value is missing.
pub(crate) fn missing(svg: &mut Svg, (x, foot): (f64, f64), tip: &str) {
    let mut path = Path::default();
    for (from, to) in [((-4.0, -13.0), (4.0, -5.0)), ((-4.0, -5.0), (4.0, -13.0))] {
        path.move_to(x + from.0, foot + from.1);
        path.line_to(x + to.0, foot + to.1);
    }
    svg.tipped("path", &[("class", "x"), ("d", &path.d)], tip);
}
