//! Small readers for text inside option values that the table leaves as text: sizes, times, lists of numbers.
//!
//! They accept what fio accepts there with binary units (`k` = 1024) and nothing else; `None` means "not that".

/// `64k`, `1m`, `0x10`, `4096`: bytes.
pub(crate) fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let shift = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        "p" => 50,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// `5`, `10s`, `2m`, `100ms`, `50us`: nanoseconds; a bare number counts in `unit_ns`.
pub(crate) fn time_ns(text: &str, unit_ns: u64) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let factor = match unit.trim() {
        "" => unit_ns,
        "ns" => 1,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// `low-high` or a single value, each read by `one`.
pub(crate) fn range(text: &str, one: impl Fn(&str) -> Option<u64>) -> Option<(u64, u64)> {
    match text.split_once('-') {
        Some((low, high)) => Some((one(low)?, one(high)?)),
        None => one(text).map(|value| (value, value)),
    }
}

/// `0,2-4`: the numbers, ascending, without repeats.
pub(crate) fn list(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.split([',', ':']).filter(|part| !part.trim().is_empty()) {
        let (low, high) = range(part, |number| number.trim().parse().ok())?;
        if high < low || high > 1 << 20 {
            return None;
        }
        numbers.extend((low..=high).map(|number| number as usize));
    }
    numbers.sort_unstable();
    numbers.dedup();
    (!numbers.is_empty()).then_some(numbers)
}

/// A whole number, decimal or `0x`.
pub(crate) fn integer(text: &str) -> Option<i64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(|number| number as i64),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        let sizes =
            [("4096", Some(4096)), ("4k", Some(4096)), ("1MiB", Some(1 << 20)), ("0x200", Some(512)), ("8q", None)];
        for (text, expected) in sizes {
            assert_eq!(size(text), expected, "{text}");
        }
        let times =
            [("5", Some(5_000_000_000)), ("100ms", Some(100_000_000)), ("2m", Some(120_000_000_000)), ("x", None)];
        for (text, expected) in times {
            assert_eq!(time_ns(text, 1_000_000_000), expected, "{text}");
        }
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(list("0,2-4,3"), Some(vec![0, 2, 3, 4]));
        assert_eq!(list("4-2"), None);
        assert_eq!(list("all"), None);
        assert_eq!(range("4k-8k", size), Some((4096, 8192)));
        assert_eq!(integer("0x89"), Some(137));
    }
}
