//! Results as one JSON object. Units are bytes, seconds and operations per second.

use iolab_statistics::{Interval, SteadyState};
use serde_json::{Value, json as object};

use crate::drives::{Likeness, Ratio, likeness};
use crate::measured::words;
use crate::results::{BenchResults, Case};

/// The object, with a newline at its end.
pub fn json(results: &BenchResults) -> String {
    let measured = &results.measured;
    let findings = results.seen.findings.iter().map(|(finding, keys)| {
        object!({
            "rule": finding.rule,
            "severity": finding.severity,
            "evidence": finding.evidence,
            "consequence": finding.consequence,
            "advice": finding.advice,
            "patterns": keys,
        })
    });
    let limits = results.seen.limits.iter().map(|(limit, names)| object!({ "limit": limit, "patterns": names }));
    let whole = object!({
        "format": "iolab-bench",
        "version": 1,
        "target": measured.target,
        "kind": measured.what,
        "size_bytes": measured.size_bytes,
        "engine": measured.engine,
        "direct": measured.direct,
        "profile": results.profile.name,
        "rounds": results.rounds(),
        "steady": results.steady.as_ref().map(|state| matches!(state, SteadyState::Reached { .. })),
        "seconds_each": results.pace.runtime_ms as f64 / 1e3,
        "patterns": results.cases.iter().map(|one| case(results, one)).collect::<Vec<_>>(),
        "not_measured": results.left_out().map(|pattern| pattern.key).collect::<Vec<_>>(),
        "like": like(results),
        "limits": limits.collect::<Vec<_>>(),
        "findings": findings.collect::<Vec<_>>(),
    });
    format!("{whole:#}\n")
}

fn case(results: &BenchResults, case: &Case) -> Value {
    let seconds = |percent| case.latency_ns(percent).map(|ns| ns as f64 / 1e9);
    let samples = case.samples.iter().map(|sample| sample.iops);
    object!({
        "key": case.pattern.key,
        "name": case.pattern.name,
        "block_bytes": case.pattern.block_bytes,
        "depth": case.pattern.depth,
        "jobs": case.pattern.jobs,
        // Options that iolab and fio both accept.
        "options": words(&case.pattern, &results.measured, 0, results.pace.runtime_ms),
        "iops": interval(case.iops()),
        "bytes_per_second": interval(case.bytes_per_second()),
        "latency_of": if case.is_commit() { "fdatasync" } else { "operation" },
        "p50_seconds": seconds(50.0),
        "p99_seconds": seconds(99.0),
        "iops_of_rounds": samples.collect::<Vec<_>>(),
    })
}

fn interval(interval: Option<Interval>) -> Value {
    interval.map_or(
        Value::Null,
        |it| object!({ "median": it.estimate, "low": it.low, "high": it.high, "confidence": it.confidence }),
    )
}

fn like(results: &BenchResults) -> Value {
    let listed = |ratios: &[Ratio]| -> Value {
        ratios
            .iter()
            .map(|one| (one.figure.to_owned(), Value::from(one.ratio)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    match likeness(results) {
        Likeness::Unknown(why) => object!({ "verdict": "unknown", "reason": why }),
        Likeness::Like(drive, ratios) => {
            object!({ "verdict": "like", "drive": drive.name, "of_sheet": listed(&ratios), "source": drive.source })
        }
        Likeness::Unlike(drive, ratios) => {
            object!({ "verdict": "unlike", "nearest": drive.name, "of_sheet": listed(&ratios), "source": drive.source })
        }
    }
}
