//! Amounts, switches and lists as people write them.

use iolab_text::exact_bytes;

/// Above this many bytes an amount means "no end".
const ENDLESS_BYTES: u64 = 1 << 60;

/// `4 KiB`, `9000 B`, `no end`.
pub(super) fn bytes(amount: u64) -> String {
    if amount >= ENDLESS_BYTES { "no end".into() } else { exact_bytes(amount) }
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
    fn amounts_are_for_people() {
        assert_eq!((bytes(4096), bytes(1 << 60)), ("4 KiB".to_owned(), "no end".to_owned()));
        assert_eq!(triple(&[1, 2, 2], u8::to_string), "read 1, write 2, trim 2");
        assert_eq!(triple(&[1, 1, 1], u8::to_string), "1");
    }
}
