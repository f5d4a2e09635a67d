//! The card: results on one screen of a terminal.

use std::fmt::Write;
use std::path::Path;

use iolab_recording::Severity;
use iolab_statistics::{Interval, SniaRules, SteadyState};
use iolab_text::{Alignment, aligned, exact_bytes, grouped};
use iolab_units::rounded_ns;

use crate::drives::{Likeness, Ratio, likeness};
use crate::measured::MeasuredTarget;
use crate::profiles::AccessPattern;
use crate::results::{BenchResults, Case};

/// Findings shown: the most severe come first, and a screen is short.
const FINDINGS: usize = 5;

/// Columns of a line.
const WIDTH: usize = 110;

/// The card of these results.
pub fn card(results: &BenchResults) -> String {
    let mut text = head(results);
    text += "\n";
    text += &table(results);
    text += &below_the_table(results);
    text += "\nlike\n";
    item(&mut text, &like(results));
    text += "\nlimited by\n";
    for line in limits(results) {
        item(&mut text, &line);
    }
    text += "\nbe careful\n";
    for line in findings(results).into_iter().chain(cautions(results)) {
        item(&mut text, &line);
    }
    text
}

/// Adds a line, which is broken between words if it is too long for a terminal.
fn item(text: &mut String, line: &str) {
    let mut column = 0;
    for word in line.split(' ') {
        let length = word.chars().count() + 1;
        let lead = match column {
            0 => "  ",
            _ if column + length > WIDTH => "\n      ",
            _ => " ",
        };
        column = if lead.starts_with('\n') { lead.len() + length } else { column + length };
        text.push_str(lead);
        text.push_str(word);
    }
    text.push('\n');
}

/// What was measured and how, a sentence each.
pub(crate) fn facts(results: &BenchResults) -> Vec<String> {
    let (measured, pace) = (&results.measured, results.pace);
    let how = if measured.direct {
        "direct I/O, bypassing the page cache"
    } else {
        "BUFFERED: no direct I/O here, so this measures the page cache, not the drive"
    };
    vec![
        format!("{}: {}, {}", measured.target, measured.what, exact_bytes(measured.size_bytes)),
        format!(
            "{}, {how}; profile {}, {} interleaved rounds of {} ms",
            measured.engine,
            results.profile.name,
            results.rounds(),
            pace.runtime_ms
        ),
    ]
}

/// The target as readers on other machines need it: a relative folder as an absolute path.
pub(crate) fn place(measured: &MeasuredTarget) -> String {
    let folder = Path::new(&measured.filename).ancestors().nth(2).filter(|folder| folder.is_absolute());
    match measured.target.starts_with('.').then_some(folder).flatten() {
        Some(folder) => folder.display().to_string(),
        None => measured.target.clone(),
    }
}

/// The fastest of each kind in one sentence.
pub(crate) fn answer(results: &BenchResults) -> String {
    let best = |wanted: &dyn Fn(&Case) -> bool, value: fn(&Case) -> Option<Interval>| {
        let cases = results.cases.iter().filter(|case| wanted(case)).filter_map(value);
        cases.map(|one| one.estimate).max_by(f64::total_cmp)
    };
    let speed = |access: AccessPattern| best(&|case| case.pattern.access == access, Case::bytes_per_second);
    let iops = |access: AccessPattern| best(&|case| case.pattern.access == access, Case::iops);
    let megabytes = |value: f64| format!("{} MB/s", significant(value / 1e6));
    let thousands = |value: f64| format!("{}k IOPS", significant(value / 1e3));
    let parts = [
        speed(AccessPattern::Read).map(|value| format!("reads {}", megabytes(value))),
        speed(AccessPattern::Write).map(|value| format!("writes {}", megabytes(value))),
        iops(AccessPattern::RandomRead).map(|value| format!("random reads {}", thousands(value))),
        iops(AccessPattern::RandomWrite).map(|value| format!("random writes {}", thousands(value))),
        iops(AccessPattern::Commit).map(|value| format!("commits {}/s", significant(value))),
    ];
    let told: Vec<String> = parts.into_iter().flatten().collect();
    format!(
        "{}: {}",
        place(&results.measured),
        if told.is_empty() { "nothing was measured".to_owned() } else { told.join(", ") }
    )
}

fn head(results: &BenchResults) -> String {
    let facts = facts(results);
    format!("{}\n{}\n", facts[0], facts[1])
}

fn table(results: &BenchResults) -> String {
    let mut lines = vec![["", "median", "interval", "IOPS", "p50", "p99"].map(str::to_owned)];
    lines.extend(results.cases.iter().map(row));
    aligned(&lines, |column| if column == 0 { Alignment::Left } else { Alignment::Right })
}

fn row(case: &Case) -> [String; 6] {
    let latency = |percent| case.latency_ns(percent).map_or("-".to_owned(), |ns| rounded_ns(ns as f64));
    let iops = case.iops().map_or("-".to_owned(), |iops| grouped(iops.estimate.round() as u64));
    let (median, interval) = if case.is_commit() {
        shown(case.iops(), |value| format!("{}/s", significant(value)))
    } else if case.pattern.access.is_sequential() {
        shown(case.bytes_per_second(), |value| format!("{} MB/s", significant(value / 1e6)))
    } else {
        shown(case.iops(), |value| format!("{}k IOPS", significant(value / 1e3)))
    };
    let name = if case.is_commit() { format!("{} *", case.pattern.name) } else { case.pattern.name.to_owned() };
    [name, median, interval, iops, latency(50.0), latency(99.0)]
}

fn shown(interval: Option<Interval>, format: impl Fn(f64) -> String) -> (String, String) {
    let Some(interval) = interval else { return ("-".to_owned(), "-".to_owned()) };
    let low = format(interval.low);
    let low = low.split([' ', '/']).next().unwrap_or_default().trim_end_matches('k').to_owned();
    (format(interval.estimate), format!("{low} to {}", format(interval.high)))
}

/// Three digits.
fn significant(value: f64) -> String {
    let decimals = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}")
}

fn below_the_table(results: &BenchResults) -> String {
    let mut text = String::new();
    let confidence = results.cases.iter().filter_map(Case::iops).map(|interval| interval.confidence);
    if let Some(least) = confidence.min_by(f64::total_cmp) {
        let _ = writeln!(text, "Intervals are {:.0} % confidence intervals of the median.", least * 100.0);
    }
    if results.cases.iter().any(Case::is_commit) {
        text += "* latency of fdatasync alone, without the preceding write\n";
    }
    let left_out: Vec<&str> = results.left_out().map(|pattern| pattern.name).collect();
    if !left_out.is_empty() {
        let names = left_out.join("; ");
        item(&mut text, &format!("Not measured, because writing would destroy existing data: {names}"));
    }
    text
}

pub(crate) fn like(results: &BenchResults) -> String {
    let listed = |ratios: &[Ratio]| {
        let each = ratios.iter().map(|one| format!("{} {:.2}", one.figure, one.ratio));
        each.collect::<Vec<_>>().join(", ")
    };
    match likeness(results) {
        Likeness::Unknown(why) => format!("unknown: {why}"),
        Likeness::Like(drive, ratios) => {
            format!("{} ({}); from its data sheet: {}", drive.name, drive.summary, listed(&ratios))
        }
        Likeness::Unlike(drive, ratios) => {
            format!("no known drive; compared with the data sheet of the nearest, {}: {}", drive.name, listed(&ratios))
        }
    }
}

/// Whether the rounds settled, by SNIA's rule.
fn settled(results: &BenchResults) -> Option<String> {
    let rules = SniaRules::default();
    let within = format!(
        "values of {} rounds within {:.0} % of their mean, and their trend within {:.0} % (SNIA SSS PTS 2.0.2)",
        rules.window,
        rules.range * 100.0,
        rules.slope * 100.0
    );
    Some(match results.steady.as_ref()? {
        SteadyState::Reached { start, end, .. } => {
            format!("steady: the results are from rounds {} to {end}, which were stable: {within}", start + 1)
        }
        SteadyState::NotYet { .. } | SteadyState::GivenUp { .. } => {
            format!(
                "warning: not steady after {}: the drive's speed is still changing; steady means {within}",
                iolab_text::counted(results.rounds() as u64, "round")
            )
        }
    })
}

/// What limited the patterns.
pub(crate) fn limits(results: &BenchResults) -> Vec<String> {
    let line = |(word, names): &(_, Vec<_>)| {
        let is_all = names.len() == results.cases.len() && names.len() > 1;
        format!("{word}: {}", if is_all { "every pattern".to_owned() } else { names.join("; ") })
    };
    results.seen.limits.iter().map(line).collect()
}

/// Warnings besides findings.
pub(crate) fn cautions(results: &BenchResults) -> Vec<String> {
    let mut lines: Vec<String> = settled(results).into_iter().collect();
    if !results.measured.direct {
        lines.push("INVALID: this measures the page cache".to_owned());
    }
    if results.measured.is_new_each_time {
        lines.push("every pattern ran on its own new virtual SSD that nothing had been written to".to_owned());
    }
    if results.cases.iter().any(|case| case.pattern.access.writes()) {
        lines.push("in a short run the drive's cache absorbs writes: sustained writes may be slower".to_owned());
    }
    lines.push("do not compare two cards: use `iolab study` or `iolab run --vary`".to_owned());
    lines
}

/// The most severe findings, a line each.
fn findings(results: &BenchResults) -> Vec<String> {
    let patterns = results.cases.len();
    let word = |severity: Severity| match severity {
        Severity::Invalid => "INVALID",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let shown = results.seen.findings.iter().take(FINDINGS);
    let mut lines: Vec<String> = shown
        .map(|(finding, keys)| {
            let word = word(finding.severity);
            format!("{word} [{}, {} of {patterns}]: {}", finding.rule, keys.len(), finding.consequence)
        })
        .collect();
    let more = results.seen.findings.len().saturating_sub(FINDINGS);
    if more > 0 {
        lines.push(format!("and {more} more (see --json or the page)"));
    }
    lines
}
