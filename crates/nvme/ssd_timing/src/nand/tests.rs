//! Tests the guarantees of the NAND model in both fidelities: the map is one to one, collection
//! ends and loses nothing, free lines never run out, and the mended fidelity has no oddities.

use proptest::prelude::*;

use super::Nand;
use crate::parameters::{Capacity, Fidelity, ParameterError, Parameters, VictimPolicy};
use crate::presets;
use crate::request::{CommandKind, CompletionTime, TimedCommand};
use iolab_random::SplitMix64;

use crate::study::ClosedLoop;

/// A drive so small that a few thousand writes overwrite it.
fn small(change: impl FnOnce(&mut Parameters)) -> Nand {
    let mut parameters = presets::SAMSUNG_970_PRO.parameters();
    parameters.channels = 4;
    parameters.partitions = 2;
    parameters.luns_per_channel = 1;
    parameters.write_buffer_bytes = 256 << 10;
    change(&mut parameters);
    Nand::new(&parameters, Capacity::Visible(9 << 20)).unwrap()
}

/// Checks that each mapped logical page is the owner of its physical page, and that lines count
/// their valid pages correctly.
fn assert_one_to_one(drive: &Nand) {
    for partition in &drive.partitions {
        let pages_per_line = drive.geometry.pages_per_line;
        let mut valid = vec![0; partition.lines.count()];
        for logical in 0..drive.geometry.visible_pages {
            if let Some(page) = partition.lookup(logical) {
                assert_eq!(partition.valid_owner(page), Some(logical), "page {page}");
                valid[(page / pages_per_line) as usize] += 1;
            }
        }
        for (line, valid) in valid.into_iter().enumerate() {
            assert_eq!(partition.lines.valid(line as u32), valid, "line {line}");
        }
    }
}

/// Submits a command, waiting while the buffer is full. The completion must be in the future.
fn give(drive: &mut Nand, now_ns: &mut u64, request: &TimedCommand) -> u64 {
    loop {
        match drive.schedule(*now_ns, request) {
            CompletionTime::At(target_ns) => {
                assert!(target_ns >= *now_ns, "{request:?} at {now_ns} completes at {target_ns}");
                return target_ns;
            }
            CompletionTime::Retry { not_before_ns } => {
                assert!(not_before_ns > *now_ns, "{request:?} at {now_ns} is retried at {not_before_ns}");
                assert_eq!(drive.buffer.next_release_ns(), Some(not_before_ns));
                *now_ns = not_before_ns;
            }
        }
    }
}

fn command() -> impl Strategy<Value = (TimedCommand, u64)> {
    let kinds = prop_oneof![
        12 => Just(CommandKind::Write),
        4 => Just(CommandKind::Read),
        2 => Just(CommandKind::Trim),
        1 => Just(CommandKind::WriteZeroes),
        1 => Just(CommandKind::Flush),
    ];
    let passed = prop_oneof![8 => 0u64..20_000, 1 => 0u64..400_000_000];
    // Ranges may go beyond the end: that part is ignored.
    (kinds, 0u64..(10 << 11), 1u64..200, any::<bool>(), passed).prop_map(|(kind, block, blocks, fua, passed)| {
        (TimedCommand { kind, offset_bytes: block * 512, length_bytes: blocks * 512, fua }, passed)
    })
}

fn settings() -> impl Strategy<Value = (Fidelity, VictimPolicy, bool, bool, u64)> {
    (
        prop_oneof![Just(Fidelity::Mended), Just(Fidelity::Compatible)],
        prop_oneof![Just(VictimPolicy::Greedy), Just(VictimPolicy::CostBenefit)],
        any::<bool>(),
        any::<bool>(),
        0u64..12,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_host_does_the_map_stays_one_to_one(
        (fidelity, policy, paced, volatile, idle_below) in settings(),
        commands in prop::collection::vec(command(), 1..1500),
    ) {
        let mut drive = small(|parameters| {
            parameters.fidelity = fidelity;
            parameters.victim_policy = policy;
            parameters.paced_collection = paced;
            parameters.volatile_cache = volatile;
            parameters.idle_collect_below_lines = idle_below;
            parameters.idle_before_collect_ns = 1_000_000;
        });
        let lines = drive.statistics().lines;
        let mut now_ns = 0;
        let mut again = drive.clone();
        let mut again_now_ns = 0;
        for (request, passed) in commands {
            now_ns += passed;
            again_now_ns += passed;
            let before: Vec<u64> = drive.flash.die_times().to_vec();
            let target_ns = give(&mut drive, &mut now_ns, &request);
            prop_assert!(drive.flash.die_times().iter().zip(before).all(|(after, before)| *after >= before));
            // The same commands at the same times give the same answers.
            prop_assert_eq!(give(&mut again, &mut again_now_ns, &request), target_ns);
        }
        assert_one_to_one(&drive);
        let statistics = drive.statistics();
        prop_assert!(statistics.flash_written_bytes() >= statistics.host_written_bytes);
        prop_assert!(statistics.flash_host_bytes >= statistics.host_written_bytes);
        if fidelity == Fidelity::Mended {
            prop_assert_eq!(statistics.lines, lines, "lines were added: free ones ran out");
        }
        prop_assert_eq!(statistics, again.statistics());
    }

    #[test]
    fn any_capacity_from_the_least_works(pages in 256u64..20_000, spare in 0u64..30, below in 2u64..6) {
        let mut parameters = presets::SAMSUNG_970_PRO.parameters();
        parameters.channels = 2;
        parameters.partitions = 1;
        parameters.luns_per_channel = 1;
        parameters.spare_percent = spare;
        parameters.collect_below_lines = below;
        let (drive, pages) = match Nand::new(&parameters, Capacity::Visible(pages * 4096)) {
            Ok(drive) => (drive, pages),
            Err(ParameterError::TooSmall { least_bytes, .. }) => {
                prop_assert!(pages * 4096 < least_bytes && least_bytes <= 4 << 20, "{least_bytes}");
                (Nand::new(&parameters, Capacity::Visible(least_bytes)).unwrap(), least_bytes / 4096)
            }
            Err(error) => panic!("{error}"),
        };
        let mut drive = drive;
        let lines = drive.statistics().lines;
        prop_assert_eq!(drive.visible_bytes(), pages * 4096);
        let (mut now_ns, mut random) = (0, SplitMix64::new(pages));
        for page in (0..pages).chain((0..3 * pages).map(|_| random.below(pages))) {
            give(&mut drive, &mut now_ns, &TimedCommand::write(page * 4096, 4096));
        }
        assert_one_to_one(&drive);
        let statistics = drive.statistics();
        prop_assert_eq!(statistics.lines, lines, "free lines ran out");
        prop_assert!(statistics.collected_lines > 0);
    }
}

fn steady(change: impl FnOnce(&mut Parameters)) -> (Nand, u64) {
    let mut drive = small(change);
    let mut now_ns = 0;
    let mut random = SplitMix64::new(7);
    for page in (0..2304).chain((0..20_000).map(|_| random.below(2304))) {
        give(&mut drive, &mut now_ns, &TimedCommand::write(page * 4096, 4096));
    }
    (drive, now_ns)
}

#[test]
fn overwriting_amplifies_and_trimming_relieves() {
    let (mut drive, mut now_ns) = steady(|_| {});
    let before = drive.statistics();
    assert!(before.write_amplification().unwrap() > 1.5, "{before:?}");
    give(&mut drive, &mut now_ns, &TimedCommand::trim(0, 9 << 20));
    assert_eq!(drive.statistics().trimmed_bytes, 9 << 20);
    for page in 0..2304 {
        give(&mut drive, &mut now_ns, &TimedCommand::write(page * 4096, 4096));
    }
    let after = drive.statistics().since(&before);
    assert_eq!(after.flash_moved_bytes, 0, "nothing was valid: {after:?}");
    assert!(after.collected_lines > 0, "{after:?}");
}

#[test]
fn trimming_unmaps_what_it_covers_and_nothing_else() {
    let (mut drive, mut now_ns) = steady(|_| {});
    for (offset, length) in [(4096, 8192), (512, 4096), (40_000, 41_000), (1 << 20, 3 << 20), (9 << 20, 4096)] {
        let mapped = |drive: &Nand, page: u64| {
            let partitions = drive.geometry.partitions;
            drive.partitions[(page % partitions) as usize].lookup(page / partitions).is_some()
        };
        let before: Vec<bool> = (0..2304).map(|page| mapped(&drive, page)).collect();
        give(&mut drive, &mut now_ns, &TimedCommand::trim(offset, length));
        for page in 0..2304 {
            let covered = page * 4096 >= offset && (page + 1) * 4096 <= offset + length;
            assert_eq!(mapped(&drive, page), before[page as usize] && !covered, "{offset} {length}: page {page}");
        }
    }
    assert_one_to_one(&drive);
}

#[test]
fn a_host_that_writes_hot_and_cold_data_is_served_better_by_cost_benefit() {
    let amplification = |policy| {
        let mut drive = small(|parameters| parameters.victim_policy = policy);
        let (mut now_ns, mut random) = (0, SplitMix64::new(3));
        let places = (0..2304).chain((0..60_000).map(|_| {
            // Nine of ten writes go to a tenth of the drive.
            if random.below(10) < 9 { random.below(230) } else { 230 + random.below(2074) }
        }));
        for page in places {
            give(&mut drive, &mut now_ns, &TimedCommand::write(page * 4096, 4096));
        }
        drive.statistics().write_amplification().unwrap()
    };
    let (greedy, cost_benefit) = (amplification(VictimPolicy::Greedy), amplification(VictimPolicy::CostBenefit));
    assert!(cost_benefit < greedy, "cost-benefit {cost_benefit}, greedy {greedy}");
}

#[test]
fn idle_time_makes_lines_free() {
    let (mut drive, now_ns) = steady(|parameters| parameters.idle_collect_below_lines = 8);
    let before = drive.statistics();
    let first = drive.next_event_ns().unwrap();
    let mut events = 0;
    while let Some(event_ns) = drive.next_event_ns() {
        drive.advance(event_ns);
        events += 1;
        assert!(events < 100_000, "it goes on for ever");
    }
    let after = drive.statistics();
    assert!(first >= now_ns && after.free_lines > before.free_lines, "{before:?} {after:?}");
    assert!(after.collected_idle_lines > 0);
    assert_one_to_one(&drive);
}

#[test]
fn events_and_one_long_leap_come_to_the_same() {
    let (mut stepped, now_ns) = steady(|parameters| parameters.idle_collect_below_lines = 8);
    let mut leapt = stepped.clone();
    while let Some(event_ns) = stepped.next_event_ns() {
        stepped.advance(event_ns);
    }
    let later = TimedCommand::write(0, 4096);
    let at_ns = now_ns + 100_000_000_000;
    assert_eq!(leapt.schedule(at_ns, &later), stepped.schedule(at_ns, &later));
    assert_eq!(leapt.statistics(), stepped.statistics());
}

#[test]
fn unwritten_pages_cost_firmware_and_link() {
    let mut mended = small(|_| {});
    let CompletionTime::At(target_ns) = mended.schedule(1000, &TimedCommand::read(0, 4096)) else {
        panic!("reads never wait")
    };
    assert!((1000 + 21_500 + 1_000..1000 + 21_500 + 2_000).contains(&target_ns), "{target_ns}");
    let mut compatible = small(|parameters| parameters.fidelity = Fidelity::Compatible);
    assert_eq!(compatible.schedule(1000, &TimedCommand::read(0, 4096)), CompletionTime::At(1000));
}

#[test]
fn a_wide_link_is_wide_in_the_mended_model_only() {
    let bandwidth = |fidelity| {
        let mut parameters = presets::SAMSUNG_970_PRO.parameters();
        parameters.fidelity = fidelity;
        parameters.pcie_mib_per_second = 9000;
        let mut drive = crate::TimingModel::build(&parameters, Capacity::Visible(1 << 30)).unwrap();
        let mut host = ClosedLoop::new(8, 0);
        for offset in (0..1 << 30).step_by(128 << 10) {
            host.issue(&mut drive, &TimedCommand::write(offset, 128 << 10));
        }
        let start_ns = host.drain() + 1_000_000_000;
        let mut host = ClosedLoop::new(32, start_ns);
        for offset in (0..1 << 30).step_by(128 << 10) {
            host.issue(&mut drive, &TimedCommand::read(offset, 128 << 10));
        }
        1024.0 * 1e9 / (host.drain() - start_ns) as f64
    };
    let (compatible, mended) = (bandwidth(Fidelity::Compatible), bandwidth(Fidelity::Mended));
    assert!((1000.0..1300.0).contains(&compatible), "{compatible} MiB/s");
    assert!(mended > 4_000.0, "{mended} MiB/s");
}

#[test]
fn flush_and_fua_reach_the_flash_of_a_volatile_drive() {
    for (volatile, least_ns) in [(true, 185_000), (false, 0)] {
        let mut drive = small(|parameters| parameters.volatile_cache = volatile);
        let mut now_ns = 0;
        let written_ns = give(&mut drive, &mut now_ns, &TimedCommand::write(0, 4096));
        assert!(written_ns < 20_000, "{written_ns}");
        let flushed_ns = give(&mut drive, &mut now_ns, &TimedCommand::flush());
        assert!(flushed_ns >= least_ns, "{flushed_ns}");
        let fua = TimedCommand { fua: true, ..TimedCommand::write(8192, 4096) };
        assert!(give(&mut drive, &mut now_ns, &fua) >= least_ns);
        assert_eq!(drive.statistics().flash_filler_bytes > 0, volatile);
        assert_one_to_one(&drive);
    }
}

#[test]
fn memory_is_for_what_was_written() {
    // Tables of a tebibyte would take seconds to fill; zeroed memory takes no time until it is
    // accessed.
    let parameters = presets::SAMSUNG_970_PRO.parameters();
    let mut drive = Nand::new(&parameters, Capacity::Visible(1 << 40)).unwrap();
    let last = drive.visible_bytes() - 4096;
    assert!(matches!(drive.schedule(0, &TimedCommand::write(last, 4096)), CompletionTime::At(_)));
    assert_eq!(drive.visible_bytes(), 1 << 40);
}
