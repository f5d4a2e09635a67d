//! Values of figures as text: three digits, one unit, and what a ratio means in words.
//!
//! A rate is printed with decimal prefixes, bytes with binary ones, as in the terminal reports.
//! Nothing here is HTML.

use iolab_statistics::Interval;
use iolab_study::{Figure, FigureDirection, Measure};

/// A value of `figure`, with its unit.
pub(crate) fn shown(figure: &Figure, value: f64) -> String {
    match (figure.unit(), &figure.measure) {
        ("ns", _) => time(value),
        ("s", _) => time(value * 1e9),
        ("B/s", _) => bytes_per_second(value),
        ("B", _) => bytes(value),
        ("%", _) => percent(value),
        ("", Measure::Iops) => rate(value),
        (unit, _) => scaled(value, &DECIMAL, unit),
    }
}

/// A time with three digits, spelled as in figures: `54.0 µs`.
pub(crate) fn time(ns: f64) -> String {
    iolab_units::rounded_ns(ns)
}

/// The limits of an interval of `figure`.
pub(crate) fn limits(figure: &Figure, interval: &Interval) -> String {
    format!("{} to {}", shown(figure, interval.low), shown(figure, interval.high))
}

/// A rate per second: `1.23 M/s`, `456 /s`.
pub(crate) fn rate(value: f64) -> String {
    scaled(value, &DECIMAL, "/s")
}

/// Bytes per second: `1.23 GiB/s`.
pub(crate) fn bytes_per_second(value: f64) -> String {
    scaled(value, &BINARY, "B/s")
}

/// Bytes per second with decimal prefixes, as in data sheets of drives: `1234 MB/s`.
pub(crate) fn megabytes_per_second(value: f64) -> String {
    let millions = value / 1e6;
    format!("{millions:.*} MB/s", decimals(millions))
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

/// The number of decimals that makes three digits.
fn decimals(number: f64) -> usize {
    match number.abs() {
        99.95.. => 0,
        9.995.. => 1,
        _ => 2,
    }
}

/// An integer in groups of three digits: `1,234,567`.
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

/// A share of a whole, in percent.
pub(crate) fn percent(share_percent: f64) -> String {
    format!("{share_percent:.*} %", usize::from(share_percent < 99.95))
}

/// A ratio of two values of a figure with its limits: as changes in percent, or all three as
/// factors if percent would be hard to read.
pub(crate) fn changes(ratio: &Interval) -> [String; 3] {
    let all = [ratio.estimate, ratio.low, ratio.high];
    let is_large = all.iter().any(|ratio| !(0.5..2.0).contains(ratio));
    all.map(|ratio| if is_large { factor(ratio) } else { change(ratio) })
}

fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    // A true minus sign is as wide as the plus, and is read aloud as minus.
    let sign = if percent < -0.05 { "\u{2212}" } else { "+" };
    format!("{sign}{:.1} %", percent.abs())
}

fn factor(ratio: f64) -> String {
    let (sign, size) = if ratio < 1.0 { ("÷", 1.0 / ratio) } else { ("×", ratio) };
    format!("{sign} {size:.*}", decimals(size))
}

/// A ratio with its limits: `+3.4 % [+2.1 %, +4.0 %]`.
pub(crate) fn change_with_limits(ratio: &Interval) -> String {
    let [estimate, low, high] = changes(ratio);
    format!("{estimate} [{low}, {high}]")
}

/// A confidence in percent: `95.3 %`.
pub(crate) fn confidence(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The name of a figure in headings: `IOPS`, `99th percentile of latency`.
pub(crate) fn meaning(figure: &Figure) -> String {
    let of = match figure.side {
        FigureDirection::All => "",
        FigureDirection::Read => " of reads",
        FigureDirection::Write => " of writes",
    };
    match &figure.measure {
        Measure::Iops => format!("operations per second{of}"),
        Measure::Bandwidth => format!("bytes per second{of}"),
        Measure::MeanLatency => format!("mean latency{of}"),
        Measure::Latency(percent) => format!("latency that {percent} %{of} stay within"),
        Measure::Response(percent) => format!("response time that {percent} %{of} stay within"),
        Measure::CpuPerOperation => format!("CPU time of an operation{of}"),
        Measure::MachineCpu => "CPU time of the whole machine for an operation, others' included".to_owned(),
        Measure::Traffic => "bytes that the disks below moved for each byte of the load, others' included".to_owned(),
        Measure::Device(_) => "of the block device, as iostat has it".to_owned(),
        Measure::Reported(reported) => format!("{} of what the command prints", reported.place()),
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
        assert_eq!(time(54_000.0), "54.0 µs");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(999), "999");
    }

    #[test]
    fn ratios_are_read_as_changes() {
        let check = |low: f64, estimate: f64, high: f64, expected: &str| {
            let ratio = Interval { estimate, low, high, confidence: 0.95 };
            assert_eq!(change_with_limits(&ratio), expected);
        };
        check(1.0, 1.034, 1.1, "+3.4 % [+0.0 %, +10.0 %]");
        check(0.9, 0.9999, 1.0, "+0.0 % [\u{2212}10.0 %, +0.0 %]");
        check(1.9, 2.0, 12.34, "× 2.00 [× 1.90, × 12.3]");
        check(0.2, 0.25, 1.0, "÷ 4.00 [÷ 5.00, × 1.00]");
    }
}
