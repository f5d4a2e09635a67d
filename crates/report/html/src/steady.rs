//! The steady state: how storage was preconditioned, the result of the rounds, and how much of the
//! beginning of each trial was left out.
//!
//! Rounds are judged as in SNIA, "Solid State Storage Performance Test Specification" 2.0.2,
//! section 2.1.24. Nothing is judged again here.

use iolab_statistics::{SteadyState, median};
use iolab_study::{Before, Preconditioned, TrialWarmUp, WarmUpMethod};
use maud::{Markup, html};

use crate::charts::{Gallery, judged_window, round_figures};
use crate::frame::{Cell, counted, details, name, number, table};
use crate::number::{bytes, percent, shown, time};
use crate::standing::Outcome;

/// Whether the study did anything for a steady state.
pub(crate) fn exists(outcome: &Outcome<'_>) -> bool {
    !outcome.analysis.preconditioned.is_empty() || !outcome.analysis.warm_ups.is_empty()
}

/// The figures of the section.
pub(crate) fn gallery(outcome: &Outcome<'_>, prefix: &str) -> Gallery {
    let mut gallery = Gallery::new(prefix);
    gallery.group("", "");
    round_figures(&mut gallery, outcome, &|before| before_what(outcome, before));
    gallery
}

/// The section, with the figures of its [`gallery()`].
pub(crate) fn section(outcome: &Outcome<'_>, gallery: &Gallery) -> Markup {
    let analysis = outcome.analysis;
    html! {
        @if !analysis.preconditioned.is_empty() {
            h3 { "Preconditioning" }
            (preconditioning(outcome))
            (gallery.markup())
        }
        @if !analysis.warm_ups.is_empty() {
            h3 { "Warm-up" }
            (warm_ups(outcome))
        }
    }
}

/// Warnings for the conclusions: storage that was not as fresh, or not as steady, as the study
/// requires.
pub(crate) fn caveats(outcome: &Outcome<'_>) -> Vec<String> {
    let all = &outcome.analysis.preconditioned;
    let having = |flawed: fn(&Preconditioned) -> bool| all.iter().filter(|done| flawed(done)).count();
    let unsettled =
        having(|done| matches!(done.verdict, Some(SteadyState::NotYet { .. } | SteadyState::GivenUp { .. })));
    let unpurged = having(|done| done.purge.as_ref().is_some_and(|purge| !purge.not_done.is_empty()));
    let share = |count: usize| match all.len() {
        1 => String::new(),
        of => format!(" in {count} of {of} preconditionings"),
    };
    let mut caveats = Vec::new();
    if unsettled > 0 {
        caveats.push(format!(
            "No steady state was reached before the trials{}: they measured storage that was still changing.",
            share(unsettled)
        ));
    }
    if unpurged > 0 {
        caveats.push(format!(
            "The storage could not be purged{}: earlier writes may affect the results.",
            share(unpurged)
        ));
    }
    caveats
}

fn before_what(outcome: &Outcome<'_>, before: Before) -> String {
    match (before.block, before.configuration) {
        (None, _) => "the study".to_owned(),
        (Some(block), None) => format!("block {}", block + 1),
        (Some(block), Some(configuration)) => {
            let level = before.level.and_then(|level| {
                let ladder = outcome.study.ladder.as_ref()?;
                Some(format!(", load {} %", ladder.levels.get(level)?))
            });
            format!("{} in block {}{}", outcome.name(configuration), block + 1, level.unwrap_or_default())
        }
    }
}

fn preconditioning(outcome: &Outcome<'_>) -> Markup {
    let all = &outcome.analysis.preconditioned;
    let rules = all.iter().find(|done| done.verdict.is_some()).map(|done| done.rules);
    let row = |done: &Preconditioned| {
        let [window, mean, range, slope] = judged(done);
        vec![
            Cell::Head(before_what(outcome, done.before)),
            Cell::Text(
                done.purge
                    .as_ref()
                    .map_or("\u{2013}", |purge| if purge.not_done.is_empty() { "yes" } else { "no" })
                    .to_owned(),
            ),
            Cell::Number(done.written_bytes.map_or("\u{2013}".to_owned(), |written| bytes(written as f64))),
            Cell::Number(done.rounds.len().to_string()),
            Cell::Rich(verdict(done)),
            Cell::Text(window),
            Cell::Number(mean),
            Cell::Number(range),
            Cell::Number(slope),
        ]
    };
    let head = ["before", "purged", "written", "rounds", "verdict", "window", "mean", "apart", "line moves by"];
    let rows: Vec<Vec<Cell>> = all.iter().map(row).collect();
    let reasons = crate::findings::repeated(
        all.iter().filter_map(|done| done.purge.as_ref()).flat_map(|purge| &purge.not_done).map(String::as_str),
    );
    html! {
        @if let Some(rules) = rules {
            p { "Rounds of the same load, until in a window of " (rules.window) " the largest and the smallest value lie at most "
                (number(&percent(rules.range * 100.0))) " of the mean apart and their linear trend is at most "
                (number(&percent(rules.slope * 100.0))) " of it, or " (rules.most_rounds) " rounds are over (SNIA Solid State Storage Performance Test Specification 2.0.2)." }
        } @else {
            p { "What was written before the trials. No rounds were requested, so it is unknown whether the storage \
                was steady." }
        }
        (table(&html! { "Each preconditioning" }, "Each preconditioning", &head, &rows))
        @if !reasons.is_empty() {
            p { strong.severity { "Not purged:" } }
            ul { @for (reason, count) in &reasons { li { (name(reason)) @if *count > 1 { span.weak { " (" (count) " times)" } } } } }
        }
    }
}

/// The window that was judged, its mean, and the spread of its values and the slope of its line.
fn judged(done: &Preconditioned) -> [String; 4] {
    let share = |value: f64| percent(value * 100.0);
    judged_window(done).map_or(["\u{2013}"; 4].map(str::to_owned), |window| {
        [
            format!("rounds {} to {}", window.start + 1, window.end),
            shown(&done.figure, window.mean),
            share(window.range_share),
            share(window.slope_share),
        ]
    })
}

fn verdict(done: &Preconditioned) -> Markup {
    let (class, mark, word) = match done.verdict {
        Some(SteadyState::Reached { .. }) => ("verdict better", "● ", "steady"),
        Some(SteadyState::NotYet { .. }) => ("verdict undecided", "○ ", "not steady yet"),
        Some(SteadyState::GivenUp { .. }) => ("verdict worse", "▲ ", "not steady, given up"),
        None => return html! { "\u{2013}" },
    };
    html! { span class=(class) { span aria-hidden="true" { (mark) } (word) } }
}

/// The time left out of trials, by configuration, with a list of the trials.
fn warm_ups(outcome: &Outcome<'_>) -> Markup {
    let all = &outcome.analysis.warm_ups;
    let row = |configuration: usize| {
        let own: Vec<&TrialWarmUp> = all.iter().filter(|one| one.trial.configuration == configuration).collect();
        let cut: Vec<f64> =
            own.iter().map(|one| one.warm_up.left_out_ns as f64).filter(|left_out| *left_out > 0.0).collect();
        let largest_share = own.iter().map(|one| share_percent(one)).reduce(f64::max).unwrap_or(0.0);
        let count = |method: WarmUpMethod| own.iter().filter(|one| one.warm_up.method == method).count().to_string();
        let or_dash = |value: Option<f64>| Cell::Number(value.map_or("\u{2013}".to_owned(), time));
        (!own.is_empty()).then(|| {
            vec![
                Cell::Head(outcome.name(configuration)),
                Cell::Number(cut.len().to_string()),
                or_dash(median(&cut)),
                or_dash(cut.iter().copied().reduce(f64::max)),
                Cell::Number(percent(largest_share)),
                Cell::Number(count(WarmUpMethod::Mser5)),
                Cell::Number(count(WarmUpMethod::TooShort)),
            ]
        })
    };
    let rows: Vec<Vec<Cell>> = (0..outcome.design.configurations.len()).filter_map(row).collect();
    let head = [
        "configuration",
        "trials cut",
        "median left out",
        "most left out",
        "largest share of a trial",
        "never settled",
        "too short to tell",
    ];
    html! {
        p { "The start of a trial is left out, up to where its rate reaches its final level (change points, PELT); \
            if it never settled, "
            "or had too few intervals, MSER-5 determined how much. Trials with nothing to leave out are not counted. "
            "CPU time and device counters cover the whole trial." }
        (table(&html! { "What was left out of the trials" }, "What was left out of the trials", &head, &rows))
        (details(&format!("Each of the {}", counted(all.len(), "trial", "trials")), &each_warm_up(outcome, all)))
    }
}

fn each_warm_up(outcome: &Outcome<'_>, all: &[TrialWarmUp]) -> Markup {
    let row = |one: &TrialWarmUp| {
        let load = one.trial.level.and_then(|level| outcome.study.ladder.as_ref()?.levels.get(level).copied());
        let method = match one.warm_up.method {
            WarmUpMethod::ChangePoints => "change points",
            WarmUpMethod::Mser5 => "MSER-5",
            WarmUpMethod::TooShort => "too short to tell",
        };
        vec![
            Cell::Head(outcome.name(one.trial.configuration)),
            Cell::Number((one.trial.block + 1).to_string()),
            Cell::Text(load.map_or("closed loop".to_owned(), |load| format!("{load} %"))),
            Cell::Number(time(one.warm_up.left_out_ns as f64)),
            Cell::Number(percent(share_percent(one))),
            Cell::Text(method.to_owned()),
        ]
    };
    let rows: Vec<Vec<Cell>> = all.iter().take(MOST_TRIALS).map(row).collect();
    let head = ["configuration", "block", "load", "left out", "share", "found by"];
    html! {
        (table(&html! { "Warm-up of each trial" }, "Warm-up of each trial", &head, &rows))
        @if all.len() > MOST_TRIALS { p { "and " (all.len() - MOST_TRIALS) " more" } }
    }
}

/// Most trials listed.
const MOST_TRIALS: usize = 300;

fn share_percent(one: &TrialWarmUp) -> f64 {
    if one.warm_up.of_ns == 0 { 0.0 } else { one.warm_up.left_out_ns as f64 / one.warm_up.of_ns as f64 * 100.0 }
}
