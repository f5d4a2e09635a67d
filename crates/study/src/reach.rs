//! Whether a study has blocks enough to come to a verdict at all.
//!
//! The signed-rank test of n blocks has 2^n equally likely outcomes, so its two-sided p-value is never below 2^(1 - n) (Wilcoxon 1945). Holm's method
//! multiplies the smallest of m p-values by m: with m comparisons a verdict needs m × 2^(1 - n) <= 1 - confidence, however large the difference is.

use iolab_statistics::Rules;

/// The fewest blocks with which so many comparisons, judged together, can come to a verdict.
pub fn blocks_needed(comparisons: usize, rules: &Rules) -> u32 {
    let least = 1.0 + (comparisons.max(1) as f64 / (1.0 - rules.confidence)).log2();
    (least.ceil() as u32).max(rules.least_blocks as u32)
}

/// What to tell the author of a study that cannot.
pub(crate) fn warning(comparisons: usize, blocks: u32) -> Option<String> {
    let needed = blocks_needed(comparisons, &Rules::default());
    (comparisons > 0 && blocks < needed).then(|| {
        let what = if comparisons == 1 { "one comparison".to_owned() } else { format!("{comparisons} comparisons") };
        format!(
            "{what} of each figure in {blocks} blocks: however large a difference is, that is too little for a verdict, and all will be called inconclusive; blocks = {needed} is enough"
        )
    })
}

#[cfg(test)]
mod tests {
    use iolab_statistics::{Better, Verdict, compare, settle};

    use super::*;

    #[test]
    fn what_is_needed_decides_and_one_block_less_does_not() {
        let rules = Rules::default();
        for comparisons in [1, 2, 3, 4, 18, 40] {
            let needed = blocks_needed(comparisons, &rules) as usize;
            let decided = |blocks: usize| {
                let ones: Vec<f64> = (0..blocks).map(|block| 1.0 + block as f64 * 1e-3).collect();
                let twos: Vec<f64> = ones.iter().map(|one| one * 2.0).collect();
                let one = compare(&ones, &twos, Better::Higher, &rules).expect("blocks");
                let mut all = vec![one; comparisons];
                settle(&mut all, &rules);
                all.iter().all(|comparison| comparison.verdict == Verdict::Faster)
            };
            assert!(decided(needed), "{comparisons} comparisons in {needed} blocks");
            assert!(!decided(needed - 1), "{comparisons} comparisons in {} blocks", needed - 1);
        }
    }

    #[test]
    fn only_what_cannot_decide_is_warned_of() {
        assert_eq!(warning(0, 1), None);
        assert_eq!(warning(3, 7), None);
        let told = warning(18, 7).expect("too few");
        assert!(told.contains("18 comparisons of each figure in 7 blocks") && told.contains("blocks = 10"), "{told}");
    }
}
