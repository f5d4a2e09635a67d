//! The simulation behind the choice in docs/decisions/0013: how often methods call equal
//! configurations different, and how often they find a true difference, when trials are noisy in
//! ways that are typical of storage.
//!
//! ```sh
//! cargo run --release -p iolab-statistics --example methods_of_verdicts
//! ```
//!
//! A cell `a / p` says: in `a` % of studies without any difference, some pair is called different;
//! if one configuration is better by the true ratio, `p` % of studies call it different from the
//! first. Without differences, 100 - a is the simultaneous coverage of the intervals, because they
//! move with the effects.

#![allow(clippy::print_stdout, reason = "it is a program that prints a table")]

#[path = "../tests/statistics/strays.rs"]
mod strays;

use iolab_statistics::{
    Better, DecisionRules, Family, Method, Random, Spread, Verdict, compare, holm, settle, signed_rank,
};

use strays::{KINDS, Strays, pairs, study};

const STUDIES: usize = 4000;

/// Decides which of some pairs differ, from the values of both.
type Decide = fn(&[(Vec<f64>, Vec<f64>)]) -> Vec<bool>;
/// Decides which configurations a method calls different: any two, and the first and the last.
type Says = Box<dyn Fn(&[Vec<f64>]) -> (bool, bool)>;

fn methods(rows: usize, blocks: usize) -> Vec<(String, Says)> {
    let family = |name: &str, method: Method| -> (String, Says) {
        let family = Family::with(&vec![vec![true; blocks]; rows], &pairs(rows), method);
        let critical = family.critical(0.95).expect("a spread is known");
        let says = move |values: &[Vec<f64>]| {
            let stated = family.state(values).stated;
            let differs: Vec<bool> =
                stated.iter().flatten().map(|one| one.estimate.abs() > critical * one.error).collect();
            (differs.contains(&true), differs[rows - 2])
        };
        (format!("{name} (k = {critical:.2})"), Box::new(says))
    };
    let of_pairs = move |decide: Decide| -> Says {
        Box::new(move |values: &[Vec<f64>]| {
            let exp = |row: &Vec<f64>| row.iter().map(|value| value.exp()).collect::<Vec<f64>>();
            let both = |one: usize, other: usize| (exp(&values[one]), exp(&values[other]));
            let all: Vec<_> = (0..rows).flat_map(|one| (one + 1..rows).map(move |other| (one, other))).collect();
            let all: Vec<_> = all.into_iter().map(|(one, other)| both(one, other)).collect();
            let differs = decide(&all);
            (differs.contains(&true), differs[rows - 2])
        })
    };
    let own = |far: f64, floor: f64, hard_cases: bool| Method { far, spread: Spread::Own { floor }, hard_cases };
    let mut all = vec![
        ("signed rank, Holm".to_owned(), of_pairs(by_ranks)),
        ("paired t, Sidak".to_owned(), of_pairs(by_student)),
        family("common spread (Tukey)", Method::TEXTBOOK),
        family("common spread, far 3", Method { far: 3.0, ..Method::TEXTBOOK }),
        family("own spread", own(f64::INFINITY, 0.0, false)),
        family("own, floor 1/2", own(f64::INFINITY, 0.5, false)),
        family("own, floor 1/2, far 3", own(3.0, 0.5, false)),
        family("own, floor 1/2, far 2, hard cases", own(2.0, 0.5, true)),
    ];
    all.push(family("chosen: own, floor 1/2, far 3, hard cases", Method::default()));
    all
}

fn by_ranks(pairs: &[(Vec<f64>, Vec<f64>)]) -> Vec<bool> {
    let p = |(theirs, ours): &(Vec<f64>, Vec<f64>)| {
        let logs: Vec<f64> = ours.iter().zip(theirs).map(|(one, other)| (one / other).ln()).collect();
        signed_rank(&logs).map_or(1.0, |test| test.p_value)
    };
    holm(&pairs.iter().map(p).collect::<Vec<_>>()).into_iter().map(|p| p <= 0.05).collect()
}

fn by_student(pairs: &[(Vec<f64>, Vec<f64>)]) -> Vec<bool> {
    // The number of further repeats is not needed.
    let rules = DecisionRules { zone: 0.0, most_blocks: 0, ..DecisionRules::default() };
    let mut all: Vec<_> =
        pairs.iter().filter_map(|(theirs, ours)| compare(theirs, ours, Better::Higher, &rules)).collect();
    settle(&mut all, &rules);
    all.iter().map(|one| matches!(one.verdict, Verdict::Better | Verdict::Worse)).collect()
}

fn main() {
    for (rows, blocks, ratio) in [(9, 5, 1.25), (9, 3, 2.0), (2, 7, 1.12), (2, 3, 2.0), (4, 5, 1.25), (20, 5, 1.25)] {
        println!("\n{rows} configurations, {blocks} blocks, a true ratio of {ratio}\n");
        println!("| method | {} |", KINDS.map(|kind| kind.0).join(" | "));
        println!("| --- |{}", " --- |".repeat(KINDS.len()));
        for (name, says) in methods(rows, blocks) {
            let cell = |(seed, kind): (usize, &(&str, Strays))| {
                let mut random = Random::new(seed as u64 + 100);
                let (mut alarms, mut found) = (0, 0);
                for _ in 0..STUDIES {
                    let mut values = study(&mut random, rows, blocks, kind.1);
                    alarms += usize::from(says(&values).0);
                    values[rows - 1].iter_mut().for_each(|value| *value += f64::ln(ratio));
                    found += usize::from(says(&values).1);
                }
                let percent = |count: usize| 100.0 * count as f64 / STUDIES as f64;
                format!("{:.1} / {:.0}", percent(alarms), percent(found))
            };
            let cells: Vec<String> = KINDS.iter().enumerate().map(cell).collect();
            println!("| {name} | {} |", cells.join(" | "));
        }
    }
}
