//! Random streams: seeds, coverage, distributions, sizes, mixes.

use std::collections::HashMap;

use iolab_engine::{Op, OpKind};
use iolab_plan::{
    BlockSizes, Direction, Distribution, FileService, FileServiceKind, Percent, RandomGenerator, RandomMap,
    WorkloadPlan, ZoneShare,
};
use iolab_workload::{OpStream, PassLimits};

use crate::support;
use crate::support::{K, distributed, drain, extents, pass, plan, sized, whole, whole_pass};

fn count(io_count: u64) -> PassLimits {
    PassLimits { io_bytes: u64::MAX, io_count: Some(io_count) }
}

fn share(ops: &[Op], mut of: impl FnMut(&Op) -> bool) -> f64 {
    100.0 * ops.iter().filter(|op| of(op)).count() as f64 / ops.len() as f64
}

#[test]
fn streams_and_fillers_can_move_to_their_thread() {
    fn check<T: Send + 'static>() {}
    check::<OpStream>();
    check::<iolab_workload::OpBatch>();
    check::<iolab_workload::BufferFiller>();
}

#[test]
fn the_seed_decides_and_passes_differ() {
    for word in ["randread", "randrw", "randtrimwrite"] {
        let lengths = [1024 * K, 333 * K];
        let first = whole_pass(&plan(word), &lengths);
        assert_eq!(first, whole_pass(&plan(word), &lengths));
        assert_ne!(first, whole_pass(&WorkloadPlan { seed: 99, ..plan(word) }, &lengths));
        let mut stream = OpStream::new(&plan(word), &extents(&lengths), whole(&lengths)).expect("a plan that works");
        assert_eq!(drain(&mut stream), first);
        stream.restart();
        let second = drain(&mut stream);
        assert_ne!(second, first);
        assert_eq!(second.len(), first.len());
    }
}

/// Every byte of the files' whole blocks exactly once.
fn check_coverage(plan: &WorkloadPlan, lengths: &[u64], step: u64) {
    let mut seen: Vec<Vec<bool>> = lengths.iter().map(|length| vec![false; (length / step) as usize]).collect();
    for op in whole_pass(plan, lengths) {
        assert_eq!((op.offset % step, u64::from(op.length) % step), (0, 0));
        for block in op.offset / step..(op.offset + u64::from(op.length)) / step {
            let cell = &mut seen[op.file as usize][block as usize];
            assert!(!std::mem::replace(cell, true), "block {block} of file {} twice", op.file);
        }
    }
    assert!(seen.iter().flatten().all(|seen| *seen), "{:?} {lengths:?}", plan.block_sizes);
}

#[test]
fn maps_cover_every_block_once() {
    let split = BlockSizes::Split(vec![(4 * K, 30), (8 * K, 50), (64 * K, 20)]);
    for lengths in [&[4 * K][..], &[10 * K], &[1000 * K, 4 * K, 77 * K], &[4096 * K], &[3 * K, 4097 * K]] {
        for word in ["randread", "randrw"] {
            for generator in [RandomGenerator::Default, RandomGenerator::Lfsr] {
                check_coverage(&WorkloadPlan { generator, ..plan(word) }, lengths, 4 * K);
            }
            check_coverage(&sized(word, BlockSizes::Range { min: 4 * K, max: 32 * K }), lengths, 4 * K);
            check_coverage(&sized(word, split.clone()), lengths, 4 * K);
            let kind = FileServiceKind::Random;
            let file_service = FileService { kind, every: 3, open_files: 2 };
            check_coverage(&WorkloadPlan { file_service, ..plan(word) }, lengths, 4 * K);
        }
    }
}

#[test]
fn more_bytes_than_the_files_hold_cover_them_again() {
    let limits = PassLimits { io_bytes: 3 * 400 * K, io_count: None };
    let ops = pass(&plan("randread"), &[400 * K], limits);
    let rounds: Vec<&[Op]> = ops.chunks(100).collect();
    assert_eq!(rounds.len(), 3);
    assert_ne!(rounds[0], rounds[1]);
    for round in rounds {
        let mut blocks: Vec<u64> = round.iter().map(|op| op.offset / (4 * K)).collect();
        blocks.sort_unstable();
        assert!(blocks.into_iter().eq(0..100));
    }
}

#[test]
fn without_a_map_every_block_is_alike() {
    for blocks in [64, 100] {
        let free = WorkloadPlan { random_map: RandomMap::Off, ..plan("randread") };
        let ops = pass(&free, &[blocks * 4 * K + 2 * K], count(blocks * 400));
        let mut counts = vec![0_f64; blocks as usize];
        for op in ops {
            counts[(op.offset / (4 * K)) as usize] += 1.0;
        }
        let chi: f64 = counts.iter().map(|count| (count - 400.0).powi(2) / 400.0).sum();
        let freedom = (blocks - 1) as f64;
        assert!((chi - freedom).abs() < 4.0 * (2.0 * freedom).sqrt(), "{blocks}: {chi}");
    }
}

#[test]
fn distributions_reach_the_offsets() {
    let length = 1000 * 4 * K;
    let blocks = |distribution| -> Vec<u64> {
        pass(&distributed(distribution), &[length], count(50_000)).iter().map(|op| op.offset / (4 * K)).collect()
    };
    let within = |blocks: &[u64], range: std::ops::Range<u64>| {
        100.0 * blocks.iter().filter(|block| range.contains(block)).count() as f64 / blocks.len() as f64
    };
    // 1/k^1.2 over 1000 ranks sums to 4.3351.
    let zipf = blocks(Distribution::Zipf { theta: 1.2, center: Some(0.25) });
    assert!((within(&zipf, 250..251) - 23.07).abs() < 0.8);
    assert!((within(&zipf, 251..252) - 23.07 / 2.0_f64.powf(1.2)).abs() < 0.6);
    let mut counts = HashMap::new();
    for block in blocks(Distribution::Zipf { theta: 1.2, center: None }) {
        *counts.entry(block).or_insert(0_u32) += 1;
    }
    let mut hottest: Vec<(u32, u64)> = counts.into_iter().map(|(block, count)| (count, block)).collect();
    hottest.sort_unstable_by(|a, b| b.cmp(a));
    assert!((f64::from(hottest[0].0) / 500.0 - 23.07).abs() < 0.8);
    assert!(hottest[0].1.abs_diff(hottest[1].1) > 3 || hottest[1].1.abs_diff(hottest[2].1) > 3, "scattered");
    let normal = blocks(Distribution::Normal { deviation_percent: 10.0, center: None });
    assert!((within(&normal, 400..600) - 68.3).abs() < 1.2);
    let pareto = blocks(Distribution::Pareto { h: 0.2, center: Some(0.0) });
    assert!((within(&pareto, 0..100) + within(&pareto, 900..1000) - 80.0).abs() < 1.2);
    let zone = |access_percent, size_percent, size_bytes| ZoneShare { access_percent, size_percent, size_bytes };
    let zoned = blocks(Distribution::Zoned(vec![zone(60.0, 10.0, 0), zone(40.0, 90.0, 0)]));
    assert!((within(&zoned, 0..100) - 60.0).abs() < 1.2);
    let absolute = blocks(Distribution::ZonedAbsolute(vec![zone(70.0, 0.0, 200 * 4 * K), zone(30.0, 0.0, 1 << 40)]));
    assert!((within(&absolute, 0..200) - 70.0).abs() < 1.2);
}

#[test]
fn directions_may_have_distributions_of_their_own() {
    let mut mixed = plan("randrw");
    mixed.distributions[1] = Distribution::Normal { deviation_percent: 0.1, center: Some(0.5) };
    let ops = pass(&mixed, &[4000 * K], count(20_000));
    let near = |op: &Op| (1900 * K..2100 * K).contains(&op.offset);
    let of = |kind: OpKind| ops.iter().filter(|op| op.kind == kind).copied().collect::<Vec<_>>();
    assert!(share(&of(OpKind::Write), near) > 99.0);
    assert!((share(&of(OpKind::Read), near) - 5.0).abs() < 1.0);
}

#[test]
fn mixes_keep_their_percentages() {
    for (word, percent) in [("randrw", 70), ("rw", 30), ("randrw", 0), ("rw", 100)] {
        let mixed = WorkloadPlan { read_percent: Percent::whole(percent), ..plan(word) };
        let ops = pass(&mixed, &[1 << 40], count(40_000));
        let reads = share(&ops, |op| op.kind == OpKind::Read);
        assert!((reads - f64::from(percent)).abs() < 1.0, "{word} {percent}: {reads}");
    }
    // Four deviations of a short run.
    let short = pass(&plan("randrw"), &[1 << 30], count(200));
    assert!((share(&short, |op| op.kind == OpKind::Read) - 50.0).abs() < 14.2);
    let rates = WorkloadPlan { mix_by_rate: Some([1 << 20, 3 << 20, 0]), ..plan("randrw") };
    let ops = pass(&rates, &[1 << 30], count(400));
    assert!((share(&ops, |op| op.kind == OpKind::Read) - 25.0).abs() < 1.0);
}

#[test]
fn fractions_of_a_percentage_are_kept_to_the_operation() {
    for (word, percent) in [("randrw", 87.5), ("rw", 12.5), ("randrw", 37.5), ("rw", 99.875)] {
        let read_percent = Percent::of_number(percent).expect("a percentage");
        let mixed = WorkloadPlan { read_percent, ..plan(word) };
        let ops = pass(&mixed, &[1 << 40], count(200_000));
        let reads = ops.iter().filter(|op| op.kind == OpKind::Read).count();
        assert_eq!(reads as f64, percent * 2000.0, "{word} {percent}");
        // Not strictly alternating: there are runs of either kind.
        let turns = ops.windows(2).filter(|pair| pair[0].kind != pair[1].kind).count() as f64;
        let share = percent / 100.0;
        let expected = 2.0 * share * (1.0 - share) * 200_000.0;
        assert!((turns - expected).abs() < 6.0 * expected.sqrt(), "{word} {percent}: {turns} of {expected}");
    }
    // Also over passes that end in the middle of a deck.
    let read_percent = Percent::of_number(12.5).expect("a percentage");
    let mut stream = OpStream::new(&WorkloadPlan { read_percent, ..plan("randrw") }, &extents(&[1 << 30]), count(300))
        .expect("a plan that works");
    let mut reads = 0;
    for _ in 0..10 {
        reads += support::drain(&mut stream).iter().filter(|op| op.kind == OpKind::Read).count();
        stream.restart();
    }
    assert_eq!(reads, 375);
}

#[test]
fn part_of_a_random_stream_may_be_sequential() {
    for percent in [0, 25, 80] {
        let partly = WorkloadPlan { random_percent: [percent; 3], random_map: RandomMap::Off, ..plan("randread") };
        let ops = pass(&partly, &[1 << 32], count(20_000));
        let jumps = ops.windows(2).filter(|pair| pair[1].offset != pair[0].offset + 4096).count();
        let share = jumps as f64 / 200.0;
        assert!((share - f64::from(percent)).abs() < 1.5, "{percent}: {share}");
    }
}

#[test]
fn sizes_keep_their_shares() {
    let split = BlockSizes::Split(vec![(64 * K, 10), (4 * K, 60), (16 * K, 30), (512, 0)]);
    let mut plan = sized("randread", split);
    (plan.align_bytes, plan.random_map) = ([4 * K; 3], RandomMap::Off);
    let ops = pass(&plan, &[1 << 40], count(50_000));
    for (bytes, percent) in [(4 * K, 60.0), (16 * K, 30.0), (64 * K, 10.0), (512, 0.0)] {
        let observed = share(&ops, |op| u64::from(op.length) == bytes);
        assert!((observed - percent).abs() < 1.0, "{bytes}: {observed}");
    }
    let range = BlockSizes::Range { min: 4 * K, max: 18 * K };
    let ops = pass(&sized("read", range.clone()), &[1 << 40], count(40_000));
    for blocks in 1..=4 {
        assert!((share(&ops, |op| u64::from(op.length) == blocks * 4 * K) - 25.0).abs() < 1.0);
    }
    let unaligned = WorkloadPlan { unaligned_sizes: true, ..sized("read", range) };
    let ops = pass(&unaligned, &[1 << 40], count(10_000));
    assert!(ops.iter().all(|op| (4 * K..=18 * K).contains(&u64::from(op.length))));
    assert!(share(&ops, |op| op.length % 512 != 0) > 99.0);
}

/// In a whole pass with a map, sizes are cut where neighbours were visited before, but not
/// discarded: fio needs about 560 operations for the first of these, and 450 for the second.
#[test]
fn a_map_cuts_sizes_and_keeps_them_large() {
    for (sizes, expected) in [
        (BlockSizes::Split(vec![(4 * K, 50), (64 * K, 50)]), 450..620),
        (BlockSizes::Range { min: 4 * K, max: 64 * K }, 380..500),
    ] {
        for seed in 0..5 {
            let plan = WorkloadPlan { seed, ..sized("randread", sizes.clone()) };
            let count = whole_pass(&plan, &[10 << 20]).len();
            assert!(expected.contains(&count), "{sizes:?} {seed}: {count}");
        }
    }
}

#[test]
fn sizes_by_randomness_follow_the_choice() {
    let mut plan = WorkloadPlan { random_percent: [50; 3], random_map: RandomMap::Off, ..plan("randread") };
    plan.block_sizes = [BlockSizes::Fixed(4 * K), BlockSizes::Fixed(64 * K), BlockSizes::Fixed(4 * K)];
    plan.sizes_by_randomness = true;
    let ops = pass(&plan, &[1 << 40], count(20_000));
    for pair in ops.windows(2) {
        let follows = pair[1].offset == pair[0].offset + u64::from(pair[0].length);
        assert_eq!(u64::from(pair[1].length), if follows { 4 * K } else { 64 * K });
    }
    assert!((share(&ops, |op| op.length == 4096) - 50.0).abs() < 2.0);
}

#[test]
fn different_sizes_per_direction_cover_each_on_its_own() {
    let mut plan = plan("randrw");
    plan.block_sizes[1] = BlockSizes::Fixed(8 * K);
    plan.align_bytes[1] = 8 * K;
    let ops = pass(&plan, &[1 << 20], PassLimits { io_bytes: 1 << 20, io_count: None });
    let mut seen = std::collections::HashSet::new();
    for op in &ops {
        let bytes = if op.kind == OpKind::Read { 4 * K } else { 8 * K };
        assert_eq!((u64::from(op.length), op.offset % bytes), (bytes, 0));
        assert!(seen.insert((op.kind, op.offset)));
    }
}

#[test]
fn files_are_chosen_by_their_law() {
    let files = vec![1 << 30; 100];
    let shares = |kind| {
        let file_service = FileService { kind, every: 1, open_files: 0 };
        let plan = WorkloadPlan { file_service, random_map: RandomMap::Off, ..plan("randread") };
        let ops = pass(&plan, &files, count(40_000));
        (0..100).map(|file| share(&ops, |op| op.file == file)).collect::<Vec<f64>>()
    };
    assert!(shares(FileServiceKind::Random).iter().all(|share| (0.75..1.25).contains(share)));
    // 1/k^1.2 over 100 ranks sums to 3.6030.
    assert!((shares(FileServiceKind::Zipf(1.2))[0] - 27.75).abs() < 1.0);
    assert!((shares(FileServiceKind::Pareto(0.2))[..20].iter().sum::<f64>() - 80.0).abs() < 1.0);
    assert!((shares(FileServiceKind::Gauss(10.0))[40..60].iter().sum::<f64>() - 68.3).abs() < 1.2);
    // A file chosen by such a law begins again when it has ended.
    let kind = FileServiceKind::Zipf(2.0);
    let small = WorkloadPlan { file_service: FileService { kind, every: 2, open_files: 0 }, ..plan("read") };
    assert_eq!(whole_pass(&small, &[8 * K; 4]).len(), 8);
    let endless = PassLimits { io_bytes: 1600 * K, io_count: None };
    assert_eq!(pass(&small, &[8 * K; 4], endless).len(), 400);
}

#[test]
fn plans_that_cannot_work_are_refused() {
    let refuse = |plan: &WorkloadPlan, lengths: &[u64], words: &str| {
        let error = OpStream::new(plan, &extents(lengths), count(1)).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    };
    refuse(&plan("read"), &[], "no files");
    refuse(&plan("read"), &[4095], "room for one block");
    refuse(&plan("read"), &[u64::MAX], "off");
    refuse(&sized("read", BlockSizes::Fixed(0)), &[1 << 20], "must not be 0");
    refuse(&sized("read", BlockSizes::Fixed(1 << 32)), &[1 << 40], "4 GiB");
    refuse(&sized("read", BlockSizes::Range { min: 8, max: 4 }), &[1 << 20], "larger than the second");
    refuse(&sized("read", BlockSizes::Split(vec![(4096, 0)])), &[1 << 20], "sum to 0");
    refuse(&WorkloadPlan { align_bytes: [0; 3], ..plan("randread") }, &[1 << 20], "blockalign");
    refuse(&distributed(Distribution::Zipf { theta: -1.0, center: None }), &[1 << 20], "theta");
    refuse(&distributed(Distribution::Zoned(vec![])), &[1 << 20], "zone");
    let mut nothing = plan("read");
    nothing.pattern.directions = Vec::<Direction>::new();
    refuse(&nothing, &[1 << 20], "neither reads");
    let kind = FileServiceKind::Pareto(2.0);
    let service = WorkloadPlan { file_service: FileService { kind, every: 1, open_files: 0 }, ..plan("read") };
    refuse(&service, &[1 << 20, 1 << 20], "file_service_type");
    let stride = iolab_plan::StridePlan { range_bytes: 100, zone_bytes: 100, skip_bytes: 0 };
    refuse(&WorkloadPlan { stride: Some(stride), ..plan("read") }, &[1 << 20], "zonerange");
}
