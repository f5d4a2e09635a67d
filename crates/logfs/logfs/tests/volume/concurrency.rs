//! Many concurrent tasks, each in a directory of its own, on devices that complete in any order;
//! then a crash in the middle.

use std::cell::RefCell;
use std::rc::Rc;

use iolab_disk::{CrashPoints, RamDisk, Shuffled, Survival, Trace, Traced};
use iolab_executor::ReadyOrder;
use iolab_logfs::{InodeId, Owner, Repair};

use crate::rig::load::{Step, perform, step};
use crate::rig::model::{Model, Snapshot, below, difference, digest, snapshot};
use crate::rig::{BLOCK, Bench, CLUSTER, Random, empty_image, scale};

const CLUSTERS: u64 = 100;
const TASKS: u64 = 6;

/// The history of one task: its states, when each step began, and how many steps were promised
/// after how many events.
#[derive(Default)]
struct TaskHistory {
    /// Digests of the states.
    states: Vec<u64>,
    last: Snapshot,
    begun: Vec<usize>,
    promises: Vec<(usize, usize)>,
}

fn path(task: u64) -> Vec<u8> {
    format!("/t{task}").into_bytes()
}

/// Runs all tasks to their end and returns their histories, the initial image, and the trace of the
/// device.
fn run(seed: u64, steps: usize) -> (Vec<TaskHistory>, Vec<u8>, Trace) {
    let image = empty_image(CLUSTERS);
    let disk = RamDisk::with_contents(image.clone(), BLOCK);
    let (device, trace) = Traced::new(Shuffled::new(disk.clone(), seed));
    let mut bench = Bench::new(device, ReadyOrder::Shuffled(seed));
    let fs = bench.open();
    let histories: Vec<Rc<RefCell<TaskHistory>>> = (0..TASKS).map(|_| Rc::default()).collect();
    let mut tasks = Vec::new();
    for (task, history) in (0..TASKS).zip(&histories) {
        let directory = bench.run(fs.make_directory(InodeId::ROOT, &path(task)[1..], Owner::default())).unwrap();
        let (fs, history, trace) = (fs.clone(), Rc::clone(history), Rc::clone(&trace));
        tasks.push(bench.executor.spawner().spawn(async move {
            let mut random = Random(seed * TASKS + task);
            let mut model = Model::below(directory);
            history.borrow_mut().states.push(digest(&model.snapshot()));
            for number in 1..=steps {
                let step = step(&mut random, &model, 2 * u64::from(CLUSTER));
                history.borrow_mut().begun.push(trace.borrow().events());
                let answer = perform(&fs, &mut model, &step).await;
                let mut history = history.borrow_mut();
                if matches!(step, Step::Sync) && answer.is_ok() {
                    history.promises.push((trace.borrow().events(), number));
                }
                history.states.push(digest(&model.snapshot()));
            }
            history.borrow_mut().last = model.snapshot();
        }));
    }
    bench.run(async {
        for task in tasks {
            task.await;
        }
    });
    let found = bench.run(snapshot(&fs));
    for (task, history) in (0..TASKS).zip(&histories) {
        let history = history.borrow();
        assert_eq!(difference(&below(&found, &path(task)), &history.last), None, "seed {seed}, task {task}");
    }
    bench.run(fs.close()).unwrap();
    let report = bench.fsck(Repair::No).unwrap();
    assert!(report.is_sound(), "seed {seed}: {:?}", report.faults);
    drop(bench);
    let trace = std::mem::take(&mut *trace.borrow_mut());
    (histories.iter().map(|history| history.take()).collect(), image, trace)
}

#[test]
fn tasks_do_not_disturb_each_other_and_a_crash_finds_each_at_a_promised_step() {
    for seed in 0..12 * scale() {
        let (histories, image, trace) = run(seed, 120);
        let mut points = CrashPoints::new(&trace, image, BLOCK);
        let mut random = Random(seed);
        let mut places: Vec<usize> = (0..12).map(|_| random.below(trace.events() as u64 + 1) as usize).collect();
        places.sort_unstable();
        for events in places {
            points.advance(events);
            let disk = RamDisk::with_contents(points.image(Survival::Some(random.next())), BLOCK);
            let mut bench = Bench::new(disk, ReadyOrder::Fair);
            let report = bench.fsck(Repair::No).unwrap_or_else(|error| panic!("seed {seed}, {events}: {error}"));
            assert!(report.is_sound(), "seed {seed}, {events}: {:?}", report.faults);
            let fs = bench.open();
            let found = bench.run(snapshot(&fs));
            for (task, history) in (0..TASKS).zip(&histories) {
                let found = below(&found, &path(task));
                let promised = history.promises.iter().filter(|(at, _)| *at <= events).map(|(_, step)| *step).max();
                let begun = history.begun.iter().filter(|at| **at <= events).count();
                let range = promised.unwrap_or(0)..=begun;
                // Before its directory is durable, nothing of a task exists.
                let is_there =
                    history.states[range.clone()].contains(&digest(&found)) || (promised.is_none() && found.is_empty());
                assert!(is_there, "seed {seed}, after event {events}, task {task}: in none of the states {range:?}");
            }
        }
    }
}
