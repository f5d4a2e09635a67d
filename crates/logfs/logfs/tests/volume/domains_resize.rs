//! Changing the number of domains loses nothing, whatever the numbers, and a crash leaves the old
//! number or the new one.

use iolab_disk::{CrashPoints, RamDisk, Shuffled, Survival, Traced};
use iolab_executor::ReadyOrder;
use iolab_logfs::{Error, InconsistencyKind, InodeId, Placement, Repair, Resized, resize_cores};

use crate::rig;
use crate::rig::load::{Step, perform_on_all, step};
use crate::rig::model::{Model, difference, snapshot_all, unnumbered};
use crate::rig::{BLOCK, Bench, CLUSTER, Random, scale};

fn resize(bench: &mut Bench, domains: u32) -> Result<Resized, Error> {
    let disk = bench.disk.clone();
    bench.run(resize_cores(&disk, domains))
}

/// Random steps by all domains; then closed, or left as by a crash, with everything there. Returns
/// the disk in that state.
fn use_it(disk: &RamDisk, model: &mut Model, random: &mut Random, cores: u64, is_closed: bool) -> RamDisk {
    let mut bench = Bench::new(Shuffled::new(disk.clone(), random.next()), ReadyOrder::Shuffled(random.next()));
    let handles = bench.open_all(cores as usize);
    for _ in 0..60 + random.below(200) {
        let mut step = step(random, model, 3 * u64::from(CLUSTER));
        if let Step::Create(directory, _) | Step::MakeDirectory(directory, _) = &mut step
            && random.below(2) == 0
        {
            *directory = InodeId::ROOT;
        }
        let handle = handles[random.below(cores) as usize].clone().with_placement(Placement::RoundRobin);
        let _answer = bench.run(perform_on_all(&handle, model, &step));
    }
    match is_closed {
        true => bench.run(handles[0].clone().close()).unwrap(),
        false => bench.run(handles[0].sync()).unwrap(),
    }
    // A new disk: what was in flight at a crash completes on the old one.
    RamDisk::with_contents(disk.with(|bytes| bytes.to_vec()), BLOCK)
}

/// Everything is there, and inode numbers are those of the domains.
fn check(disk: &RamDisk, model: &mut Model, domains: u32, context: &str) {
    let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
    let report = bench.fsck(Repair::No).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert!(report.is_sound(), "{context}: {:?}", report.faults);
    let handles = bench.open_all(2);
    assert_eq!(handles[0].layout().domains, domains, "{context}");
    let found = bench.run(snapshot_all(&handles[0]));
    assert_eq!(difference(&unnumbered(&found), &unnumbered(&model.snapshot())), None, "{context}");
    assert!(found.values().all(|seen| seen.inode.domain() < domains), "{context}");
    model.renumber(&found);
    bench.run(handles[0].clone().close()).unwrap();
}

#[test]
fn everything_is_there_after_any_change_of_the_number() {
    let mut moved = 0;
    for seed in 0..3 * scale() {
        let mut random = Random(seed);
        let mut disk = RamDisk::new(420 * u64::from(CLUSTER), BLOCK);
        let mut model = Model::new();
        let mut domains = [1, 3][seed as usize % 2];
        Bench::new(disk.clone(), ReadyOrder::Fair).mkfs_of(domains);
        for round in 0..7 {
            let is_closed = random.below(2) == 0;
            let cores = random.below(3) + 1;
            disk = use_it(&disk, &mut model, &mut random, cores, is_closed);
            let goal = random.below(7) as u32 + 1;
            let context = format!("seed {seed}, round {round}, from {domains} to {goal} domains");
            let resized = resize(&mut Bench::new(disk.clone(), ReadyOrder::Fair), goal);
            let resized = resized.unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!((resized.before, resized.after), (domains, goal), "{context}");
            moved += resized.moved_inodes;
            check(&disk, &mut model, goal, &context);
            domains = goal;
        }
    }
    assert!(moved > 20, "{moved} inodes moved to another domain");
}

#[test]
fn a_crash_leaves_the_old_number_of_domains_or_the_new_one() {
    let mut random = Random(3);
    for (before, after) in [(1, 2), (2, 3), (3, 1)] {
        let disk = RamDisk::new(140 * u64::from(CLUSTER), BLOCK);
        let mut model = Model::new();
        Bench::new(disk.clone(), ReadyOrder::Fair).mkfs_of(before);
        let disk = use_it(&disk, &mut model, &mut random, 2, before != 2);
        let image = disk.with(|bytes| bytes.to_vec());
        let (device, trace) = Traced::new(Shuffled::new(disk.clone(), 1));
        resize(&mut Bench::new(device, ReadyOrder::Fair), after).unwrap();
        let trace = trace.borrow();
        let mut points = CrashPoints::new(&trace, image, BLOCK);
        let mut numbers = Vec::new();
        for events in 0..=trace.events() {
            points.advance(events);
            for survival in [Survival::Nothing, Survival::Everything, Survival::Some(events as u64)] {
                let crashed = RamDisk::with_contents(points.image(survival), BLOCK);
                let context =
                    format!("from {before} to {after}, after event {events} of {}, {survival:?}", trace.events());
                let number = look(&crashed, &context);
                check(&crashed, &mut model.clone(), number, &context);
                // What a crash interrupted can be repeated, and interrupted again by an opening in
                // between.
                resize(&mut Bench::new(crashed.clone(), ReadyOrder::Fair), after).unwrap();
                check(&crashed, &mut model.clone(), after, &format!("{context}, and again"));
                numbers.push(number);
            }
        }
        assert!(numbers.iter().all(|number| [before, after].contains(number)), "{numbers:?}");
        assert!(numbers.contains(&before) && numbers.last() == Some(&after), "{numbers:?}");
    }
}

fn look(disk: &RamDisk, context: &str) -> u32 {
    let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
    let handles = bench.try_open_all(1, rig::small_memory()).unwrap_or_else(|error| panic!("{context}: {error}"));
    handles[0].layout().domains
}

#[test]
fn what_cannot_be_done_changes_nothing() {
    let mut random = Random(8);
    let disk = RamDisk::new(70 * u64::from(CLUSTER), BLOCK);
    let mut model = Model::new();
    Bench::new(disk.clone(), ReadyOrder::Fair).mkfs_of(2);
    let disk = use_it(&disk, &mut model, &mut random, 1, true);
    let before = disk.with(|bytes| bytes.to_vec());
    for domains in [0, 3, 8, 1_000_000] {
        let answer = resize(&mut Bench::new(disk.clone(), ReadyOrder::Fair), domains);
        assert!(matches!(answer, Err(Error::Unusable(_) | Error::NoSpace)), "{domains}: {answer:?}");
        assert!(disk.with(|bytes| bytes == before), "{domains}");
    }
    check(&disk, &mut model, 2, "after refusals");
}

#[test]
fn after_a_change_of_the_number_every_log_has_two_checkpoints_and_no_single_damage_takes_anything() {
    let mut random = Random(11);
    let disk = RamDisk::new(200 * u64::from(CLUSTER), BLOCK);
    let mut model = Model::new();
    Bench::new(disk.clone(), ReadyOrder::Fair).mkfs_of(1);
    let disk = use_it(&disk, &mut model, &mut random, 2, true);
    resize(&mut Bench::new(disk.clone(), ReadyOrder::Fair), 3).unwrap();
    let image = disk.with(|bytes| bytes.to_vec());
    let found = {
        let mut bench = Bench::new(RamDisk::with_contents(image.clone(), BLOCK), ReadyOrder::Fair);
        let handles = bench.open_all(1);
        bench.run(snapshot_all(&handles[0]))
    };
    assert!(found.len() > 5, "there is something to lose");
    let frames = image.chunks(BLOCK as usize).enumerate().filter(|(_, block)| block.starts_with(b"LFFR"));
    let mut by_older = 0;
    for (number, _) in frames {
        let disk = RamDisk::with_contents(image.clone(), BLOCK);
        disk.with(|bytes| bytes[number * BLOCK as usize + 70] ^= 1);
        let mut bench = Bench::new(disk, ReadyOrder::Fair);
        let report = bench.fsck(Repair::No).unwrap();
        assert!(
            report.faults.iter().all(|fault| fault.kind != InconsistencyKind::LostTail),
            "block {number}: {report:?}"
        );
        by_older += u32::from(!report.is_sound());
        let handles = bench.try_open_all(1, rig::small_memory()).unwrap_or_else(|error| panic!("{number}: {error}"));
        assert_eq!(bench.run(snapshot_all(&handles[0])), found, "block {number}");
    }
    assert!(by_older >= 6, "both checkpoints of three domains were hit: {by_older}");
}
