//! When cleaning starts, which clusters it takes, how it combines pieces, and what crashes leave.

use iolab_disk::RamDisk;
use iolab_executor::ReadyOrder;
use iolab_logfs::{Activity, CleaningDefaults, Error, InodeId, LogFs, OpenOptions, Owner, Policy, Repair, mkfs};

use crate::rig;
use crate::rig::crash::run_script;
use crate::rig::load::{Step, bytes};
use crate::rig::model::Model;
use crate::rig::{BLOCK, Bench, CLUSTER, Random, empty_image, options, policy_by_turns, scale, small_memory};

const CLUSTERS: u64 = 200;
/// Live bytes of each cluster that [`pairs`] fills.
const KEPT: usize = CLUSTER as usize / 4;

fn open_with(policy: Policy, memory_clusters: u64) -> (Bench, LogFs) {
    let disk = RamDisk::with_contents(empty_image(CLUSTERS), BLOCK);
    let mut bench = Bench::new(disk, ReadyOrder::Fair);
    let cleaning_bytes = Some(memory_clusters * u64::from(CLUSTER));
    let fs = bench.try_open(OpenOptions { policy: Some(policy), cleaning_bytes, ..small_memory() }).unwrap().0;
    (bench, fs)
}

/// Fills this number of clusters, a quarter of each with one of `keepers` files in turn and the
/// rest with a file of its own; returns the files of both kinds.
fn pairs(bench: &mut Bench, fs: &LogFs, count: usize, keepers: usize) -> (Vec<InodeId>, Vec<InodeId>) {
    let create = |bench: &mut Bench, name: String| {
        bench.run(fs.create(InodeId::ROOT, name.as_bytes(), Owner::default())).unwrap()
    };
    let kept: Vec<InodeId> = (0..keepers).map(|number| create(bench, format!("keep{number}"))).collect();
    let mut dropped = Vec::new();
    for number in 0..count {
        bench.run(fs.append(kept[number % keepers], &bytes(number as u8, KEPT))).unwrap();
        let file = create(bench, format!("drop{number}"));
        bench.run(fs.write(file, 0, &bytes(9, CLUSTER as usize - KEPT))).unwrap();
        dropped.push(file);
    }
    (kept, dropped)
}

/// The background work once everything is done that the changes so far require.
fn settled(bench: &mut Bench, fs: &LogFs) -> Activity {
    loop {
        let before = fs.activity();
        for _ in 0..20 {
            bench.run(fs.sync()).unwrap();
            bench.run(fs.set_attributes(InodeId::ROOT, Default::default())).unwrap();
            // On a disk in memory, background work has its turn once in a while.
            bench.executor.run_ready(&mut bench.disk);
            while bench.disk.under_way() > 0 {
                bench.executor.run_ready(&mut bench.disk);
            }
        }
        let after = fs.activity();
        if (after.cleaning_passes, after.freed_clusters) == (before.cleaning_passes, before.freed_clusters) {
            return after;
        }
    }
}

#[test]
fn cleaning_starts_with_the_candidate_that_fills_memory_and_takes_all_of_them() {
    // (X + 1) · 0.5 ≥ 4 from X = 7 on; with the dynamic policy, more than half of the clusters are
    // free.
    for policy in [Policy::Threshold { k: 0.5 }, Policy::Dynamic { cap: 0.5 }] {
        let (mut bench, fs) = open_with(policy, 4);
        let (kept, dropped) = pairs(&mut bench, &fs, 20, 1);
        for file in &dropped[..6] {
            bench.run(fs.truncate(*file, 0)).unwrap();
        }
        // A cluster of which more than half is live is no candidate.
        bench.run(fs.truncate(dropped[10], u64::from(CLUSTER) / 3)).unwrap();
        assert_eq!(settled(&mut bench, &fs).cleaning_passes, 0, "{policy:?}");
        bench.run(fs.truncate(dropped[6], 0)).unwrap();
        let activity = settled(&mut bench, &fs);
        assert_eq!((activity.cleaning_passes, activity.moved_bytes), (1, 7 * KEPT as u64), "{policy:?}");
        assert_eq!((activity.freed_clusters, activity.urgent_passes), (7, 0), "{policy:?}");
        for number in 0..20_usize {
            let found = bench.run(fs.read(kept[0], (number * KEPT) as u64, KEPT)).unwrap();
            assert!(found == bytes(number as u8, KEPT), "{policy:?}: {number}");
        }
        bench.run(fs.close()).unwrap();
        assert!(bench.fsck(Repair::No).unwrap().is_sound());
    }
}

#[test]
fn with_no_threshold_or_no_memory_nothing_is_moved_even_for_space() {
    for (policy, memory) in
        [(Policy::Threshold { k: 0.0 }, 4), (Policy::Dynamic { cap: 0.0 }, 4), (Policy::Threshold { k: 0.5 }, 0)]
    {
        let (mut bench, fs) = open_with(policy, memory);
        let room = (fs.space().free_bytes / u64::from(CLUSTER)) as usize;
        let (kept, dropped) = pairs(&mut bench, &fs, room - 12, 1);
        for file in &dropped[..room / 2] {
            bench.run(fs.truncate(*file, 0)).unwrap();
        }
        let big = bytes(1, 20 * CLUSTER as usize);
        let file = bench.run(fs.create(InodeId::ROOT, b"big", Owner::default())).unwrap();
        assert_eq!(bench.run(fs.write(file, 0, &big)), Err(Error::NoSpace), "{policy:?}, {memory}");
        assert_eq!(settled(&mut bench, &fs).moved_bytes, 0);
        // Clusters without live content become free anyway.
        bench.run(fs.truncate(kept[0], 0)).unwrap();
        bench.run(fs.truncate(file, 0)).unwrap();
        bench.run(fs.write(file, 0, &big)).unwrap();
        assert_eq!(fs.activity().cleaning_passes, 0);
        bench.run(fs.close()).unwrap();
    }
}

#[test]
fn what_is_cleaned_for_space_is_told_apart() {
    // No cluster is a candidate: a quarter of each is live.
    let (mut bench, fs) = open_with(Policy::Threshold { k: 0.1 }, 4);
    let room = (fs.space().free_bytes / u64::from(CLUSTER)) as usize;
    let (_, dropped) = pairs(&mut bench, &fs, room - 12, 1);
    dropped.iter().for_each(|file| bench.run(fs.truncate(*file, 0)).unwrap());
    assert_eq!(fs.activity().cleaning_passes, 0);
    let file = bench.run(fs.create(InodeId::ROOT, b"big", Owner::default())).unwrap();
    bench.run(fs.write(file, 0, &bytes(1, 40 * CLUSTER as usize))).unwrap();
    let activity = fs.activity();
    assert!(activity.urgent_passes > 0 && activity.urgent_bytes > 0, "{activity:?}");
    assert_eq!((activity.urgent_passes, activity.urgent_bytes), (activity.cleaning_passes, activity.moved_bytes));
    bench.run(fs.close()).unwrap();
}

#[test]
fn a_pass_puts_the_pieces_of_a_file_together() {
    let (mut bench, fs) = open_with(Policy::Threshold { k: 0.5 }, 8);
    let (kept, dropped) = pairs(&mut bench, &fs, 20, 4);
    let before: Vec<u64> = kept.iter().map(|file| fs.fragments(*file).unwrap()).collect();
    // X = 15: all clusters except five, which stay.
    dropped[..15].iter().for_each(|file| bench.run(fs.truncate(*file, 0)).unwrap());
    assert_eq!(settled(&mut bench, &fs).cleaning_passes, 1);
    for (file, number) in kept.iter().zip(0..4) {
        let moved = (0..15).filter(|cluster| cluster % 4 == number).count() as u64;
        let left = before[number as usize] - moved;
        // One stretch, which the end of a cluster may split.
        let after = fs.fragments(*file).unwrap();
        assert!(after <= left + 2, "file {number}: {before:?}, then {after}");
        for part in 0..5 {
            let found = bench.run(fs.read(*file, part * KEPT as u64, KEPT)).unwrap();
            assert!(found == bytes((part as u8) * 4 + number as u8, KEPT));
        }
    }
    bench.run(fs.close()).unwrap();
}

#[test]
fn files_that_reads_find_in_pieces_are_put_together_within_bounds() {
    for percent in [0, 50] {
        let disk = RamDisk::with_contents(empty_image(CLUSTERS), BLOCK);
        let mut bench = Bench::new(disk, ReadyOrder::Fair);
        let options = OpenOptions { defragment_percent: percent, ..small_memory() };
        let fs = bench.try_open(options).unwrap().0;
        let (kept, _) = pairs(&mut bench, &fs, 16, 1);
        let before = fs.fragments(kept[0]).unwrap();
        let length = 16 * KEPT;
        let expected: Vec<u8> = (0..16).flat_map(|number| bytes(number, KEPT)).collect();
        let mut read = 0;
        for _ in 0..8 {
            assert!(bench.run(fs.read(kept[0], 0, length)).unwrap() == expected);
            read += length as u64;
            settled(&mut bench, &fs);
            let moved = fs.activity().defragmented_bytes;
            assert!(moved <= read * u64::from(percent) / 100, "{moved} of {read}");
        }
        let after = fs.fragments(kept[0]).unwrap();
        if percent == 0 {
            assert_eq!((after, fs.activity().defragmented_bytes), (before, 0));
        } else {
            assert!(before == 16 && after <= 8, "{before}, then {after}");
        }
        bench.run(fs.close()).unwrap();
        assert!(bench.fsck(Repair::No).unwrap().is_sound());
    }
}

#[test]
fn cleaning_by_threshold_survives_a_crash_at_every_event() {
    // A file in small pieces between others that are truncated: with turns 1 and 2 every few
    // truncations start a pass.
    for turn in 1..3 + 8 * (scale() - 1) {
        let disk = RamDisk::with_contents(empty_image(64), BLOCK);
        let mut model = Model::new();
        let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
        let fs = bench.open();
        for name in ["keep", "drop"] {
            let create = Step::Create(InodeId::ROOT, name.into());
            bench.run(rig::load::perform(&fs, &mut model, &create)).unwrap();
        }
        bench.run(fs.close()).unwrap();
        let image = disk.with(|bytes| bytes.to_vec());
        let file = |name: &str| model.lookup(InodeId::ROOT, name.as_bytes()).unwrap();
        let (keep, other) = (file("keep"), file("drop"));
        let mut random = Random(turn);
        let mut script = |at: usize, _: &Model| match at {
            0..24 if at.is_multiple_of(2) => Some(Step::Append(keep, at as u8, KEPT)),
            0..24 => Some(Step::Append(other, at as u8, CLUSTER as usize - KEPT)),
            24 => Some(Step::Fsync(keep)),
            25..40 if random.below(4) == 0 => Some(Step::Write(keep, random.below(9) * 1_000, at as u8, 2_000)),
            25..40 => Some(Step::Truncate(other, (40 - at as u64) * 8_000)),
            40 => Some(Step::Sync),
            _ => None,
        };
        let history = run_script(image.clone(), model.clone(), turn, &mut script);
        assert!(history.crash_everywhere(1) > 50, "turn {turn}");
        // The same without crashes, to show that cleaning takes part.
        let mut bench = Bench::new(RamDisk::with_contents(image, BLOCK), ReadyOrder::Fair);
        let fs = bench.try_open(policy_by_turns(turn)).unwrap().0;
        let (mut at, mut again) = (0, model.clone());
        while let Some(step) = script(at, &again) {
            bench.run(rig::load::perform(&fs, &mut again, &step)).unwrap();
            at += 1;
        }
        let passes = settled(&mut bench, &fs).cleaning_passes;
        assert!(passes > 0 || turn % 4 == 0 || turn % 4 == 3, "turn {turn}: {passes} passes");
    }
}

#[test]
fn an_image_says_how_it_is_cleaned_where_nobody_else_does() {
    let told = CleaningDefaults {
        policy: Some(Policy::Threshold { k: 0.25 }),
        memory_bytes: Some(32 << 10),
        ..CleaningDefaults::default()
    };
    let mut bench = Bench::new(RamDisk::new(CLUSTERS * u64::from(CLUSTER), BLOCK), ReadyOrder::Fair);
    let disk = bench.disk.clone();
    bench.run(mkfs(&disk, &iolab_logfs::MkfsOptions { cleaning: told, ..options() })).unwrap();
    let fs = bench.try_open(OpenOptions::default()).unwrap().0;
    let settings = fs.cleaning();
    assert_eq!((settings.policy, settings.memory_bytes), (Policy::Threshold { k: 0.25 }, 32 << 10));
    bench.run(fs.close()).unwrap();
    // The options of opening override the record, and the record can be changed.
    let fs = bench.try_open(OpenOptions { policy: Some(Policy::Greedy), ..OpenOptions::default() }).unwrap().0;
    assert_eq!((fs.cleaning().policy, fs.cleaning().memory_bytes), (Policy::Greedy, 32 << 10));
    bench.run(fs.close()).unwrap();
    let other = CleaningDefaults { policy: Some(Policy::Dynamic { cap: 0.5 }), ..CleaningDefaults::default() };
    bench.run(iolab_logfs::set_cleaning(&disk, |defaults| *defaults = other)).unwrap();
    assert!(bench.fsck(Repair::No).unwrap().is_sound());
    let fs = bench.try_open(OpenOptions::default()).unwrap().0;
    assert_eq!((fs.cleaning().policy, fs.cleaning().memory_bytes), (Policy::Dynamic { cap: 0.5 }, 8 << 20));
    bench.run(fs.close()).unwrap();
}
