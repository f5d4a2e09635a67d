//! Values of figures as text: three digits, one unit, and what a ratio means in words.
//!
//! A rate is printed with decimal prefixes, bytes with binary ones, as the reports for terminals do. Nothing here is HTML.

use iolab_statistics::Interval;
use iolab_study::{Figure, Measure, Side};
use iolab_units::rounded_ns;

/// A value of `figure`, with its unit.
pub(crate) fn shown(figure: &Figure, value: f64) -> String {
    match (figure.unit(), &figure.measure) {
        ("ns", _) => rounded_ns(value),
        ("s", _) => rounded_ns(value * 1e9),
        ("B/s", _) => bytes_per_second(value),
        ("B", _) => bytes(value),
        ("%", _) => percent(value),
        ("", Measure::Iops) => rate(value),
        (unit, _) => scaled(value, &DECIMAL, unit),
    }
}

/// The limits of an interval of `figure`.
pub(crate) fn limits(figure: &Figure, interval: &Interval) -> String {
    format!("{} to {}", shown(figure, interval.low), shown(figure, interval.high))
}

/// Something per second: `1.23 M/s`, `456 /s`.
pub(crate) fn rate(value: f64) -> String {
    scaled(value, &DECIMAL, "/s")
}

/// Bytes per second: `1.23 GiB/s`.
pub(crate) fn bytes_per_second(value: f64) -> String {
    scaled(value, &BINARY, "B/s")
}

/// Bytes, rounded: `1.23 GiB`.
pub(crate) fn bytes(value: f64) -> String {
    scaled(value, &BINARY, "B")
}

const DECIMAL: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];

const BINARY: [(f64, &str); 5] = [
    ((1_u64 << 40) as f64, "Ti"),
    ((1_u64 << 30) as f64, "Gi"),
    ((1_u64 << 20) as f64, "Mi"),
    (1024.0, "Ki"),
    (1.0, ""),
];

fn scaled(value: f64, units: &[(f64, &str)], name: &str) -> String {
    let (size, letter) = units.iter().find(|(size, _)| value >= *size).unwrap_or(&units[units.len() - 1]);
    let number = value / size;
    let whole = *size == 1.0 && number.fract() == 0.0;
    let gap = if letter.is_empty() && name.is_empty() { "" } else { " " };
    format!("{number:.*}{gap}{letter}{name}", if whole { 0 } else { decimals(number) })
}

/// Decimals that make three digits.
fn decimals(number: f64) -> usize {
    match number.abs() {
        99.95.. => 0,
        9.995.. => 1,
        _ => 2,
    }
}

/// A whole number in groups of three: `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part of a whole, percent.
pub(crate) fn percent(share_percent: f64) -> String {
    format!("{share_percent:.*} %", usize::from(share_percent < 99.95))
}

/// A ratio of two values of a figure: as a change in percent, or as a factor where percent would be hard to read.
pub(crate) fn change(ratio: f64) -> String {
    match ratio {
        2.0.. => format!("× {ratio:.*}", decimals(ratio)),
        ..0.5 if ratio > 0.0 => format!("÷ {:.*}", decimals(1.0 / ratio), 1.0 / ratio),
        _ => {
            let percent = (ratio - 1.0) * 100.0;
            // A true minus sign is as wide as the plus, and read aloud as one.
            let sign = if percent < -0.05 { "\u{2212}" } else { "+" };
            format!("{sign}{:.1} %", percent.abs())
        }
    }
}

/// A ratio with its limits: `+3.4 % [+2.1 %, +4.0 %]`.
pub(crate) fn change_with_limits(ratio: &Interval) -> String {
    format!("{} [{}, {}]", change(ratio.estimate), change(ratio.low), change(ratio.high))
}

/// A confidence in percent: `95.3 %`.
pub(crate) fn confidence(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// What a figure is, for headings: `IOPS`, `99th percentile of latency`.
pub(crate) fn meaning(figure: &Figure) -> String {
    let of = match figure.side {
        Side::All => "",
        Side::Read => " of reads",
        Side::Write => " of writes",
    };
    match &figure.measure {
        Measure::Iops => format!("operations per second{of}"),
        Measure::Bandwidth => format!("bytes per second{of}"),
        Measure::MeanLatency => format!("mean latency{of}"),
        Measure::Latency(percent) => format!("latency that {percent} %{of} stay within"),
        Measure::Response(percent) => format!("response time that {percent} %{of} stay within"),
        Measure::CpuPerOperation => format!("CPU time of an operation{of}"),
        Measure::Device(_) => "of the block device, as iostat has it".to_owned(),
        Measure::Reported(reported) => format!("{} of what the command prints", reported.at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_digits() {
        for (value, expected) in [
            (0.0, "0 /s"),
            (5.0, "5 /s"),
            (5.25, "5.25 /s"),
            (999.0, "999 /s"),
            (12_345.0, "12.3 k/s"),
            (2.5e6, "2.50 M/s"),
        ] {
            assert_eq!(rate(value), expected);
        }
        assert_eq!(bytes_per_second(1536.0), "1.50 KiB/s");
        assert_eq!(bytes(512.0), "512 B");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(999), "999");
    }

    #[test]
    fn ratios_are_read_as_changes() {
        for (ratio, expected) in [
            (1.0, "+0.0 %"),
            (1.034, "+3.4 %"),
            (0.9, "\u{2212}10.0 %"),
            (0.9999, "+0.0 %"),
            (2.0, "× 2.00"),
            (12.34, "× 12.3"),
            (0.25, "÷ 4.00"),
            (0.0, "\u{2212}100.0 %"),
        ] {
            assert_eq!(change(ratio), expected, "{ratio}");
        }
    }
}
