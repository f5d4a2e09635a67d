//! Middle and ends of several values, and ratios of neighbours.
//!
//! Each run of one program has a neighbour in time of the other, and both had the same state of a
//! shared machine. So a ratio is always that of neighbours, never of two sets.

/// Middle and ends of several values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// The spread of all values; zeros without any.
pub(crate) fn spread(values: &[f64]) -> Spread {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or(0.0);
    let middle = sorted.len() / 2;
    let median = if sorted.len() % 2 == 1 { at(middle) } else { (at(middle.saturating_sub(1)) + at(middle)) / 2.0 };
    Spread { median, min: at(0), max: at(sorted.len().saturating_sub(1)) }
}

/// The ratio of each value to its neighbour; 1 if that is 0.
pub(crate) fn ratios(values: &[f64], neighbours: &[f64]) -> Vec<f64> {
    let ratio = |(value, neighbour): (&f64, &f64)| if *neighbour > 0.0 { value / neighbour } else { 1.0 };
    values.iter().zip(neighbours).map(ratio).collect()
}

/// Three significant digits or all before the point, thousands and millions by letter.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{} M", three(value / 1e6)),
        size if size >= 1e4 => format!("{} k", three(value / 1e3)),
        _ => three(value),
    }
}

fn three(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_an_even_number_lies_between() {
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(spread(&[1.0, 4.0]), Spread { median: 2.5, min: 1.0, max: 4.0 });
        assert_eq!(spread(&[]), Spread { median: 0.0, min: 0.0, max: 0.0 });
    }

    #[test]
    fn ratios_are_of_neighbours() {
        assert_eq!(ratios(&[2.0, 9.0, 5.0], &[1.0, 3.0, 0.0]), [2.0, 3.0, 1.0]);
    }

    #[test]
    fn figures_are_short() {
        for (value, text) in [
            (0.0, "0.00"),
            (0.1256, "0.126"),
            (-0.5, "-0.500"),
            (12.34, "12.3"),
            (9876.5, "9876"),
            (98_765.0, "98.8 k"),
            (1.234e7, "12.3 M"),
        ] {
            assert_eq!(digits(value), text);
        }
    }
}
