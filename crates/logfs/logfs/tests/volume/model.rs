//! Random operations against the reference model, with remounts, on devices that complete in any
//! order.

use iolab_disk::{RamDisk, Shuffled};
use iolab_executor::ReadyOrder;
use iolab_logfs::Repair;

use crate::rig::load::{perform, step};
use crate::rig::model::{Model, difference, snapshot};
use crate::rig::{BLOCK, Bench, CLUSTER, Random, policy_by_turns, scale};

/// Clusters of the disk: enough for the load, few enough that cleaning and checkpoints have to run.
const CLUSTERS: u64 = 90;

fn run(seed: u64, steps: u64) -> (u64, u64) {
    let mut random = Random(seed);
    let disk = RamDisk::new(CLUSTERS * u64::from(CLUSTER), BLOCK);
    Bench::new(disk.clone(), ReadyOrder::Fair).mkfs();
    let mut model = Model::new();
    let (mut checkpoints, mut passes) = (0, 0);
    let mut done = 0;
    while done < steps {
        let order = if seed.is_multiple_of(2) { ReadyOrder::Fair } else { ReadyOrder::Shuffled(random.next()) };
        let mut bench = Bench::new(Shuffled::new(disk.clone(), random.next()), order);
        let opened = bench.try_open(policy_by_turns(seed));
        let fs = opened.unwrap_or_else(|error| panic!("seed {seed}, step {done}: {error}")).0;
        let found = bench.run(snapshot(&fs));
        assert_eq!(difference(&found, &model.snapshot()), None, "seed {seed}, step {done}, after opening");
        for _ in 0..random.below(400) + 1 {
            let step = step(&mut random, &model, 60_000);
            let context = format!("seed {seed}, step {done}: {step:?}");
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _answer = bench.run(perform(&fs, &mut model, &step));
            }));
            assert!(caught.is_ok(), "{context}");
            done += 1;
        }
        let found = bench.run(snapshot(&fs));
        assert_eq!(difference(&found, &model.snapshot()), None, "seed {seed}, step {done}");
        checkpoints += fs.activity().checkpoints;
        passes += fs.activity().cleaning_passes;
        bench.run(fs.close()).unwrap();
        let report = bench.fsck(Repair::No).unwrap();
        assert!(report.is_sound(), "seed {seed}, step {done}: {report:?}");
        assert_eq!(bench.executor.tasks(), 0, "seed {seed}: tasks outlive their file system");
    }
    (checkpoints, passes)
}

#[test]
fn random_operations_agree_with_the_model() {
    let (mut checkpoints, mut passes) = (0, 0);
    for seed in 0..10 * scale() {
        let (more, cleaned) = run(seed, 2_000);
        checkpoints += more;
        passes += cleaned;
    }
    assert!(checkpoints > 10 && passes > 3, "{checkpoints} checkpoints, {passes} passes: the load is too easy");
}
