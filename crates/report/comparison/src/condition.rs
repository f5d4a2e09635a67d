//! Conditions on which a comparison fails: `p99 > +5%`.
//!
//! ```text
//! condition = figure, ( ">" | "<" | ">=" | "<=" ), change
//! change    = [ "+" | "-" ], number, [ "%" ]
//! ```
//!
//! The change is that of the candidate against the baseline. A condition **holds** for a row only
//! if the whole interval lies beyond the change and the verdict, corrected for all rows of the
//! figure, is not undecided. It is **refuted** if the whole interval lies on the other side;
//! otherwise it is **open**.

use iolab_statistics::{DecisionRules, Interval};
use iolab_study::Figure;
use serde::{Deserialize, Serialize};

use crate::pairing::name;
use crate::row::{ComparisonRow, is_worse_above};

/// A change on which a comparison fails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// As the user wrote it.
    pub text: String,
    /// The figure.
    pub figure: Figure,
    /// Whether it fails above or below the change.
    pub above: Above,
    /// The change, percent.
    pub percent: f64,
}

/// The side of the change on which a condition fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Above {
    /// `>`, `>=`.
    Above,
    /// `<`, `<=`.
    Below,
}

/// An error in the text of a condition, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConditionError {
    /// The text.
    pub text: String,
    /// Position of the first wrong character, from 0.
    pub start: usize,
    /// Number of wrong characters.
    pub length: usize,
    /// What is wrong, and what would be valid.
    pub message: String,
}

impl ConditionError {
    /// The text with a caret below the error, then the message.
    pub fn render(&self) -> String {
        let gap = " ".repeat(self.start);
        format!("  {}\n  {gap}{} {}", self.text, "^".repeat(self.length.max(1)), self.message)
    }
}

/// The result of a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedCondition {
    /// The condition.
    pub condition: Condition,
    /// The most severe of its rows.
    pub judgement: Judgement,
    /// Row by row.
    pub rows: Vec<RowJudgement>,
}

/// Whether a condition holds, the least severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// The data show that it does not.
    Refuted,
    /// The data do not decide.
    Open,
    /// The data show that it does.
    Holds,
}

/// A condition for one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowJudgement {
    /// Configuration and job.
    pub name: String,
    /// Candidate over baseline.
    pub ratio: Option<Interval>,
    /// Whether it holds.
    pub judgement: Judgement,
    /// Why it is open, if it is.
    pub reason: Option<String>,
}

impl std::str::FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Condition, ConditionError> {
        Condition::parse(text, &[])
    }
}

impl Condition {
    /// Parses a condition on a usual figure or on one of `known`, those of the compared studies.
    ///
    /// # Errors
    /// It is no condition, the figure is not known, or it would fail for equal runs.
    pub fn parse(text: &str, known: &[Figure]) -> Result<Condition, ConditionError> {
        let error = |start: usize, length: usize, message: String| ConditionError {
            text: text.to_owned(),
            start: text[..start].chars().count(),
            length,
            message,
        };
        let Some(place) = text.find(['<', '>']) else {
            let end = text.trim_end().len();
            return Err(error(end, 1, "> or < is missing, as in 'p99 > +5%'".to_owned()));
        };
        let (word, rest) = (&text[..place], &text[place + 1..]);
        let figure = figure(word, known).map_err(|message| {
            let start = word.len() - word.trim_start().len();
            error(start, word.trim().chars().count(), message)
        })?;
        let above = if text[place..].starts_with('>') { Above::Above } else { Above::Below };
        let rest = rest.strip_prefix('=').unwrap_or(rest);
        let start = text.len() - rest.trim_start().len();
        let wrong = |message: &str| error(start, rest.trim().chars().count(), message.to_owned());
        let percent = percent(rest).map_err(|message| wrong(&message))?;
        let holds_at_rest = if above == Above::Above { percent < 0.0 } else { percent > 0.0 };
        if holds_at_rest {
            let sign = if is_worse_above(&figure) { "> +" } else { "< -" };
            let better = format!("{} {sign}{}%", figure.name(), percent.abs());
            return Err(wrong(&format!("this would fail even for identical runs; did you mean '{better}'?")));
        }
        Ok(Condition { text: text.trim().to_owned(), figure, above, percent })
    }
}

/// Names that conditions can begin with, for suggestions.
const NAMES: [&str; 10] = ["iops", "bandwidth", "mean", "cpu", "p50", "p90", "p95", "p99", "p99.9", "response_p99"];

fn figure(word: &str, known: &[Figure]) -> Result<Figure, String> {
    let word = word.trim();
    if let Some(figure) = known.iter().find(|figure| figure.name() == word) {
        return Ok(figure.clone());
    }
    if word.is_empty() {
        return Err("a metric is missing: iops, bandwidth, mean, p99, read.p99.9, …".to_owned());
    }
    Figure::from_name(word).map_err(|_| {
        let (side, rest) = match word.split_once('.') {
            Some((side @ ("read" | "write"), rest)) => (format!("{side}."), rest),
            _ => (String::new(), word),
        };
        let own: Vec<String> = known.iter().map(Figure::name).collect();
        match iolab_text::closest(rest, NAMES.into_iter().chain(own.iter().map(String::as_str))) {
            Some(name) => format!("unknown metric; did you mean '{side}{name}'?"),
            None => "unknown metric: use iops, bandwidth, mean, cpu, p50, p99, p99.9 or response_p99, or read.… or write.… of those".to_owned(),
        }
    })
}

fn percent(text: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err("a change is missing, as in '+5%'".to_owned());
    }
    let number = trimmed.strip_suffix('%').unwrap_or(trimmed).trim();
    // `- 3` means `-3`.
    let compact: String = number.chars().filter(|letter| !letter.is_whitespace()).collect();
    match compact.parse::<f64>() {
        Ok(percent) if percent.is_finite() && percent > -100.0 => Ok(percent),
        Ok(_) => Err("a change must be finite and above -100 %".to_owned()),
        Err(_) => Err("a change is a percentage, as in '+5%'".to_owned()),
    }
}

/// The result of a condition.
pub(crate) fn judge(condition: &Condition, rows: &[ComparisonRow], rules: &DecisionRules) -> JudgedCondition {
    let own = rows.iter().filter(|row| row.of == condition.figure);
    let rows: Vec<RowJudgement> = own.map(|row| judge_row(condition, row, rules)).collect();
    // A condition for which nothing was compared is not refuted.
    let judgement = rows.iter().map(|row| row.judgement).max().unwrap_or(Judgement::Open);
    JudgedCondition { condition: condition.clone(), judgement, rows }
}

fn judge_row(condition: &Condition, row: &ComparisonRow, rules: &DecisionRules) -> RowJudgement {
    let (judgement, reason) = judged(condition, row, rules);
    RowJudgement { name: name(&row.points, row.job.as_deref()), ratio: row.ratio, judgement, reason }
}

fn judged(condition: &Condition, row: &ComparisonRow, rules: &DecisionRules) -> (Judgement, Option<String>) {
    let Some(comparison) = &row.comparison else {
        return (Judgement::Open, Some(row.remark.clone().unwrap_or_else(|| "nothing to compare".to_owned())));
    };
    if !comparison.is_enough(rules) {
        return (Judgement::Open, Some("too few trials".to_owned()));
    }
    let limit = 1.0 + condition.percent / 100.0;
    let (is_beyond, is_short) = match condition.above {
        Above::Above => (comparison.ratio.low > limit, comparison.ratio.high <= limit),
        Above::Below => (comparison.ratio.high < limit, comparison.ratio.low >= limit),
    };
    if is_short {
        return (Judgement::Refuted, None);
    }
    if !is_beyond {
        return (Judgement::Open, Some("the interval includes the limit".to_owned()));
    }
    if comparison.adjusted_p > 1.0 - rules.confidence {
        return (Judgement::Open, Some("corrected for all rows of the table, it may be chance".to_owned()));
    }
    (Judgement::Holds, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        let check = |text: &str, figure: &str, above: Above, percent: f64| {
            let condition: Condition = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(
                (condition.figure.name().as_str(), condition.above, condition.percent),
                (figure, above, percent)
            );
        };
        check("p99 > +5%", "p99", Above::Above, 5.0);
        check("p99>5", "p99", Above::Above, 5.0);
        check(" iops < -3 % ", "iops", Above::Below, -3.0);
        check("iops<-0.5%", "iops", Above::Below, -0.5);
        check("read.p99.9 >= +10%", "read.p99.9", Above::Above, 10.0);
        check("write.bw <= - 1%", "write.bandwidth", Above::Below, -1.0);
        check("cpu > 0%", "cpu", Above::Above, 0.0);
        check("response_p99 > 200%", "response_p99", Above::Above, 200.0);
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        let check = |text: &str, expected: &str| {
            let error = text.parse::<Condition>().expect_err(text);
            assert_eq!(error.render(), expected, "{text}");
        };
        check("p99", "  p99\n     ^ > or < is missing, as in 'p99 > +5%'");
        check("> 5%", "  > 5%\n  ^ a metric is missing: iops, bandwidth, mean, p99, read.p99.9, …");
        check("iosp < -3%", "  iosp < -3%\n  ^^^^ unknown metric; did you mean 'iops'?");
        check("read.p99x > 1%", "  read.p99x > 1%\n  ^^^^^^^^^ unknown metric; did you mean 'read.p99'?");
        check(
            "latency > 1%",
            "  latency > 1%\n  ^^^^^^^ unknown metric: use iops, bandwidth, mean, cpu, p50, p99, p99.9 or response_p99, or read.… or write.… of those",
        );
        check("p99 > ", "  p99 > \n        ^ a change is missing, as in '+5%'");
        check("p99 > much", "  p99 > much\n        ^^^^ a change is a percentage, as in '+5%'");
        check("iops < -100%", "  iops < -100%\n         ^^^^^ a change must be finite and above -100 %");
        check(
            "iops > -3%",
            "  iops > -3%\n         ^^^ this would fail even for identical runs; did you mean 'iops < -3%'?",
        );
        check("p99 < 5%", "  p99 < 5%\n        ^^ this would fail even for identical runs; did you mean 'p99 > +5%'?");
    }
}
