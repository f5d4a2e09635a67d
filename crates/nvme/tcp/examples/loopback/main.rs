//! How close the initiator and the target come to the limit of sockets: 4 KiB reads from a drive
//! without media, compared with a bare loop that sends and receives messages of the same sizes.
//!
//! ```text
//! cargo run --release -p iolab-nvme-tcp --example loopback [ROUNDS [MS]]     interleaved rounds
//! valgrind --tool=callgrind --toggle-collect='*count_initiator*' … loopback count
//! valgrind --tool=callgrind --toggle-collect='*Poller*serve_events*' … loopback count
//! ```
//!
//! Absolute figures hold for one machine at one moment; compare the ratios. Each is the median of
//! the ratios of neighbouring measurements, with their lower and upper quartile in brackets.

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
/// Rounds, and how long each measurement takes.
const ROUNDS: usize = 15;
const SPAN_MS: u64 = 300;
/// Bytes of a read and reads in flight.
const LOADS: [(usize, u16); 6] = [(4096, 1), (4096, 32), (4096, 128), (128 << 10, 1), (128 << 10, 8), (128 << 10, 32)];

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

/// Median, lower and upper quartile.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    [at(0.5), at(0.25), at(0.75)]
}

fn spread(values: Vec<f64>, decimals: usize) -> String {
    let [median, low, high] = quartiles(values);
    format!("{median:.decimals$} [{low:.decimals$} {high:.decimals$}]")
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let clock = Clock::best().0;
    if words.first().is_some_and(|word| word == "count") {
        return ours::count(&clock);
    }
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).filter(|number| *number > 0);
    let rounds = number(0).map_or(ROUNDS, |rounds| rounds as usize);
    let span_ns = number(1).unwrap_or(SPAN_MS) * 1_000_000;
    println!(
        "{:>6}  {:>5}  {:<10}  {:>24}  {:>20}  {:<16}  p50 / bare loop",
        "bytes", "depth", "loop", "reads/s", "p50 us", "rate / bare loop"
    );
    for (bytes, depth) in LOADS {
        let mut found: [Vec<Figures>; 3] = Default::default();
        for _ in 0..rounds {
            found[0].push(bare::run(&clock, (depth.into(), bytes), span_ns));
            for (at, sockets) in [(1, SocketLoop::Uring), (2, SocketLoop::Epoll)] {
                found[at].push(ours::run(&clock, Load { depth, bytes, sockets }, span_ns));
            }
        }
        for (name, figures) in ["bare loop", "io_uring", "epoll"].iter().zip(&found) {
            let rates = spread(figures.iter().map(|one| one.per_second()).collect(), 0);
            let ratios = |of: fn(Figures) -> f64| {
                let ratio = |(one, bare): (&Figures, &Figures)| of(*one) / of(*bare).max(f64::MIN_POSITIVE);
                spread(figures.iter().zip(&found[0]).map(ratio).collect(), 2)
            };
            let rate_ratio = ratios(Figures::per_second);
            let (medians, median_ratio) = match depth {
                1 => (spread(figures.iter().map(|one| one.median_us()).collect(), 2), ratios(Figures::median_us)),
                _ => (String::new(), String::new()),
            };
            println!("{bytes:>6}  {depth:>5}  {name:<10}  {rates:>24}  {medians:>20}  {rate_ratio}  {median_ratio}");
        }
    }
}
