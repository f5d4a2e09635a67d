//! The report of a comparison of two sets of runs: the conditions and their results, then each
//! figure, the differences between the sides, and the runs of each.

use iolab_charts::DrawnChart;
use iolab_comparison::{
    ComparedRun, ComparisonResult, ComparisonRow, Difference, JudgedCondition, Judgement, Side, SideFacts, method,
};
use iolab_recording::Finding;
use iolab_statistics::{DecisionRules, Magnitude, Verdict};
use iolab_study::would_decide;
use maud::{Markup, html};

use crate::charts::{forest_of_rows, with_table};
use crate::findings::{self, Gathered};
use crate::frame::{Cell, Header, Section, counted, details, document, name, number, table};
use crate::number::{change_with_limits, changes, confidence, meaning, shown, time};
use crate::summary::word;
use crate::{Page, environment};

/// The content of a report of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonReport<'a> {
    /// The result.
    pub outcome: &'a ComparisonResult,
    /// The compared runs: baseline and candidate.
    pub sides: [&'a Side; 2],
    /// The command that repeats the comparison.
    pub command: &'a str,
    /// Version of the program that makes the report.
    pub version: &'a str,
}

/// The page of a comparison.
pub fn comparison_page(report: &ComparisonReport<'_>) -> Page {
    let outcome = report.outcome;
    let title = format!("{} against {}", outcome.candidate.name, outcome.baseline.name);
    let mut all = findings::of_all(&outcome.findings);
    all.extend(gathered(report.sides));
    let gathered = all;
    let by_figure: Vec<Vec<&ComparisonRow>> =
        outcome.rows.chunk_by(|one, other| one.figure == other.figure).map(|rows| rows.iter().collect()).collect();
    let forests: Vec<Option<DrawnChart>> =
        (0..).zip(&by_figure).map(|(number, rows)| forest_of_rows(rows, outcome.rules.zone, number)).collect();
    let mut sections = vec![Section::new("summary", "Results", summary(outcome, &by_figure, &gathered, &forests))];
    if !by_figure.is_empty() {
        sections.push(Section::new("verdicts", "Verdicts", verdicts(outcome, &by_figure, &forests)));
    }
    if !outcome.differences.is_empty() {
        sections.push(Section::new("differences", "Differences in setup", differences(&outcome.differences)));
    }
    sections.push(Section::new("runs", "Runs", runs(report.sides)));
    sections.push(Section::new("again", "How to repeat it", environment::code(report.command)));
    let header = Header { title: &title, question: "", facts: facts(outcome), version: report.version };
    Page { html: document(&header, &sections), figures: forests.into_iter().flatten().collect() }
}

const SIDES: [&str; 2] = ["baseline", "candidate"];

fn facts(outcome: &ComparisonResult) -> Markup {
    let side = |word: &str, facts: &SideFacts| {
        html! {
            (word) ": " (name(&facts.name)) ", " (counted(facts.runs, "run", "runs"))
            @if let Some(first) = facts.first_unix_ns { ", begun " (environment::date(first)) }
        }
    };
    html! { p { (side("Candidate", &outcome.candidate)) ". " (side("Baseline", &outcome.baseline)) "." } }
}

fn gathered(sides: [&Side; 2]) -> Vec<Gathered> {
    let runs: Vec<(String, &[Finding])> = sides
        .into_iter()
        .zip(SIDES)
        .flat_map(|(side, word)| side.runs.iter().map(move |run| (run, word)))
        .map(|(run, word)| (format!("{word}, {}", run_name(run)), run.summary.findings.as_slice()))
        .collect();
    findings::gather(runs.into_iter())
}

fn summary(
    outcome: &ComparisonResult,
    by_figure: &[Vec<&ComparisonRow>],
    gathered: &[Gathered],
    forests: &[Option<DrawnChart>],
) -> Markup {
    let notes = other_notes(&outcome.notes, gathered);
    html! {
        @if !by_figure.is_empty() { p.answer { strong { (answer(outcome)) } } }
        (findings::markup(gathered, &[]))
        @if !outcome.conditions.is_empty() {
            h3 { "Conditions" }
            ul.conclusions { @for judged in &outcome.conditions { li { (condition(judged)) } } }
        }
        h3 { "Conclusions" }
        @if by_figure.is_empty() { p { "No job on one side matches a job on the other: there is nothing to compare." } }
        ul.conclusions { @for (number, rows) in by_figure.iter().enumerate() {
            li {
                (conclusion(rows, &outcome.rules))
                @if let Some(figure) = &forests[number] { " " span.links { a href={ "#figure-" (figure.id) } { "See its verdicts" } "." } }
            }
        } }
        @if !notes.is_empty() {
            h3 { "To know" }
            ul { @for note in notes { li { (name(note)) } } }
        }
    }
}

/// The result in one sentence: how many rows have each verdict, and which changed most.
fn answer(outcome: &ComparisonResult) -> Markup {
    let rows: Vec<&ComparisonRow> = outcome.rows.iter().collect();
    let of = |wanted: fn(Verdict) -> bool| {
        let verdicts = rows.iter().filter_map(|row| row.comparison.as_ref().filter(|_| row.of.is_judged()));
        verdicts.filter(|comparison| wanted(comparison.verdict)).count()
    };
    let counts = [
        (of(|verdict| verdict == Verdict::Better), "better"),
        (of(|verdict| verdict == Verdict::Worse), "worse"),
        (of(|verdict| verdict == Verdict::Equivalent), "equivalent"),
        (of(|verdict| matches!(verdict, Verdict::Undecided { .. })), "undecided"),
    ];
    let told: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    html! {
        (name(&outcome.candidate.name)) " against " (name(&outcome.baseline.name)) ": "
        @if told.is_empty() { "too few runs for a verdict" } @else { "of " (counted(rows.len(), "comparison", "comparisons")) " " (told.join(", ")) }
        @if let Some(row) = largest(&rows) {
            "; most changed " (name(&row.figure)) @if !row.name().is_empty() { " of " (name(&row.name())) } ", "
            (number(&row.ratio.as_ref().map_or(String::new(), change_with_limits)))
        }
        "."
    }
}

/// Notes that do not repeat a finding.
fn other_notes<'a>(notes: &'a [String], gathered: &[Gathered]) -> Vec<&'a str> {
    let tells = |note: &str, one: &Gathered| {
        SIDES.iter().any(|side| note.starts_with(&format!("{side}: {} in ", one.finding.rule)))
    };
    notes.iter().map(String::as_str).filter(|note| !gathered.iter().any(|one| tells(note, one))).collect()
}

/// A single row with its size; several rows as counts.
fn conclusion(rows: &[&ComparisonRow], rules: &DecisionRules) -> Markup {
    let Some(first) = rows.first() else { return html! {} };
    let tally = |wanted: fn(&ComparisonRow) -> bool| rows.iter().filter(|row| wanted(row)).count();
    let verdict = |row: &ComparisonRow| row.comparison.as_ref().map(|comparison| comparison.verdict);
    let verdicts: Vec<(Verdict, usize)> = [Verdict::Better, Verdict::Worse, Verdict::Equivalent]
        .into_iter()
        .map(|wanted| (wanted, rows.iter().filter(|row| verdict(row) == Some(wanted)).count()))
        .collect();
    let open = rows.iter().filter(|row| matches!(verdict(row), Some(Verdict::Undecided { .. }))).count();
    let without = tally(|row| row.comparison.is_none());
    html! {
        strong { (name(&first.figure)) } " (" (meaning(&first.of)) "): "
        @if let [row] = rows {
            @if let Some(ratio) = &row.ratio { (number(&change_with_limits(ratio))) " " }
            (verdict_of(row, rules))
        } @else {
            (counted(rows.len(), "comparison", "comparisons"))
            @for (verdict, count) in verdicts.iter().filter(|entry| entry.1 > 0) { ", " (count) " " (word(&first.of, *verdict)) }
            @if open > 0 { ", " (open) " " (word(&first.of, Verdict::Undecided { more_repeats: None })) }
            @if without > 0 { ", " (without) " without a verdict" }
            @if let Some(row) = largest(rows) {
                ". The largest change is " (number(&row.ratio.as_ref().map_or(String::new(), change_with_limits))) " of " (name(&row.name()))
            }
            "."
        }
    }
}

/// The row that changed most, of those with a verdict of a change.
fn largest<'a>(rows: &[&'a ComparisonRow]) -> Option<&'a ComparisonRow> {
    let size = |row: &&ComparisonRow| row.ratio.map_or(0.0, |ratio| ratio.estimate.ln().abs());
    let is_sure = |row: &&ComparisonRow| {
        row.comparison.as_ref().is_some_and(|one| matches!(one.verdict, Verdict::Better | Verdict::Worse))
    };
    rows.iter().copied().filter(is_sure).max_by(|one, other| size(one).total_cmp(&size(other)))
}

fn verdict_of(row: &ComparisonRow, rules: &DecisionRules) -> Markup {
    html! {
        @match (&row.comparison, &row.remark) {
            (Some(comparison), _) => { (word(&row.of, comparison.verdict))
                @if let Some(decide) = would_decide(comparison, rules) { span.weak { " (" (decide) ")" } } },
            (None, Some(remark)) => span.weak { (name(remark)) },
            (None, None) => "\u{2013}",
        }
    }
}

fn condition(judged: &JudgedCondition) -> Markup {
    let (class, mark, text) = match judged.judgement {
        Judgement::Holds => ("verdict worse", "▼", "fails"),
        Judgement::Open => ("verdict undecided", "?", "undecided: the data cannot tell"),
        Judgement::Refuted => ("verdict better", "▲", "passes"),
    };
    html! {
        code { bdi { (judged.condition.text) } } ": " span class=(class) { span aria-hidden="true" { (mark) } " " (text) }
        @if judged.rows.is_empty() { " (nothing was compared)" }
        ul {
            @for row in judged.rows.iter().filter(|row| row.judgement != Judgement::Refuted) {
                li { @if !row.name.is_empty() { (name(&row.name)) " " }
                    @if let Some(ratio) = &row.ratio { (number(&change_with_limits(ratio))) }
                    @if let Some(reason) = &row.reason { " (" (name(reason)) ")" } }
            }
        }
    }
}

fn verdicts(outcome: &ComparisonResult, by_figure: &[Vec<&ComparisonRow>], forests: &[Option<DrawnChart>]) -> Markup {
    html! {
        p { "Change is the ratio of geometric means, candidate over baseline. " (name(&sentence(&method(outcome)))) }
        @for (rows, forest) in by_figure.iter().zip(forests) {
            @if let Some(first) = rows.first() {
                h3 { (name(&first.figure)) }
                @match forest {
                    Some(forest) => (with_table(forest, &rows_table(rows, &outcome.rules))),
                    None => (rows_table(rows, &outcome.rules)),
                }
            }
        }
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).chain(['.']).collect())
}

fn rows_table(rows: &[&ComparisonRow], rules: &DecisionRules) -> Markup {
    let dash = || "\u{2013}".to_owned();
    let row = |row: &&ComparisonRow| {
        let median = |value: Option<f64>, runs: usize| {
            Cell::Number(value.map_or_else(dash, |value| match runs {
                1 => shown(&row.of, value),
                _ => format!("{} ({runs})", shown(&row.of, value)),
            }))
        };
        let change = row.ratio.as_ref().map(changes);
        let limits = change.as_ref().filter(|_| row.basis != iolab_comparison::Basis::Nothing);
        let of_ratio = |text: Option<String>| Cell::Number(text.unwrap_or_else(dash));
        let name = row.name();
        vec![
            Cell::Head(if name.is_empty() { "all".to_owned() } else { name }),
            median(row.baseline_median, row.baseline.len()),
            median(row.candidate_median, row.candidate.len()),
            of_ratio(change.as_ref().map(|change| change[0].clone())),
            of_ratio(limits.map(|[_, low, high]| format!("[{low}, {high}]"))),
            of_ratio(row.ratio.filter(|_| limits.is_some()).map(|ratio| confidence(ratio.confidence))),
            Cell::Text(row.effect.map_or("\u{2013}", Magnitude::word).to_owned()),
            Cell::Rich(verdict_of(row, rules)),
        ]
    };
    let cells: Vec<Vec<Cell>> = rows.iter().map(row).collect();
    let figure = rows.first().map_or("", |row| row.figure.as_str());
    let caption = html! { (name(figure)) @if let Some(first) = rows.first() { ", " (meaning(&first.of)) } ": medians (of how many runs) and their change" };
    let head = ["job, configuration", "baseline", "candidate", "change", "interval", "confidence", "size", "verdict"];
    table(&caption, &format!("{figure}: comparisons"), &head, &cells)
}

fn differences(differences: &[Difference]) -> Markup {
    let values = |values: &[String]| if values.is_empty() { "none".to_owned() } else { values.join(", ") };
    let row = |one: &Difference| {
        vec![Cell::Head(one.what.clone()), Cell::Text(values(&one.baseline)), Cell::Text(values(&one.candidate))]
    };
    let rows: Vec<Vec<Cell>> = differences.iter().map(row).collect();
    html! {
        p { "The sides also differ in these points, which may explain a change." }
        (table(&html! { "Differences in setup" }, "Differences in setup", &["what", "baseline", "candidate"], &rows))
    }
}

/// Most runs listed for a side.
const MOST_RUNS: usize = 200;

fn runs(sides: [&Side; 2]) -> Markup {
    let row = |run: &ComparedRun| {
        let summary = &run.summary;
        let or_dash = |text: &Option<String>| Cell::Text(text.clone().unwrap_or_else(|| "\u{2013}".to_owned()));
        vec![
            Cell::Head(run_name(run)),
            summary.started_unix_ns.map_or(Cell::Text("\u{2013}".to_owned()), |at| Cell::Rich(environment::date(at))),
            Cell::Number(summary.elapsed_ns.map_or("\u{2013}".to_owned(), |elapsed| time(elapsed as f64))),
            or_dash(&summary.hostname),
            or_dash(&summary.kernel),
            Cell::Text(summary.tool.clone()),
            Cell::Text(summary.flaw.as_ref().map_or("yes".to_owned(), |flaw| format!("no: {flaw}"))),
        ]
    };
    let head = ["run", "begun", "took", "host", "kernel", "program", "counts"];
    html! {
        @for (side, word) in sides.into_iter().zip(SIDES) {
            @let rows: Vec<Vec<Cell>> = side.runs.iter().take(MOST_RUNS).map(row).collect();
            (details(&format!("{} of the {word}", counted(side.runs.len(), "run", "runs")), &html! {
                (table(&html! { "Runs of the " (word) ", " (name(&side.name)) }, &format!("Runs of the {word}"), &head, &rows))
                @if side.runs.len() > MOST_RUNS { p { "and " (side.runs.len() - MOST_RUNS) " more" } }
            }))
        }
    }
}

fn run_name(run: &ComparedRun) -> String {
    run.summary.name.clone()
}
