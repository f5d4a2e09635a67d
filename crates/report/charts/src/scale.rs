//! Maps numbers to positions: ranges of axes with rounded ticks, linear and logarithmic.
//!
//! Guarantees: a range is never empty, ticks lie inside it and ascend, and their number is bounded
//! for any data.

use iolab_order::Arrange;

use crate::data::{Spacing, sound};
use crate::unit::{AxisUnit, Prefix, fixed};

/// Smallest and largest of the numbers that can be drawn.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    all: Option<(f64, f64)>,
    positive: Option<(f64, f64)>,
}

impl Span {
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Span {
        let mut span = Span::default();
        values.into_iter().for_each(|value| span.add(value));
        span
    }

    pub(crate) fn add(&mut self, value: f64) {
        let Some(value) = sound(value) else { return };
        let grown =
            |pair: Option<(f64, f64)>| pair.map_or((value, value), |(low, high)| (low.min(value), high.max(value)));
        self.all = Some(grown(self.all));
        if value > SMALLEST {
            self.positive = Some(grown(self.positive));
        }
    }

    /// Whether an axis of this kind has anything to show.
    pub(crate) fn is_empty(&self, spacing: Spacing) -> bool {
        if spacing == Spacing::Log { self.positive.is_none() } else { self.all.is_none() }
    }
}

/// Smaller numbers count as zero on a logarithmic axis.
const SMALLEST: f64 = 1e-12;

/// A number on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// A range and its ticks.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) spacing: Spacing,
    pub(crate) ticks: Vec<Tick>,
}

impl Scale {
    /// The scale that suits the data, with about `ticks` ticks.
    pub(crate) fn new(span: Span, spacing: Spacing, unit: AxisUnit, ticks: usize) -> Scale {
        match spacing {
            Spacing::Linear => Scale::linear(span, unit, ticks),
            Spacing::Log if matches!(unit, AxisUnit::Bytes | AxisUnit::BytesPerSecond) => {
                Scale::binary(span, unit, ticks)
            }
            Spacing::Log => Scale::decimal(span, unit, ticks),
        }
    }

    /// From zero, unless the data go below, to a tick above them.
    fn linear(span: Span, unit: AxisUnit, ticks: usize) -> Scale {
        let (low, high) = span.all.unwrap_or((0.0, 1.0));
        Scale::over(low.min(0.0), high.max(0.0), unit, ticks).rounded(unit, ticks)
    }

    /// Covers the range of the data without extending to zero: for time and other positions along
    /// an axis.
    pub(crate) fn close(span: Span, unit: AxisUnit, ticks: usize) -> Scale {
        let (low, high) = span.all.unwrap_or((0.0, 1.0));
        Scale::over(low, high, unit, ticks)
    }

    /// A linear range with the ticks inside it.
    fn over(low: f64, high: f64, unit: AxisUnit, ticks: usize) -> Scale {
        let (low, high) = widened(low, high);
        Scale { low, high, spacing: Spacing::Linear, ticks: linear_ticks(low, high, unit, ticks) }
    }

    /// The range, extended to the next ticks.
    fn rounded(self, unit: AxisUnit, ticks: usize) -> Scale {
        let [first, second] = match &self.ticks[..] {
            [first, second, ..] => [first.value, second.value],
            _ => return self,
        };
        let step = second - first;
        let low = if self.low < first - step * 1e-6 { first - step } else { first };
        let steps = ((self.high - first) / step - 1e-6).ceil();
        let high = first + steps * step;
        Scale { low, high, spacing: Spacing::Linear, ticks: linear_ticks(low, high, unit, ticks) }
    }

    /// Powers of ten, with further ticks between them where there is room.
    fn decimal(span: Span, unit: AxisUnit, ticks: usize) -> Scale {
        let (low, high) = span.positive.unwrap_or((1.0, 10.0));
        let (low, mut high) = (one_two_five(low, false), one_two_five(high, true));
        if high < low * 1.5 {
            high = low * 10.0;
        }
        Scale { low, high, spacing: Spacing::Log, ticks: decimal_ticks(low, high, unit, ticks) }
    }

    /// Powers of two.
    fn binary(span: Span, unit: AxisUnit, ticks: usize) -> Scale {
        let (low, high) = span.positive.unwrap_or((1.0, 2.0));
        let (low, mut high) = (low.log2().floor(), high.log2().ceil());
        if high <= low {
            high = low + 1.0;
        }
        let stride = ((high - low) / ticks.max(2) as f64).ceil().max(1.0);
        let count = ((high - low) / stride).floor() as usize;
        let ticks = (0..=count).map(|n| (low + n as f64 * stride).exp2());
        let ticks = ticks.map(|value| Tick { value, label: unit.format(value) }).collect();
        Scale { low: low.exp2(), high: high.exp2(), spacing: Spacing::Log, ticks }
    }

    /// Doublings of plain numbers such as depths and jobs, with ticks where the data are.
    pub(crate) fn doubling(values: impl IntoIterator<Item = f64>, unit: AxisUnit, ticks: usize) -> Scale {
        let mut values: Vec<f64> =
            values.into_iter().filter(|value| *value > SMALLEST && sound(*value).is_some()).collect();
        values.arrange_by(f64::total_cmp);
        values.dedup();
        let scale = Scale::binary(Span::of(values.iter().copied()), unit, ticks);
        if values.is_empty() || values.len() > ticks {
            return scale;
        }
        Scale { ticks: values.into_iter().map(|value| Tick { value, label: unit.format(value) }).collect(), ..scale }
    }

    /// Ratios around one: logarithmic, with steps of equal size while the ratios are near each
    /// other.
    pub(crate) fn ratios(span: Span, ticks: usize) -> Scale {
        let (low, high) = span.positive.unwrap_or((1.0, 1.0));
        let (low, high) = (low.min(1.0) * 0.98, high.max(1.0) * 1.02);
        let near = high / low < 4.0;
        let chosen = if near {
            linear_ticks(low, high, AxisUnit::Ratio, ticks)
        } else {
            decimal_ticks(low, high, AxisUnit::Ratio, ticks)
        };
        Scale { low, high, spacing: Spacing::Log, ticks: chosen }
    }

    /// Positions 0, 1, 2 … with names, with half a step of space at both ends.
    pub(crate) fn named(names: &[String]) -> Scale {
        let ticks = names.iter().enumerate().map(|(n, name)| Tick { value: n as f64, label: name.clone() }).collect();
        Scale { low: -0.5, high: names.len().max(1) as f64 - 0.5, spacing: Spacing::Linear, ticks }
    }

    /// Adds a little space at both ends, for markers.
    pub(crate) fn aired(self) -> Scale {
        const AIR: f64 = 0.025;
        let (low, high) = match self.spacing {
            Spacing::Linear => (self.low - (self.high - self.low) * AIR, self.high + (self.high - self.low) * AIR),
            Spacing::Log => (self.low * (self.low / self.high).powf(AIR), self.high * (self.high / self.low).powf(AIR)),
        };
        Scale { low, high, ..self }
    }

    /// A scale with ticks chosen by the chart.
    pub(crate) fn with_ticks(low: f64, high: f64, spacing: Spacing, ticks: Vec<Tick>) -> Scale {
        let (low, high) = if spacing == Spacing::Linear { widened(low, high) } else { (low, high.max(low * 1.01)) };
        Scale { low, high, spacing, ticks }
    }

    /// The position of `value` from 0 (low) to 1 (high); `None` when the axis cannot show it.
    pub(crate) fn fraction(&self, value: f64) -> Option<f64> {
        let fraction = match self.spacing {
            Spacing::Linear => (value - self.low) / (self.high - self.low),
            Spacing::Log if value > SMALLEST => (value / self.low).ln() / (self.high / self.low).ln(),
            Spacing::Log => return None,
        };
        (-1e-6..=1.0 + 1e-6).contains(&fraction).then(|| fraction.clamp(0.0, 1.0))
    }
}

/// Widens a range until it can be divided.
fn widened(low: f64, high: f64) -> (f64, f64) {
    let size = low.abs().max(high.abs());
    if high - low > size * 1e-9 && high > low {
        (low, high)
    } else if size == 0.0 {
        (0.0, 1.0)
    } else {
        (low - size * 0.05, high + size * 0.05)
    }
}

/// The prefix of an axis. Counts and sizes just above a prefix are easier to read with the one
/// before: 200 rather than 0.2k, 256 KiB rather than 0.25 MiB.
fn axis_prefix(low: f64, high: f64, unit: AxisUnit) -> Prefix {
    let largest = low.abs().max(high.abs());
    let (factor, suffix) = unit.prefix(largest);
    let counts = matches!(unit, AxisUnit::Count | AxisUnit::PerSecond) && factor > 1.0 && high - low < 3.0 * factor;
    let bytes = unit == AxisUnit::Bytes && factor > 1.0 && high - low < 3.0 * factor;
    if counts || bytes { unit.prefix(factor / 2.0) } else { (factor, suffix) }
}

/// Steps of 1, 2 or 5 times a power of ten in the prefix of the largest number.
fn linear_ticks(low: f64, high: f64, unit: AxisUnit, ticks: usize) -> Vec<Tick> {
    let (factor, suffix) = axis_prefix(low, high, unit);
    let (a, b) = (low / factor, high / factor);
    let rough = (b - a) / ticks.max(2) as f64;
    let mut step = nice_step(rough);
    // Ticks of counts are whole numbers, unless the axis ends below two: a mean queue depth can be
    // 0.8.
    if unit == AxisUnit::Count && factor == 1.0 && b - a >= 2.0 {
        step = step.max(1.0);
    }
    if unit == AxisUnit::Bytes && step > 5.0 {
        // Sizes of requests are powers of two.
        step = rough.log2().round().exp2();
    }
    let decimals = (-(step.log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize;
    let first = (a / step - 1e-6).ceil();
    let count = ((b / step + 1e-6).floor() - first).clamp(0.0, 50.0) as usize;
    let value_of = |n: usize| (first + n as f64) * step;
    (0..=count)
        .map(value_of)
        .map(|value| Tick { value: value * factor, label: label_of(value, decimals, suffix) })
        .collect()
}

/// Zero needs no unit.
fn label_of(value: f64, decimals: usize, suffix: &str) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{}{suffix}", fixed(value, decimals)) }
}

fn nice_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let lead = rough / power;
    power
        * if lead <= 1.0 + 1e-9 {
            1.0
        } else if lead <= 2.0 + 1e-9 {
            2.0
        } else if lead <= 5.0 + 1e-9 {
            5.0
        } else {
            10.0
        }
}

/// The nearest 1, 2 or 5 times a power of ten at or beyond `value`.
fn one_two_five(value: f64, up: bool) -> f64 {
    let power = value.log10().floor();
    let candidates =
        [(1.0, power), (2.0, power), (5.0, power), (1.0, power + 1.0)].map(|(lead, power)| lead * 10f64.powf(power));
    let near = value * if up { 1.0 - 1e-9 } else { 1.0 + 1e-9 };
    if up {
        candidates.into_iter().find(|candidate| *candidate >= near).unwrap_or(candidates[3])
    } else {
        candidates.into_iter().rev().find(|candidate| *candidate <= near).unwrap_or(candidates[0])
    }
}

fn decimal_ticks(low: f64, high: f64, unit: AxisUnit, ticks: usize) -> Vec<Tick> {
    let decades = (high / low).log10();
    let leads: &[f64] = if decades * 3.0 <= ticks as f64 * 1.2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let stride = (decades / ticks.max(2) as f64).ceil().max(1.0) as usize;
    let first = low.log10().floor() as i32;
    let last = high.log10().ceil() as i32;
    let inside = |value: &f64| *value >= low * (1.0 - 1e-9) && *value <= high * (1.0 + 1e-9);
    let powers = (first..=last).step_by(stride).take(60);
    let values = powers.flat_map(|power| leads.iter().map(move |lead| lead * 10f64.powi(power))).filter(inside);
    values
        .map(|value| Tick {
            value,
            label: unit.format(value).replace("/s", if unit == AxisUnit::PerSecond { "" } else { "/s" }),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn ticks_in_nice_numbers() {
        let scale = |spacing, unit, values: &[f64]| Scale::new(Span::of(values.iter().copied()), spacing, unit, 5);
        let check = |scale: Scale, expected: &[&str]| assert_eq!(labels(&scale), expected);
        check(scale(Spacing::Linear, AxisUnit::PerSecond, &[180_000.0]), &["0", "50k", "100k", "150k", "200k"]);
        check(
            scale(Spacing::Linear, AxisUnit::Share, &[0.93]),
            &["0", "20\u{A0}%", "40\u{A0}%", "60\u{A0}%", "80\u{A0}%", "100\u{A0}%"],
        );
        check(
            scale(Spacing::Log, AxisUnit::Nanoseconds, &[9e4, 4e6]),
            &["50\u{A0}µs", "100\u{A0}µs", "200\u{A0}µs", "500\u{A0}µs", "1\u{A0}ms", "2\u{A0}ms", "5\u{A0}ms"],
        );
        check(
            scale(Spacing::Log, AxisUnit::Bytes, &[1024.0, 1048576.0]),
            &["1\u{A0}KiB", "4\u{A0}KiB", "16\u{A0}KiB", "64\u{A0}KiB", "256\u{A0}KiB", "1\u{A0}MiB"],
        );
        check(scale(Spacing::Linear, AxisUnit::Count, &[2.0]), &["0", "1", "2"]);
        check(scale(Spacing::Linear, AxisUnit::PerSecond, &[1400.0]), &["0", "500", "1000", "1500"]);
        check(
            scale(Spacing::Linear, AxisUnit::Bytes, &[900.0 * 1024.0]),
            &["0", "256\u{A0}KiB", "512\u{A0}KiB", "768\u{A0}KiB", "1024\u{A0}KiB"],
        );
    }

    #[test]
    fn no_range_is_empty() {
        for values in [&[][..], &[0.0], &[5.0], &[-5.0], &[1e23, -1e23], &[1e-11], &[f64::NAN], &[1e9, 1e9 + 1e-5]] {
            for spacing in [Spacing::Linear, Spacing::Log] {
                for unit in [AxisUnit::Nanoseconds, AxisUnit::Bytes, AxisUnit::Count, AxisUnit::Share] {
                    let span = Span::of(values.iter().copied());
                    let scale = Scale::new(span, spacing, unit, 5);
                    assert!(scale.low < scale.high, "{values:?} {spacing:?}: {scale:?}");
                    assert!(
                        scale.ticks.len() <= 60 && scale.ticks.iter().all(|tick| scale.fraction(tick.value).is_some()),
                        "{scale:?}"
                    );
                    if !span.is_empty(spacing) {
                        for value in values.iter().filter(|value| spacing == Spacing::Linear || **value > 0.0) {
                            assert!(scale.fraction(*value).is_some(), "{value} in {scale:?}");
                        }
                    }
                }
            }
        }
    }
}
