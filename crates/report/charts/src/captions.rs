//! Sentences for captions: what stands out in a picture.
//!
//! The table next to the picture has the numbers; a caption says which of them to look at.

use iolab_order::Arrange;

use crate::AxisUnit;

/// A value with the names of its position in the picture.
pub(crate) struct Spot {
    pub(crate) place: String,
    pub(crate) value: f64,
}

impl Spot {
    /// Joins the non-empty parts of a position.
    pub(crate) fn new(parts: &[&str], value: f64) -> Spot {
        let said: Vec<&str> = parts.iter().copied().filter(|part| !part.trim().is_empty() && *part != "all").collect();
        Spot { place: said.join(", "), value }
    }
}

/// A ratio with two or three digits.
pub(crate) fn times(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1} times") } else { format!("{ratio:.0} times") }
}

/// The highest and the lowest of some values, and the factor between them. Empty for fewer than
/// two.
pub(crate) fn extremes(spots: &[Spot], unit: AxisUnit) -> String {
    let sound = || spots.iter().filter(|spot| crate::data::sound(spot.value).is_some());
    let high = sound().max_by(|one, other| one.value.total_cmp(&other.value));
    let low = sound().min_by(|one, other| one.value.total_cmp(&other.value));
    let (Some(high), Some(low)) = (high, low) else { return String::new() };
    if sound().count() < 2 {
        return String::new();
    }
    if low.value > 0.0 && high.value / low.value < 1.02 {
        return format!("All values lie within 2 % of {}.", unit.format(low.value));
    }
    // Shares differ by points, not by factors.
    let apart = match low.value > 0.0 && unit != AxisUnit::Share {
        true => format!(", {}", factor(high.value / low.value)),
        false => String::new(),
    };
    let at = |spot: &Spot| if spot.place.is_empty() { String::new() } else { format!(" ({})", spot.place) };
    format!("Highest: {}{}; lowest: {}{}{apart}.", unit.format(high.value), at(high), unit.format(low.value), at(low))
}

/// The factor between the lower and the higher of two values.
fn factor(ratio: f64) -> String {
    match ratio {
        ..1.995 => format!("{:.0} % less", (1.0 - 1.0 / ratio) * 100.0),
        9.95.. => format!("a factor of {ratio:.0}"),
        _ => format!("a factor of {ratio:.1}"),
    }
}

/// Median of some values; `None` if there are none.
pub(crate) fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| crate::data::sound(*value).is_some());
    values.arrange_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_out_is_said() {
        let spots = |values: &[f64]| -> Vec<Spot> {
            let place = |(number, value): (usize, &f64)| Spot::new(&["all", &format!("at {number}")], *value);
            values.iter().enumerate().map(place).collect()
        };
        let check = |values: &[f64], expected: &str| {
            assert_eq!(extremes(&spots(values), AxisUnit::Count).replace('\u{A0}', " "), expected);
        };
        check(&[1.0, 30.0, 10.0], "Highest: 30 (at 1); lowest: 1 (at 0), a factor of 30.");
        check(&[100.0, 75.0], "Highest: 100 (at 0); lowest: 75 (at 1), 25 % less.");
        check(&[100.0, 101.0], "All values lie within 2 % of 100.");
        check(&[0.0, 5.0], "Highest: 5 (at 1); lowest: 0 (at 0).");
        check(&[5.0, f64::NAN], "");
        assert_eq!(middle(vec![3.0, 1.0, f64::NAN, 2.0]), Some(2.0));
    }
}
