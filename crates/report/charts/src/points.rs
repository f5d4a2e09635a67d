//! Data between axes: lines, bands, whiskers, dots of trials, markers with their tooltips.
//!
//! Guarantees: a missing value is a gap, never a zero; values that the axes cannot show are counted
//! on the sheet; dense lines keep their extremes.

use crate::data::{Estimate, MOST_TRIALS};
use crate::plot::Plot;
use crate::series::{Look, Style};
use crate::sheet::{Entry, Sheet};
use crate::svg::{Path, Rect, px};

/// One point of a series.
pub(crate) struct Point<'e> {
    pub(crate) x: f64,
    pub(crate) estimate: &'e Estimate,
    pub(crate) tip: String,
}

impl Sheet<'_> {
    /// A horizontal reference line.
    pub(crate) fn rule(&mut self, plot: &Plot, value: f64, dash: usize) {
        if let Some(y) = plot.y(value) {
            self.svg.line(&format!("r d{dash}"), (plot.left, y), (plot.right, y));
        }
    }

    /// A line through the points, interrupted where one is missing, thinned where there are more
    /// than can be seen.
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
        let mut dots = Path::default();
        for piece in &pieces {
            // A point between gaps would be invisible as a line.
            if let [(x, y)] = piece[..] {
                dots.dot(x, y);
                continue;
            }
            for (n, (x, y)) in thinned(piece).iter().enumerate() {
                if n == 0 { path.move_to(*x, *y) } else { path.line_to(*x, *y) }
            }
        }
        for (class, path) in [(class, path), ("p", dots)].iter().filter(|(_, path)| !path.d.is_empty()) {
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

    /// The area between pairs of a lower and an upper point, px.
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

    /// Trials, interval and value at the position `x`, px. Values that the axis cannot show are
    /// counted.
    pub(crate) fn estimate(&mut self, plot: &Plot, x: f64, estimate: &Estimate, style: Style, tip: &str) {
        let estimate = estimate.sound();
        self.interval_and_trials(plot, x, &estimate);
        let style = Style { hollow: estimate.interval.is_none(), ..style };
        let Some(value) = estimate.value else { return };
        match plot.y(value) {
            Some(y) => style.mark(&mut self.svg, (x, y), tip),
            None => self.hidden += 1,
        }
    }

    /// An invisible target for the pointer: the band around the line already shows the interval.
    fn unmarked(&mut self, plot: &Plot, x: f64, estimate: &Estimate, tip: &str) {
        let estimate = estimate.sound();
        match estimate.value.map(|value| plot.y(value)) {
            Some(Some(y)) if !tip.is_empty() => {
                self.svg.tipped("circle", &[("class", "i"), ("cx", &px(x)), ("cy", &px(y)), ("r", "5")], tip);
            }
            Some(None) => self.hidden += 1,
            _ => {}
        }
    }

    /// The interval and the trials around a value.
    pub(crate) fn interval_and_trials(&mut self, plot: &Plot, x: f64, estimate: &Estimate) {
        self.deviation(plot, x, estimate);
        self.trials(plot, x, &estimate.trials);
        if let Some(interval) = estimate.interval {
            self.whisker(plot, x, interval);
        }
    }

    /// One standard deviation on both sides of the mean, clipped to the axis.
    fn deviation(&mut self, plot: &Plot, x: f64, estimate: &Estimate) {
        let Some((mean, deviation)) = estimate.deviation() else { return };
        let on_axis = |value: f64| plot.y(value.max(plot.y.low).min(plot.y.high));
        if let (Some(low), Some(high)) = (on_axis(mean - deviation), on_axis(mean + deviation)) {
            self.svg.line("v", (x, low), (x, high));
        }
    }

    /// An interval with caps.
    fn whisker(&mut self, plot: &Plot, x: f64, (low, high): (f64, f64)) {
        // A lower limit that a logarithmic axis cannot show extends to the axis, without a cap.
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

    /// One series of estimates along the x axis: band and line, or whiskers and markers while there
    /// are few.
    pub(crate) fn series(&mut self, plot: &Plot, points: &[Point<'_>], style: Style) {
        const FEW: usize = 64;
        const ENOUGH_TIPS: usize = 24;
        let sound: Vec<(f64, Estimate)> = points.iter().map(|point| (point.x, point.estimate.sound())).collect();
        self.open_series(style);
        if !plot.named {
            self.band(plot, &sound.iter().map(|(x, one)| (*x, one.interval)).collect::<Vec<_>>());
        }
        let line: Vec<(f64, Option<f64>)> = sound.iter().map(|(x, one)| (*x, one.value)).collect();
        self.curve(plot, &line, &style.line_class());
        if points.len() <= FEW || !style.marked {
            let told = points.len().div_ceil(ENOUGH_TIPS);
            for (n, point) in points.iter().enumerate() {
                let Some(x) = plot.x(point.x) else { continue };
                if style.marked {
                    self.estimate(plot, x, point.estimate, style, &point.tip);
                } else {
                    let tip = if n % told == 0 { point.tip.as_str() } else { "" };
                    let trials = if points.len() <= FEW { &point.estimate.trials[..] } else { &[] };
                    self.trials(plot, x, trials);
                    self.unmarked(plot, x, point.estimate, tip);
                }
            }
        } else {
            self.hidden +=
                sound.iter().filter(|(_, one)| one.value.is_some_and(|value| plot.y(value).is_none())).count();
        }
        self.svg.close("g");
    }

    /// Dots next to each other, in the order of the trials.
    fn trials(&mut self, plot: &Plot, x: f64, trials: &[f64]) {
        let trials = &trials[..trials.len().min(MOST_TRIALS)];
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

    /// A tinted region over the whole height between two positions on the x axis.
    pub(crate) fn zone(&mut self, plot: &Plot, from: f64, to: f64) {
        let (Some(from), Some(to)) = (plot.x(from), plot.x(to)) else { return };
        let place = Rect { x: from, y: plot.top, width: to - from, height: plot.bottom - plot.top };
        self.svg.rect(&[("class", "z")], place, "");
    }
}

/// Legend entries that explain dots and hollow markers, if there are any.
pub(crate) fn explanations<'e>(estimates: impl Iterator<Item = &'e Estimate> + Clone) -> Vec<Entry> {
    let mut entries = Vec::new();
    if estimates.clone().any(|one| !one.sound().trials.is_empty()) {
        entries.push(Entry::new("trials", Look::Trials));
    }
    if estimates.clone().any(|one| one.sound().deviation().is_some()) {
        entries.push(Entry::new("standard deviation", Look::Deviation));
    }
    let mut sound = estimates.map(Estimate::sound);
    if sound.any(|one| one.value.is_some() && one.interval.is_none()) {
        entries.push(Entry::new(
            "hollow: no interval known",
            Look::Marker(Style { colour: 6, hollow: true, ..Style::of(0) }),
        ));
    }
    entries
}

/// At most two points for each px of width: the lowest and the highest of the line.
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
}
