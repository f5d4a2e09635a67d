//! Which differences a study can detect, before anything is measured.

use iolab_statistics::{DecisionRules, decidable};

use crate::comparisons::Families;
use crate::{Design, Study};

/// The usual variation of trials of storage, assumed for planning.
const USUAL_NOISE: f64 = 0.05;
/// With more configurations, computing the limits takes too long for a plan.
const MOST_CONFIGURATIONS: usize = 60;

/// The difference that the blocks of a study can detect, in words; `None` if nothing is compared.
pub(crate) fn decides(study: &Study, design: &Design) -> Option<String> {
    if !(2..=MOST_CONFIGURATIONS).contains(&design.configurations.len()) {
        return None;
    }
    let rules = DecisionRules::default();
    if let Some(auto) = &study.auto_blocks {
        let percent = auto.half_width * 100.0;
        return Some(format!(
            "decides {percent} % differences: it ends when every comparison is known to within {percent} %"
        ));
    }
    let share = (study.blocks as usize >= rules.least_blocks)
        .then(|| decidable(&Families::new(study, design).planned(study.blocks), 0, USUAL_NOISE, &rules))??;
    Some(format!(
        "decides {:.0} % differences in 4 of 5 cases if trials vary by {:.0} %",
        share * 100.0,
        USUAL_NOISE * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::too_few_blocks;
    use crate::{design, read};

    #[test]
    fn a_plan_says_what_it_decides() {
        let study = |blocks: &str| {
            let text = format!(
                "title = \"t\"\njob_text = \"[j]\"\nblocks = {blocks}\n[[axis]]\noption = \"bs\"\nvalues = [1, 2, 3]\n"
            );
            read(&text).expect("a sound study")
        };
        let told = |blocks: &str| decides(&study(blocks), &design(&study(blocks)).expect("sound"));
        let percent = |blocks: &str| -> f64 {
            let told = told(blocks).expect("it decides something");
            told.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number")
        };
        assert!(percent("5") > percent("10") && percent("10") > percent("30"));
        assert!((5.0..10.0).contains(&percent("10")), "{:?}", told("10"));
        assert_eq!(told("2"), None);
        assert!(told("\"auto\"").is_some_and(|told| told.starts_with("decides 10 % differences")));
    }

    #[test]
    fn only_what_cannot_decide_is_warned_of() {
        assert_eq!(too_few_blocks(1, 1), None);
        assert_eq!(too_few_blocks(27, 3), None);
        assert!(too_few_blocks(2, 2).is_some_and(|told| told.contains("repeat at least 3 times")));
    }
}
