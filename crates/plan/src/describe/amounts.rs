//! Amounts as people write them, exactly: the largest unit that divides them.

/// Above this many bytes an amount means "no end".
const ENDLESS_BYTES: u64 = 1 << 60;

/// `4 KiB`, `9000 B`, `no end`.
pub(super) fn bytes(amount: u64) -> String {
    if amount >= ENDLESS_BYTES {
        return "no end".into();
    }
    let units = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(unit, _)| amount >= *unit && amount.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", amount / unit),
        None => format!("{amount} B"),
    }
}

/// `60 s`, `1500 ms`, `0 s`.
pub(super) fn time_ns(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    match units.iter().find(|(unit, _)| ns.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", ns / unit),
        None => format!("{ns} ns"),
    }
}

/// `yes` or `no`.
pub(super) fn yes(on: bool) -> String {
    if on { "yes" } else { "no" }.into()
}

/// The value, or what stands for none.
pub(super) fn or<T: ToString>(value: Option<T>, none: &str) -> String {
    value.map_or_else(|| none.to_owned(), |value| value.to_string())
}

/// An enum's variant in lower case: `RoundRobin` → `round robin`.
pub(super) fn variant(value: impl std::fmt::Debug) -> String {
    let mut text = String::new();
    for (index, letter) in format!("{value:?}").char_indices() {
        if letter.is_uppercase() && index > 0 {
            text.push(' ');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// Read, write and trim: one value where they agree.
pub(super) fn triple<T: PartialEq>(values: &[T; 3], show: impl Fn(&T) -> String) -> String {
    if values[0] == values[1] && values[1] == values[2] {
        return show(&values[0]);
    }
    format!("read {}, write {}, trim {}", show(&values[0]), show(&values[1]), show(&values[2]))
}

/// A list of numbers, or `none`.
pub(super) fn list<T: ToString>(values: &[T]) -> String {
    if values.is_empty() {
        return "none".into();
    }
    values.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact() {
        for (amount, expected) in
            [(4096, "4 KiB"), (9000, "9000 B"), (1 << 30, "1 GiB"), (1536 << 20, "1536 MiB"), (0, "0 B")]
        {
            assert_eq!(bytes(amount), expected);
        }
        for (ns, expected) in [(60_000_000_000, "60 s"), (1_500_000_000, "1500 ms"), (7, "7 ns"), (0, "0 s")] {
            assert_eq!(time_ns(ns), expected);
        }
        assert_eq!(triple(&[1, 2, 2], u8::to_string), "read 1, write 2, trim 2");
        assert_eq!(triple(&[1, 1, 1], u8::to_string), "1");
    }
}
