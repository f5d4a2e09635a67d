//! The cost of making an operation: nanoseconds per operation of the main kinds of stream, and of
//! filling buffers.
//!
//! `cargo run --release -p iolab-workload --example stream_cost [operations]`
#![allow(clippy::print_stdout, reason = "a measurement's output is its purpose")]

use iolab_clock::Clock;
use std::hint::black_box;

use iolab_engine::{Op, OpKind};
use iolab_plan::{
    BlockSizes, BufferPlan, Direction, Distribution, RandomGenerator, RandomMap, StridePlan, WorkerPlan, WorkloadPlan,
    ZoneShare,
};
use iolab_workload::{BufferFiller, Extent, OpBatch, OpStream, PassLimits};

const TEBIBYTE: u64 = 1 << 40;

fn plan(random: bool, map: RandomMap) -> WorkloadPlan {
    let mut plan = worker().workload;
    plan.pattern.directions = vec![Direction::Read];
    (plan.pattern.random, plan.random_map, plan.file_service.open_files) = (random, map, 0);
    plan
}

fn worker() -> WorkerPlan {
    let text = include_str!("../../../contract/recording/tests/worker_plan.json");
    serde_json::from_str(text).expect("a worker's plan")
}

fn cost(name: &str, plan: &WorkloadPlan, files: &[u64], ops: u64) {
    let extents: Vec<Extent> = files.iter().map(|length| Extent { start_bytes: 0, length_bytes: *length }).collect();
    let limits = PassLimits { io_bytes: u64::MAX, io_count: Some(ops) };
    let mut stream = match OpStream::new(plan, &extents, limits) {
        Ok(stream) => stream,
        Err(error) => {
            println!("{name:34} {error}");
            return;
        }
    };
    let mut batch = OpBatch::new();
    let mut best = f64::INFINITY;
    for _ in 0..30 {
        stream.restart();
        let clock = Clock::monotonic();
        let begun_ns = clock.now_ns();
        let mut made = 0_u64;
        while stream.fill(&mut batch) > 0 {
            made += batch.len() as u64;
            for op in batch.by_ref() {
                black_box(op);
            }
        }
        best = best.min((clock.now_ns() - begun_ns) as f64 / made.max(1) as f64);
    }
    println!("{name:34} {best:7.2} ns/op  {:>10} bytes held", stream.memory_bytes());
}

fn streams(ops: u64) {
    let (sequential, random, mapped) =
        (plan(false, RandomMap::On), plan(true, RandomMap::Off), plan(true, RandomMap::On));
    let one = [TEBIBYTE];
    cost("sequential", &sequential, &one, ops);
    cost("random, no map", &random, &one, ops);
    cost("random, map, 2^28 blocks", &mapped, &one, ops);
    cost("random, map, 200e6 blocks", &mapped, &[200_000_000 * 4096], ops);
    cost("random, map, nearly filled up", &mapped, &[(ops + 1) * 4096], ops);
    let lfsr = WorkloadPlan { generator: RandomGenerator::Lfsr, ..mapped.clone() };
    cost("random, lfsr", &lfsr, &one, ops);
    let mut mixed = random.clone();
    mixed.pattern.directions = vec![Direction::Read, Direction::Write];
    cost("random, no map, 50/50", &mixed, &one, ops);
    let rates = WorkloadPlan { mix_by_rate: Some([1 << 20, 1 << 21, 0]), ..mixed.clone() };
    cost("random, no map, mixed by rate", &rates, &one, ops);
    let split = || BlockSizes::Split(vec![(4096, 60), (16384, 30), (65536, 10)]);
    let range = || BlockSizes::Range { min: 4096, max: 65536 };
    cost(
        "random, no map, split",
        &WorkloadPlan { block_sizes: [split(), split(), split()], ..random.clone() },
        &one,
        ops,
    );
    cost(
        "random, no map, range",
        &WorkloadPlan { block_sizes: [range(), range(), range()], ..random.clone() },
        &one,
        ops,
    );
    cost(
        "random, bitmap, split",
        &WorkloadPlan { block_sizes: [split(), split(), split()], ..mapped.clone() },
        &one,
        ops,
    );
    filling(&WorkloadPlan { block_sizes: [split(), split(), split()], ..mapped.clone() });
    let filled = [ops * 12_000];
    cost(
        "random, bitmap, split, filling up",
        &WorkloadPlan { block_sizes: [split(), split(), split()], ..mapped },
        &filled,
        ops,
    );
    skewed(&random, ops);
    rarer(&random, ops);
}

/// A tebibyte at random, every block once, in varying sizes: the cost of an operation in each tenth
/// of the pass.
fn filling(plan: &WorkloadPlan) {
    let extents = [Extent { start_bytes: 0, length_bytes: TEBIBYTE }];
    let limits = PassLimits { io_bytes: u64::MAX, io_count: None };
    let Ok(mut stream) = OpStream::new(plan, &extents, limits) else { return };
    let mut batch = OpBatch::new();
    let mut costs = Vec::new();
    let mut moved_bytes = 0;
    for tenth in 1..=10 {
        let clock = Clock::monotonic();
        let begun_ns = clock.now_ns();
        let mut made = 0_u64;
        while moved_bytes < TEBIBYTE / 10 * tenth && stream.fill(&mut batch) > 0 {
            made += batch.len() as u64;
            moved_bytes += batch.by_ref().map(|op| u64::from(op.length)).sum::<u64>();
        }
        costs.push(format!("{:.0}", (clock.now_ns() - begun_ns) as f64 / made.max(1) as f64));
    }
    println!("random, bitmap, split, by tenths of the pass: {} ns/op", costs.join(" "));
}

fn skewed(random: &WorkloadPlan, ops: u64) {
    let one = [TEBIBYTE];
    let with = |distribution: Distribution| WorkloadPlan {
        distributions: [distribution.clone(), distribution.clone(), distribution],
        ..random.clone()
    };
    cost("zipf 1.2", &with(Distribution::Zipf { theta: 1.2, center: None }), &one, ops);
    cost("zipf 0.9", &with(Distribution::Zipf { theta: 0.9, center: None }), &one, ops);
    cost("zipf 0.9, center", &with(Distribution::Zipf { theta: 0.9, center: Some(0.5) }), &one, ops);
    cost("pareto 0.2", &with(Distribution::Pareto { h: 0.2, center: None }), &one, ops);
    cost("normal 10", &with(Distribution::Normal { deviation_percent: 10.0, center: None }), &one, ops);
    let zone = |access_percent, size_percent| ZoneShare { access_percent, size_percent, size_bytes: 0 };
    cost("zoned", &with(Distribution::Zoned(vec![zone(60.0, 10.0), zone(30.0, 20.0), zone(10.0, 70.0)])), &one, ops);
}

fn rarer(random: &WorkloadPlan, ops: u64) {
    let many = vec![1 << 30; 100];
    let one = [TEBIBYTE];
    cost("random, no map, 100 files in turn", random, &many, ops);
    let partly = WorkloadPlan { random_percent: [70; 3], ..random.clone() };
    cost("70 % random", &partly, &one, ops);
    let stride = StridePlan { range_bytes: 1 << 28, zone_bytes: 1 << 20, skip_bytes: 1 << 28 };
    cost("strided", &WorkloadPlan { stride: Some(stride), ..random.clone() }, &one, ops);
    let mut synced = random.clone();
    synced.pattern.directions = vec![Direction::Write];
    synced.sync.fsync_every = 32;
    cost("random writes, fsync=32", &synced, &one, ops);
}

fn buffers(rounds: u64) {
    let plan = BufferPlan { scramble: false, ..worker().buffers };
    let kinds = [
        ("refill", BufferPlan { refill: true, ..plan.clone() }),
        ("scramble", BufferPlan { scramble: true, ..plan.clone() }),
        ("compress 50 %", BufferPlan { compress_percent: Some(50), ..plan.clone() }),
        ("dedupe 50 %", BufferPlan { dedupe_percent: 50, ..plan }),
    ];
    for (name, plan) in kinds {
        let mut filler = BufferFiller::new(&plan, 1);
        let mut slot = vec![0_u8; 4096];
        filler.initialise(&mut slot);
        let op = Op { offset: 0, length: 4096, buffer_offset: 0, file: 0, slot: 0, kind: OpKind::Write, priority: 0 };
        let clock = Clock::monotonic();
        let begun_ns = clock.now_ns();
        for round in 0..rounds {
            filler.before_write(&Op { offset: round * 4096, ..op }, &mut slot);
            black_box(&mut slot);
        }
        let ns = (clock.now_ns() - begun_ns) as f64 / rounds as f64;
        println!("{name:34} {ns:7.2} ns per 4 KiB  {:6.2} GB/s", 4096.0 / ns);
    }
}

fn main() {
    let ops = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20_000);
    streams(ops);
    buffers(ops);
}
