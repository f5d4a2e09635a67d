//! The summary: the answer that terminals also show, then the conclusions in sentences. If nothing
//! can be concluded, the sentence says why and what would decide.

use iolab_order::Arrange;
use iolab_statistics::Verdict;
use iolab_study::{Figure, Measure, answer, would_decide_all};
use maud::{Markup, html};

use crate::findings::{self, Gathered};
use crate::frame::{Cell, counted, details, name, number, table};
use crate::number::{change_with_limits, confidence, limits, meaning, shown};
use crate::overview;
use crate::standing::{Outcome, Rival, Standing};
use crate::steady;

/// The targets of links in conclusions: for a figure of the study its pictures, each with an id and
/// a name.
pub(crate) type Links<'a> = dyn Fn(usize) -> Vec<(String, String)> + 'a;

/// The answer, an overview of all configurations, findings, conclusions.
pub(crate) fn section(outcome: &Outcome<'_>, findings: &[Gathered], missing: usize, links: &Links<'_>) -> Markup {
    let analysis = outcome.analysis;
    let answer = answer(outcome.study, outcome.design, analysis, outcome.rules);
    html! {
        p.answer { strong { (name(&answer.sentence)) } }
        div.first-look {
            @if let Some(standing) = analysis.standings.iter().find(|one| one.figure == outcome.study.primary_figure())
                && (standing.best.is_some() || !standing.conditions.is_empty()) {
                div.scroll { (overview::table(outcome, standing)) }
                div { @if let Some(best) = standing.best { (overview::best(outcome, best)) }
                    @if !answer.findings.is_empty() { ul.found { @for finding in &answer.findings { li { (name(finding)) } } } } }
            } @else if !answer.findings.is_empty() { ul { @for finding in &answer.findings { li { (name(finding)) } } } }
        }
        (findings::markup(findings, &[]))
        h3 { "Conclusions" }
        @if missing > 0 {
            p.weak { "The study is not complete: " (counted(missing, "trial is", "trials are")) " not run yet. These \
                are the results so far." }
        }
        @for caveat in steady::caveats(outcome) { p { strong.severity { (caveat) } } }
        @if analysis.figures.is_empty() { p { "The study has no metric to compare." } }
        ul.conclusions {
            @for figure in 0..analysis.figures.len() {
                @let links = links(figure);
                li {
                    @let others = answer.others.iter().find(|one| one.0 == figure).map(|one| one.1.as_str());
                    (conclusion(outcome, figure, others, &html! {
                        @if !links.is_empty() {
                            " " span.links { "See " @for (place, (id, title)) in links.iter().enumerate() {
                                @if place > 0 { ", " } a href={ "#" (id) } { (title) }
                            } "." }
                        }
                    }))
                }
            }
        }
    }
}

/// The result of one figure, in the words of the answer if configurations differ in more than one
/// axis, and the links that follow it.
fn conclusion(outcome: &Outcome<'_>, number_of_figure: usize, told: Option<&str>, links: &Markup) -> Markup {
    let figure = &outcome.analysis.figures[number_of_figure];
    let standings = outcome.standings(number_of_figure);
    // Their sentence counts what wins where.
    let has_conditions = outcome.analysis.standings.iter().any(|one| !one.conditions.is_empty());
    let unknown: usize =
        outcome.analysis.rows.iter().filter(|row| row.figure == number_of_figure && row.median.is_none()).count();
    html! {
        strong { (figure.name()) } " (" (meaning(figure)) "): "
        @match standings.as_slice() {
            [] => { (why_nothing(figure)) },
            [only] => { (contest(outcome, figure, only)) },
            several => {
                @if let Some(told) = told { (name(told)) ". " }
                @if told.is_none() || !has_conditions { (tally(outcome, figure, several)) }
                (links)
                (each_of(outcome, figure, several))
            },
        }
        @if standings.len() < 2 { (links) }
        @if unknown > 0 && !standings.is_empty() {
            " " (counted(unknown, "configuration has", "configurations have")) " no value: " (why_nothing(figure))
        }
    }
}

/// Why a figure has no value, and what would provide one.
fn why_nothing(figure: &Figure) -> Markup {
    html! {
        @match &figure.measure {
            Measure::Latency(percent) | Measure::Response(percent) => {
                "no trial has enough samples for this percentile ("
                (number(&crate::number::grouped(iolab_statistics::samples_needed(*percent)))) " operations); run \
                    longer trials."
            },
            _ => "no trial has such operations.",
        }
        @if matches!(figure.measure, Measure::Response(_)) { " Response times exist for paced loads only (a rate, or recorded arrivals)." }
    }
}

/// A single contest in a few sentences.
fn contest(outcome: &Outcome<'_>, figure: &Figure, standing: &Standing) -> Markup {
    let best = outcome.short_name(standing.best);
    let value = html! { (number(&shown(figure, standing.median.estimate))) " " (interval_note(figure, standing)) };
    if standing.rivals.is_empty() {
        return html! { (name(&best)) " has " (value) ". There is nothing to compare it with." };
    }
    let having = |wanted: fn(Verdict) -> bool| -> Vec<&Rival> {
        standing.rivals.iter().filter(|rival| wanted(rival.comparison.verdict)).collect()
    };
    let beaten = having(|verdict| verdict == Verdict::Better);
    let equal = having(|verdict| verdict == Verdict::Equivalent);
    let open = having(|verdict| matches!(verdict, Verdict::Undecided { .. }));
    html! {
        @if beaten.len() == standing.rivals.len() { (superlative(figure)) " is " (name(&best)) " with " (value) ", " }
        @else { "the " (superlative(figure)) " median has " (name(&best)) " with " (value) ". It is " }
        @if !beaten.is_empty() {
            (word(figure, Verdict::Better)) " than " (listed(outcome, &beaten))
            @if beaten.len() > MOST_NAMED { "; the nearest, " (against(outcome, beaten[0])) }
            ". "
        }
        @if !equal.is_empty() { @if !beaten.is_empty() { "It is " } (word(figure, Verdict::Equivalent)) " to " (listed(outcome, &equal)) ". " }
        @if !open.is_empty() {
            @if !beaten.is_empty() || !equal.is_empty() { "It is " }
            "undecided against " (listed(outcome, &open)) " (" (word(figure, open[0].comparison.verdict)) "): " (what_decides(outcome, &open))
        }
    }
}

/// Names the configuration with the best value.
fn superlative(figure: &Figure) -> &'static str {
    if figure.is_judged() { "best" } else { "highest" }
}

/// Most rivals named; further ones are counted.
const MOST_NAMED: usize = 4;

fn listed(outcome: &Outcome<'_>, rivals: &[&Rival]) -> Markup {
    html! {
        @if rivals.len() > MOST_NAMED { (rivals.len()) " others" }
        @else {
            @for (place, rival) in rivals.iter().enumerate() {
                @if place > 0 { @if place + 1 == rivals.len() { " and " } @else { ", " } }
                (against(outcome, rival))
            }
        }
    }
}

fn against(outcome: &Outcome<'_>, rival: &Rival) -> Markup {
    html! { (name(&outcome.short_name(rival.configuration))) " (" (number(&change_with_limits(&rival.comparison.ratio))) ")" }
}

/// The number of repeats that would decide, for the rival that needs most.
fn what_decides(outcome: &Outcome<'_>, open: &[&Rival]) -> Markup {
    let decide = would_decide_all(open.iter().map(|rival| &rival.comparison), outcome.rules);
    html! { @if let Some(decide) = decide { (decide) "." } }
}

fn interval_note(figure: &Figure, standing: &Standing) -> Markup {
    let median = &standing.median;
    html! { @if median.low < median.high { "(" (number(&limits(figure, median))) ", " (confidence(median.confidence)) ")" } }
}

/// Several contests: how many each configuration wins; a table has the rest.
fn tally(outcome: &Outcome<'_>, figure: &Figure, standings: &[Standing]) -> Markup {
    let is_clear = |standing: &&Standing| {
        !standing.rivals.is_empty() && standing.rivals.iter().all(|rival| rival.comparison.verdict == Verdict::Better)
    };
    let mut wins: Vec<(String, usize)> = Vec::new();
    for standing in standings.iter().filter(is_clear) {
        let winner = outcome.short_name(standing.best);
        match wins.iter_mut().find(|entry| entry.0 == winner) {
            Some(entry) => entry.1 += 1,
            None => wins.push((winner, 1)),
        }
    }
    wins.arrange_by_key(|entry| std::cmp::Reverse(entry.1));
    let clear: usize = wins.iter().map(|entry| entry.1).sum();
    let alone = standings.iter().filter(|standing| standing.rivals.is_empty()).count();
    let open = standings.len() - clear - alone;
    let axes: Vec<&str> = standings[0].common.iter().map(|(axis, _)| axis.as_str()).collect();
    html! {
        @if clear == 0 {
            "In none of the " (standings.len()) " combinations of " (name(&axes.join(" and "))) " is the " (superlative(figure)) " \
                clearly ahead of all others"
        } @else {
            "In " (standings.len()) " combinations of " (name(&axes.join(" and "))) ", "
            @for (place, (winner, count)) in wins.iter().enumerate() {
                @if place > 0 { ", " } (name(winner)) " is " (word(figure, Verdict::Better)) " than all others in " (count)
            }
            @if open > 0 { "; in " (open) " the " (superlative(figure)) " is undecided against some others" }
        }
        @if alone > 0 { "; in " (alone) " there is nothing to compare" }
        "."
    }
}

fn each_of(outcome: &Outcome<'_>, figure: &Figure, standings: &[Standing]) -> Markup {
    let axes: Vec<&str> = standings[0].common.iter().map(|(axis, _)| axis.as_str()).collect();
    details("Each combination", &each(outcome, figure, standings, &axes))
}

fn each(outcome: &Outcome<'_>, figure: &Figure, standings: &[Standing], axes: &[&str]) -> Markup {
    let head: Vec<&str> =
        axes.iter().copied().chain(["best median", "value", "against the nearest", "verdicts"]).collect();
    let row = |standing: &Standing| {
        let mut cells: Vec<Cell> = standing.common.iter().map(|(_, point)| Cell::Head(point.clone())).collect();
        let nearest = standing.rivals.first().map(|rival| against(outcome, rival));
        cells.extend([
            Cell::Text(outcome.short_name(standing.best)),
            Cell::Number(shown(figure, standing.median.estimate)),
            Cell::Rich(nearest.unwrap_or_else(|| html! { "nothing to compare" })),
            Cell::Rich(verdicts(outcome, figure, standing)),
        ]);
        cells
    };
    let rows: Vec<Vec<Cell>> = standings.iter().map(row).collect();
    let caption = html! { (figure.name()) ": the best of each combination" };
    table(&caption, &format!("{}: the best of each combination", figure.name()), &head, &rows)
}

fn verdicts(outcome: &Outcome<'_>, figure: &Figure, standing: &Standing) -> Markup {
    html! {
        @for (place, rival) in standing.rivals.iter().enumerate() {
            @if place > 0 { ", " }
            (name(&outcome.short_name(rival.configuration))) " " (word(figure, rival.comparison.verdict))
        }
    }
}

/// The word for a verdict on `figure`, from the candidate's point of view. If neither direction is
/// good in itself, it is higher or lower.
pub(crate) fn word(figure: &Figure, verdict: Verdict) -> Markup {
    let (class, sign) = match verdict {
        Verdict::Better if figure.is_judged() => ("better", "▲"),
        Verdict::Worse if figure.is_judged() => ("worse", "▼"),
        Verdict::Better => ("equivalent", "▲"),
        Verdict::Worse => ("equivalent", "▼"),
        Verdict::Equivalent => ("equivalent", "≈"),
        Verdict::Undecided { .. } => ("undecided", "?"),
    };
    let word = iolab_study::word(figure, verdict);
    // The sign is for readers who cannot distinguish the colours; the word is for everyone.
    html! { span class={ "verdict " (class) } { span aria-hidden="true" { (sign) } " " (word) } }
}
