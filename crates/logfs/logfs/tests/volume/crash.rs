//! Crashes: short scripts at every event of the device, long random ones at random events, one
//! after the other on the same disk.
//!
//! `IOLAB_LOGFS_TEST_SCALE` multiplies the number of trials; from 2 on, short scripts have three
//! steps instead of two.

use std::sync::atomic::{AtomicU64, Ordering};

use iolab_disk::{CrashPoints, RamDisk, Survival, Traced};
use iolab_executor::ReadyOrder;
use iolab_logfs::{Error, InodeId};
use iolab_testkit::parallel;

use crate::rig;
use crate::rig::crash::run_script;
use crate::rig::load::{Step, perform, step};
use crate::rig::model::Model;
use crate::rig::{BLOCK, Bench, CLUSTER, Random, empty_image, empty_image_with, scale};

/// The minimum number of clusters of a file system, and a few to write to.
const CLUSTERS: u64 = 34;

/// A file system with a directory, a file with content on the disk and one with content in the log.
fn prepared() -> (Vec<u8>, Model, [InodeId; 3]) {
    let disk = RamDisk::with_contents(empty_image(CLUSTERS), BLOCK);
    let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
    let fs = bench.open();
    let mut model = Model::new();
    let root = InodeId::ROOT;
    bench.run(perform(&fs, &mut model, &Step::MakeDirectory(root, b"d".to_vec()))).unwrap();
    bench.run(perform(&fs, &mut model, &Step::Create(root, b"a".to_vec()))).unwrap();
    let directory = model.lookup(root, b"d").unwrap();
    let a = model.lookup(root, b"a").unwrap();
    bench.run(perform(&fs, &mut model, &Step::Create(directory, b"b".to_vec()))).unwrap();
    let b = model.lookup(directory, b"b").unwrap();
    bench.run(perform(&fs, &mut model, &Step::Write(a, 0, 1, 5_000))).unwrap();
    bench.run(perform(&fs, &mut model, &Step::Write(b, 0, 2, 100))).unwrap();
    bench.run(fs.close()).unwrap();
    (disk.with(|bytes| bytes.to_vec()), model, [directory, a, b])
}

fn alphabet([directory, a, b]: [InodeId; 3]) -> Vec<Step> {
    let root = InodeId::ROOT;
    let name = |text: &str| text.as_bytes().to_vec();
    vec![
        Step::Write(a, 1_000, 3, 3_000),
        Step::Write(b, 50, 4, 200),
        Step::Append(a, 5, 20_000),
        Step::Truncate(a, 700),
        Step::Punch(a, 100, 2_000),
        Step::Rename((root, name("a")), (directory, name("c"))),
        Step::Rename((root, name("a")), (directory, name("b"))),
        Step::Rename((root, name("d")), (root, name("e"))),
        Step::Exchange((root, name("a")), (directory, name("b"))),
        Step::Unnamed(directory, name("u"), 8),
        Step::Link(a, directory, name("l")),
        Step::Unlink(directory, name("b")),
        Step::Create(directory, name("n")),
        Step::Symlink(root, name("s"), name("target")),
        Step::Fsync(a),
        Step::Sync,
        Step::Checkpoint,
    ]
}

#[test]
fn short_scripts_survive_a_crash_at_every_event() {
    let (image, model, inodes) = prepared();
    let alphabet = alphabet(inodes);
    let (width, length) = (alphabet.len(), if scale() > 1 { 3 } else { 2 });
    let crashes = AtomicU64::new(0);
    parallel::for_each(0..width.pow(length), |number| {
        // A sync of the file at the end, and something after it that the crash may lose.
        let mut script: Vec<Step> = (0..length).map(|at| alphabet[number / width.pow(at) % width].clone()).collect();
        script.extend([Step::Fsync(inodes[1]), Step::Write(inodes[1], 10, 9, 40)]);
        let mut steps = script.clone().into_iter();
        let history = run_script(image.clone(), model.clone(), number as u64, &mut |_, _| steps.next());
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| history.crash_everywhere(2)));
        let crashed = caught.unwrap_or_else(|_| panic!("script {number}: {script:?}"));
        crashes.fetch_add(crashed, Ordering::Relaxed);
    });
    let crashes = crashes.into_inner();
    assert!(crashes > 2_000, "{crashes} crashes");
}

#[test]
fn random_scripts_survive_crash_after_crash() {
    // On a large disk, on one where whole blocks go through the log, and on one so full that
    // clusters are reallocated as soon as possible.
    let images = [empty_image(CLUSTERS * 2), empty_image(CLUSTERS), empty_image_with(CLUSTERS * 2, CLUSTER / 8)];
    for seed in 0..80 * scale() {
        let mut random = Random(seed);
        let is_full = seed % 2 == 1;
        let most_bytes = if is_full { 5 } else { 2 } * u64::from(CLUSTER);
        let (mut image, mut model) = (images[[0, 1, 2, 1][seed as usize % 4]].clone(), Model::new());
        for generation in 0..4 {
            let steps = random.below(120) + 5;
            let mut script =
                |at: usize, model: &Model| (at < steps as usize).then(|| step(&mut random, model, most_bytes));
            let history = run_script(image, model, seed * 4 + generation, &mut script);
            let crash = |events: usize, survival: Survival| {
                let mut points = CrashPoints::new(&history.trace, history.image.clone(), BLOCK);
                points.advance(events);
                let check = || history.check(&points, events, survival);
                let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
                caught.unwrap_or_else(|_| panic!("seed {seed}, generation {generation}"))
            };
            for _ in 0..3 {
                let events = random.below(history.trace.events() as u64 + 1) as usize;
                crash(events, Survival::Some(random.next()));
            }
            let events = random.below(history.trace.events() as u64 + 1) as usize;
            let (disk, state) = crash(events, Survival::Some(random.next()));
            // The next generation continues from what this crash left. Opening it has changed the
            // disk: crash a second time, right away.
            image = disk.with(|bytes| bytes.to_vec());
            model = history.states[state].clone();
        }
    }
}

#[test]
fn clusters_are_not_given_away_before_the_log_says_so_durably() {
    // One file is overwritten again and again, with few syncs, on a disk that holds it a few times:
    // every cluster is soon rewritten.
    let image = empty_image(CLUSTERS);
    let disk = RamDisk::with_contents(image, BLOCK);
    let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
    let fs = bench.open();
    let mut model = Model::new();
    bench.run(perform(&fs, &mut model, &Step::Create(InodeId::ROOT, b"file".to_vec()))).unwrap();
    bench.run(fs.close()).unwrap();
    let image = disk.with(|bytes| bytes.to_vec());
    let inode = model.lookup(InodeId::ROOT, b"file").unwrap();
    parallel::for_each(0..4 * scale(), |seed| {
        let mut random = Random(seed);
        let mut script = |at: usize, _: &Model| match (at < 60, random.below(9)) {
            (false, _) => None,
            (true, 0) => Some(Step::Fsync(inode)),
            (true, _) => Some(Step::Write(inode, 0, at as u8, 2 * CLUSTER as usize)),
        };
        let history = run_script(image.clone(), model.clone(), seed, &mut script);
        assert!(history.crash_everywhere(1) > 100, "seed {seed}");
    });
}

#[test]
fn frames_that_a_crash_left_behind_are_not_taken_for_new_ones() {
    let (image, model, [_, other, file]) = prepared();
    let fill = |first: u8| {
        // All of the same length, so that frames of two lives lie in the same places. A read lets
        // the device run.
        let mut steps = (0..50).map(move |at| match at % 5 {
            4 => Step::Read(other, 0, 3_000),
            _ => Step::Write(file, 0, first + at, 480),
        });
        move |_: usize, _: &Model| steps.next()
    };
    let mut gaps = 0;
    for seed in 0..40 * scale() {
        let first = run_script(image.clone(), model.clone(), 0, &mut fill(0));
        let mut points = CrashPoints::new(&first.trace, first.image.clone(), BLOCK);
        points.advance(first.trace.events());
        assert!(points.doubtful() > 2, "several frames are on their way without a flush");
        let image = points.image(Survival::Some(seed));
        let (_, state) = first.check(&points, first.trace.events(), Survival::Some(seed));
        gaps += u64::from(state < 40);
        let second = run_script(image, first.states[state].clone(), 0, &mut fill(100));
        second.crash_everywhere(1);
    }
    assert!(gaps > 10, "{gaps}: crashes leave gaps behind which whole frames lie");
}

#[test]
fn a_crash_while_making_a_file_system_leaves_none_or_an_empty_one() {
    let size = CLUSTERS * u64::from(CLUSTER);
    let (device, trace) = Traced::new(RamDisk::new(size, BLOCK));
    Bench::new(device, ReadyOrder::Fair).mkfs();
    let trace = trace.borrow();
    let mut points = CrashPoints::new(&trace, vec![0; size as usize], BLOCK);
    let mut made = 0;
    for events in 0..=trace.events() {
        points.advance(events);
        for seed in 0..20 {
            let disk = RamDisk::with_contents(points.image(Survival::Some(seed)), BLOCK);
            match Bench::new(disk, ReadyOrder::Fair).try_open(rig::small_memory()) {
                Ok((fs, _)) => {
                    assert_eq!(fs.tree().len(), 0);
                    made += 1;
                }
                Err(error) => assert!(matches!(error, Error::Unusable(_) | Error::Corrupt(_)), "{error}"),
            }
            if events == trace.events() {
                assert!(made > 0, "a file system that was made is there");
            }
        }
    }
}

#[test]
fn the_check_notices_a_device_that_loses_what_it_flushed() {
    // The canary: the promises are those of an honest device, the image is that of one whose
    // flushes do nothing.
    let (image, model, [_, a, _]) = prepared();
    let mut steps = vec![Step::Write(a, 0, 8, 3_000), Step::Fsync(a)].into_iter();
    let history = run_script(image.clone(), model, 0, &mut |_, _| steps.next());
    let untouched = CrashPoints::new(&history.trace, image, BLOCK);
    let check = || history.check(&untouched, history.trace.events(), Survival::Nothing);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).is_err());
}
