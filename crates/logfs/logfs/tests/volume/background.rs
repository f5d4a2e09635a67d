//! Background work while a file system is in use: small content leaves memory, free clusters are
//! discarded, files are defragmented.

use iolab_disk::{Counting, CrashPoints, RamDisk, Shuffled, Survival, Traced};
use iolab_executor::ReadyOrder;
use iolab_logfs::{InodeId, LogFs, OpenOptions, Owner, Repair};

use crate::rig::load::bytes;
use crate::rig::{BLOCK, Bench, CLUSTER, Random, empty_image, empty_image_with, scale, small_memory};

fn file(bench: &mut Bench, fs: &LogFs, name: &str) -> InodeId {
    bench.run(fs.create(InodeId::ROOT, name.as_bytes(), Owner::default())).unwrap()
}

#[test]
fn whole_blocks_leave_memory_early_and_parts_of_blocks_do_not() {
    let disk = RamDisk::with_contents(empty_image_with(400, CLUSTER / 8), BLOCK);
    let mut bench = Bench::new(disk, ReadyOrder::Fair);
    let limit = 64_000;
    let fs = bench.try_open(OpenOptions { inline_bytes: Some(limit), ..small_memory() }).unwrap().0;
    let inode = file(&mut bench, &fs, "f");
    let mut most_of = |length: usize, from: u64| {
        let mut most = 0;
        for number in 0..200 {
            let content = bytes(number as u8, length);
            bench.run(fs.write(inode, from + number * length as u64, &content)).unwrap();
            most = most.max(fs.space().inline_bytes);
        }
        for number in 0..200 {
            let found = bench.run(fs.read(inode, from + number * length as u64, length)).unwrap();
            assert!(found == bytes(number as u8, length), "{length}: {number}");
        }
        most
    };
    let whole = most_of(2 * BLOCK as usize, 0);
    assert!(whole > limit / 2 && whole <= limit / 16 * 14, "{whole} bytes in memory");
    let parts = most_of(BLOCK as usize - 100, 1 << 20);
    assert!(parts > limit / 16 * 14 && parts <= limit, "{parts} bytes in memory");
}

#[test]
fn small_writes_stay_small_and_memory_stays_bounded() {
    let disk = RamDisk::with_contents(empty_image(400), BLOCK);
    let mut bench = Bench::new(Shuffled::new(disk, 3), ReadyOrder::Fair);
    let limit = 40_000;
    let fs = bench.try_open(OpenOptions { inline_bytes: Some(limit), ..small_memory() }).unwrap().0;
    let files: Vec<InodeId> = (0..40).map(|number| file(&mut bench, &fs, &format!("f{number}"))).collect();
    let mut expected = vec![vec![0; 12_000]; files.len()];
    let (mut random, mut most) = (Random(8), 0);
    for round in 0..4_000_u64 {
        // Most writes go to few files, so that there is cold content.
        let number = if random.below(4) > 0 { random.below(4) } else { random.below(40) } as usize;
        let (offset, length) = (random.below(11_500) as usize, random.below(400) as usize + 1);
        let content = bytes(round as u8, length);
        bench.run(fs.write(files[number], offset as u64, &content)).unwrap();
        expected[number][offset..offset + length].copy_from_slice(&content);
        // Lets the device run.
        bench.run(fs.read(files[number], 0, 1_000)).unwrap();
        most = most.max(fs.space().inline_bytes);
    }
    assert!(most <= limit, "{most} bytes in memory");
    assert!(most > limit / 2 && fs.activity().demoted_bytes > limit, "{most} bytes, {:?}", fs.activity());
    let check = |bench: &mut Bench, fs: &LogFs| {
        for (inode, expected) in files.iter().zip(&expected) {
            let found = bench.run(fs.read(*inode, 0, 12_000)).unwrap();
            assert!(found[..] == expected[..found.len()], "inode {}", inode.0);
        }
    };
    check(&mut bench, &fs);
    bench.run(fs.close()).unwrap();
    assert!(bench.fsck(Repair::No).unwrap().is_sound());
    // Content beyond a limit that was lowered is moved too.
    let fs = bench.try_open(OpenOptions { inline_bytes: Some(limit / 4), ..small_memory() }).unwrap().0;
    for _ in 0..40 {
        bench.run(fs.write(files[0], 0, &expected[0][..10])).unwrap();
        bench.run(fs.sync()).unwrap();
    }
    assert!(fs.space().inline_bytes <= limit / 4, "{} bytes in memory", fs.space().inline_bytes);
    check(&mut bench, &fs);
}

#[test]
fn freed_clusters_are_discarded_before_they_are_used_again() {
    for discard in [false, true] {
        let disk = RamDisk::with_contents(empty_image(120), BLOCK);
        let (device, counts) = Counting::new(disk);
        let mut bench = Bench::new(device, ReadyOrder::Fair);
        let fs = bench.try_open(OpenOptions { discard, ..small_memory() }).unwrap().0;
        let inode = file(&mut bench, &fs, "f");
        for round in 0..40_u8 {
            bench.run(fs.write(inode, 0, &bytes(round, 20 * CLUSTER as usize))).unwrap();
            bench.run(fs.fsync(inode)).unwrap();
        }
        assert!(bench.run(fs.read(inode, 0, 20 * CLUSTER as usize)).unwrap() == bytes(39, 20 * CLUSTER as usize));
        let told = fs.activity().discarded_clusters;
        // Neighbours are discarded together.
        assert_eq!(discard, told > 400 && counts.get().discards > 0 && counts.get().discards < told / 4);
        bench.run(fs.close()).unwrap();
        assert!(bench.fsck(Repair::No).unwrap().is_sound());
    }
}

/// A file whose content lies in pieces, written between those of another file.
fn fragmented(bench: &mut Bench, fs: &LogFs) -> (InodeId, Vec<u8>) {
    let (inode, other) = (file(bench, fs, "f"), file(bench, fs, "other"));
    let mut content = Vec::new();
    for piece in 0..60_u8 {
        let bytes = bytes(piece, 1_500);
        bench.run(fs.append(inode, &bytes)).unwrap();
        bench.run(fs.append(other, &bytes)).unwrap();
        content.extend_from_slice(&bytes);
    }
    (inode, content)
}

#[test]
fn a_file_in_pieces_is_put_together_while_it_is_written_to() {
    let disk = RamDisk::with_contents(empty_image(120), BLOCK);
    let mut bench = Bench::new(Shuffled::new(disk, 1), ReadyOrder::Fair);
    let fs = bench.open();
    let (inode, mut content) = fragmented(&mut bench, &fs);
    let before = fs.fragments(inode).unwrap();
    let writer = {
        let fs = fs.clone();
        bench.executor.spawner().spawn(async move {
            for round in 0..6_u8 {
                fs.write(inode, u64::from(round) * 9_000, &bytes(100 + round, 700)).await.unwrap();
            }
        })
    };
    let mut defragmentation = fs.defragment(inode);
    let mut progress = bench.run(defragmentation.step()).unwrap();
    while !progress.is_done {
        progress = bench.run(defragmentation.step()).unwrap();
    }
    bench.run(writer);
    for round in 0..6_u8 {
        let at = usize::from(round) * 9_000;
        content[at..at + 700].copy_from_slice(&bytes(100 + round, 700));
    }
    assert!(bench.run(fs.read(inode, 0, 100_000)).unwrap() == content);
    // Once more, now without writes.
    let mut defragmentation = fs.defragment(inode);
    while !bench.run(defragmentation.step()).unwrap().is_done {}
    let after = fs.fragments(inode).unwrap();
    assert!(before >= 60 && after <= 12, "{before} pieces before, {after} after");
    assert!(bench.run(fs.read(inode, 0, 100_000)).unwrap() == content);
    let second = bench.run(fs.defragment(inode).step()).unwrap();
    assert_eq!(second.moved_bytes, 0, "there is nothing left to do");
    bench.run(fs.close()).unwrap();
    assert!(bench.fsck(Repair::No).unwrap().is_sound());
}

#[test]
fn a_crash_while_a_file_is_put_together_leaves_its_content() {
    let disk = RamDisk::with_contents(empty_image(120), BLOCK);
    let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
    let fs = bench.open();
    let (inode, content) = fragmented(&mut bench, &fs);
    bench.run(fs.close()).unwrap();
    let image = disk.with(|bytes| bytes.to_vec());
    let (device, trace) = Traced::new(Shuffled::new(RamDisk::with_contents(image.clone(), BLOCK), 4));
    let mut bench = Bench::new(device, ReadyOrder::Fair);
    let fs = bench.open();
    let mut defragmentation = fs.defragment(inode);
    while !bench.run(defragmentation.step()).unwrap().is_done {
        bench.run(fs.sync()).unwrap();
    }
    // The space that it freed is used again.
    let other = fs.lookup(InodeId::ROOT, b"other").unwrap().inode;
    for round in 0..30 {
        bench.run(fs.write(other, 0, &bytes(round, 6 * CLUSTER as usize))).unwrap();
        bench.run(fs.fsync(other)).unwrap();
    }
    drop(fs);
    let trace = std::mem::take(&mut *trace.borrow_mut());
    let mut points = CrashPoints::new(&trace, image, BLOCK);
    for events in 0..=trace.events() {
        points.advance(events);
        for seed in 0..scale() {
            let disk = RamDisk::with_contents(points.image(Survival::Some(seed)), BLOCK);
            let mut bench = Bench::new(disk, ReadyOrder::Fair);
            let fs = bench.open();
            assert!(bench.run(fs.read(inode, 0, 100_000)).unwrap() == content, "event {events}, seed {seed}");
            bench.run(fs.close()).unwrap();
            assert!(bench.fsck(Repair::No).unwrap().is_sound(), "event {events}, seed {seed}");
        }
    }
}

/// A stream of small writes fills the log again and again. Each byte is written once into the log
/// and once more when it leaves memory; records, checkpoints and partly filled blocks add less than
/// a third of that.
#[test]
fn a_stream_of_small_writes_is_written_little_more_than_twice() {
    let (device, counts) = Counting::new(RamDisk::with_contents(empty_image(400), BLOCK));
    let mut bench = Bench::new(device, ReadyOrder::Fair);
    let options = OpenOptions { inline_bytes: Some(100_000), ..small_memory() };
    let fs = bench.try_open(options).unwrap().0;
    let inode = file(&mut bench, &fs, "f");
    let (length, places, writes) = (500_usize, 1_000, 12_000_u64);
    let before = counts.get().written_bytes;
    for number in 0..writes {
        let at = number % places * length as u64;
        bench.run(fs.write(inode, at, &bytes(number as u8, length))).unwrap();
        // Lets the device run.
        bench.run(fs.read(inode, at, 1)).unwrap();
    }
    let (written, content) = (counts.get().written_bytes - before, writes * length as u64);
    let activity = fs.activity();
    assert!(activity.checkpoints > 10, "{activity:?}");
    let times = written as f64 / content as f64;
    assert!((2.0..2.6).contains(&times), "{times:.2} times its content was written; {activity:?}");
    bench.run(fs.close()).unwrap();
    assert!(bench.fsck(Repair::No).unwrap().is_sound());
}
