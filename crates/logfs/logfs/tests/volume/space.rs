//! A full disk: nothing is corrupted, deleting always works, and the space it frees can be written
//! again.

use iolab_disk::{ActionKind, DeviceError, Faulty, RamDisk};
use iolab_executor::ReadyOrder;
use iolab_logfs::{Error, InodeId, MkfsOptions, OpenOptions, Owner, Policy, Repair, mkfs};

use crate::rig::load::{bytes, perform, step};
use crate::rig::model::{Model, difference, snapshot};
use crate::rig::{BLOCK, Bench, CLUSTER, Random, empty_image, scale, small_memory};

const CLUSTERS: u64 = 64;
const POLICIES: [Policy; 4] =
    [Policy::Threshold { k: 0.8 }, Policy::Dynamic { cap: 0.9 }, Policy::CostBenefit, Policy::Greedy];

#[test]
fn a_full_disk_can_be_emptied_and_filled_again_and_again() {
    for policy in POLICIES {
        let disk = RamDisk::with_contents(empty_image(CLUSTERS), BLOCK);
        let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
        let fs = bench.try_open(OpenOptions { policy: Some(policy), ..small_memory() }).unwrap().0;
        let mut firsts = Vec::new();
        for round in 0..6_u64 {
            let mut files = Vec::new();
            loop {
                let name = format!("f{}", files.len()).into_bytes();
                let Ok(inode) = bench.run(fs.create(InodeId::ROOT, &name, Owner::default())) else { break };
                files.push(name);
                // A length that leaves the end of blocks unused, so that full clusters hold dead
                // bytes.
                match bench.run(fs.write(inode, 0, &bytes(round as u8, 3_000 + 700 * round as usize))) {
                    Ok(()) => {}
                    Err(error) => {
                        assert_eq!(error, Error::NoSpace);
                        break;
                    }
                }
            }
            firsts.push(files.len() * (3_000 + 700 * round as usize));
            // Every second one first, so that the rest lies between holes.
            let (odd, even): (Vec<_>, Vec<_>) = files.iter().enumerate().partition(|(number, _)| number % 2 == 1);
            for (_, name) in odd {
                bench
                    .run(fs.unlink(InodeId::ROOT, name))
                    .unwrap_or_else(|error| panic!("{policy:?}, {round}: {error}"));
            }
            // Cleaning makes room for a file that fits into no hole.
            let big = bench.run(fs.create(InodeId::ROOT, b"big", Owner::default())).unwrap();
            let half = bytes(9, 12 * CLUSTER as usize);
            bench.run(fs.write(big, 0, &half)).unwrap_or_else(|error| panic!("{policy:?}, round {round}: {error}"));
            assert!(bench.run(fs.read(big, 0, half.len())).unwrap() == half);
            for (number, name) in even {
                let inode = fs.lookup(InodeId::ROOT, name).unwrap().inode;
                if number + 1 < files.len() {
                    let content = bench.run(fs.read(inode, 0, 100_000)).unwrap();
                    assert!(content == bytes(round as u8, 3_000 + 700 * round as usize), "{policy:?}: {number}");
                }
                bench.run(fs.unlink(InodeId::ROOT, name)).unwrap();
            }
            bench.run(fs.unlink(InodeId::ROOT, b"big")).unwrap();
        }
        assert!(fs.activity().cleaning_passes > 0, "{policy:?} never cleaned");
        // In every round, the disk holds about as much as in the first.
        let least = firsts.iter().min().unwrap();
        assert!(*least * 10 > firsts[0] * 8, "{policy:?}: {firsts:?}");
        bench.run(fs.close()).unwrap();
        assert!(bench.fsck(Repair::No).unwrap().is_sound());
    }
}

#[test]
fn overwriting_a_file_that_fills_the_disk_never_ends_in_no_space() {
    let disk = RamDisk::with_contents(empty_image(CLUSTERS), BLOCK);
    let mut bench = Bench::new(disk, ReadyOrder::Fair);
    let fs = bench.open();
    let inode = bench.run(fs.create(InodeId::ROOT, b"file", Owner::default())).unwrap();
    let room = fs.space().free_bytes as usize;
    let size = room - 12 * CLUSTER as usize;
    bench.run(fs.write(inode, 0, &bytes(1, size))).unwrap();
    let mut random = Random(5);
    let mut expected = bytes(1, size);
    for round in 0..600 {
        let length = 1_000 + random.below(6_000) as usize;
        let offset = random.below((size - length) as u64);
        let content = bytes(round as u8, length);
        bench.run(fs.write(inode, offset, &content)).unwrap_or_else(|error| panic!("round {round}: {error}"));
        expected[offset as usize..offset as usize + length].copy_from_slice(&content);
    }
    assert!(bench.run(fs.read(inode, 0, size)).unwrap() == expected);
    assert!(fs.activity().moved_bytes > 0);
    bench.run(fs.close()).unwrap();
    assert!(bench.fsck(Repair::No).unwrap().is_sound());
}

#[test]
fn a_full_disk_has_nothing_available() {
    let disk = RamDisk::with_contents(empty_image(CLUSTERS), BLOCK);
    let mut bench = Bench::new(disk, ReadyOrder::Fair);
    let fs = bench.open();
    let empty = fs.space();
    assert_eq!((empty.available_bytes % u64::from(CLUSTER), empty.available_bytes), (0, empty.free_bytes));
    let inode = bench.run(fs.create(InodeId::ROOT, b"file", Owner::default())).unwrap();
    // In pieces of less than a cluster, so that one ends in the middle of a cluster.
    let piece = bytes(1, 3 * BLOCK as usize);
    let mut written = 0;
    while bench.run(fs.write(inode, written, &piece)).is_ok() {
        written += piece.len() as u64;
    }
    assert_eq!(fs.space().available_bytes, 0, "{:?} after {written} bytes", fs.space());
    bench.run(fs.close()).unwrap();
}

/// Large clusters are few, so each that is reserved for the log matters. The log is written round
/// and round on a full disk, in groups that leave as much of its clusters unused as they can.
#[test]
fn the_log_never_runs_out_of_large_clusters() {
    const LARGE: u32 = 4 << 20;
    for (length, seed) in [(LARGE as usize / 8, 1), (70_000, 2)] {
        let disk = RamDisk::new(32 * u64::from(LARGE), 4096);
        let mut bench = Bench::new(disk.clone(), ReadyOrder::Shuffled(seed));
        let options = MkfsOptions { cluster_bytes: LARGE, small_max_bytes: LARGE / 8, ..MkfsOptions::new([7; 16], 1) };
        bench.run(mkfs(&bench.disk.clone(), &options)).unwrap();
        let options = OpenOptions { inline_bytes: Some(16 << 20), ..OpenOptions::default() };
        let fs = bench.try_open(options).unwrap().0;
        let room = fs.space().available_bytes;
        assert!(room >= 15 * u64::from(LARGE), "{room} bytes of 32 clusters can be written");
        let mut create = |name: &[u8]| bench.run(fs.create(InodeId::ROOT, name, Owner::default())).unwrap();
        let (kept, files) = (create(b"kept"), [create(b"a"), create(b"b"), create(b"c")]);
        for file in files {
            bench.run(fs.write(file, 0, &bytes(8, length))).unwrap();
        }
        let mut kept_bytes = 0;
        while bench.run(fs.write(kept, kept_bytes, &bytes(9, 1 << 20))).is_ok() {
            kept_bytes += 1 << 20;
        }
        assert!(kept_bytes >= 14 * u64::from(LARGE), "{kept_bytes} of {room} bytes");
        // The content of these writes stays in memory and in the log, but each could need a
        // cluster.
        bench.run(fs.truncate(kept, kept_bytes - u64::from(LARGE))).unwrap();
        for round in 0..(120 << 20) / length {
            let file = files[round % files.len()];
            let content = bytes(round as u8, length);
            bench.run(fs.write(file, 0, &content)).unwrap_or_else(|error| panic!("{round}: {error}"));
        }
        assert!(fs.activity().checkpoints > 5, "{:?}", fs.activity());
        bench.run(fs.close()).unwrap();
        let report = bench.fsck(Repair::No).unwrap();
        assert!(report.is_sound(), "{:?}", report.faults);
    }
}

#[test]
fn random_loads_on_a_disk_that_is_too_small_agree_with_the_model() {
    let mut refused = 0;
    for seed in 0..6 * scale() {
        let mut random = Random(1_000 + seed);
        let disk = RamDisk::with_contents(empty_image(40), BLOCK);
        let mut bench = Bench::new(disk, ReadyOrder::Shuffled(seed));
        let mut model = Model::new();
        for _ in 0..3 {
            let fs = bench.open();
            for _ in 0..400 {
                let step = step(&mut random, &model, 200_000);
                refused += u32::from(bench.run(perform(&fs, &mut model, &step)) == Err(Error::NoSpace));
            }
            let found = bench.run(snapshot(&fs));
            assert_eq!(difference(&found, &model.snapshot()), None, "seed {seed}");
            bench.run(fs.close()).unwrap();
            let report = bench.fsck(Repair::No).unwrap();
            assert!(report.is_sound(), "seed {seed}: {:?}", report.faults);
        }
    }
    assert!(refused > 20, "{refused} refusals: the disk is large enough");
}

#[test]
fn a_file_without_a_name_lives_as_long_as_it_is_held() {
    let disk = RamDisk::with_contents(empty_image(CLUSTERS), BLOCK);
    let mut bench = Bench::new(disk, ReadyOrder::Fair);
    let fs = bench.open();
    let inode = bench.run(fs.create(InodeId::ROOT, b"file", Owner::default())).unwrap();
    fs.hold(inode).unwrap();
    bench.run(fs.write(inode, 0, &bytes(1, 50_000))).unwrap();
    bench.run(fs.unlink(InodeId::ROOT, b"file")).unwrap();
    bench.run(fs.append(inode, b"more")).unwrap();
    assert_eq!(bench.run(fs.read(inode, 49_999, 9)).unwrap().len(), 5);
    let before = fs.space().live_bytes;
    fs.release(inode);
    assert_eq!(fs.stat(inode), Err(Error::NotFound));
    bench.run(async { fs.sync().await }).unwrap();
    bench.run(fs.create(InodeId::ROOT, b"other", Owner::default())).unwrap();
    bench.run(async { fs.sync().await }).unwrap();
    assert!(before >= 50_000 && fs.space().live_bytes == 0, "{before} then {}", fs.space().live_bytes);
    bench.run(fs.close()).unwrap();
}

#[test]
fn a_failed_data_write_is_one_call_and_a_failed_log_write_is_the_end() {
    let image = empty_image(CLUSTERS);
    let failing = std::rc::Rc::new(std::cell::Cell::new(None));
    let plan = std::rc::Rc::clone(&failing);
    let disk = RamDisk::with_contents(image, BLOCK);
    let device = Faulty::new(disk.clone(), move |request| {
        (plan.get() == Some(request.action.kind())).then_some(DeviceError::Failed(5))
    });
    let mut bench = Bench::new(device, ReadyOrder::Fair);
    let fs = bench.open();
    let inode = bench.run(fs.create(InodeId::ROOT, b"file", Owner::default())).unwrap();
    bench.run(fs.write(inode, 0, &bytes(1, 9_000))).unwrap();
    bench.run(fs.fsync(inode)).unwrap();
    failing.set(Some(ActionKind::Write));
    assert_eq!(bench.run(fs.write(inode, 0, &bytes(2, 9_000))), Err(Error::Device(DeviceError::Failed(5))));
    failing.set(Some(ActionKind::Read));
    assert_eq!(bench.run(fs.read(inode, 0, 10)), Err(Error::Device(DeviceError::Failed(5))));
    failing.set(None);
    assert!(bench.run(fs.read(inode, 0, 9_000)).unwrap() == bytes(1, 9_000));
    bench.run(fs.write(inode, 0, b"lost")).unwrap();
    failing.set(Some(ActionKind::Flush));
    let failed = Error::Failed(DeviceError::Failed(5));
    assert_eq!(bench.run(fs.fsync(inode)), Err(failed.clone()));
    failing.set(None);
    // Not even a sync that would succeed now: what the failed one lost may be gone.
    assert_eq!(bench.run(fs.fsync(inode)), Err(failed.clone()));
    assert_eq!(bench.run(fs.write(inode, 0, b"x")), Err(failed.clone()));
    assert_eq!(bench.run(fs.read(inode, 0, 4)).unwrap(), b"lost");
    assert_eq!(bench.run(fs.close()), Err(failed));
    let mut bench = Bench::new(disk, ReadyOrder::Fair);
    let fs = bench.open();
    let content = bench.run(fs.read(inode, 4, 9_000)).unwrap();
    assert!(content == bytes(1, 9_000)[4..]);
}

#[test]
fn cleaning_ends_on_a_disk_that_is_all_but_full_whatever_was_written_where() {
    for policy in POLICIES {
        let disk = RamDisk::with_contents(empty_image(6 * CLUSTERS), BLOCK);
        let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
        let fs = bench.try_open(OpenOptions { policy: Some(policy), ..small_memory() }).unwrap().0;
        let inode = bench.run(fs.create(InodeId::ROOT, b"file", Owner::default())).unwrap();
        let block = BLOCK as usize;
        // With holes between them, so that every block is an extent from the beginning, and
        // overwriting adds none.
        let offset = |at: usize| (2 * at * block) as u64;
        // Whole blocks until nothing fits any more, then 99 % of that.
        let mut blocks = 0;
        while bench.run(fs.write(inode, offset(blocks), &bytes(1, block))).is_ok() {
            blocks += 1;
        }
        let keep = blocks * 99 / 100;
        bench.run(fs.truncate(inode, offset(keep))).unwrap();
        // One block of every cluster is overwritten, then the next one of every cluster: all
        // clusters are equally full, and cleaning each gains as little as possible.
        let per_cluster = (CLUSTER / BLOCK) as usize;
        let (mut marks, mut written, mut refused) = (vec![1_u8; keep], 0, 0);
        for round in 0..3 {
            for at in (round..keep).step_by(per_cluster) {
                let mark = (round + 2) as u8;
                match bench.run(fs.write(inode, offset(at), &bytes(mark, block))) {
                    Ok(()) => {
                        marks[at] = mark;
                        written += 1;
                    }
                    Err(error) => {
                        assert_eq!(error, Error::NoSpace, "{policy:?}");
                        refused += 1;
                    }
                }
            }
        }
        let found = bench.run(fs.read(inode, 0, offset(keep) as usize)).unwrap();
        for (at, mark) in marks.iter().enumerate() {
            assert!(found[2 * at * block..(2 * at + 1) * block] == bytes(*mark, block), "{policy:?}, block {at}");
        }
        assert!(written > 2 * keep / per_cluster, "{policy:?}: {written} written, {refused} refused: no way to go on");
        bench.run(fs.truncate(inode, 0)).unwrap();
        bench.run(fs.write(inode, 0, &bytes(9, 10 * CLUSTER as usize))).unwrap();
        bench.run(fs.close()).unwrap();
        assert!(bench.fsck(Repair::No).unwrap().is_sound());
    }
}
