//! Crashes while opening after a crash, and runs that give the same result whenever they are
//! repeated.

use iolab_clock::Clock;
use iolab_disk::{CrashPoints, Delayed, Delays, RamDisk, Survival, Traced};
use iolab_executor::ReadyOrder;
use iolab_logfs::{Activity, InodeId, Repair};

use crate::rig;
use crate::rig::crash::run_script;
use crate::rig::load::{Step, perform, step};
use crate::rig::model::{Model, Snapshot, difference, snapshot};
use crate::rig::{BLOCK, Bench, CLUSTER, Random, empty_image, scale};

/// Opens an image, takes a snapshot, changes a little and closes; returns the snapshot and a trace
/// of it.
fn opened(image: &[u8], context: &str) -> (Snapshot, iolab_disk::Trace) {
    let (device, trace) = Traced::new(RamDisk::with_contents(image.to_vec(), BLOCK));
    let mut bench = Bench::new(device, ReadyOrder::Fair);
    let (fs, _) = bench.try_open(rig::small_memory()).unwrap_or_else(|error| panic!("{context}: {error}"));
    let found = bench.run(snapshot(&fs));
    fs.want_checkpoint();
    bench.run(fs.sync()).unwrap();
    bench.run(fs.close()).unwrap();
    let trace = std::mem::take(&mut *trace.borrow_mut());
    (found, trace)
}

#[test]
fn crashes_while_opening_after_a_crash_lose_nothing_more() {
    let mut crashes = 0;
    for seed in 0..6 * scale() {
        let mut random = Random(seed);
        let image = empty_image(if seed % 2 == 0 { 40 } else { 34 });
        let mut script = |at: usize, model: &Model| (at < 80).then(|| step(&mut random, model, 3 * u64::from(CLUSTER)));
        let history = run_script(image, Model::new(), seed, &mut script);
        let mut places = Random(seed + 1_000);
        for _ in 0..4 {
            let events = places.below(history.trace.events() as u64 + 1) as usize;
            let mut points = CrashPoints::new(&history.trace, history.image.clone(), BLOCK);
            points.advance(events);
            let mut image = points.image(Survival::Some(places.next()));
            let (expected, mut trace) = opened(&image, &format!("seed {seed}, event {events}"));
            // Each later opening finds what the first one found, however deeply crashes during
            // opening are nested.
            for depth in 0..3 {
                let mut again = CrashPoints::new(&trace, image.clone(), BLOCK);
                let mut next = None;
                for at in 0..=trace.events() {
                    again.advance(at);
                    let survival = Survival::Some(places.next());
                    let crashed = again.image(survival);
                    let context = format!("seed {seed}, event {events}, depth {depth}, then event {at}, {survival:?}");
                    let (found, further) = opened(&crashed, &context);
                    assert_eq!(difference(&found, &expected), None, "{context}");
                    crashes += 1;
                    if places.below(trace.events() as u64 + 1) as usize == at || next.is_none() {
                        next = Some((crashed, further));
                    }
                }
                (image, trace) = next.unwrap_or((image, trace));
            }
        }
    }
    assert!(crashes > 500, "{crashes} crashes");
}

/// A random load on a simulated device and clock: the content of the disk afterwards, the time, and
/// the background work.
fn simulated(seed: u64, steps: u64) -> (Vec<u8>, u64, Activity) {
    let disk = RamDisk::with_contents(empty_image(90), BLOCK);
    let clock = Clock::simulated(seed);
    let delays = Delays { read_ns: 80_000, write_ns: 20_000, flush_ns: 500_000, per_kib_ns: 300 };
    let mut bench = Bench::new(Delayed::new(disk.clone(), clock.clone(), delays), ReadyOrder::Shuffled(seed));
    bench.clock = clock.clone();
    let fs = bench.open();
    let (mut model, mut random) = (Model::new(), Random(seed));
    for _ in 0..steps {
        let step: Step = step(&mut random, &model, 60_000);
        let _answer = bench.run(perform(&fs, &mut model, &step));
    }
    assert_eq!(difference(&bench.run(snapshot(&fs)), &model.snapshot()), None, "seed {seed}");
    let activity = fs.activity();
    assert!(fs.stat(InodeId::ROOT).is_ok());
    bench.run(fs.close()).unwrap();
    assert!(bench.fsck(Repair::No).unwrap().is_sound(), "seed {seed}");
    (disk.with(|bytes| bytes.to_vec()), clock.now_ns(), activity)
}

#[test]
fn the_same_seed_gives_the_same_disk_at_the_same_time() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..4 * scale() {
        let (first, second) = (simulated(seed, 1_500), simulated(seed, 1_500));
        assert!(first == second, "seed {seed}: {} and {} ns, {:?}, {:?}", first.1, second.1, first.2, second.2);
        assert!(first.2.checkpoints > 0, "the load is too easy: {:?}", first.2);
        seen.insert(first.1);
    }
    assert!(seen.len() > 1, "another seed, another run");
}
