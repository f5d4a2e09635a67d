//! A comparison result as text for a terminal.

use iolab_statistics::{DecisionRules, Interval, Magnitude};
use iolab_study::{shown, word, would_decide};
use iolab_text::counted;

use crate::compare::{ComparisonResult, IntervalsFrom, SideFacts};
use crate::row::{Basis, ComparisonRow};
use crate::{JudgedCondition, Judgement};

/// The whole result: what is compared, a table, the differences between the sides, notes, and the
/// results of the conditions.
pub fn describe(outcome: &ComparisonResult) -> String {
    let mut text = iolab_findings::findings_text(&outcome.findings, iolab_text::USUAL_COLUMNS);
    text += &format!("baseline   {}\n", side(&outcome.baseline));
    text += &format!("candidate  {}\n", side(&outcome.candidate));
    if outcome.rows.is_empty() {
        text += "\nnothing to compare\n";
    } else {
        let method = method(outcome);
        text +=
            &format!("{method}{}\n{}", if method.is_empty() { "" } else { "\n" }, table(&outcome.rows, &outcome.rules));
    }
    if !outcome.differences.is_empty() {
        text += "\nOther differences between the two sides:\n";
        let lines = outcome
            .differences
            .iter()
            .map(|one| vec![one.what.clone(), few(&one.baseline), "→".to_owned(), few(&one.candidate)]);
        text += &aligned(&lines.collect::<Vec<_>>(), &[]);
    }
    if !outcome.notes.is_empty() {
        text += "\nTo know:\n";
        outcome.notes.iter().for_each(|note| text += &format!("  {note}\n"));
    }
    if !outcome.conditions.is_empty() {
        text += "\nConditions:\n";
        outcome.conditions.iter().for_each(|judged| text += &condition(judged));
    }
    text
}

fn side(facts: &SideFacts) -> String {
    let runs = counted(facts.runs as u64, "run");
    format!("{} ({runs})", facts.name)
}

/// One line about the method: tests, intervals, corrections, zone of equivalence.
pub fn method(outcome: &ComparisonResult) -> String {
    let has = |basis: Basis| outcome.rows.iter().any(|row| row.basis == basis);
    let percent = outcome.rules.confidence * 100.0;
    let mut parts = Vec::new();
    let test = |name: &str| match outcome.intervals {
        IntervalsFrom::Test => format!("{name}, {percent} % intervals"),
        IntervalsFrom::Bootstrap => format!("{name}, {percent} % intervals by bootstrap"),
    };
    if has(Basis::Blocks) {
        parts.push(test("paired by block (Student)"));
    }
    if has(Basis::Trials) {
        parts.push(test("unpaired (Welch)"));
    }
    if has(Basis::WithinRuns) {
        parts.push(format!("one run each: {percent} % intervals within these runs, by block bootstrap"));
    }
    let most = outcome.rows.chunk_by(|one, other| one.figure == other.figure);
    let most = most.map(|rows| rows.iter().filter(|row| row.comparison.is_some()).count()).max().unwrap_or(0);
    if most > 1 {
        parts.push(format!("which hold jointly for {most} comparisons of each metric (Sidak)"));
    }
    if has(Basis::Blocks) || has(Basis::Trials) {
        parts.push(format!("equivalent within {} %", trimmed(outcome.rules.zone * 100.0)));
    }
    parts.join("; ")
}

fn trimmed(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn table(rows: &[ComparisonRow], rules: &DecisionRules) -> String {
    let axes: Vec<&String> =
        rows.first().map(|row| row.points.iter().map(|(axis, _)| axis).collect()).unwrap_or_default();
    let is_uniform = rows.iter().all(|row| row.points.iter().map(|(axis, _)| axis).eq(axes.iter().copied()));
    let has_jobs = rows.iter().any(|row| row.job != rows[0].job) || axes.is_empty();
    let mut lines = Vec::new();
    let mut head: Vec<String> = vec!["figure".to_owned()];
    match is_uniform {
        true => head.extend(axes.iter().map(|axis| (*axis).clone())),
        false => head.push("configuration".to_owned()),
    }
    if has_jobs {
        head.push("job".to_owned());
    }
    let names = head.len();
    head.extend(["baseline", "candidate", "change", "interval", "size", "verdict"].map(str::to_owned));
    lines.push(head);
    for row in rows {
        let mut line = vec![row.figure.clone()];
        match is_uniform {
            true => line.extend(row.points.iter().map(|(_, point)| point.clone())),
            false => line.push(crate::pairing::name(&row.points, Some(""))),
        }
        if has_jobs {
            line.push(
                row.job.clone().map_or("all jobs".to_owned(), |job| if job.is_empty() { "-".to_owned() } else { job }),
            );
        }
        line.extend(cells(row, rules));
        lines.push(line);
    }
    aligned(&lines, &[names, names + 1, names + 2, names + 3])
}

fn cells(row: &ComparisonRow, rules: &DecisionRules) -> [String; 6] {
    let median = |value: Option<f64>, of: &[f64]| match value {
        None => "-".to_owned(),
        Some(value) if of.len() == 1 => shown(&row.of, value),
        Some(value) => format!("{} ({})", shown(&row.of, value), of.len()),
    };
    let effect = row.effect.map_or("-", Magnitude::word);
    [
        median(row.baseline_median, &row.baseline),
        median(row.candidate_median, &row.candidate),
        row.ratio.map_or("-".to_owned(), |ratio| change(ratio.estimate)),
        row.ratio.filter(|_| row.basis != Basis::Nothing).map_or("-".to_owned(), |ratio| limits(&ratio)),
        effect.to_owned(),
        verdict(row, rules),
    ]
}

fn change(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// The limits, with their confidence where it is lower than requested.
fn limits(ratio: &Interval) -> String {
    let worth = if ratio.confidence < 0.945 { format!(" ({:.0} %)", ratio.confidence * 100.0) } else { String::new() };
    format!("[{}, {}]{worth}", change(ratio.low), change(ratio.high))
}

fn verdict(row: &ComparisonRow, rules: &DecisionRules) -> String {
    let Some(comparison) = &row.comparison else {
        return row.remark.clone().unwrap_or_else(|| "-".to_owned());
    };
    let word = word(&row.of, comparison.verdict);
    would_decide(comparison, rules).map_or(word.to_owned(), |decide| format!("{word} ({decide})"))
}

fn condition(judged: &JudgedCondition) -> String {
    let word = match judged.judgement {
        Judgement::Holds => "FAILS",
        Judgement::Open => "open",
        Judgement::Refuted => "passes",
    };
    let mut text = format!("  {}: {word}\n", judged.condition.text);
    if judged.rows.is_empty() {
        text += "    nothing was compared\n";
    }
    for row in judged.rows.iter().filter(|row| row.judgement != Judgement::Refuted) {
        let ratio = row.ratio.map_or(String::new(), |ratio| format!("{} {}", change(ratio.estimate), limits(&ratio)));
        let name = if row.name.is_empty() { String::new() } else { format!("{}: ", row.name) };
        let reason = row.reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
        text += &format!("    {name}{ratio}{reason}\n");
    }
    text
}

/// A list shortened to fit on a line.
fn few(values: &[String]) -> String {
    const MOST: usize = 4;
    match values {
        [] => "none".to_owned(),
        values if values.len() > MOST => format!("{}, … ({} values)", values[..MOST].join(", "), values.len()),
        values => values.join(", "),
    }
}

/// Lines in aligned columns; the `right` columns are right-aligned.
fn aligned(lines: &[Vec<String>], right: &[usize]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let cell_width = |line: &Vec<String>, column: usize| line.get(column).map_or(0, |cell| cell.chars().count());
    let widths: Vec<usize> =
        (0..columns).map(|column| lines.iter().map(|line| cell_width(line, column)).max().unwrap_or(0)).collect();
    let line = |line: &Vec<String>| {
        let cells = line.iter().enumerate().map(|(column, cell)| {
            let width = widths[column];
            if right.contains(&column) { format!("{cell:>width$}") } else { format!("{cell:width$}") }
        });
        format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    lines.iter().map(line).collect()
}
