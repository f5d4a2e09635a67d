//! Media that change by themselves: what had been durable is never lost without a word, and fsck says and repairs what it can.

mod rig;

use iolab_block::{Delayed, Delays, RamDisk};
use iolab_clock::Clock;
use iolab_executor::Order;
use iolab_logfs::{Error, FaultKind, InodeId, Owner, Repair};

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

#[test]
fn damage_to_the_log_of_a_closed_file_system_is_never_passed_over() {
    let (image, model) = used(160);
    let (mut told, mut repaired) = (0, 0);
    for block in 0..2 * CLUSTER as usize / BLOCK as usize {
        let at = CLUSTER as usize + block * BLOCK as usize + 70;
        let disk = RamDisk::with_contents(image.clone(), BLOCK);
        disk.with(|bytes| bytes[at] ^= 0x10);
        let mut bench = Bench::new(disk.clone(), Order::Fair);
        match bench.try_open(small_memory()) {
            // Padding, or content, which only its reader can know.
            Ok((fs, _)) => {
                let found: Vec<Vec<u8>> = bench.run(snapshot(&fs)).into_keys().collect();
                let expected: Vec<Vec<u8>> = model.snapshot().into_keys().collect();
                assert_eq!(found, expected, "block {block}");
                continue;
            }
            Err(error) => assert!(matches!(error, Error::Corrupt(_)), "block {block}: {error}"),
        }
        told += 1;
        assert!(disk.with(|bytes| bytes[at] ^ 0x10) == image[at], "a refused file system is left as it is");
        let Ok(report) = bench.fsck(Repair::Yes) else { continue };
        assert!(report.repaired && report.faults.iter().any(|fault| fault.kind == FaultKind::LostTail), "{report:?}");
        repaired += 1;
        assert!(bench.fsck(Repair::No).unwrap().is_sound());
        bench.try_open(small_memory()).unwrap();
    }
    assert!(told > 5 && repaired > 5, "{told} told, {repaired} repaired");
}

#[test]
fn either_bootstrap_record_and_either_anchor_will_do() {
    let (image, model) = used(40);
    let last = image.len() - BLOCK as usize;
    for (place, reported) in [(0, true), (last, true), (BLOCK as usize, false), (2 * BLOCK as usize, false)] {
        let disk = RamDisk::with_contents(image.clone(), BLOCK);
        disk.with(|bytes| bytes[place..place + 64].fill(0xa5));
        let mut bench = Bench::new(disk.clone(), Order::Fair);
        let report = bench.fsck(Repair::No);
        // Without the newest anchor, the older one tells that something is missing, or leads to all of it.
        let Ok(report) = report else { panic!("{place}: {report:?}") };
        let said = report.faults.iter().any(|fault| fault.kind == FaultKind::Bootstrap);
        assert_eq!(said, reported, "{place}: {report:?}");
        if reported {
            let fs = bench.open();
            assert!(bench.run(snapshot(&fs)) == model.snapshot());
            bench.run(fs.close()).unwrap();
            assert!(bench.fsck(Repair::Yes).unwrap().repaired);
            assert!(bench.fsck(Repair::No).unwrap().is_sound());
        }
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
