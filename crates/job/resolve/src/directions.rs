//! Values for read, write and trim: how a triple with gaps is filled.

use iolab_options::PerDirection;

/// Fills a triple as fio does: directions after the last comma take the last value, directions
/// between commas that were left empty stay empty (and so take the option's default).
///
/// `4k` serves all three; `4k,8k` gives writes and trims 8k; `,8k` leaves reads alone; `4k,` is
/// reads alone.
pub(crate) fn inherit<T: Clone>(given: PerDirection<Option<T>>, text: &str) -> PerDirection<Option<T>> {
    let commas = text.matches(',').count().min(2);
    let last_given = (0..3).rev().find(|&index| given[index].is_some()).unwrap_or(0);
    let last = commas.max(last_given);
    std::array::from_fn(|index| given[index.min(last)].clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_as_fio_fills_them() {
        let cases = [
            ([Some(4), None, None], "4", [Some(4), Some(4), Some(4)]),
            ([Some(4), Some(8), None], "4,8", [Some(4), Some(8), Some(8)]),
            ([Some(4), Some(8), None], "4,8,", [Some(4), Some(8), None]),
            ([None, Some(8), None], ",8", [None, Some(8), Some(8)]),
            ([Some(4), None, None], "4,", [Some(4), None, None]),
            ([Some(4), None, Some(8)], "4,,8", [Some(4), None, Some(8)]),
            ([Some(4), Some(8), None], "", [Some(4), Some(8), Some(8)]),
        ];
        for (given, text, expected) in cases {
            assert_eq!(inherit(given, text), expected, "{text}");
        }
    }
}
