//! Media that change by themselves: what had been durable is never lost without a word, and fsck says and repairs what it can.

mod rig;

use iolab_block::{Delayed, Delays, RamDisk};
use iolab_clock::Clock;
use iolab_executor::Order;
use iolab_logfs::{Entry, Error, FaultKind, InodeId, Kind, LogFs, Owner, Repair};

use rig::load::{Step, bytes, perform, step};
use rig::model::{Model, snapshot};
use rig::{BLOCK, Bench, CLUSTER, Random, empty_image, small_memory};

/// A file system that was used and closed, and its model.
fn used(steps: usize) -> (Vec<u8>, Model) {
    let disk = RamDisk::with_contents(empty_image(40), BLOCK);
    let mut bench = Bench::new(disk.clone(), Order::Fair);
    let fs = bench.open();
    let (mut model, mut random) = (Model::new(), Random(3));
    for _ in 0..steps {
        let step = step(&mut random, &model, 5_000);
        // The log shall stay where it is, so that its place is known.
        if !matches!(step, Step::Checkpoint) {
            let _answer = bench.run(perform(&fs, &mut model, &step));
        }
    }
    bench.run(fs.close()).unwrap();
    (disk.with(|bytes| bytes.to_vec()), model)
}

/// A path, and its content or why that cannot be read.
type Found = (Vec<u8>, Result<Vec<u8>, Error>);

/// Everything that can be read of a file system, and what says that it cannot.
fn contents(fs: &LogFs, bench: &mut Bench) -> Vec<Found> {
    let entries = fs.tree();
    let read = |(path, entry): (Vec<u8>, Entry)| {
        let content =
            if entry.kind == Kind::File { bench.run(fs.read(entry.inode, 0, 1 << 20)) } else { Ok(Vec::new()) };
        (path, content)
    };
    entries.into_iter().map(read).collect()
}

#[test]
fn no_single_damage_to_a_closed_file_system_loses_a_name_or_passes_wrong_content_for_good() {
    let (image, _) = used(160);
    let all = {
        let mut bench = Bench::new(RamDisk::with_contents(image.clone(), BLOCK), Order::Fair);
        let fs = bench.open();
        contents(&fs, &mut bench)
    };
    let (mut older, mut wrong, mut reported) = (0, 0, 0);
    for block in 0..image.len() / BLOCK as usize {
        let at = block * BLOCK as usize + 70;
        let disk = RamDisk::with_contents(image.clone(), BLOCK);
        disk.with(|bytes| bytes[at] ^= 0x10);
        let mut bench = Bench::new(disk.clone(), Order::Fair);
        let report = bench.fsck(Repair::No).unwrap();
        let (fs, recovery) = bench.try_open(small_memory()).unwrap_or_else(|error| panic!("block {block}: {error}"));
        let found = contents(&fs, &mut bench);
        let bad: Vec<&Vec<u8>> =
            found.iter().zip(&all).filter(|(found, all)| found != all).map(|(found, _)| &found.0).collect();
        let told = |(_, content): &&(Vec<u8>, Result<Vec<u8>, Error>)| matches!(content, Err(Error::Content { .. }));
        assert_eq!((found.len(), found.iter().filter(told).count()), (all.len(), bad.len()), "block {block}: {bad:?}");
        assert!(bad.is_empty() || fs.activity().content_errors > 0);
        older += u32::from(recovery.by_older_checkpoint);
        wrong += u32::from(!bad.is_empty());
        reported += u32::from(!report.is_sound());
        assert!(report.is_sound() || bad.is_empty(), "block {block}: {report:?}");
        bench.run(fs.close()).unwrap();
        drop(bench);
        // A repair brings back two checkpoints.
        let mut bench = Bench::new(disk, Order::Fair);
        bench.fsck(Repair::Yes).unwrap();
        assert!(bench.fsck(Repair::No).unwrap().is_sound(), "block {block}");
    }
    assert!(
        older > 3 && wrong > 10 && reported > 10,
        "{older} by older checkpoints, {wrong} wrong, {reported} reported"
    );
}

#[test]
fn what_two_damages_take_away_is_told_and_the_rest_is_there_after_a_repair() {
    let (image, _) = used(160);
    let mut random = Random(17);
    let mut lossy = 0;
    for round in 0..150 {
        let disk = RamDisk::with_contents(image.clone(), BLOCK);
        let clusters = image.len() as u64 / u64::from(CLUSTER);
        // One in each of the clusters that have been written, so that both checkpoints are hit now and then.
        for _ in 0..2 + random.below(30) {
            let at = (random.below(clusters.min(12)) * u64::from(CLUSTER) + random.below(u64::from(CLUSTER))) as usize;
            disk.with(|bytes| bytes[at] ^= 1 << random.below(8));
        }
        let mut bench = Bench::new(disk.clone(), Order::Fair);
        let readable = match bench.try_open(small_memory()) {
            Ok((fs, _)) => {
                let found = contents(&fs, &mut bench);
                bench.run(fs.close()).unwrap();
                found
            }
            Err(error) => {
                assert!(matches!(error, Error::Corrupt(_) | Error::Unusable(_)), "round {round}: {error}");
                lossy += 1;
                Vec::new()
            }
        };
        let mut bench = Bench::new(disk, Order::Fair);
        let Ok(report) = bench.fsck(Repair::Yes) else { continue };
        assert!(report.repaired || report.is_sound());
        assert!(bench.fsck(Repair::No).unwrap().is_sound(), "round {round}: {report:?}");
        let fs = bench.open();
        let found = contents(&fs, &mut bench);
        for one in readable.iter().filter(|(_, content)| content.is_ok()) {
            assert!(found.contains(one), "round {round}: {} was readable", one.0.escape_ascii());
        }
        assert!(found.len() > 3, "round {round}: nearly nothing is left: {report:?}");
    }
    assert!(lossy > 5, "{lossy}");
}

#[test]
fn either_bootstrap_record_and_either_anchor_will_do() {
    let (image, model) = used(40);
    let last = image.len() - BLOCK as usize;
    for (place, kind) in [
        (0, FaultKind::Bootstrap),
        (last, FaultKind::Bootstrap),
        (BLOCK as usize, FaultKind::Anchor),
        (2 * BLOCK as usize, FaultKind::Anchor),
    ] {
        let disk = RamDisk::with_contents(image.clone(), BLOCK);
        disk.with(|bytes| bytes[place..place + 64].fill(0xa5));
        let mut bench = Bench::new(disk.clone(), Order::Fair);
        let report = bench.fsck(Repair::No);
        let Ok(report) = report else { panic!("{place}: {report:?}") };
        assert!(matches!(&report.faults[..], [fault] if fault.kind == kind), "{place}: {report:?}");
        let fs = bench.open();
        assert!(bench.run(snapshot(&fs)) == model.snapshot());
        bench.run(fs.close()).unwrap();
        bench.fsck(Repair::Yes).unwrap();
        assert!(bench.fsck(Repair::No).unwrap().is_sound());
    }
}

#[test]
fn the_same_load_on_a_simulated_device_is_the_same_to_the_byte() {
    let run = || {
        let disk = RamDisk::with_contents(empty_image(60), BLOCK);
        let clock = Clock::simulated(0);
        let delays = Delays { read_ns: 80_000, write_ns: 20_000, flush_ns: 500_000, per_kib_ns: 300 };
        let mut bench = Bench::new(Delayed::new(disk.clone(), clock.clone(), delays), Order::Fair);
        bench.clock = clock.clone();
        let fs = bench.open();
        let files: Vec<InodeId> = (0..4_u64)
            .map(|number| {
                let name = format!("f{number}").into_bytes();
                bench.run(fs.create(InodeId::ROOT, &name, Owner::default())).unwrap()
            })
            .collect();
        let spawner = bench.executor.spawner();
        let tasks: Vec<_> = files
            .into_iter()
            .map(|inode| {
                let fs = fs.clone();
                spawner.spawn(async move {
                    let mut random = Random(inode.0);
                    for _ in 0..80 {
                        let content = bytes(random.next() as u8, random.below(9_000) as usize + 1);
                        fs.write(inode, random.below(50_000), &content).await.unwrap();
                        if random.below(4) == 0 {
                            fs.fdatasync(inode).await.unwrap();
                        }
                    }
                })
            })
            .collect();
        bench.run(async {
            for task in tasks {
                task.await;
            }
        });
        let activity = fs.activity();
        bench.run(fs.close()).unwrap();
        (disk.with(|bytes| bytes.to_vec()), clock.now_ns(), activity)
    };
    let (first, second) = (run(), run());
    assert!(first == second, "{} and {} ns, {:?}, {:?}", first.1, second.1, first.2, second.2);
    assert!(first.1 > 10_000_000, "the simulated device took its time: {} ns", first.1);
}
