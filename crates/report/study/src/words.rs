//! Words for verdicts, sizes and ratios, the same wherever a result is shown.

use iolab_statistics::{Comparison, DecisionRules, Interval, Verdict, size_of_ratio};
use iolab_units::rounded_ns;

use crate::Figure;

/// The word for a verdict, from the candidate's point of view. For some figures neither more nor
/// less is good in itself: they are higher or lower.
pub fn word(figure: &Figure, verdict: Verdict) -> &'static str {
    use iolab_statistics::Better;
    match (verdict, figure.is_judged(), figure.better()) {
        (Verdict::Better, true, _) => "better",
        (Verdict::Worse, true, _) => "worse",
        (Verdict::Better, false, Better::Higher) | (Verdict::Worse, false, Better::Lower) => "higher",
        (Verdict::Better | Verdict::Worse, false, _) => "lower",
        (Verdict::Equivalent, ..) => "equivalent",
        (Verdict::Undecided { .. }, ..) => "undecided",
    }
}

/// The meaning of a verdict's word; `None` for any other word.
pub fn verdict_meaning(word: &str) -> Option<&'static str> {
    Some(match word {
        "better" | "worse" | "higher" | "lower" => {
            "the whole interval of the ratio lies on one side of 1. This holds at 95 % jointly for all comparisons \
            of one metric. Metrics that are neither good nor bad say higher and lower."
        }
        "equivalent" => {
            "the whole interval of the ratio lies within the zone of unimportant differences: 2 % to either side by \
            default."
        }
        "undecided" => {
            "the interval of the ratio contains both no difference and an important one. More repeats make it \
            narrower; the report says how many should settle it."
        }
        _ => return None,
    })
}

/// What would decide a comparison; `None` when it is decided.
pub fn would_decide(comparison: &Comparison, rules: &DecisionRules) -> Option<String> {
    let Verdict::Undecided { more_repeats } = comparison.verdict else { return None };
    if comparison.blocks < rules.least_blocks {
        let percent = rules.confidence * 100.0;
        let times = (comparison.blocks + more_repeats.unwrap_or(0)).max(rules.least_blocks);
        return Some(format!("repeat at least {times} times to be sure at {percent} %"));
    }
    Some(match more_repeats {
        Some(1) => "about 1 more repeat should settle it".to_owned(),
        Some(more) => format!("about {more} more repeats should settle it"),
        None => format!("even {} repeats would not settle it", rules.most_blocks),
    })
}

/// What would decide all of some comparisons; `None` when all are decided.
pub fn would_decide_all<'a>(
    comparisons: impl Iterator<Item = &'a Comparison>,
    rules: &DecisionRules,
) -> Option<String> {
    let needed = |comparison: &&Comparison| match comparison.verdict {
        Verdict::Undecided { more_repeats } => more_repeats.unwrap_or(usize::MAX),
        _ => 0,
    };
    would_decide(comparisons.max_by_key(needed)?, rules)
}

/// A ratio with its limits, as changes in percent, or as factors if percent would be hard to read;
/// the word for its size if the limits are not enough for a verdict.
pub fn ratio_with_limits(ratio: &Interval) -> String {
    let [estimate, low, high] = ratio_words(ratio);
    if ratio.confidence == 0.0 { estimate } else { format!("{estimate} [{low}, {high}]") }
}

/// Estimate and limits of a ratio in words.
pub fn ratio_words(ratio: &Interval) -> [String; 3] {
    let all = [ratio.estimate, ratio.low, ratio.high];
    let is_large = !(0.5..2.0).contains(&ratio.estimate);
    all.map(|ratio| if is_large { factor(ratio) } else { format!("{:+.1} %", (ratio - 1.0) * 100.0) })
}

fn factor(ratio: f64) -> String {
    let decimals = match ratio {
        99.5.. => 0,
        1.995.. => 1,
        _ => 2,
    };
    format!("{ratio:.decimals$}x")
}

/// A word for the size of a ratio.
pub fn size_word(ratio: f64) -> &'static str {
    size_of_ratio(ratio).word()
}

/// A value of a figure with its unit, for people.
pub fn shown(figure: &Figure, value: f64) -> String {
    let binary = [(f64::from(1 << 30), "Gi"), (f64::from(1 << 20), "Mi"), (1024.0, "Ki"), (1.0, "")];
    match figure.unit() {
        "ns" => rounded_ns(value),
        "s" => rounded_ns(value * 1e9),
        unit @ ("B/s" | "B") => scaled(value, &binary, unit),
        "%" => format!("{value:.1} %"),
        unit => scaled(value, &[(1e6, "M"), (1e3, "k"), (1.0, "")], unit),
    }
}

pub(crate) fn scaled(value: f64, units: &[(f64, &str)], name: &str) -> String {
    let (size, letter) = units.iter().find(|(size, _)| value >= *size).unwrap_or(&units[units.len() - 1]);
    let number = value / size;
    let decimals = if number >= 99.95 {
        0
    } else if number >= 9.995 {
        1
    } else {
        2
    };
    let gap = if letter.is_empty() && name.is_empty() { "" } else { " " };
    format!("{number:.decimals$}{gap}{letter}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_factors_where_percent_would_be_hard_to_read() {
        let check = |low: f64, estimate: f64, high: f64, expected: &str| {
            let ratio = Interval { estimate, low, high, confidence: 0.95 };
            assert_eq!(ratio_with_limits(&ratio), expected);
        };
        check(6.4, 7.5, 8.7, "7.5x [6.4x, 8.7x]");
        check(1.04, 2.1, 4.4, "2.1x [1.04x, 4.4x]");
        check(0.11, 0.133, 0.16, "0.13x [0.11x, 0.16x]");
        check(1.18, 1.25, 1.33, "+25.0 % [+18.0 %, +33.0 %]");
        assert_eq!(ratio_with_limits(&Interval { estimate: 7.5, low: 7.5, high: 7.5, confidence: 0.0 }), "7.5x");
        assert_eq!(
            [size_word(7.5), size_word(0.99), size_word(1.05), size_word(0.8)],
            ["large", "negligible", "small", "medium"]
        );
    }
}
