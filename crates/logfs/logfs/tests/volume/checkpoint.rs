//! Checkpoints of what is too long for one group of records: directories and files that change
//! while they are written out, in the part already described and in the rest.

use iolab_disk::{CrashPoints, RamDisk, Survival};
use iolab_executor::ReadyOrder;
use iolab_logfs::{InodeId, OpenOptions, hostile};

use crate::rig::crash::run_script;
use crate::rig::load::{Step, perform};
use crate::rig::model::{Model, difference, snapshot};
use crate::rig::{BLOCK, Bench, Random, empty_image, scale, small_memory};

const CLUSTERS: u64 = 120;
const NAMES: u64 = 300;

fn name(number: u64) -> Vec<u8> {
    format!("a name that takes some room {number:04}").into_bytes()
}

/// A directory with many names, two files in many pieces (one on the disk, one in the log), and
/// another directory to move names to.
fn prepared() -> (Vec<u8>, Model, [InodeId; 4]) {
    let disk = RamDisk::with_contents(empty_image(CLUSTERS), BLOCK);
    let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
    let fs = bench.try_open(OpenOptions { inline_bytes: Some(1 << 20), ..small_memory() }).unwrap().0;
    let (mut model, mut random) = (Model::new(), Random(1));
    let root = InodeId::ROOT;
    let mut make = |model: &mut Model, step: Step| bench.run(perform(&fs, model, &step)).unwrap();
    make(&mut model, Step::MakeDirectory(root, b"many".to_vec()));
    make(&mut model, Step::MakeDirectory(root, b"other".to_vec()));
    make(&mut model, Step::Create(root, b"disk".to_vec()));
    make(&mut model, Step::Create(root, b"log".to_vec()));
    let [many, other, on_disk, in_log] =
        [&b"many"[..], b"other", b"disk", b"log"].map(|name| model.lookup(root, name).unwrap());
    for number in 0..NAMES {
        make(&mut model, Step::Link(in_log, many, name(number)));
    }
    for number in 0..120_u64 {
        make(&mut model, Step::Write(on_disk, random.below(150) * 700, number as u8, 600));
        make(&mut model, Step::Write(in_log, random.below(400) * 60, number as u8, 40));
    }
    bench.run(fs.close()).unwrap();
    (disk.with(|bytes| bytes.to_vec()), model, [many, other, on_disk, in_log])
}

fn step(random: &mut Random, [many, other, on_disk, in_log]: [InodeId; 4]) -> Step {
    let any = |random: &mut Random| name(random.below(NAMES + 50));
    match random.below(20) {
        0 => Step::Checkpoint,
        1..=2 => Step::Create(many, any(random)),
        3..=4 => Step::MakeDirectory(many, any(random)),
        5..=7 => Step::Unlink(many, any(random)),
        8 => Step::RemoveDirectory(many, any(random)),
        9..=10 => Step::Rename((many, any(random)), (many, any(random))),
        11 => Step::Rename((many, any(random)), (other, any(random))),
        12 => Step::Rename((other, any(random)), (many, any(random))),
        13..=14 => {
            Step::Write(on_disk, random.below(150) * 700, random.next() as u8, 600 + random.below(3_000) as usize)
        }
        15..=16 => Step::Write(in_log, random.below(400) * 60, random.next() as u8, 40),
        17 => Step::Punch(on_disk, random.below(100_000), random.below(5_000) + 1),
        18 => Step::Truncate(if random.below(2) == 0 { on_disk } else { in_log }, random.below(40_000) + 15_000),
        _ => Step::Sync,
    }
}

#[test]
fn long_inodes_change_while_a_checkpoint_describes_them() {
    let (image, model, inodes) = prepared();
    for seed in 0..5 * scale() {
        let mut random = Random(seed);
        let mut script = |at: usize, _: &Model| (at < 90).then(|| step(&mut random, inodes));
        let history = run_script(image.clone(), model.clone(), seed, &mut script);
        let mut points = CrashPoints::new(&history.trace, history.image.clone(), BLOCK);
        let mut places = Random(seed + 77);
        let mut at: Vec<usize> = (0..6).map(|_| places.below(history.trace.events() as u64 + 1) as usize).collect();
        at.sort_unstable();
        at.push(history.trace.events());
        for events in at {
            points.advance(events);
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                history.check(&points, events, Survival::Some(places.next()));
            }));
            assert!(caught.is_ok(), "seed {seed}");
        }
    }
}

#[test]
fn closing_writes_a_checkpoint_when_much_has_changed_and_only_then() {
    // So large that the log's length alone does not require a checkpoint.
    let disk = RamDisk::with_contents(empty_image(4_096), BLOCK);
    let mut bench = Bench::new(disk, ReadyOrder::Fair);
    let options = OpenOptions { inline_bytes: Some(1 << 20), ..small_memory() };
    let mut records = Vec::new();
    for (closing_checkpoint, changes) in [(false, 3_000_u64), (true, 10), (true, 3_000), (true, 10)] {
        let (fs, recovery) = bench.try_open(OpenOptions { closing_checkpoint, ..options }).unwrap();
        records.push(recovery.records);
        for number in 0..changes {
            let made = bench.run(fs.create(InodeId::ROOT, &name(number), Default::default()));
            made.and_then(|_| bench.run(fs.unlink(InodeId::ROOT, &name(number)))).unwrap();
        }
        bench.run(fs.close()).unwrap();
    }
    let (fs, recovery) = bench.try_open(options).unwrap();
    records.push(recovery.records);
    assert_eq!(difference(&bench.run(snapshot(&fs)), &Model::new().snapshot()), None);
    // Without a checkpoint on closing, all changes since the last one are read. With it, hardly
    // any.
    assert!(records[1] > 1_000 && records[3] < 100 && records[4] < 100, "{records:?}");
}

#[test]
fn a_checkpoint_is_written_when_its_time_has_come() {
    // So large that the log's length alone does not require a checkpoint.
    let disk = RamDisk::with_contents(empty_image(4_096), BLOCK);
    let mut bench = Bench::new(disk, ReadyOrder::Fair);
    let fs = bench.open();
    let change = |bench: &mut Bench, times: u64| {
        for number in 0..times {
            bench.run(fs.create(InodeId::ROOT, &name(number), Default::default())).unwrap();
            bench.run(fs.unlink(InodeId::ROOT, &name(number))).unwrap();
            if number < 10 {
                // Lets background tasks run.
                bench.run(fs.sync()).unwrap();
            }
        }
        fs.activity().checkpoints
    };
    assert_eq!(change(&mut bench, 1_500), 0, "too early");
    bench.clock.advance(OpenOptions::default().checkpoint_interval_ns);
    assert_eq!(change(&mut bench, 10), 1);
    bench.clock.advance(OpenOptions::default().checkpoint_interval_ns);
    assert_eq!(change(&mut bench, 10), 1, "nothing has changed");
}

#[test]
fn a_crash_at_every_event_of_a_checkpoint_and_of_reading_it_back_loses_nothing() {
    let (image, model, [many, _, on_disk, in_log]) = prepared();
    let mut crashes = 0;
    for seed in 0..scale() {
        let mut random = Random(seed);
        let mut script = |at: usize, _: &Model| match at {
            // Both the last checkpoint and the one before change each time.
            2 | 5 | 8 => Some(Step::Checkpoint),
            0..9 => Some(step(&mut random, [many, many, on_disk, in_log])),
            _ => None,
        };
        let history = run_script(image.clone(), model.clone(), seed, &mut script);
        crashes += history.crash_everywhere(1);
    }
    assert!(crashes > 40, "{crashes}");
}

#[test]
fn either_checkpoint_will_do_after_a_crash_at_any_event() {
    let (image, model, [many, _, on_disk, in_log]) = prepared();
    let mut random = Random(3);
    let mut script = |at: usize, _: &Model| match at {
        3 | 7 => Some(Step::Checkpoint),
        0..10 => Some(step(&mut random, [many, many, on_disk, in_log])),
        _ => None,
    };
    let history = run_script(image, model, 3, &mut script);
    let mut points = CrashPoints::new(&history.trace, history.image.clone(), BLOCK);
    let (mut older, mut tried) = (0, 0);
    for events in 0..=history.trace.events() {
        points.advance(events);
        let whole = points.image(Survival::Nothing);
        // Damage a checkpoint in its first frame or its last: the other one and the log give the
        // same.
        for (number, place) in hostile::checkpoint_frames(&whole).into_iter().enumerate() {
            let mut damaged = whole.clone();
            damaged[place + 100] ^= 0x20;
            let disk = RamDisk::with_contents(damaged, BLOCK);
            let mut bench = Bench::new(disk, ReadyOrder::Fair);
            let opened = bench.try_open(small_memory());
            let (fs, recovery) = opened.unwrap_or_else(|error| panic!("event {events}, frame {number}: {error}"));
            let found = bench.run(snapshot(&fs));
            let known = history.states.iter().any(|state| difference(&found, &state.snapshot()).is_none());
            assert!(known, "event {events}, frame {number}: a state that never was");
            older += u32::from(recovery.by_older_checkpoint);
            tried += 1;
        }
    }
    assert!(older * 3 > tried && tried >= 16, "{older} of {tried}");
}
