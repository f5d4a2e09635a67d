//! `cargo xtask beside-fio --bench`: the patterns of `iolab bench` beside fio's own figures for the
//! same patterns, in one interleaved run.
//!
//! The patterns come from iolab's JSON, which has the options of each in fio's own notation. Both
//! programs measure the same file in turn, every pattern once, and which goes first changes from
//! pair to pair.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::verdict::{Comparison, Verdict, compare};
use crate::area::TestArea;
use crate::spread::digits;

/// What is compared of every pattern. Of a mix, which has two directions, the latencies of reads.
const FIGURES: [&str; 3] = ["IOPS", "p50 µs", "p99 µs"];

type Figures = [f64; FIGURES.len()];

/// One pattern, as iolab's JSON has it.
#[derive(Debug, Clone, PartialEq)]
struct Pattern {
    name: String,
    options: Vec<String>,
    is_commit: bool,
    figures: Figures,
}

/// Compares `pairs` rounds of all patterns, each of `runtime_ms`; a Markdown table.
pub(super) fn table(
    fio: &Path,
    iolab: &Path,
    area: &TestArea,
    pairs: usize,
    runtime_ms: u64,
) -> Result<String, String> {
    let patterns = ours(iolab, area, runtime_ms)?;
    let theirs = |round: &[Pattern]| -> Result<Vec<Figures>, String> {
        round.iter().map(|pattern| run_fio(fio, pattern, area)).collect()
    };
    let (mut of_fio, mut of_iolab) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        if pair % 2 == 0 {
            of_fio.push(theirs(&patterns)?);
        }
        of_iolab.push(ours(iolab, area, runtime_ms)?.iter().map(|pattern| pattern.figures).collect::<Vec<_>>());
        if pair % 2 == 1 {
            of_fio.push(theirs(&patterns)?);
        }
        println!("pair {} of {pairs} is done", pair + 1);
    }
    let mut text = head();
    for (place, pattern) in patterns.iter().enumerate() {
        let of = |side: &[Vec<Figures>], figure: usize| -> Vec<f64> {
            side.iter().map(|round| round[place][figure]).collect()
        };
        let compared = (0..FIGURES.len()).map(|figure| compare(&of(&of_fio, figure), &of(&of_iolab, figure)));
        text += &line(&pattern.name, &compared.collect::<Vec<_>>());
    }
    Ok(text)
}

fn head() -> String {
    let columns: String = FIGURES.iter().map(|name| format!(" {name}: fio / iolab | ratio |")).collect();
    format!("| pattern |{columns}\n| --- |{}\n", " ---: | ---: |".repeat(FIGURES.len()))
}

fn line(name: &str, figures: &[Comparison]) -> String {
    let cell = |Comparison { fio, iolab, ratio, verdict }: &Comparison| {
        let range = format!("{:.2} ({:.2}–{:.2})", ratio.median, ratio.min, ratio.max);
        let ratio = match verdict {
            Verdict::Same => range,
            Verdict::Higher => format!("**{range}** ▲"),
            Verdict::Lower => format!("**{range}** ▼"),
        };
        format!(" {} / {} | {ratio} |", digits(fio.median), digits(iolab.median))
    };
    format!("| {name} |{}\n", figures.iter().map(cell).collect::<String>())
}

/// One round of all patterns by iolab.
fn ours(iolab: &Path, area: &TestArea, runtime_ms: u64) -> Result<Vec<Pattern>, String> {
    let target = area.target.display().to_string();
    // The length of all patterns together is a whole number of seconds; theirs follows from it.
    let seconds = (PATTERNS * runtime_ms).div_ceil(1000).max(1);
    let answer = Command::new(iolab)
        .args([
            "bench",
            "--json",
            "--rounds=1",
            &format!("--time={seconds}"),
            &format!("--allow-destroy={target}"),
            &target,
        ])
        .output()
        .map_err(|error| format!("{}: {error}", iolab.display()))?;
    if !answer.status.success() {
        return Err(format!("iolab bench failed: {}", String::from_utf8_lossy(&answer.stderr).trim()));
    }
    read(&String::from_utf8_lossy(&answer.stdout))
}

/// Patterns of the standard profile, by which time is divided.
const PATTERNS: u64 = 8;

fn read(report: &str) -> Result<Vec<Pattern>, String> {
    let document: Value = serde_json::from_str(report).map_err(|error| format!("iolab bench: {error}"))?;
    let patterns = document["patterns"].as_array().ok_or("iolab bench: no patterns")?;
    let pattern = |one: &Value| {
        let number = |pointer: &str| one.pointer(pointer).and_then(Value::as_f64).ok_or(format!("no {pointer}"));
        let options = one["options"].as_array().ok_or("no options")?;
        Ok(Pattern {
            name: one["name"].as_str().ok_or("no name")?.to_owned(),
            options: options.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            is_commit: one["latency_of"] == "fdatasync",
            figures: [number("/iops/median")?, number("/p50_seconds")? * 1e6, number("/p99_seconds")? * 1e6],
        })
    };
    patterns.iter().map(pattern).collect::<Result<_, String>>().map_err(|reason| format!("iolab bench: {reason}"))
}

/// One pattern by fio.
fn run_fio(fio: &Path, pattern: &Pattern, area: &TestArea) -> Result<Figures, String> {
    let mut command = Command::new(fio);
    command.args(["--output-format=json", "--lat_percentiles=1", "--group_reporting", "--allow_mounted_write=0"]);
    let answer = command.args(&pattern.options).output().map_err(|error| format!("{}: {error}", fio.display()))?;
    let text = String::from_utf8_lossy(&answer.stdout);
    let figures = text.find('{').and_then(|start| serde_json::from_str(&text[start..]).ok());
    match figures.and_then(|document: Value| of_job(document.pointer("/jobs/0")?, pattern.is_commit)) {
        Some(figures) if answer.status.success() => Ok(figures),
        _ => Err(format!(
            "fio failed at {} on {}: {}",
            pattern.name,
            area.name,
            String::from_utf8_lossy(&answer.stderr).trim()
        )),
    }
}

/// Operations of both directions; latencies of the first that has any, of a commit those of the
/// sync.
fn of_job(job: &Value, is_commit: bool) -> Option<Figures> {
    let iops = ["read", "write"].iter().filter_map(|direction| job[direction]["iops"].as_f64()).sum();
    let has_any = |direction: &&&str| job[**direction]["iops"].as_f64().is_some_and(|iops| iops > 0.0);
    let direction = if is_commit { "sync" } else { ["read", "write"].iter().find(has_any)? };
    let percentile = |name: &str| job[direction].pointer(&format!("/lat_ns/percentile/{name}"))?.as_f64();
    Some([iops, percentile("50.000000")? / 1e3, percentile("99.000000")? / 1e3])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_reports_are_read() {
        let ours = json!({ "patterns": [{
            "name": "commit", "options": ["--rw=write"], "latency_of": "fdatasync",
            "iops": { "median": 10.0 }, "p50_seconds": 1e-6, "p99_seconds": 2e-6,
        }] });
        let patterns = read(&ours.to_string()).unwrap();
        assert_eq!((patterns[0].is_commit, patterns[0].figures), (true, [10.0, 1.0, 2.0]));
        assert!(read("{}").unwrap_err().contains("no patterns"));
        let percentiles =
            |ns: f64| json!({ "iops": 5.0, "lat_ns": { "percentile": { "50.000000": ns, "99.000000": 3.0 * ns } } });
        let job = json!({ "read": percentiles(1000.0), "write": percentiles(9000.0), "sync": percentiles(4000.0) });
        assert_eq!(of_job(&job, false), Some([10.0, 1.0, 3.0]));
        assert_eq!(of_job(&job, true), Some([10.0, 4.0, 12.0]));
        assert_eq!(of_job(&json!({}), false), None);
    }

    #[test]
    fn the_table_has_a_cell_for_every_figure() {
        let figures = vec![compare(&[100.0, 100.0], &[150.0, 160.0]); FIGURES.len()];
        let text = head() + &line("commit", &figures);
        let bars: Vec<usize> = text.lines().map(|line| line.matches('|').count()).collect();
        assert_eq!(bars, [8, 8, 8]);
        assert!(text.contains("| **1.55 (1.50–1.60)** ▲ |"), "{text}");
    }
}
