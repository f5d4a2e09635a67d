//! Units of charts, and numbers printed in them.
//!
//! Data are in base units (ns, bytes, bytes/s, 1/s, shares of one); prefixes are chosen here: k, M,
//! G for counts, KiB and MiB for bytes, ns to hours for times. A no-break space separates number
//! and unit.

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisUnit {
    /// Time, ns.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Operations (or requests) per second.
    PerSecond,
    /// A count of operations in flight, jobs, rounds, requests.
    Count,
    /// A share of one, printed in percent.
    Share,
    /// A quotient of two numbers; 1 if they are equal.
    Ratio,
}

/// A factor and the text printed after the number.
pub(crate) type Prefix = (f64, &'static str);

const TIMES: [Prefix; 6] = [
    (1.0, "\u{A0}ns"),
    (1e3, "\u{A0}µs"),
    (1e6, "\u{A0}ms"),
    (1e9, "\u{A0}s"),
    (60e9, "\u{A0}min"),
    (3600e9, "\u{A0}h"),
];
const BYTES: [Prefix; 5] = [
    (1.0, "\u{A0}B"),
    (1024.0, "\u{A0}KiB"),
    (1048576.0, "\u{A0}MiB"),
    (1073741824.0, "\u{A0}GiB"),
    (1099511627776.0, "\u{A0}TiB"),
];
const RATES: [Prefix; 5] = [
    (1.0, "\u{A0}B/s"),
    (1024.0, "\u{A0}KiB/s"),
    (1048576.0, "\u{A0}MiB/s"),
    (1073741824.0, "\u{A0}GiB/s"),
    (1099511627776.0, "\u{A0}TiB/s"),
];
const COUNTS: [Prefix; 5] = [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")];

impl AxisUnit {
    /// Prefixes, ascending.
    fn prefixes(self) -> &'static [Prefix] {
        match self {
            AxisUnit::Nanoseconds => &TIMES,
            AxisUnit::Bytes => &BYTES,
            AxisUnit::BytesPerSecond => &RATES,
            AxisUnit::PerSecond | AxisUnit::Count => &COUNTS,
            AxisUnit::Share => &[(0.01, "\u{A0}%")],
            AxisUnit::Ratio => &[(1.0, "×")],
        }
    }

    /// The prefix for numbers up to `largest`. Minutes and hours start late: 90 s is clearer than
    /// 1.5 min.
    pub(crate) fn prefix(self, largest: f64) -> Prefix {
        let fits = |prefix: &&Prefix| {
            largest.abs() >= prefix.0 * if prefix.0 >= 60e9 && self == AxisUnit::Nanoseconds { 3.0 } else { 1.0 }
        };
        let all = self.prefixes();
        *all.iter().rev().find(fits).unwrap_or(&all[0])
    }

    /// The base unit in names of columns.
    pub fn base(self) -> &'static str {
        match self {
            AxisUnit::Nanoseconds => "ns",
            AxisUnit::Bytes => "bytes",
            AxisUnit::BytesPerSecond => "bytes_per_s",
            AxisUnit::PerSecond => "per_s",
            AxisUnit::Count => "",
            AxisUnit::Share => "share",
            AxisUnit::Ratio => "ratio",
        }
    }

    /// The suffix of an axis title for a unit that is not in the tick labels.
    pub(crate) fn per(self) -> &'static str {
        if self == AxisUnit::PerSecond { "1/s" } else { "" }
    }

    /// `value` with four significant digits, its prefix and unit; a dash if it is not finite.
    pub fn format(self, value: f64) -> String {
        if !value.is_finite() {
            return "–".to_owned();
        }
        let (factor, suffix) = self.prefix(value * (1.0 + 1e-9));
        let per = if self == AxisUnit::PerSecond { "/s" } else { "" };
        format!("{}{suffix}{per}", significant(value / factor))
    }
}

/// At most four significant digits, but never fewer than the integer part has.
fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 1e7 || (magnitude != 0.0 && magnitude < 1e-4) {
        return minus(format!("{value:.3e}"));
    }
    let whole = if magnitude < 1.0 { 0 } else { magnitude.log10().floor() as usize };
    let decimals = if magnitude >= 1.0 || magnitude == 0.0 { 3usize.saturating_sub(whole) } else { 4 };
    minus(trimmed(format!("{value:.decimals$}")))
}

/// `value` with `decimals`, as axes print it.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    minus(format!("{value:.decimals$}"))
}

fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Replaces the hyphen by the true minus sign, which is as wide as a digit.
fn minus(text: String) -> String {
    let zero = text.trim_start_matches('-').chars().all(|character| matches!(character, '0' | '.'));
    match text.strip_prefix('-') {
        Some(rest) if zero => rest.to_owned(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units() {
        for (unit, value, expected) in [
            (AxisUnit::Nanoseconds, 1234.0, "1.234\u{A0}µs"),
            (AxisUnit::Nanoseconds, 999.0, "999\u{A0}ns"),
            (AxisUnit::Nanoseconds, 90e9, "90\u{A0}s"),
            (AxisUnit::Nanoseconds, 600e9, "10\u{A0}min"),
            (AxisUnit::Bytes, 4096.0, "4\u{A0}KiB"),
            (AxisUnit::Bytes, 512.0, "512\u{A0}B"),
            (AxisUnit::BytesPerSecond, 1.5 * 1048576.0, "1.5\u{A0}MiB/s"),
            (AxisUnit::PerSecond, 210_456.0, "210.5k/s"),
            (AxisUnit::Count, 32.0, "32"),
            (AxisUnit::Count, 31.66, "31.66"),
            (AxisUnit::Share, 0.125, "12.5\u{A0}%"),
            (AxisUnit::Ratio, 1.05, "1.05×"),
            (AxisUnit::Count, -0.0, "0"),
            (AxisUnit::Count, -3.5, "−3.5"),
            (AxisUnit::Count, f64::NAN, "–"),
            (AxisUnit::Count, 0.0, "0"),
            (AxisUnit::Count, 1e30, "1.000e18T"),
        ] {
            assert_eq!(unit.format(value), expected);
        }
    }
}
