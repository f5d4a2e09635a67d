//! A comparison result as text for a terminal.

use iolab_statistics::DecisionRules;
use iolab_text::counted;

use crate::cells::{change, few, grid, limits};
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
    let grid = grid(rows, rules);
    aligned(&grid.lines, &grid.numbers)
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
