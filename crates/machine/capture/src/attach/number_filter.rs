//! The filter of the calls for a tracepoint, in the kernel's filter language
//! (Documentation/trace/events.rst).
//!
//! The kernel evaluates the comparisons of a filter one after the other, for each call that the
//! program makes, including unwanted ones. So the numbers become ranges, and the ranges a decision
//! tree:
//!
//! ```text
//!  0 1 2 3 8 9 17  ─▶  (id < 8 && id <= 3) || (id >= 8 && ((id < 17 && id <= 9) || (id >= 17 && id <= 17)))
//! ```

use iolab_order::Arrange;

/// A filter that numbers in `wanted` pass, and no others.
pub(super) fn number_filter(wanted: impl Iterator<Item = u64>) -> String {
    let mut numbers: Vec<u64> = wanted.collect();
    numbers.arrange();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if number <= *last + 1 => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    tree(&ranges)
}

fn tree(ranges: &[(u64, u64)]) -> String {
    match ranges {
        // No call has this number.
        [] => "id < 0".to_owned(),
        [(first, last)] if first == last => format!("id == {first}"),
        [(first, last)] => format!("(id >= {first} && id <= {last})"),
        _ => {
            let (low, high) = ranges.split_at(ranges.len() / 2);
            let from = high[0].0;
            format!("((id < {from} && {}) || (id >= {from} && {}))", tree(low), tree(high))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls;

    /// Whether a number passes a filter, and how many comparisons that takes in the kernel.
    fn passes(filter: &str, id: i64, compared: &mut u32) -> bool {
        let text = strip(filter);
        for (operator, ends) in [(" || ", true), (" && ", false)] {
            if let Some(at) = outermost(text, operator) {
                let first = passes(&text[..at], id, compared);
                return if first == ends { ends } else { passes(&text[at + operator.len()..], id, compared) };
            }
        }
        *compared += 1;
        let words: Vec<&str> = text.split(' ').collect();
        let number: i64 = words[2].parse().unwrap();
        match words[1] {
            "<" => id < number,
            "<=" => id <= number,
            ">=" => id >= number,
            "==" => id == number,
            other => panic!("{other}"),
        }
    }

    /// Without the parentheses around all of it.
    fn strip(text: &str) -> &str {
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        inner.filter(|inner| depths(inner).all(|(_, depth)| depth >= 0)).unwrap_or(text)
    }

    fn depths(text: &str) -> impl Iterator<Item = (usize, i32)> {
        text.char_indices().scan(0, |depth, (at, letter)| {
            *depth += i32::from(letter == '(') - i32::from(letter == ')');
            Some((at, *depth))
        })
    }

    fn outermost(text: &str, operator: &str) -> Option<usize> {
        depths(text).find(|(at, depth)| *depth == 0 && text[*at..].starts_with(operator)).map(|(at, _)| at)
    }

    #[test]
    fn the_wanted_pass_after_few_comparisons_and_no_others_do() {
        let filter = number_filter(calls::all().map(|(number, _)| number as u64));
        for id in 0..600_i64 {
            let mut compared = 0;
            assert_eq!(passes(&filter, id, &mut compared), calls::shape_of(id as u64).is_some(), "{id}");
            assert!(compared <= 14, "{id}: {compared} comparisons");
        }
        assert!(!passes(&number_filter(std::iter::empty()), 0, &mut 0));
        assert_eq!(number_filter([3, 1, 2].into_iter()), "(id >= 1 && id <= 3)");
    }
}
