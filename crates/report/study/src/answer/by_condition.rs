//! The answer of a study with given axes: which choice is best under each condition.

use iolab_order::Arrange;
use iolab_statistics::Verdict;
use iolab_text::counted;

use super::{MOST_NAMED, Results};
use crate::comparisons::{Contrast, Standing};
use crate::conditions::GivenCondition;
use crate::words::{ratio_with_limits, ratio_words, would_decide_all};

/// The best choice under one condition.
struct Winner<'a> {
    condition: &'a GivenCondition,
    /// Its points on the axes that are not given.
    choice: String,
    state: State,
    /// Compared with the baseline under this condition; `None` if it is the baseline.
    gain: Option<Contrast>,
    rivals: Vec<Contrast>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Better than some others, and equivalent to the rest.
    Certain,
    /// All choices are equivalent.
    Equal,
    /// Undecided against some.
    Open,
}

impl Results<'_> {
    /// The result of one figure under all conditions. `told` says that the sentence already has
    /// what choices cost and gain over all of them.
    pub(super) fn by_condition(&self, standing: &Standing, told: bool) -> String {
        let winners: Vec<Winner<'_>> =
            standing.conditions.iter().filter_map(|condition| self.winner(standing, condition)).collect();
        if winners.is_empty() {
            return "no trial has a value".to_owned();
        }
        let best = if self.analysis.figures[standing.figure].is_judged() { "best" } else { "highest" };
        let given: Vec<&str> =
            winners[0].condition.points.iter().map(|(axis, _)| self.design.axes[*axis].as_str()).collect();
        let all = format!("{} ({})", counted(winners.len() as u64, "condition"), given.join(", "));
        let rivals = || winners.iter().flat_map(|winner| &winner.rivals).map(|rival| &rival.comparison);
        let decide = || would_decide_all(rivals(), self.rules).map_or(String::new(), |decide| format!("; {decide}"));
        let leader = leader(&winners);
        let is_leader = |winner: &&Winner<'_>| winner.choice == leader;
        let leads = winners.iter().filter(is_leader).count();
        let gain = |choice: &str| {
            let over_all = self.over_all(standing, choice).filter(|_| !told);
            gain(&winners, choice)
                .map(|range| over_all.map_or(String::new(), |over_all| format!(", {over_all}")) + &range)
                .unwrap_or_else(|| "; it is the baseline".to_owned())
        };
        if rivals().any(|one| one.blocks < self.rules.least_blocks) {
            return format!("{leader} looks {best} under {leads} of {all}{}{}", gain(&leader), decide());
        }
        if winners.iter().all(|winner| winner.state == State::Equal) {
            return format!("all choices are equivalent under {all}, within {:.0} %", self.rules.zone * 100.0);
        }
        let certain: Vec<&Winner<'_>> = winners.iter().filter(|winner| winner.state == State::Certain).collect();
        let open = winners.iter().filter(|winner| winner.state == State::Open).count();
        if certain.is_empty() {
            if told {
                return format!("which is best is not certain under any of them{}", decide());
            }
            let looks = format!("{leader} looks {best} under {leads} of them");
            return format!("no difference is certain yet under {all}; {looks}{}{}", gain(&leader), decide());
        }
        let equal = winners.len() - certain.len() - open;
        let mut rest = if equal > 0 { format!("; equivalent under {equal}") } else { String::new() };
        if open > 0 {
            rest += &format!("; undecided under {open}{}", decide());
        }
        if certain.iter().all(|winner| winner.choice == certain[0].choice) {
            let choice = &certain[0].choice;
            let gain = gain(choice);
            return match certain.len() == winners.len() {
                true => format!("{choice} is {best} under all {all}{gain}"),
                false => format!("{choice} is {best} under {} of {all}{gain}{rest}", certain.len()),
            };
        }
        format!("which is {best} depends on {}: {}{rest}", given.join(" and "), shares(&certain))
    }

    fn winner<'a>(&self, standing: &Standing, condition: &'a GivenCondition) -> Option<Winner<'a>> {
        let best = condition.best?;
        let others = condition.configurations.iter().filter(|one| **one != best);
        let rivals: Vec<Contrast> =
            others.filter_map(|one| self.analysis.contrast(standing.figure, *one, best)).collect();
        let all = |wanted: fn(Verdict) -> bool| rivals.iter().all(|one| wanted(one.comparison.verdict));
        let state = if all(|verdict| verdict == Verdict::Equivalent) {
            State::Equal
        } else if all(|verdict| !matches!(verdict, Verdict::Undecided { .. })) {
            State::Certain
        } else {
            State::Open
        };
        let is_choice = |axis: usize| condition.points.iter().all(|(given, _)| *given != axis);
        let gain = rivals.iter().find(|one| one.baseline == condition.baseline).cloned();
        Some(Winner { condition, choice: self.design.label_on(best, is_choice), state, gain, rivals })
    }

    /// The effect of a choice over all conditions, if choices differ on one axis.
    fn over_all(&self, standing: &Standing, choice: &str) -> Option<String> {
        let mut axes = standing.axes.iter().filter(|axis| !axis.points.is_empty());
        let (axis, None) = (axes.next()?, axes.next()) else { return None };
        let name = &self.design.axes[axis.axis];
        let point = axis.points.iter().find(|point| format!("{name}={}", point.point) == choice)?;
        let ratio = ratio_with_limits(&point.comparison.ratio);
        Some(format!("{ratio} against {} over all of them", point.baseline))
    }
}

/// Where a choice that wins gains least and most over the baseline; nothing if that is not certain
/// under two conditions. `None` if the choice is the baseline.
fn gain(winners: &[Winner<'_>], choice: &str) -> Option<String> {
    let own = || winners.iter().filter(|winner| winner.choice == choice);
    own().find_map(|winner| winner.gain.as_ref())?;
    let certain = own().filter(|winner| winner.state == State::Certain);
    let mut gains: Vec<(&Contrast, &GivenCondition)> =
        certain.filter_map(|winner| Some((winner.gain.as_ref()?, winner.condition))).collect();
    let size = |one: &(&Contrast, &GivenCondition)| one.0.comparison.ratio.estimate.ln().abs();
    gains.arrange_by(|one, other| size(one).total_cmp(&size(other)));
    let told = |(contrast, condition): &(&Contrast, &GivenCondition)| {
        let points: Vec<&str> = condition.points.iter().map(|(_, point)| point.as_str()).collect();
        format!("{} ({})", ratio_words(&contrast.comparison.ratio)[0], points.join(", "))
    };
    match gains.as_slice() {
        [first, .., last] => Some(format!(", from {} to {}", told(first), told(last))),
        _ => Some(String::new()),
    }
}

/// The choice that wins under most of some conditions; the first of several.
fn leader(winners: &[Winner<'_>]) -> String {
    let wins = |choice: &str| winners.iter().filter(|one| one.choice == choice).count();
    let most = winners.iter().reduce(|one, other| if wins(&other.choice) > wins(&one.choice) { other } else { one });
    most.map_or(String::new(), |winner| winner.choice.clone())
}

/// Each choice that is certainly best somewhere, and where.
fn shares(certain: &[&Winner<'_>]) -> String {
    let mut choices: Vec<&str> = Vec::new();
    for winner in certain {
        if !choices.contains(&winner.choice.as_str()) {
            choices.push(&winner.choice);
        }
    }
    let of = |choice: &&str| {
        let own: Vec<&GivenCondition> =
            certain.iter().filter(|winner| winner.choice == *choice).map(|winner| winner.condition).collect();
        let name = |condition: &&GivenCondition| {
            condition.points.iter().map(|(_, point)| point.as_str()).collect::<Vec<_>>().join(", ")
        };
        match own.len() {
            count if count > 2 * MOST_NAMED => format!("{choice} under {count} conditions"),
            _ => format!("{choice} at {}", own.iter().map(name).collect::<Vec<_>>().join("; ")),
        }
    };
    choices.iter().map(of).collect::<Vec<_>>().join(", ")
}
