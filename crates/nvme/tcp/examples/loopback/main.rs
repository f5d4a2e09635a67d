//! How near the initiator and the target come to what sockets allow: 4 KiB reads of a drive that
//! keeps nothing, beside a bare loop that sends and receives messages of the same sizes.
//!
//! ```text
//! cargo run --release -p iolab-nvme-tcp --example loopback [ROUNDS]          interleaved rounds
//! valgrind --tool=callgrind --toggle-collect='*count_initiator*' … loopback initiator
//! valgrind --tool=callgrind --toggle-collect='*count_target*' … loopback target
//! ```
//!
//! Figures are of one machine and one moment: what counts is the ratio of the two columns.

#![allow(clippy::print_stdout, reason = "an example prints what it finds")]

mod bare;
mod ours;

use iolab_clock::Clock;

/// Bytes of a read, of the PDU that asks for it and of those that answer.
pub(crate) const READ_BYTES: usize = 4096;
pub(crate) const REQUEST_BYTES: usize = 72;
pub(crate) const ANSWER_BYTES: usize = 24 + READ_BYTES;
/// How long each measurement takes.
const SPAN_NS: u64 = 1_000_000_000;

/// What a loop has done.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    pub(crate) reads: u64,
    pub(crate) ns: u64,
    /// Median of the latencies, where the depth is one.
    pub(crate) median_ns: u64,
}

impl Figures {
    fn per_second(self) -> f64 {
        self.reads as f64 * 1e9 / self.ns.max(1) as f64
    }
}

/// The middle of some latencies.
pub(crate) fn median(latencies: &mut [u32]) -> u64 {
    latencies.sort_unstable();
    latencies.get(latencies.len() / 2).copied().unwrap_or(0).into()
}

/// Binds the calling thread to a processor; a machine with fewer leaves it where it is.
pub(crate) fn bind(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

fn main() {
    let word = std::env::args().nth(1).unwrap_or_else(|| "3".to_owned());
    let clock = Clock::best().0;
    match word.as_str() {
        "initiator" => return ours::count(&clock),
        "target" => return ours::count_target(&clock),
        _ => {}
    }
    let rounds: usize = word.parse().unwrap_or(3);
    println!("depth  round  bare loop/s  p50 us  iolab/s  p50 us  ratio");
    for depth in [1, 32, 128] {
        for round in 1..=rounds {
            let bare = bare::run(&clock, depth, SPAN_NS);
            let ours = ours::run(&clock, depth as u16, SPAN_NS);
            println!(
                "{depth:>5}  {round:>5}  {:>11.0}  {:>6.2}  {:>7.0}  {:>6.2}  {:>5.2}",
                bare.per_second(),
                bare.median_ns as f64 / 1e3,
                ours.per_second(),
                ours.median_ns as f64 / 1e3,
                ours.per_second() / bare.per_second().max(1.0)
            );
        }
    }
}
