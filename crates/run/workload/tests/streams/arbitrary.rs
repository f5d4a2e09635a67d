//! For any plan: no operation leaves its extent or is empty, every stream ends, and every stream is
//! reproducible.

use iolab_engine::{Op, OpKind};
use iolab_plan::{
    BlockSizes, Distribution, FileService, FileServiceKind, Percent, RandomGenerator, RandomMap, RateProcess,
    Sequencer, StridePlan, SyncCadence, SyncFileRangePlan, WorkloadPlan, ZoneShare,
};
use iolab_workload::{Extent, OpStream, PassLimits};
use proptest::prelude::*;

use crate::support::{drain, plan};

fn block_sizes() -> impl Strategy<Value = BlockSizes> {
    let bytes = prop_oneof![1_u64..5000, (0_u32..8).prop_map(|power| 512 << power)];
    prop_oneof![
        bytes.clone().prop_map(BlockSizes::Fixed),
        (bytes.clone(), 0_u64..70_000).prop_map(|(min, more)| BlockSizes::Range { min, max: min + more }),
        prop::collection::vec((bytes, 0_u32..60), 1..5).prop_map(|mut parts| {
            parts[0].1 += 1;
            BlockSizes::Split(parts)
        }),
    ]
}

fn distribution() -> impl Strategy<Value = Distribution> {
    let center = prop::option::of(0.0..=1.0);
    let zone = (0.0..100.0_f64, 0.0..100.0_f64, 0_u64..1 << 20)
        .prop_map(|(access_percent, size_percent, size_bytes)| ZoneShare { access_percent, size_percent, size_bytes });
    let zones = prop::collection::vec(zone, 1..5).prop_map(|mut zones| {
        zones[0].access_percent += 0.1;
        zones
    });
    prop_oneof![
        4 => Just(Distribution::Uniform),
        1 => (0.01..4.0, center.clone()).prop_map(|(theta, center)| Distribution::Zipf { theta, center }),
        1 => (0.01..0.99, center.clone()).prop_map(|(h, center)| Distribution::Pareto { h, center }),
        1 => (0.0..100.0, center)
            .prop_map(|(deviation_percent, center)| Distribution::Normal { deviation_percent, center }),
        1 => zones.clone().prop_map(Distribution::Zoned),
        1 => zones.prop_map(Distribution::ZonedAbsolute),
    ]
}

fn file_service() -> impl Strategy<Value = FileService> {
    let kind = prop_oneof![
        Just(FileServiceKind::RoundRobin),
        Just(FileServiceKind::Sequential),
        Just(FileServiceKind::Random),
        (0.1..3.0).prop_map(FileServiceKind::Zipf),
        (0.1..0.9).prop_map(FileServiceKind::Pareto),
        (0.0..50.0).prop_map(FileServiceKind::Gauss),
    ];
    (kind, 0_u32..5, 0_u32..4).prop_map(|(kind, every, open_files)| FileService { kind, every, open_files })
}

fn sync() -> impl Strategy<Value = SyncCadence> {
    let every = || prop_oneof![2 => Just(0_u32), 1 => 1_u32..6];
    let range = prop::option::of(every().prop_map(|every| SyncFileRangePlan { flags: 7, every }));
    (every(), every(), every(), range).prop_map(|(fsync_every, fdatasync_every, barrier_every, file_range)| {
        SyncCadence { fsync_every, fdatasync_every, barrier_every, file_range }
    })
}

fn stride() -> impl Strategy<Value = Option<StridePlan>> {
    let some = (70_000_u64..1 << 20, 0_u64..1 << 20, 0_u64..1 << 20)
        .prop_map(|(range_bytes, zone_bytes, skip_bytes)| Some(StridePlan { range_bytes, zone_bytes, skip_bytes }));
    prop_oneof![3 => Just(None), 1 => some]
}

fn workload() -> impl Strategy<Value = WorkloadPlan> {
    let word = prop::sample::select(vec![
        "read",
        "write",
        "trim",
        "rw",
        "trimwrite",
        "randread",
        "randwrite",
        "randrw",
        "randtrimwrite",
    ]);
    let sizes = (prop::array::uniform3(block_sizes()), prop::option::of(prop::array::uniform3(1_u64..10_000)));
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let steps = (prop_oneof![2 => Just(1_u32), 1 => 0_u32..6], prop_oneof![2 => Just(0_i64), 1 => -9000_i64..9000]);
    let chances = (0_u32..=100_000, prop::array::uniform3(prop_oneof![2 => Just(100_u32), 1 => 0_u32..=100]));
    let rates = prop::option::of(prop::array::uniform3(0_u64..1000));
    let rest = (prop::array::uniform3(distribution()), file_service(), sync(), stride(), rates);
    (word, sizes, switches, steps, chances, rest, any::<u64>()).prop_map(
        |(word, (block_sizes, align), switches, (every, skip_bytes), (read_percent, random_percent), rest, seed)| {
            let mut made = plan(word);
            made.align_bytes = align.unwrap_or_else(|| block_sizes.clone().map(|sizes| sizes.min()));
            made.block_sizes = block_sizes;
            (made.pattern.every, made.pattern.skip_bytes, made.seed) = (every, skip_bytes, seed);
            (made.read_percent, made.random_percent) = (Percent::of_thousandths(read_percent), random_percent);
            let (map, lfsr, identical, unaligned, by_randomness) = switches;
            made.random_map = if map { RandomMap::On } else { RandomMap::Off };
            made.generator = if lfsr { RandomGenerator::Lfsr } else { RandomGenerator::Default };
            made.pattern.sequencer = if identical { Sequencer::Identical } else { Sequencer::Sequential };
            (made.unaligned_sizes, made.sizes_by_randomness) = (unaligned, by_randomness);
            (made.distributions, made.file_service, made.sync, made.stride, made.mix_by_rate) = rest;
            made.mix_process = if identical { RateProcess::Poisson } else { RateProcess::Linear };
            made
        },
    )
}

/// Checks what must hold for every operation of every plan.
fn check_op(op: &Op, plan: &WorkloadPlan, extents: &[Extent]) -> Result<(), TestCaseError> {
    prop_assert_eq!((op.slot, op.buffer_offset, op.priority), (0, 0, 0));
    let extent = &extents[op.file as usize];
    if matches!(op.kind, OpKind::Sync | OpKind::DataSync) {
        return Ok(());
    }
    let end = op.offset + u64::from(op.length);
    prop_assert!(op.length > 0);
    prop_assert!(op.offset >= extent.start_bytes && end <= extent.start_bytes + extent.length_bytes, "{op:?}");
    let Some(direction) = op.kind.direction() else { return Ok(()) };
    let from = if plan.pattern.trim_then_write { 2 } else { direction.index() };
    if !plan.sizes_by_randomness {
        let sizes = &plan.block_sizes[from];
        let length = u64::from(op.length);
        prop_assert!(length >= sizes.min() && length <= sizes.max(), "{op:?}");
        if let BlockSizes::Split(parts) = sizes {
            // A map cuts sizes to what is free.
            let cut = plan.pattern.random && plan.random_map == RandomMap::On;
            prop_assert!(cut || parts.iter().any(|part| part.0 == length));
        }
    }
    let only_random = plan.random_percent == [100; 3] && plan.pattern.every <= 1 && plan.stride.is_none();
    if plan.pattern.random && only_random {
        prop_assert_eq!((op.offset - extent.start_bytes) % plan.align_bytes[from], 0);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_plan_stays_within_bounds_and_ends(
        plan in workload(),
        files in prop::collection::vec((0_u64..100_000, 0_u64..300_000), 1..6),
        io_bytes in 0_u64..1_000_000,
        io_count in prop::option::of(0_u64..300),
    ) {
        let extents: Vec<Extent> =
            files.iter().map(|file| Extent { start_bytes: file.0, length_bytes: file.1 }).collect();
        // Tiny blocks would make passes long.
        let limits = PassLimits { io_bytes, io_count: Some(io_count.unwrap_or(2000)) };
        let Ok(mut stream) = OpStream::new(&plan, &extents, limits) else { return Ok(()) };
        let mut again = OpStream::new(&plan, &extents, limits).expect("what worked once");
        for _ in 0..2 {
            let ops = drain(&mut stream);
            prop_assert_eq!(&ops, &drain(&mut again));
            for op in &ops {
                check_op(op, &plan, &extents)?;
            }
            let moving: Vec<&Op> = ops.iter().filter(|op| !op.kind.is_sync()).collect();
            prop_assert!(moving.len() as u64 <= limits.io_count.unwrap_or(u64::MAX));
            let bytes: u64 = moving.iter().map(|op| u64::from(op.length)).sum();
            let longest = plan.block_sizes.iter().map(BlockSizes::max).max().unwrap_or(0);
            let times = if plan.pattern.trim_then_write { 2 } else { 1 };
            prop_assert!(bytes < times * (io_bytes + longest));
            prop_assert!(!moving.is_empty() || io_bytes == 0 || limits.io_count == Some(0));
            stream.restart();
            again.restart();
        }
    }
}
