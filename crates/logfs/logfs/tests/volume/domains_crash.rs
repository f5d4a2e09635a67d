//! Crashes of file systems with several domains, at every event of the device: changes within one
//! domain, and changes that span two.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use iolab_disk::{CrashPoints, RamDisk, Survival, Traced};
use iolab_executor::ReadyOrder;
use iolab_logfs::{Error, InodeId};
use iolab_testkit::parallel;

use crate::rig::domains::run_script;
use crate::rig::load::{Step, perform_on_all, step};
use crate::rig::model::Model;
use crate::rig::{BLOCK, Bench, CLUSTER, Random, scale, small_memory};

/// Clusters of a domain: few, but enough for its log.
const CLUSTERS: u64 = 32;

fn empty(domains: u32) -> Vec<u8> {
    let disk = RamDisk::new((CLUSTERS * u64::from(domains) + 2) * u64::from(CLUSTER), BLOCK);
    Bench::new(disk.clone(), ReadyOrder::Fair).mkfs_of(domains);
    disk.with(|bytes| bytes.to_vec())
}

fn name(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// Two domains with a directory and a file in each.
fn prepared() -> (Vec<u8>, Model) {
    let disk = RamDisk::with_contents(empty(2), BLOCK);
    let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
    let handles = bench.open_all(2);
    let mut model = Model::new();
    let root = InodeId::ROOT;
    for (handle, directory, file) in [(&handles[0], "d", "a"), (&handles[1], "e", "b")] {
        bench.run(perform_on_all(handle, &mut model, &Step::MakeDirectory(root, name(directory)))).unwrap();
        bench.run(perform_on_all(handle, &mut model, &Step::Create(root, name(file)))).unwrap();
        let inode = model.lookup(root, &name(file)).unwrap();
        bench.run(perform_on_all(handle, &mut model, &Step::Write(inode, 0, 7, 3_000))).unwrap();
        let directory = model.lookup(root, &name(directory)).unwrap();
        bench.run(perform_on_all(handle, &mut model, &Step::Create(directory, name("x")))).unwrap();
    }
    bench.run(handles[0].clone().close()).unwrap();
    let files = [name("a"), name("b")].map(|name| model.lookup(root, &name).unwrap().domain());
    assert_eq!(files, [0, 1], "each core makes files in its own domain");
    (disk.with(|bytes| bytes.to_vec()), model)
}

fn alphabet(model: &Model) -> Vec<Step> {
    let root = InodeId::ROOT;
    let inode = |text: &str| model.lookup(root, &name(text)).unwrap();
    let at = |text: &str| (root, name(text));
    vec![
        Step::Write(inode("a"), 100, 3, 2_000),
        Step::Append(inode("b"), 4, 200),
        Step::Create(root, name("n")),
        Step::Unlink(root, name("a")),
        Step::Create(root, name("a")),
        Step::Rename(at("a"), at("b")),
        Step::Rename(at("b"), at("a")),
        Step::Rename((inode("e"), name("x")), at("a")),
        Step::Rename(at("a"), (inode("d"), name("x"))),
        Step::Rename(at("b"), at("c")),
        Step::Exchange(at("a"), (inode("d"), name("x"))),
        Step::Unnamed(InodeId::ROOT, name("c"), 9),
        Step::Link(inode("b"), root, name("l")),
        Step::Fsync(inode("a")),
        Step::Sync,
    ]
}

#[test]
fn short_scripts_over_two_domains_survive_a_crash_at_every_event() {
    let (image, model) = prepared();
    let alphabet = alphabet(&model);
    let (width, length) = (alphabet.len(), if scale() > 1 { 3 } else { 2 });
    let (crashes, joint) = (AtomicU64::new(0), AtomicUsize::new(0));
    parallel::for_each(0..width.pow(length), |number| {
        let mut script: Vec<Step> = (0..length).map(|at| alphabet[number / width.pow(at) % width].clone()).collect();
        script.extend([Step::Fsync(InodeId::ROOT), Step::Unlink(InodeId::ROOT, name("b"))]);
        let mut steps = script.clone().into_iter();
        let history = run_script(image.clone(), 2, model.clone(), number as u64, &mut |_, _| steps.next());
        joint.fetch_add(history.joint.len(), Ordering::Relaxed);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| history.crash_everywhere(scale() - 1)));
        let crashed = caught.unwrap_or_else(|_| panic!("script {number}: {script:?}"));
        crashes.fetch_add(crashed, Ordering::Relaxed);
    });
    let (crashes, joint) = (crashes.into_inner(), joint.into_inner());
    assert!(crashes > 2_000 && joint > 20, "{crashes} crashes, {joint} steps of two domains");
}

#[test]
fn random_scripts_over_domains_survive_crashes() {
    for seed in 0..16 * scale() {
        let mut random = Random(seed);
        let domains = [2, 3, 7][seed as usize % 3];
        let steps = random.below(80) + 20;
        let mut script = |at: usize, model: &Model| {
            let step = step(&mut random, model, u64::from(CLUSTER));
            // More at top level, where domains interact.
            let up = |spot: (InodeId, Vec<u8>)| (InodeId::ROOT, spot.1);
            let step = match step {
                Step::Create(_, name) => Step::Create(InodeId::ROOT, name),
                Step::Rename(from, to) if at.is_multiple_of(2) => Step::Rename(up(from), up(to)),
                Step::Exchange(from, to) if at.is_multiple_of(2) => Step::Exchange(up(from), up(to)),
                other => other,
            };
            (at < steps as usize).then_some(step)
        };
        let history = run_script(empty(domains), domains, Model::new(), seed, &mut script);
        let mut random = Random(seed + 1_000);
        let mut places: Vec<usize> =
            (0..24).map(|_| random.below(history.trace.events() as u64 + 1) as usize).collect();
        places.sort_unstable();
        let mut points = CrashPoints::new(&history.trace, history.image.clone(), BLOCK);
        for events in places {
            points.advance(events);
            let check = || history.check(&points, events, Survival::Some(random.next()));
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
            caught.unwrap_or_else(|_| panic!("seed {seed}, {domains} domains"));
        }
    }
}

#[test]
fn a_crash_while_making_domains_leaves_none_or_empty_ones() {
    let size = (CLUSTERS * 3 + 2) * u64::from(CLUSTER);
    let (device, trace) = Traced::new(RamDisk::new(size, BLOCK));
    Bench::new(device, ReadyOrder::Fair).mkfs_of(3);
    let trace = trace.borrow();
    let mut points = CrashPoints::new(&trace, vec![0; size as usize], BLOCK);
    let mut made = 0;
    for events in 0..=trace.events() {
        points.advance(events);
        for seed in 0..12 {
            let disk = RamDisk::with_contents(points.image(Survival::Some(seed)), BLOCK);
            let mut bench = Bench::new(disk, ReadyOrder::Fair);
            match bench.try_open_all(2, small_memory()) {
                Ok(handles) => {
                    assert!(bench.run(handles[0].tree()).is_empty());
                    made += 1;
                }
                Err(error) => assert!(matches!(error, Error::Unusable(_) | Error::Corrupt(_)), "{error}"),
            }
        }
    }
    assert!(made > 0, "a file system that was made is there");
}
