//! How close the initiator and the target come to the limit of sockets: 4 KiB reads from a drive
//! without media, compared with a bare loop that sends and receives messages of the same sizes.
//!
//! ```text
//! cargo run --release -p iolab-nvme-tcp --example loopback [ROUNDS]          interleaved rounds
//! valgrind --tool=callgrind --toggle-collect='*count_initiator*' … loopback count
//! valgrind --tool=callgrind --toggle-collect='*Poller*serve_events*' … loopback count
//! ```
//!
//! Absolute figures hold for one machine at one moment; compare the ratio of the two columns.

#![allow(clippy::print_stdout, reason = "an example prints what it finds")]

mod bare;
mod ours;

use iolab_clock::Clock;
use iolab_nvme_tcp::SocketLoop;
use ours::Load;

/// Bytes of a block, of the PDU that requests it, and of the header before it in the answer.
pub(crate) const BLOCK_BYTES: usize = 4096;
pub(crate) const REQUEST_BYTES: usize = 72;
pub(crate) const HEADER_BYTES: usize = 24;
/// How long each measurement takes.
const SPAN_NS: u64 = 1_000_000_000;

/// The result of a loop.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    pub(crate) reads: u64,
    pub(crate) ns: u64,
    /// Median of the latencies, for a depth of one.
    pub(crate) median_ns: u64,
}

impl Figures {
    fn per_second(self) -> f64 {
        self.reads as f64 * 1e9 / self.ns.max(1) as f64
    }

    fn median_us(self) -> f64 {
        self.median_ns as f64 / 1e3
    }
}

/// The median of the given latencies.
pub(crate) fn median(latencies: &mut [u32]) -> u64 {
    latencies.sort_unstable();
    latencies.get(latencies.len() / 2).copied().unwrap_or(0).into()
}

/// Binds the calling thread to a processor; does nothing on a machine with fewer processors.
pub(crate) fn bind(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

fn main() {
    let word = std::env::args().nth(1).unwrap_or_else(|| "3".to_owned());
    let clock = Clock::best().0;
    if word == "count" {
        return ours::count(&clock);
    }
    let rounds: usize = word.parse().unwrap_or(3);
    println!("bytes   depth  round  bare loop/s  p50 us  io_uring/s  p50 us  ratio  epoll/s  p50 us  ratio");
    for (bytes, depth) in [(4096, 1), (4096, 32), (4096, 128), (128 << 10, 1), (128 << 10, 8), (128 << 10, 32)] {
        for round in 1..=rounds {
            let bare = bare::run(&clock, (depth.into(), bytes), SPAN_NS);
            let [uring, epoll] = [SocketLoop::Uring, SocketLoop::Epoll]
                .map(|sockets| ours::run(&clock, Load { depth, bytes, sockets }, SPAN_NS));
            print!("{bytes:>6}  {depth:>5}  {round:>5}  {:>11.0}  {:>6.2}", bare.per_second(), bare.median_us());
            for ours in [uring, epoll] {
                let ratio = ours.per_second() / bare.per_second().max(1.0);
                print!("  {:>9.0}  {:>6.2}  {ratio:>5.2}", ours.per_second(), ours.median_us());
            }
            println!();
        }
    }
}
