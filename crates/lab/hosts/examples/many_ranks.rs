//! What the client of many ranks has to carry, hold and merge: `many_ranks RANKS…` prints a row for
//! each number.
//!
//! The parts are recordings of a run of two jobs, as ranks on different hosts deliver them. What
//! the network costs is not simulated; times are those of the processor.

use std::io::Write;

use iolab_aggregate::{figures, hosts_figures};
use iolab_clock::thread_processor_ns;
use iolab_hosts::{PartOfRun, merge};
use iolab_plan::Rank;
use iolab_recording::Recording;

fn main() {
    let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let text = include_str!("../../../contract/recording/tests/corpus/1-8-traits.json");
    let base = Recording::from_json(text).expect("a recording");
    let mut out = std::io::stdout();
    for ranks in numbers {
        writeln!(out, "{}", row(&base, ranks)).expect("standard output");
    }
}

fn row(base: &Recording, ranks: u32) -> String {
    let held_before = resident_bytes();
    let mut received = 0;
    let begun_ns = thread_processor_ns();
    let parts: Vec<PartOfRun> = (0..ranks)
        .map(|number| {
            let json = part(base, number, ranks).to_json();
            received += json.len();
            let recording = Recording::from_json(&json).expect("what was just written");
            PartOfRun { name: format!("part {number}"), recording, notes: Vec::new() }
        })
        .collect();
    let read_ns = thread_processor_ns() - begun_ns;
    let held = resident_bytes().saturating_sub(held_before);
    let begun_ns = thread_processor_ns();
    let merged = merge(parts).expect("parts of one run");
    let merged_ns = thread_processor_ns() - begun_ns;
    let peak = peak_bytes();
    let begun_ns = thread_processor_ns();
    let shown = figures(&merged);
    let beside = hosts_figures(&merged).expect("several hosts");
    let figures_ns = thread_processor_ns() - begun_ns;
    assert_eq!((beside.hosts.len(), merged.hosts.len()), (ranks as usize, ranks as usize));
    assert!(shown.all_hosts.is_some());
    let begun_ns = thread_processor_ns();
    let saved = merged.to_json().len();
    let saved_ns = thread_processor_ns() - begun_ns;
    let mib = |bytes: usize| bytes as f64 / (1 << 20) as f64;
    let seconds = |ns: u64| ns as f64 / 1e9;
    format!(
        "| {ranks} | {:.1} | {:.2} | {:.1} | {:.1} | {:.3} | {:.3} | {:.1} | {:.2} |",
        mib(received),
        seconds(read_ns),
        mib(held),
        mib(peak),
        seconds(merged_ns),
        seconds(figures_ns),
        mib(saved),
        seconds(saved_ns)
    )
}

/// The recording of one rank, on a host of its own.
fn part(base: &Recording, number: u32, ranks: u32) -> Recording {
    let mut part = base.clone();
    let host = format!("node{number}");
    part.plan.rank = Some(Rank { number, ranks, host: host.clone() });
    part.host.hostname = host;
    part.started_unix_ns += u64::from(number);
    part
}

/// Bytes of this process in memory (proc_pid_status(5)).
fn resident_bytes() -> usize {
    status_bytes("VmRSS:")
}

fn peak_bytes() -> usize {
    status_bytes("VmHWM:")
}

fn status_bytes(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<usize>().ok()).unwrap_or(0) * 1024
}
