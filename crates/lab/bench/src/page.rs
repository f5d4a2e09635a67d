//! The results as one page: the card's lines with their figures, the data sheets of known drives,
//! limits and findings.

use iolab_html::{CardGroup, CardLine, CardReport, CardTable, Page, card_page};

use crate::card;
use crate::drives::of_sheet;
use crate::profiles::AccessPattern;
use crate::results::KnownDrive;
use crate::results::{BenchResults, Case};

/// The page of these results, made by this `version` of the program; `again` is the command line.
pub fn page(results: &BenchResults, again: &str, version: &str) -> Page {
    let measured = &results.measured;
    let title = format!("How fast is {}?", card::place(measured));
    let names = |keys: &[&'static str]| -> Vec<String> {
        let name = |key: &&'static str| {
            results.cases.iter().find(|case| &case.pattern.key == key).map(|case| case.pattern.name)
        };
        keys.iter().filter_map(name).map(str::to_owned).collect()
    };
    let findings: Vec<_> = results.seen.findings.iter().map(|(finding, keys)| (finding.clone(), names(keys))).collect();
    let notes = [
        ("Like".to_owned(), vec![card::like(results)]),
        ("Limited by".to_owned(), card::limits(results)),
        ("Be careful".to_owned(), card::cautions(results).iter().map(|line| line.replace('`', "")).collect()),
    ];
    card_page(&CardReport {
        title: &title,
        question: results.profile.summary,
        answer: &card::answer(results),
        facts: &card::facts(results),
        groups: &groups(results),
        findings: &findings,
        notes: &notes,
        tables: &[sheets(results)],
        again,
        version,
    })
}

fn groups(results: &BenchResults) -> Vec<CardGroup> {
    let group = |title: &str, is_bandwidth: bool, wanted: fn(&Case) -> bool| CardGroup {
        title: title.to_owned(),
        is_bandwidth,
        lines: results.cases.iter().filter(|case| wanted(case)).map(line).collect(),
    };
    let all = [
        group("Sequential", true, |case| case.pattern.access.is_sequential()),
        group("Random and mixed", false, |case| !case.pattern.access.is_sequential() && !case.is_commit()),
        group("Commits", false, Case::is_commit),
    ];
    all.into_iter().filter(|group| !group.lines.is_empty()).collect()
}

fn line(case: &Case) -> CardLine {
    CardLine {
        name: case.pattern.name.to_owned(),
        iops: case.samples.iter().map(|sample| sample.iops).collect(),
        bytes_per_second: case.samples.iter().map(|sample| sample.bytes_per_second).collect(),
        latencies: case.latencies(),
        latency_of: if case.pattern.access == AccessPattern::Commit { "fdatasync".to_owned() } else { String::new() },
    }
}

/// What the sheets of known drives state, and which part of it was measured.
fn sheets(results: &BenchResults) -> CardTable {
    let part = |sheet: u64, shown: String, ratio: Option<f64>| match (sheet, ratio) {
        (0, _) => "\u{2013}".to_owned(),
        (_, None) => shown,
        (_, Some(ratio)) => format!("{shown}, of which {:.0} %", ratio * 100.0),
    };
    let row = |drive: &KnownDrive| {
        let [read, write, iops] = of_sheet(&results.cases, drive);
        let megabytes = |bytes: u64| format!("{} MB/s", bytes / 1_000_000);
        vec![
            drive.name.to_owned(),
            drive.summary.to_owned(),
            part(drive.read_bytes_per_second, megabytes(drive.read_bytes_per_second), read),
            part(drive.write_bytes_per_second, megabytes(drive.write_bytes_per_second), write),
            part(drive.read_iops, format!("{}k", drive.read_iops / 1000), iops),
            drive.source.to_owned(),
        ]
    };
    CardTable {
        title: "Known drives".to_owned(),
        note: "What data sheets state, and what share of it was measured here. Data sheets state random reads at \
            higher queue depths and from several threads."
            .to_owned(),
        columns: [
            "drive",
            "what it is",
            "sequential read",
            "sequential write",
            "random 4 KiB reads per second",
            "from",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: results.drives.iter().map(row).collect(),
    }
}
