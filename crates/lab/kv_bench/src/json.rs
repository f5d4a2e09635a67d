//! Results as JSON: one object for each benchmark, times in ns, amounts in bytes.

use iolab_histogram::SparseHistogram;
use serde_json::{Value, json};

use crate::db_bench::TheirLine;
use crate::findings::findings;
use crate::result::{BenchmarkResult, Direction};

/// All results as one document.
pub fn json(name: &str, version: &str, results: &[BenchmarkResult], memory_bytes: u64) -> String {
    let benchmarks: Vec<Value> = results.iter().map(|result| one(result, memory_bytes)).collect();
    let document = json!({ "iolab_kv_bench": 1, "store": name, "version": version, "benchmarks": benchmarks });
    format!("{document:#}\n")
}

fn one(result: &BenchmarkResult, memory_bytes: u64) -> Value {
    let operations = result.operations();
    let thread_ns: u64 = result.measured().map(|thread| thread.elapsed_ns).sum();
    let seconds = result.elapsed_ns as f64 / 1e9;
    let found: u64 = result.measured().map(|thread| thread.found).sum();
    let asked: u64 = result.measured().map(|thread| thread.asked).sum();
    let directions: serde_json::Map<String, Value> = [Direction::Read, Direction::Write, Direction::Delete]
        .into_iter()
        .map(|direction| (direction, result.tally(direction)))
        .filter(|(_, tally)| tally.operations > 0)
        .map(|(direction, tally)| {
            let value = json!({
                "operations": tally.operations,
                "bytes": tally.bytes,
                "latency_ns": latencies(&tally.latency),
                "response_ns": latencies(&tally.response),
            });
            (format!("{direction:?}").to_lowercase(), value)
        })
        .collect();
    let findings: Vec<Value> = findings(result, memory_bytes)
        .iter()
        .map(
            |finding| json!({ "rule": finding.rule, "evidence": finding.evidence, "consequence": finding.consequence }),
        )
        .collect();
    json!({
        "name": result.name,
        "micros_per_op": thread_ns as f64 / 1000.0 / operations.max(1) as f64,
        "ops_per_second": if seconds > 0.0 { operations as f64 / seconds } else { 0.0 },
        "seconds": seconds,
        "operations": operations,
        "mb_per_second": if seconds > 0.0 { result.bytes() as f64 / 1_048_576.0 / seconds } else { 0.0 },
        "found": found,
        "asked": asked,
        "directions": directions,
        "processor_ns_per_op": result.processor_ns_per_operation(),
        "user_bytes_written": result.user_bytes(),
        "device_bytes_written": result.device_written(),
        "device_bytes_read": result.device_read(),
        "write_amplification": result.write_amplification(),
        "write_amplification_of_store": result.figures.write_amplification(),
        "disk_bytes": result.disk_bytes,
        "space_amplification": result.space_amplification(),
        "pending_compaction_bytes": result.figures.pending_compaction_bytes,
        "compression": result.facts.compression,
        "notes": result.facts.notes,
        "text": result.text,
        "findings": findings,
    })
}

fn latencies(histogram: &SparseHistogram) -> Value {
    if histogram.count == 0 {
        return Value::Null;
    }
    json!({
        "mean": histogram.mean(),
        "p50": histogram.percentile(50.0),
        "p90": histogram.percentile(90.0),
        "p99": histogram.percentile(99.0),
        "p99.9": histogram.percentile(99.9),
        "max": histogram.max,
    })
}

/// The lines of an installed `db_bench` in the same form, as far as it says the same.
pub fn json_of_theirs(lines: &[TheirLine], version: &str) -> String {
    let benchmarks: Vec<Value> = lines
        .iter()
        .map(|line| {
            json!({
                "name": line.name,
                "micros_per_op": line.micros_per_op,
                "ops_per_second": line.ops_per_second,
                "seconds": line.seconds,
                "operations": line.operations,
                "mb_per_second": line.mb_per_second,
                "found": line.found.map(|found| found.0),
                "asked": line.found.map(|found| found.1),
            })
        })
        .collect();
    let document = json!({ "iolab_kv_bench": 1, "store": "db_bench", "version": version, "benchmarks": benchmarks });
    format!("{document:#}\n")
}
