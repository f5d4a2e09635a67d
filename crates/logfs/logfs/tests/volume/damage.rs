//! Media that change by themselves: what had been durable is never lost silently, and fsck reports
//! it and repairs what it can.

use iolab_clock::Clock;
use iolab_disk::{BlockDevice, Caching, Delayed, Delays, DiskOptions, RamDisk, open_disk};
use iolab_executor::ReadyOrder;
use iolab_logfs::{
    DirectoryEntry, Error, InconsistencyKind, InodeId, InodeKind, LogFs, OpenOptions, Owner, Repair, VerifyReads,
};

use crate::rig::load::{Step, bytes, perform, step};
use crate::rig::model::{Model, snapshot};
use crate::rig::{BLOCK, Bench, CLUSTER, Random, empty_image, small_memory};

/// A file system that was used and closed, and its model.
fn used(steps: usize) -> (Vec<u8>, Model) {
    let disk = RamDisk::with_contents(empty_image(40), BLOCK);
    let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
    let fs = bench.open();
    let (mut model, mut random) = (Model::new(), Random(3));
    for _ in 0..steps {
        let step = step(&mut random, &model, 5_000);
        // The log stays in place, so that its position is known.
        if !matches!(step, Step::Checkpoint) {
            let _answer = bench.run(perform(&fs, &mut model, &step));
        }
    }
    bench.run(fs.close()).unwrap();
    (disk.with(|bytes| bytes.to_vec()), model)
}

/// A path, and its content or why that cannot be read.
type Found = (Vec<u8>, Result<Vec<u8>, Error>);

/// Everything that can be read of a file system, with the errors of the rest.
fn contents(fs: &LogFs, bench: &mut Bench) -> Vec<Found> {
    let entries = fs.tree();
    let read = |(path, entry): (Vec<u8>, DirectoryEntry)| {
        let content =
            if entry.kind == InodeKind::File { bench.run(fs.read(entry.inode, 0, 1 << 20)) } else { Ok(Vec::new()) };
        (path, content)
    };
    entries.into_iter().map(read).collect()
}

#[test]
fn no_single_damage_to_a_closed_file_system_loses_a_name_or_passes_wrong_content_for_good() {
    let (image, _) = used(160);
    let all = {
        let mut bench = Bench::new(RamDisk::with_contents(image.clone(), BLOCK), ReadyOrder::Fair);
        let fs = bench.open();
        contents(&fs, &mut bench)
    };
    let (mut older, mut wrong, mut reported) = (0, 0, 0);
    for block in 0..image.len() / BLOCK as usize {
        let at = block * BLOCK as usize + 70;
        let disk = RamDisk::with_contents(image.clone(), BLOCK);
        disk.with(|bytes| bytes[at] ^= 0x10);
        let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
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
        // A repair restores two checkpoints.
        let mut bench = Bench::new(disk, ReadyOrder::Fair);
        bench.fsck(Repair::Yes).unwrap();
        assert!(bench.fsck(Repair::No).unwrap().is_sound(), "block {block}");
    }
    assert!(
        older > 3 && wrong > 10 && reported > 10,
        "{older} by older checkpoints, {wrong} wrong, {reported} reported"
    );
}

#[test]
fn reads_are_verified_on_every_device_but_memory_of_this_process_unless_told_otherwise() {
    let ram = || RamDisk::with_contents(empty_image(40), BLOCK);
    let file = || {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), empty_image(40)).unwrap();
        let opening = DiskOptions { caching: Caching::PageCache, block_bytes: Some(BLOCK), ..DiskOptions::default() };
        (open_disk(file.path(), &opening).unwrap().0, file)
    };
    for verify_reads in [VerifyReads::ByDevice, VerifyReads::Always, VerifyReads::Never] {
        let answers = |device: Box<dyn BlockDevice>, flip: &mut dyn FnMut(&[u8])| {
            let mut bench = Bench::new(device, ReadyOrder::Fair);
            let fs = bench.try_open(OpenOptions { verify_reads, ..small_memory() }).unwrap().0;
            let content = bytes(5, 2_000);
            let inode = bench.run(fs.create(InodeId::ROOT, b"a", Owner::default())).unwrap();
            bench.run(fs.write(inode, 0, &content)).unwrap();
            flip(&content[..64]);
            let is_told = bench.run(fs.read(inode, 0, 2_000)).is_err();
            assert_eq!(fs.activity().content_errors, u64::from(is_told));
            bench.run(fs.close()).unwrap();
            is_told
        };
        let memory = ram();
        let in_memory = answers(Box::new(memory.clone()), &mut |content| memory.with(|all| flip(all, content)));
        let (device, path) = file();
        let in_file = answers(device, &mut |content| {
            let mut all = std::fs::read(path.path()).unwrap();
            flip(&mut all, content);
            std::fs::write(path.path(), all).unwrap();
        });
        let decorated = ram();
        let behind = Delayed::new(decorated.clone(), Clock::simulated(1_000), Delays::default());
        let behind_another = answers(Box::new(behind), &mut |content| decorated.with(|all| flip(all, content)));
        let expected = match verify_reads {
            VerifyReads::ByDevice => (false, true, true),
            VerifyReads::Always => (true, true, true),
            VerifyReads::Never => (false, false, false),
        };
        assert_eq!((in_memory, in_file, behind_another), expected, "{verify_reads:?}");
    }
}

/// Changes a byte of some content in an image.
fn flip(all: &mut [u8], content: &[u8]) {
    let at = all.windows(content.len()).position(|window| window == content).expect("the content is on the disk");
    all[at] ^= 0x20;
}

#[test]
fn a_repair_finds_the_log_that_no_anchor_leads_to() {
    let closed = used(160).0;
    // As before, then some durable changes after the newest checkpoint.
    let left = {
        let disk = RamDisk::with_contents(closed.clone(), BLOCK);
        let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
        let fs = bench.open();
        let inode = bench.run(fs.create(InodeId::ROOT, b"late", Owner::default())).unwrap();
        bench.run(fs.write(inode, 0, &bytes(9, 3_000))).unwrap();
        bench.run(fs.sync()).unwrap();
        disk.with(|bytes| bytes.to_vec())
    };
    for (what, image) in [("closed", closed), ("left open", left)] {
        let before = {
            let mut bench = Bench::new(RamDisk::with_contents(image.clone(), BLOCK), ReadyOrder::Fair);
            let fs = bench.open();
            contents(&fs, &mut bench)
        };
        let disk = RamDisk::with_contents(image.clone(), BLOCK);
        for anchor in [1, 2] {
            disk.with(|bytes| bytes[anchor * BLOCK as usize..][..16].fill(0));
        }
        let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
        let refused = bench.try_open(small_memory()).map(drop);
        assert!(matches!(refused, Err(Error::Corrupt(_))), "{what}: opening does not guess");
        let report = bench.fsck(Repair::Yes).unwrap();
        let anchors = report.faults.iter().filter(|fault| fault.kind == InconsistencyKind::Anchor).count();
        assert_eq!((anchors, report.faults.len(), report.repaired), (2, 2, true), "{what}: {report:?}");
        assert!(bench.fsck(Repair::No).unwrap().is_sound(), "{what}");
        let fs = bench.open();
        assert_eq!(contents(&fs, &mut bench), before, "{what}");
        bench.run(fs.close()).unwrap();
        // Without any checkpoint there is nowhere to begin.
        disk.with(|bytes| bytes[BLOCK as usize..].chunks_mut(BLOCK as usize).for_each(|block| block[4] ^= 1));
        assert!(matches!(bench.fsck(Repair::Yes), Err(Error::Corrupt(_))), "{what}");
    }
}

#[test]
fn what_two_damages_take_away_is_told_and_the_rest_is_there_after_a_repair() {
    let (image, _) = used(160);
    let mut random = Random(17);
    let mut lossy = 0;
    for round in 0..150 {
        let disk = RamDisk::with_contents(image.clone(), BLOCK);
        let clusters = image.len() as u64 / u64::from(CLUSTER);
        // One in each cluster that has been written, so that both checkpoints are hit now and then.
        for _ in 0..2 + random.below(30) {
            let at = (random.below(clusters.min(12)) * u64::from(CLUSTER) + random.below(u64::from(CLUSTER))) as usize;
            disk.with(|bytes| bytes[at] ^= 1 << random.below(8));
        }
        let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
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
        let mut bench = Bench::new(disk, ReadyOrder::Fair);
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
        (0, InconsistencyKind::Bootstrap),
        (last, InconsistencyKind::Bootstrap),
        (BLOCK as usize, InconsistencyKind::Anchor),
        (2 * BLOCK as usize, InconsistencyKind::Anchor),
    ] {
        let disk = RamDisk::with_contents(image.clone(), BLOCK);
        disk.with(|bytes| bytes[place..place + 64].fill(0xa5));
        let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
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
        let mut bench = Bench::new(Delayed::new(disk.clone(), clock.clone(), delays), ReadyOrder::Fair);
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
