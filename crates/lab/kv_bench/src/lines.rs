//! Result lines as `db_bench` prints them, and what comes before and after.
//!
//! ```text
//! fillseq      :       3.387 micros/op 295222 ops/sec 3.387 seconds 1000000 operations;   32.7 MB/s
//! readrandom   :       9.717 micros/op 102904 ops/sec 9.717 seconds 1000000 operations;    7.2 MB/s (632563 of 1000000 found)
//! ```
//!
//! micros/op is the mean time of an operation in its thread: with several threads it is more than
//! the inverse of ops/sec.

use std::fmt::Write;

use iolab_histogram::SparseHistogram;

use crate::benchmarks::{BENCHMARKS, Load};
use crate::result::{BenchmarkResult, Direction};
use crate::session::Session;
use crate::settings::Settings;

const MIB: f64 = 1_048_576.0;

/// Output before the first result.
pub fn header(settings: &Settings, session: &Session<'_>) -> String {
    let kind = session.kind().description();
    let version = session.kind().version().unwrap_or_default();
    let mut text = String::new();
    for reason in session.reasons() {
        let _ = writeln!(text, "note: {reason}");
    }
    let entry = (settings.key_size + settings.value_size) as f64;
    let packed = settings.key_size as f64 + settings.value_size as f64 * settings.compression_ratio;
    let _ = writeln!(text, "Store:      {} {version} ({})", kind.name, kind.summary);
    let _ = writeln!(text, "DB path:    [{}]", session.path().display());
    let _ = writeln!(text, "Keys:       {} bytes each", settings.key_size);
    let compressed = (settings.value_size as f64 * settings.compression_ratio + 0.5) as u64;
    let _ = writeln!(text, "Values:     {} bytes each ({compressed} bytes after compression)", settings.value_size);
    let _ = writeln!(text, "Entries:    {}", settings.num);
    let _ = writeln!(text, "RawSize:    {:.1} MB (estimated)", settings.num as f64 * entry / MIB);
    let _ = writeln!(text, "FileSize:   {:.1} MB (estimated)", settings.num as f64 * packed / MIB);
    let _ = writeln!(text, "Seed:       {}", session.seed());
    text.push_str("------------------------------------------------\n");
    text
}

/// The lines of one result.
pub fn line(settings: &Settings, result: &BenchmarkResult) -> String {
    let Some(benchmark) = BENCHMARKS.iter().find(|benchmark| benchmark.name == result.name) else {
        return String::new();
    };
    if !benchmark.is_measured() {
        return format!("{}\n", result.text.trim_end());
    }
    let operations = result.operations();
    let thread_ns: u64 = result.measured().map(|thread| thread.elapsed_ns).sum();
    let seconds = result.elapsed_ns as f64 / 1e9;
    let micros = thread_ns as f64 / 1000.0 / operations.max(1) as f64;
    let per_second = if seconds > 0.0 { (operations as f64 / seconds) as u64 } else { 0 };
    let mut text = format!(
        "{:<12} : {micros:>11.3} micros/op {per_second} ops/sec {seconds:.3} seconds {operations} operations;",
        result.name
    );
    if result.bytes() > 0 {
        let _ = write!(text, " {:>6.1} MB/s", result.bytes() as f64 / MIB / seconds.max(1e-9));
    }
    text.push_str(&message(benchmark.load, result));
    text.push('\n');
    text.push_str(&after(result));
    if settings.is_on("histogram") {
        text.push_str(&histogram(result));
    }
    if !result.text.is_empty() {
        let _ = writeln!(text, "{}", result.text.trim_end());
    }
    text
}

/// The text of `db_bench` after the figures.
fn message(load: Load, result: &BenchmarkResult) -> String {
    let found: u64 = result.measured().map(|thread| thread.found).sum();
    let asked: u64 = result.measured().map(|thread| thread.asked).sum();
    let writes = result.tally(Direction::Write).operations;
    match load {
        Load::Get(_) | Load::Seek => format!(" ({found} of {asked} found)"),
        Load::Mixed => format!(" ( reads:{asked} writes:{writes} total:{} found:{found})", asked + writes),
        Load::Update => format!(" ( updates:{writes} found:{found})"),
        Load::Ycsb(_) => format!(" ( lookups:{asked} found:{found} writes:{writes})"),
        _ => String::new(),
    }
}

/// Figures that `db_bench` lacks: latencies, processor time, traffic. Each line begins with a
/// space, so that programs that read the lines of `db_bench` ignore it.
fn after(result: &BenchmarkResult) -> String {
    if result.threads.iter().all(|thread| thread.operations() <= 1) {
        return String::new();
    }
    let mut text = String::new();
    for direction in [Direction::Read, Direction::Write, Direction::Delete] {
        let tally = result.tally(direction);
        for (name, latencies) in [("latency", &tally.latency), ("response", &tally.response)] {
            if latencies.count > 0 {
                let word = format!("{direction:?}").to_lowercase();
                let _ = writeln!(text, "  {:<17} {}", format!("{word} {name}"), percentiles(latencies));
            }
        }
    }
    let _ = writeln!(text, "  processor         {:.2} us per operation", result.processor_ns_per_operation() / 1000.0);
    if let (Some(written), Some(read)) = (result.device_written(), result.device_read()) {
        let _ = write!(
            text,
            "  device            {:.1} MB written, {:.1} MB read",
            written as f64 / MIB,
            read as f64 / MIB
        );
        if let Some(amplification) = result.write_amplification() {
            let _ = write!(text, "; write amplification {amplification:.2} measured");
            if let Some(own) = result.figures.write_amplification() {
                let _ = write!(text, ", {own:.2} reported by the store");
            }
        }
        text.push('\n');
    }
    if let Some(amplification) = result.space_amplification() {
        let on_disk = result.disk_bytes as f64 / MIB;
        let _ = writeln!(
            text,
            "  space             {on_disk:.1} MB on disk, {amplification:.2} bytes per byte of keys and values"
        );
    }
    text
}

fn percentiles(latencies: &SparseHistogram) -> String {
    let us = |percent: f64| latencies.percentile(percent) as f64 / 1000.0;
    format!(
        "mean {:.2} us, p50 {:.2}, p99 {:.2}, p99.9 {:.2}, max {:.2}",
        latencies.mean() / 1000.0,
        us(50.0),
        us(99.0),
        us(99.9),
        latencies.max as f64 / 1000.0
    )
}

/// The end of the table, as `db_bench --histogram` prints it.
fn histogram(result: &BenchmarkResult) -> String {
    let mut all = SparseHistogram::default();
    for direction in [Direction::Read, Direction::Write, Direction::Delete] {
        all.merge(&result.tally(direction).latency);
    }
    let us = |percent: f64| all.percentile(percent) as f64 / 1000.0;
    format!(
        "Microseconds per op:\nCount: {} Average: {:.4}  StdDev: {:.2}\nMin: {}  Median: {:.4}  Max: {}\n\
         Percentiles: P50: {:.2} P75: {:.2} P99: {:.2} P99.9: {:.2} P99.99: {:.2}\n",
        all.count,
        all.mean() / 1000.0,
        all.stddev() / 1000.0,
        all.min / 1000,
        us(50.0),
        all.max / 1000,
        us(50.0),
        us(75.0),
        us(99.0),
        us(99.9),
        us(99.99)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ThreadResult;

    fn settings() -> Settings {
        Settings::read(&[]).unwrap()
    }

    fn result(name: &str, operations: u64, bytes: u64, elapsed_ns: u64) -> BenchmarkResult {
        let mut thread = ThreadResult { elapsed_ns, ..ThreadResult::default() };
        thread.tallies[0].operations = operations;
        thread.tallies[0].bytes = bytes;
        BenchmarkResult { name: name.to_owned(), threads: vec![thread], elapsed_ns, ..BenchmarkResult::default() }
    }

    fn first(text: &str) -> &str {
        text.lines().next().unwrap_or_default()
    }

    #[test]
    fn lines_are_those_of_db_bench_to_the_letter() {
        let fill = result("fillseq", 1_000_000, 34_288_435, 3_387_282_000);
        assert_eq!(
            first(&line(&settings(), &fill)),
            "fillseq      :       3.387 micros/op 295221 ops/sec 3.387 seconds 1000000 operations;    9.7 MB/s"
        );
        let mut read = result("readrandom", 1_000_000, 0, 9_717_000_000);
        (read.threads[0].found, read.threads[0].asked) = (632_563, 1_000_000);
        assert_eq!(
            first(&line(&settings(), &read)),
            "readrandom   :       9.717 micros/op 102912 ops/sec 9.717 seconds 1000000 operations; (632563 of 1000000 found)"
        );
    }

    /// Two threads of a second each: two seconds of operations in one.
    #[test]
    fn micros_are_those_of_a_thread() {
        let mut two = result("fillseq", 1000, 1000, 1_000_000_000);
        two.threads.push(two.threads[0].clone());
        let text = line(&settings(), &two);
        assert!(first(&text).contains("1000.000 micros/op 2000 ops/sec 1.000 seconds 2000 operations;"), "{text}");
    }

    #[test]
    fn what_is_printed_is_printed_bare() {
        let stats = BenchmarkResult { name: "stats".into(), text: "level 0\n\n".into(), ..BenchmarkResult::default() };
        assert_eq!(line(&settings(), &stats), "level 0\n");
    }
}
