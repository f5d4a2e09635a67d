//! The cost of recording the latencies of each interval: time and bytes per interval, compared in
//! one run with the same counting without it.
//!
//! `cargo run --release -p iolab-measure --example interval_cost [INTERVALS [OPERATIONS PER
//! INTERVAL [FOLDER]]]`
//!
//! Latencies are spread over three powers of two with a tail of rare slow ones, as those of a
//! device are. For instructions per interval, run it under callgrind with two numbers of intervals
//! and take the difference.
#![allow(clippy::print_stdout, reason = "a measurement's output is its purpose")]

use std::fs::{File, OpenOptions};
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_measure::{FullRecorder, IntervalSeries, IntervalStream, Recorder, Run, WorkerCounters};
use iolab_plan::Direction;
use iolab_random::Lcg;

const LENGTH_NS: u64 = 100_000_000;
const ROUNDS: u64 = 5;

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(default);
    let (intervals, operations) = (number(0, 50), number(1, 20_000));
    let folder = words.get(2).map_or_else(std::env::temp_dir, std::path::PathBuf::from);
    let path = folder.join(format!("interval-cost-{}", std::process::id()));
    let file = Arc::new(OpenOptions::new().append(true).create_new(true).open(&path)?);
    let clock = Clock::monotonic();
    let (mut with_ns, mut without_ns) = (u64::MAX, u64::MAX);
    for _ in 0..ROUNDS {
        without_ns = without_ns.min(count(&clock, None, intervals, operations));
        with_ns = with_ns.min(count(&clock, Some(Arc::clone(&file)), intervals, operations));
    }
    let bytes = file.metadata()?.len() / ROUNDS / intervals;
    std::fs::remove_file(&path)?;
    let extra_ns = with_ns.saturating_sub(without_ns) as f64 / intervals as f64;
    println!("{intervals} intervals of {operations} operations: {bytes} bytes and {extra_ns:.0} ns for each");
    println!("{:.4} % of 100 ms, {:.4} % of 10 ms", extra_ns / 1e6, extra_ns / 1e5);
    Ok(())
}

/// Time to count everything, ns, streaming into `file` if there is one.
fn count(clock: &Clock, file: Option<Arc<File>>, intervals: u64, operations: u64) -> u64 {
    let mut tally = WorkerCounters::new(32, IntervalSeries::new(0, LENGTH_NS, intervals as usize));
    if let Some(file) = file {
        tally.stream_to(IntervalStream::new(file, 0, 0, LENGTH_NS, false));
    }
    let mut recorder = FullRecorder::new(tally, true);
    recorder.start_measuring(0);
    let begun_at_ns = clock.now_ns();
    let mut random = Lcg::new(1);
    for interval in 0..intervals {
        for operation in 0..operations {
            let draw = random.next() >> 40;
            let latency_ns = 60_000 + (draw & 0xffff) * 4 + if draw.is_multiple_of(1009) { 4_000_000 } else { 0 };
            let begun_ns = interval * LENGTH_NS + operation * LENGTH_NS / operations;
            let direction = if draw & 1 == 0 { Direction::Read } else { Direction::Write };
            let (submitted_ns, reaped_ns) = (begun_ns + 900, begun_ns + latency_ns);
            recorder.completed_run(&Run { direction, count: 1, bytes: 4096, begun_ns, submitted_ns, reaped_ns });
        }
        recorder.tick((interval + 1) * LENGTH_NS);
    }
    clock.now_ns() - begun_at_ns
}
