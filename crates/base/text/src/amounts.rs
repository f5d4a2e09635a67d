//! Counts and amounts.

/// A count with separators between thousands: `1,234,567`.
pub fn grouped(number: u64) -> String {
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

/// Bytes in the largest unit that divides them: `4 KiB`, `9000 B`.
pub fn exact_bytes(bytes: u64) -> String {
    let units = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}

/// Bytes in three digits: `12.3 MiB`.
pub fn rounded_bytes(bytes: f64) -> String {
    let mut value = bytes;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1023.5 {
            let decimals = usize::from(value < 99.95 && unit != "B");
            return format!("{value:.decimals$} {unit}");
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// Nanoseconds in the largest unit that divides them: `60 s`, `1500 ms`, `0 s`.
pub fn exact_ns(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    match units.iter().find(|(unit, _)| ns.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", ns / unit),
        None => format!("{ns} ns"),
    }
}

/// A size for people: `1.5 GiB`, `512 bytes`.
pub fn size_text(bytes: u64) -> String {
    for (power, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        let one = 1_u64 << power;
        if bytes >= one {
            let text = format!("{:.1}", bytes as f64 / one as f64);
            return format!("{} {unit}", text.trim_end_matches(".0"));
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn amounts_are_exact() {
        for (amount, expected) in
            [(4096, "4 KiB"), (9000, "9000 B"), (1 << 30, "1 GiB"), (1536 << 20, "1536 MiB"), (0, "0 B")]
        {
            assert_eq!(exact_bytes(amount), expected);
        }
        for (ns, expected) in [(60_000_000_000, "60 s"), (1_500_000_000, "1500 ms"), (7, "7 ns"), (0, "0 s")] {
            assert_eq!(exact_ns(ns), expected);
        }
    }

    #[test]
    fn sizes_are_rounded_to_a_tenth_of_their_unit() {
        for (bytes, expected) in [(0, "0 bytes"), (1024, "1 KiB"), (1536, "1.5 KiB"), (10 << 30, "10 GiB")] {
            assert_eq!(size_text(bytes), expected);
        }
    }

    #[test]
    fn amounts_are_rounded_to_three_digits() {
        for (bytes, expected) in [
            (0.0, "0 B"),
            (1023.0, "1023 B"),
            (1024.0, "1.0 KiB"),
            (100.0 * 1024.0, "100 KiB"),
            (12.34 * f64::from(1 << 20), "12.3 MiB"),
            (3e15, "2728.5 TiB"),
        ] {
            assert_eq!(rounded_bytes(bytes), expected);
        }
    }
}
