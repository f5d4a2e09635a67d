//! Caveats about the figures of a store.

use iolab_order::Arrange;
use iolab_recording::{Finding, Severity};

use crate::benchmarks::{BENCHMARKS, Load};
use crate::result::{BenchmarkResult, Direction};

const MIB: f64 = 1_048_576.0;

/// The findings of one result; `memory_bytes` is the machine's.
pub fn findings(result: &BenchmarkResult, memory_bytes: u64) -> Vec<Finding> {
    if result.operations() <= 1 {
        return Vec::new();
    }
    let rules = [
        debt(result),
        no_log(result),
        cache(result),
        page_cache(result, memory_bytes),
        assertions(result),
        stall(result),
    ];
    rules.into_iter().flatten().collect()
}

/// The findings of all results, each rule once: its evidence is that of the first benchmark it is
/// about, all are named.
pub fn all_findings(results: &[BenchmarkResult], memory_bytes: u64) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    for finding in results.iter().flat_map(|result| findings(result, memory_bytes)) {
        match all.iter_mut().find(|known| known.rule == finding.rule) {
            Some(known) => known.jobs.extend(finding.jobs),
            None => all.push(finding),
        }
    }
    all.arrange_by_key(|finding| finding.severity);
    all
}

fn finding(
    result: &BenchmarkResult,
    rule: &str,
    severity: Severity,
    evidence: String,
    consequence: &str,
    advice: &str,
) -> Option<Finding> {
    Some(Finding {
        rule: rule.to_owned(),
        severity,
        evidence,
        consequence: consequence.to_owned(),
        advice: advice.to_owned(),
        jobs: vec![result.name.clone()],
    })
}

fn writes(result: &BenchmarkResult) -> bool {
    result.user_bytes() > 0
}

/// The store has pending work that the figures do not include.
fn debt(result: &BenchmarkResult) -> Option<Finding> {
    let pending = result.figures.pending_compaction_bytes.unwrap_or(0);
    let running = result.figures.background_work.unwrap_or(0);
    if !writes(result) || (pending == 0 && running == 0) {
        return None;
    }
    let evidence = format!(
        "At the end, {running} flushes or compactions were running or pending, and {:.1} MB were waiting for \
        compaction.",
        pending as f64 / MIB
    );
    let consequence = "The write rate does not include this work; in the long run it would be lower.";
    let advice = "Write for longer (--duration), or run `waitforcompaction` afterwards and include its time.";
    finding(result, "kv-compaction-debt", Severity::Warning, evidence, consequence, advice)
}

fn no_log(result: &BenchmarkResult) -> Option<Finding> {
    if !writes(result) || !result.unlogged {
        return None;
    }
    let evidence = "The benchmark ran with --disable_wal.".to_owned();
    let consequence =
        "A crash loses every write since the last flush: these results are for a store without durability.";
    finding(
        result,
        "kv-no-log",
        Severity::Warning,
        evidence,
        consequence,
        "Remove --disable_wal, or state it with the results.",
    )
}

fn reads(result: &BenchmarkResult) -> bool {
    result.tally(Direction::Read).operations > 0
}

/// The store's own cache holds all the data.
fn cache(result: &BenchmarkResult) -> Option<Finding> {
    let cache = result.facts.cache_bytes.filter(|bytes| *bytes > 0)?;
    if !reads(result) || result.disk_bytes == 0 || cache < result.disk_bytes {
        return None;
    }
    let evidence = format!(
        "The store's cache holds {:.1} MB, the store is {:.1} MB.",
        cache as f64 / MIB,
        result.disk_bytes as f64 / MIB
    );
    let consequence = "Reads come from memory: they do not measure the device.";
    finding(
        result,
        "kv-cache-larger-than-data",
        Severity::Warning,
        evidence,
        consequence,
        "Lower --cache_size, or raise --num.",
    )
}

/// The page cache can hold all the data.
fn page_cache(result: &BenchmarkResult, memory_bytes: u64) -> Option<Finding> {
    let benchmark = BENCHMARKS.iter().find(|benchmark| benchmark.name == result.name)?;
    let is_read = matches!(benchmark.load, Load::Get(_) | Load::Scan(_) | Load::Seek | Load::Mixed | Load::Ycsb(_));
    if !is_read
        || result.facts.direct_reads != Some(false)
        || result.disk_bytes == 0
        || result.disk_bytes * 2 > memory_bytes
    {
        return None;
    }
    let read = result
        .device_read()
        .map_or(String::new(), |bytes| format!(" {:.1} MB were read from the device.", bytes as f64 / MIB));
    let evidence = format!(
        "The store is {:.1} MB, this machine has {:.0} MB of memory, and reads use the page cache.{read}",
        result.disk_bytes as f64 / MIB,
        memory_bytes as f64 / MIB
    );
    let consequence = "Most reads came from the page cache: you measured RAM.";
    let advice = "Use --use_direct_reads, a store larger than memory, or a memory limit for the process.";
    finding(result, "kv-page-cache", Severity::Note, evidence, consequence, advice)
}

fn assertions(result: &BenchmarkResult) -> Option<Finding> {
    if result.facts.assertions != Some(true) {
        return None;
    }
    let evidence = "The store's library was built with assertions.".to_owned();
    let consequence = "It checks itself in every operation: a release build is faster.";
    let advice = "Compare only with results of the same library; for absolute results use a build with NDEBUG.";
    finding(result, "kv-assertions", Severity::Note, evidence, consequence, advice)
}

/// Writers were held back for a good part of the time.
fn stall(result: &BenchmarkResult) -> Option<Finding> {
    let stalled = result.figures.stall_ns.filter(|ns| *ns > result.elapsed_ns / 100)?;
    let evidence =
        format!("Writers were stalled for {:.2} s of {:.2} s.", stalled as f64 / 1e9, result.elapsed_ns as f64 / 1e9);
    let consequence = "The device or the compaction threads limit the write rate.";
    let advice = "Look at the intervals; --rate shows the response times of a client with a fixed schedule.";
    finding(result, "kv-stall", Severity::Note, evidence, consequence, advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ThreadResult;
    use iolab_kv::{StoreFacts, StoreFigures};

    fn result(name: &str, direction: Direction) -> BenchmarkResult {
        let mut thread = ThreadResult { elapsed_ns: 1_000_000, ..ThreadResult::default() };
        thread.tallies[direction as usize].operations = 100;
        thread.tallies[direction as usize].bytes = 100;
        thread.put_bytes = if direction == Direction::Write { 100 } else { 0 };
        BenchmarkResult {
            name: name.into(),
            threads: vec![thread],
            elapsed_ns: 1_000_000,
            disk_bytes: 1 << 20,
            ..Default::default()
        }
    }

    fn rules(result: &BenchmarkResult) -> Vec<String> {
        findings(result, 1 << 30).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn each_rule_fires_on_its_evidence_alone() {
        let fill = result("fillrandom", Direction::Write);
        assert!(rules(&fill).is_empty());
        let figures = StoreFigures { pending_compaction_bytes: Some(5), ..StoreFigures::default() };
        assert_eq!(rules(&BenchmarkResult { figures, ..fill.clone() }), ["kv-compaction-debt"]);
        assert_eq!(rules(&BenchmarkResult { unlogged: true, ..fill.clone() }), ["kv-no-log"]);
        let facts = StoreFacts { assertions: Some(true), ..StoreFacts::default() };
        assert_eq!(rules(&BenchmarkResult { facts, ..fill.clone() }), ["kv-assertions"]);
        let figures = StoreFigures { stall_ns: Some(500_000), ..StoreFigures::default() };
        assert_eq!(rules(&BenchmarkResult { figures, ..fill }), ["kv-stall"]);
        let read = result("readrandom", Direction::Read);
        let facts = StoreFacts { cache_bytes: Some(8 << 20), ..StoreFacts::default() };
        assert_eq!(rules(&BenchmarkResult { facts, ..read.clone() }), ["kv-cache-larger-than-data"]);
        let facts = StoreFacts { direct_reads: Some(false), ..StoreFacts::default() };
        assert_eq!(rules(&BenchmarkResult { facts, ..read }), ["kv-page-cache"]);
    }

    #[test]
    fn a_rule_is_told_once_with_all_that_it_is_about() {
        let one = BenchmarkResult { unlogged: true, ..result("fillseq", Direction::Write) };
        let two = BenchmarkResult { unlogged: true, ..result("overwrite", Direction::Write) };
        let all = all_findings(&[one, two], 1 << 30);
        assert_eq!(all.iter().map(|finding| finding.jobs.join("+")).collect::<Vec<_>>(), ["fillseq+overwrite"]);
    }
}
