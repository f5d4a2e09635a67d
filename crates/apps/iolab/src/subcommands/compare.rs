//! `iolab compare`: compares two sets of runs.

use std::path::Path;

use anyhow::Context;
use clap::Args;
use iolab_archive::sides;
use iolab_comparison::{
    ComparisonRequest, ComparisonResult, Condition, IntervalsFrom, Judgement, PairingChoice, Side, describe,
    hold_against, markdown,
};
use iolab_html::{ComparisonReport, comparison_page};
use iolab_outputs::OutputKind;
use iolab_statistics::DecisionRules;
use iolab_study::Figure;

use crate::exit::{ExitFailure, WORSE};
use crate::{output, outputs};

/// What to compare, how, and what must not have become worse.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Baseline and candidate: recordings, fio JSON reports, folders of either, study folders, or
    /// trials of a study (`FOLDER:build=base`); separate several with commas
    #[arg(value_name = "BASELINE CANDIDATE", num_args = 0..=2, conflicts_with_all = ["baseline", "candidate"])]
    sides: Vec<String>,
    /// Baseline runs, instead of the first argument
    #[arg(long, value_name = "RUN", num_args = 1.., value_delimiter = ',', requires = "candidate")]
    baseline: Vec<String>,
    /// Candidate runs, instead of the second argument
    #[arg(long, value_name = "RUN", num_args = 1.., value_delimiter = ',', requires = "baseline")]
    candidate: Vec<String>,
    /// Metrics to compare (`iops,p99,read.p99.9`); by default the usual ones
    #[arg(long, value_name = "FIGURE", value_delimiter = ',')]
    figures: Vec<String>,
    /// Pair the runs: study blocks by number, other runs by start time
    #[arg(long, conflicts_with = "unpaired")]
    paired: bool,
    /// Do not pair the runs, even if they have block numbers
    #[arg(long)]
    unpaired: bool,
    /// Treat differences up to this size as unimportant
    #[arg(long, default_value = "2%", value_name = "PERCENT", value_parser = percent)]
    zone: f64,
    /// Confidence level of the intervals
    #[arg(long, default_value = "95%", value_name = "PERCENT", value_parser = percent)]
    confidence: f64,
    /// How to compute intervals of ratios: from the test's distribution (Student, Welch), or by
    /// resampling trials
    #[arg(long, default_value = "test", value_name = "SOURCE", value_parser = ["test", "bootstrap"])]
    intervals: String,
    /// Exit with code 4 if the data show this (`p99 > +5%`, `iops < -3%`); may be repeated
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    fail_if: Vec<String>,
    /// Exit with code 4 also if the data cannot decide
    #[arg(long, requires = "fail_if")]
    fail_if_unsure: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    /// Print Markdown instead of text: a comment for a pull request
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Write to this file; a name that ends in .html gets a page with forest plots
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Allow the output to replace a file that iolab did not write
    #[arg(long)]
    force: bool,
}

/// Parses `2%`, `2 %` or `2` as a fraction.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim();
    let share = number.parse::<f64>().map_err(|_| "a percentage, as in 2%".to_owned())? / 100.0;
    if (0.0..1.0).contains(&share) { Ok(share) } else { Err("from 0% to less than 100%".to_owned()) }
}

pub(crate) fn main(arguments: &CompareArguments) -> Result<u8, ExitFailure> {
    let [baseline, candidate] = named_sides(arguments)?;
    let inputs = baseline.iter().chain(&candidate).map(|name| (Path::new(name), "a run to compare"));
    let mut outputs = outputs::beside(arguments.force, inputs);
    let path = arguments.output.as_deref().map(Path::new);
    path.map(|path| outputs.place(path, OutputKind::Report, output::OUTPUT)).transpose()?;
    let (baseline, candidate) = sides::load(&baseline, &candidate)?;
    let request = request(arguments, &[&baseline.figures[..], &candidate.figures].concat())?;
    let outcome = hold_against(&baseline, &candidate, &request);
    let text = told(arguments, &outcome, [&baseline, &candidate])?;
    match path {
        None if !arguments.json && !arguments.markdown => output::print_comparison(&text)?,
        _ => output::write_or_print(&mut outputs, path, &text)?,
    }
    let fails = |judgement: Judgement| match judgement {
        Judgement::Holds => true,
        Judgement::Open => arguments.fail_if_unsure,
        Judgement::Refuted => false,
    };
    let failing = outcome.conditions.iter().filter(|one| fails(one.judgement)).map(|one| one.condition.text.as_str());
    let failing: Vec<&str> = failing.collect();
    if failing.is_empty() {
        return Ok(0);
    }
    eprintln!("iolab: {}", failing.join("; "));
    Ok(WORSE)
}

fn told(arguments: &CompareArguments, outcome: &ComparisonResult, sides: [&Side; 2]) -> Result<String, ExitFailure> {
    let wants_page = arguments.output.as_deref().is_some_and(|path| path.ends_with(".html") || path.ends_with(".htm"));
    if wants_page && (arguments.json || arguments.markdown) {
        let (other, what) = if arguments.json { ("--json", "JSON") } else { ("--markdown", "Markdown") };
        return Err(ExitFailure::mistake(format!(
            "iolab: -o FILE.html writes a page and {other} writes {what}: use one of them"
        )));
    }
    Ok(if wants_page {
        let version = env!("CARGO_PKG_VERSION");
        let command = command_line();
        comparison_page(&ComparisonReport { outcome, sides, command: &command, version }).html
    } else if arguments.json {
        iolab_text::indented(&serde_json::to_string(outcome).context("the outcome as JSON")?) + "\n"
    } else if arguments.markdown {
        markdown(outcome)
    } else {
        describe(outcome)
    })
}

/// The command as it was given, quoted for a shell.
fn command_line() -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./,:=@%+".contains(letter);
    let word = |word: String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    let words = std::env::args_os().skip(1).map(|argument| word(argument.to_string_lossy().into_owned()));
    std::iter::once("iolab".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// What is asked for. Figures have the usual names, or are `known`: those of the compared studies.
fn request(arguments: &CompareArguments, known: &[Figure]) -> Result<ComparisonRequest, ExitFailure> {
    let figures = arguments.figures.iter().map(|name| match known.iter().find(|figure| figure.name() == *name) {
        Some(figure) => Ok(figure.clone()),
        None => Figure::from_name(name).map_err(|error| ExitFailure::mistake(format!("iolab: --figures: {error}"))),
    });
    let conditions = arguments.fail_if.iter().map(|text| {
        Condition::parse(text, known)
            .map_err(|error| ExitFailure::mistake(format!("iolab: --fail-if:\n{}", error.render())))
    });
    let pairing = match (arguments.paired, arguments.unpaired) {
        (true, _) => PairingChoice::Paired,
        (_, true) => PairingChoice::Unpaired,
        _ => PairingChoice::Automatic,
    };
    Ok(ComparisonRequest {
        figures: figures.collect::<Result<_, _>>()?,
        conditions: conditions.collect::<Result<_, _>>()?,
        pairing,
        intervals: if arguments.intervals == "bootstrap" { IntervalsFrom::Bootstrap } else { IntervalsFrom::Test },
        rules: DecisionRules { confidence: arguments.confidence, zone: arguments.zone, ..DecisionRules::default() },
    })
}

/// The names of the runs of each side.
fn named_sides(arguments: &CompareArguments) -> Result<[Vec<String>; 2], ExitFailure> {
    match &arguments.sides[..] {
        [baseline, candidate] => Ok([listed(baseline), listed(candidate)]),
        [] if !arguments.baseline.is_empty() => Ok([arguments.baseline.clone(), arguments.candidate.clone()]),
        _ => Err(ExitFailure::mistake(
            "iolab: name two runs: iolab compare BASELINE CANDIDATE, or --baseline RUN… --candidate RUN…",
        )),
    }
}

/// Splits a word at its commas, unless a file of that name exists.
fn listed(word: &str) -> Vec<String> {
    if std::path::Path::new(word).exists() {
        return vec![word.to_owned()];
    }
    word.split(',').map(str::to_owned).collect()
}
