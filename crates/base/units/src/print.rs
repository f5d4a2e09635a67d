//! Prints quantities in the notation that the job language reads.

use crate::read::{NS_PER_MICROSECOND, NS_PER_MILLISECOND, NS_PER_SECOND};

/// Bytes in the largest binary unit that divides them: `4k`, `1g`, `1000`.
pub fn format_bytes(bytes: u64) -> String {
    for (power, letter) in [(50, 'p'), (40, 't'), (30, 'g'), (20, 'm'), (10, 'k')] {
        let unit = 1_u64 << power;
        if bytes != 0 && bytes.is_multiple_of(unit) {
            return format!("{}{letter}", bytes / unit);
        }
    }
    bytes.to_string()
}

/// Nanoseconds in the most readable unit: `30m`, `90s`, `1.5s`, `250us`.
pub fn format_ns(ns: u64) -> String {
    let whole = [(86_400 * NS_PER_SECOND, "d"), (3_600 * NS_PER_SECOND, "h"), (60 * NS_PER_SECOND, "m")];
    for (unit, name) in whole {
        if ns != 0 && ns.is_multiple_of(unit) {
            return format!("{}{name}", ns / unit);
        }
    }
    if ns == 0 {
        return "0s".to_owned();
    }
    let (unit, name) = match ns {
        NS_PER_SECOND.. => (NS_PER_SECOND, "s"),
        NS_PER_MILLISECOND.. => (NS_PER_MILLISECOND, "ms"),
        NS_PER_MICROSECOND.. => (NS_PER_MICROSECOND, "us"),
        _ => (1, "ns"),
    };
    let (integer, fraction) = (ns / unit, ns % unit);
    if fraction == 0 {
        return format!("{integer}{name}");
    }
    let width = unit.ilog10() as usize;
    let digits = format!("{fraction:0width$}");
    format!("{integer}.{}{name}", digits.trim_end_matches('0'))
}

/// A measured time in three digits, with the suitable unit: `31 ns`, `1.64 µs`, `54.0 µs`, `120
/// ms`, `2.50 s`. All measured times for people are printed by this, except in the output formats
/// of other programs.
pub fn rounded_ns(ns: f64) -> String {
    for (divisor, unit) in [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")] {
        let value = ns / divisor;
        if value < 999.5 {
            let decimals = if divisor == 1.0 || value >= 99.95 {
                0
            } else if value >= 9.995 {
                1
            } else {
                2
            };
            return format!("{value:.decimals$} {unit}");
        }
    }
    format!("{} s", (ns / 1e9).round())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KbBase, parse_bytes, parse_ns};

    #[test]
    fn bytes_print_shortest_exact() {
        let cases = [(0, "0"), (512, "512"), (4096, "4k"), (1536, "1536"), (1 << 20, "1m"), (3 << 40, "3t")];
        for (bytes, text) in cases {
            assert_eq!(format_bytes(bytes), text);
        }
        assert_eq!(format_bytes(u64::MAX), "18446744073709551615");
    }

    #[test]
    fn measured_times_have_three_digits() {
        for (ns, expected) in [
            (0.0, "0 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (12_340.0, "12.3 µs"),
            (123_400.0, "123 µs"),
            (999_600.0, "1.00 ms"),
            (2.5e9, "2.50 s"),
            (45.67e9, "45.7 s"),
            (1_234.0e9, "1234 s"),
        ] {
            assert_eq!(rounded_ns(ns), expected);
        }
    }

    #[test]
    fn times_print_readably() {
        let cases = [
            (0, "0s"),
            (7, "7ns"),
            (1_500, "1.5us"),
            (250_000, "250us"),
            (1_000_000_000, "1s"),
            (1_500_000_000, "1.5s"),
            (90_000_000_000, "90s"),
            (1_800_000_000_000, "30m"),
            (86_400_000_000_000, "1d"),
            (1_000_000_001, "1.000000001s"),
        ];
        for (ns, text) in cases {
            assert_eq!(format_ns(ns), text);
        }
    }

    #[test]
    fn what_is_printed_reads_back() {
        let mut number: u64 = 1;
        for step in 0..2_000_u64 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step);
            let shifted = number >> (step % 64);
            assert_eq!(parse_bytes(&format_bytes(shifted), KbBase::K1024), Ok(shifted));
            assert_eq!(parse_ns(&format_ns(shifted), NS_PER_SECOND), Ok(shifted));
        }
    }
}
