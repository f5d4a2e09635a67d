//! Values of run options: text to what the option stores, or why not.

use iolab_units::{KbBase, NS_PER_SECOND, parse_count, parse_ns};

use super::values::{EtaWhen, IdleProfile, OutputFormat, RunOptions, StudyWords, VaryWords};

/// Most ranks of a run.
const MOST_RANKS: u32 = 10_000;

/// Why a value was refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    pub(crate) suggestion: Option<&'static str>,
}

pub(super) fn refusal(reason: impl Into<String>) -> Refusal {
    Refusal { reason: reason.into(), suggestion: None }
}

fn advise(reason: impl Into<String>, suggestion: &'static str) -> Refusal {
    Refusal { suggestion: Some(suggestion), ..refusal(reason) }
}

pub(super) fn vary(mut run: RunOptions, text: &str) -> Result<RunOptions, Refusal> {
    if !text.contains('=') {
        return Err(advise(format!("`{text}` has no values"), "an option and its values, as in iodepth=1,4,16"));
    }
    // The parser of the command line fills in the place.
    run.study.vary.push(VaryWords { text: text.to_owned(), span: (0, 0) });
    Ok(run)
}

pub(super) fn blocks(run: RunOptions, text: &str) -> Result<RunOptions, Refusal> {
    if text != "auto" {
        number(text, 1, u32::MAX)?;
    }
    Ok(RunOptions { study: StudyWords { blocks: Some(text.to_owned()), ..run.study }, ..run })
}

pub(super) fn add(place: &mut Vec<String>, text: &str) -> Result<(), Refusal> {
    if text.is_empty() {
        return Err(refusal("the value is empty"));
    }
    place.push(text.to_owned());
    Ok(())
}

pub(super) fn time(text: &str) -> Result<u64, Refusal> {
    parse_ns(text, NS_PER_SECOND).map_err(|error| refusal(error.to_string()))
}

pub(super) fn count(text: &str, min: i64, max: i64) -> Result<i64, Refusal> {
    let count = parse_count(text, KbBase::K1024).map_err(|error| refusal(error.to_string()))?;
    if (min..=max).contains(&count) {
        return Ok(count);
    }
    Err(refusal(format!("{count} is not between {min} and {max}")))
}

pub(super) fn number(text: &str, min: u32, max: u32) -> Result<u32, Refusal> {
    // Fits into `u32`, because `max` does.
    Ok(count(text, i64::from(min), i64::from(max))? as u32)
}

pub(super) fn formats(mut run: RunOptions, text: &str) -> Result<RunOptions, Refusal> {
    for word in text.split(',') {
        let Some(format) = OutputFormat::parse(word) else {
            return Err(advise(format!("`{word}` is not a report format"), OutputFormat::WORDS));
        };
        if !run.output_formats.contains(&format) {
            run.output_formats.push(format);
        }
    }
    Ok(run)
}

pub(super) fn rank(run: RunOptions, text: &str) -> Result<RunOptions, Refusal> {
    let parts = text.split_once('/').map(|(rank, ranks)| (number(rank, 0, MOST_RANKS), number(ranks, 1, MOST_RANKS)));
    match parts {
        Some((Ok(rank), Ok(ranks))) if rank < ranks => Ok(RunOptions { rank: Some((rank, ranks)), ..run }),
        _ => {
            Err(advise(format!("`{text}` is not a rank"), "the number of this rank and how many there are: 0/4 to 3/4"))
        }
    }
}

pub(super) fn start_at(run: RunOptions, text: &str) -> Result<RunOptions, Refusal> {
    let Some(ns) = crate::dates::moment_ns(text) else {
        return Err(advise(
            format!("`{text}` is not a moment"),
            "seconds since 1970 (1795324917.5; $(date -d '+10 sec' +%s)), or a date and time in UTC (2026-11-27T09:30:00)",
        ));
    };
    Ok(RunOptions { start_at_unix_ns: Some(ns), ..run })
}

pub(super) fn idle(run: RunOptions, text: &str) -> Result<RunOptions, Refusal> {
    let profile = match text {
        "calibrate" => IdleProfile::Calibrate,
        "system" => IdleProfile::System,
        "percpu" => IdleProfile::PerCpu,
        other => {
            return Err(advise(format!("`{other}` is not a value of --idle-prof"), "system, percpu or calibrate"));
        }
    };
    Ok(RunOptions { idle_profile: Some(profile), ..run })
}

pub(super) fn eta(run: RunOptions, text: &str) -> Result<RunOptions, Refusal> {
    let eta = match text {
        "auto" => EtaWhen::Auto,
        "always" => EtaWhen::Always,
        "never" => EtaWhen::Never,
        other => return Err(advise(format!("`{other}` is not a value of --eta"), "always, never or auto")),
    };
    Ok(RunOptions { eta, ..run })
}
