//! Several domains on one disk: each alone, and all together.

use iolab_disk::{RamDisk, Shuffled};
use iolab_executor::ReadyOrder;
use iolab_logfs::{
    DefragmentProgress, Error, InodeId, LocalVolume, MkfsOptions, Owner, Placement, Repair, Runtime, Volume, mkfs,
    open_domain,
};

use crate::rig::load::{perform_on_all, step};
use crate::rig::model::{Model, difference, snapshot_all};
use crate::rig::{BLOCK, Bench, CLUSTER, Random, options, scale, small_memory};

fn made(domains: u32, clusters: u64) -> RamDisk {
    let disk = RamDisk::new(clusters * u64::from(CLUSTER), BLOCK);
    Bench::new(disk.clone(), ReadyOrder::Fair).mkfs_of(domains);
    disk
}

/// Random steps from random cores, with reopening on other numbers of cores. Returns how many steps
/// crossed domains.
fn run(domains: u32, seed: u64, steps: u64) -> u64 {
    let mut random = Random(seed);
    let disk = made(domains, 60 * u64::from(domains) + 30);
    let mut model = Model::new();
    let (mut done, mut crossed) = (0, 0);
    while done < steps {
        let order = if seed.is_multiple_of(2) { ReadyOrder::Fair } else { ReadyOrder::Shuffled(random.next()) };
        let mut bench = Bench::new(Shuffled::new(disk.clone(), random.next()), order);
        let cores = random.below(u64::from(domains) + 2) + 1;
        let handles = bench.open_all(cores as usize);
        let found = bench.run(snapshot_all(&handles[0]));
        assert_eq!(difference(&found, &model.snapshot()), None, "seed {seed}, step {done}, after opening");
        let placement = [Placement::CreatingCore, Placement::RoundRobin, Placement::LeastFull][done as usize % 3];
        for _ in 0..random.below(300) + 1 {
            let step = step(&mut random, &model, 60_000);
            let handle = handles[random.below(cores) as usize].clone().with_placement(placement);
            let runtime = format!("seed {seed}, step {done}: {step:?}");
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                bench.run(perform_on_all(&handle, &mut model, &step))
            }));
            crossed += u64::from(caught.unwrap_or_else(|_| panic!("{runtime}")) == Err(Error::CrossDomain));
            done += 1;
        }
        for handle in &handles {
            let found = bench.run(snapshot_all(handle));
            assert_eq!(difference(&found, &model.snapshot()), None, "seed {seed}, step {done}");
        }
        bench.run(handles[random.below(cores) as usize].clone().close()).unwrap();
        drop(handles);
        assert_eq!(bench.executor.tasks(), 0, "seed {seed}: tasks outlive their file system");
        let report = bench.fsck(Repair::No).unwrap();
        assert!(report.is_sound(), "seed {seed}, step {done}: {report:?}");
    }
    crossed
}

#[test]
fn random_operations_on_any_number_of_domains_and_cores_agree_with_the_model() {
    let mut crossed = 0;
    for domains in [1, 2, 3, 7] {
        for seed in 0..2 * scale() {
            crossed += run(domains, seed, 900);
        }
    }
    assert!(crossed > 50, "{crossed} steps were refused because they cross domains");
}

#[test]
fn domains_opened_alone_do_not_see_or_touch_each_other() {
    for domains in [1, 2, 3, 7] {
        let disk = made(domains, 40 * u64::from(domains));
        for generation in 0..2_u8 {
            let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
            let (device, clock) = (bench.disk.clone(), bench.clock.clone());
            let spawner = bench.executor.spawner();
            bench.run(async {
                let mut open = Vec::new();
                for domain in 0..domains {
                    let runtime = Runtime { clock: clock.clone(), spawner: spawner.clone() };
                    open.push(open_domain(&device, domain, small_memory(), runtime).await.unwrap().0);
                }
                for (fs, domain) in open.iter().zip(0_u8..) {
                    if generation == 0 {
                        let inode = fs.create(InodeId::ROOT, b"file", Owner::default()).await.unwrap();
                        assert_eq!(inode.domain(), u32::from(domain));
                        for part in 0..6 {
                            fs.write(inode, part * 20_000, &vec![domain + 1; 20_000]).await.unwrap();
                        }
                    }
                }
                for (fs, domain) in open.iter().zip(0_u8..) {
                    let inode = fs.resolve(b"file").unwrap();
                    assert_eq!(fs.read(inode, 0, 200_000).await.unwrap(), vec![domain + 1; 120_000]);
                }
                for fs in open {
                    fs.close().await.unwrap();
                }
                let runtime = Runtime { clock: clock.clone(), spawner: spawner.clone() };
                let none = open_domain(&device, domains, small_memory(), runtime).await;
                assert!(matches!(none, Err(Error::Invalid(_))));
            });
        }
    }
}

#[test]
fn a_number_of_domains_that_cannot_be_is_refused() {
    let disk = RamDisk::new(300 * u64::from(CLUSTER), BLOCK);
    let mut bench = Bench::new(disk, ReadyOrder::Fair);
    let device = bench.disk.clone();
    for domains in [0, 8, 5_000] {
        let answer = bench.run(mkfs(&device, &MkfsOptions { domains, ..options() }));
        assert!(matches!(&answer, Err(Error::Unusable(why)) if why.contains("expected 1 to 7")), "{answer:?}");
    }
}

/// The local volume returns the same as the volume.
async fn compare(volume: &Volume) {
    let local = LocalVolume::try_from(volume.clone()).unwrap();
    assert_eq!(volume.space().await, Ok(local.space()));
    let root = (Vec::new(), InodeId::ROOT);
    let all = volume.tree().await.into_iter().map(|(path, entry)| (path, entry.inode));
    for (path, inode) in [root].into_iter().chain(all) {
        let what = String::from_utf8_lossy(&path).into_owned();
        assert_eq!(local.stat(inode), volume.stat(inode).await, "{what}");
        assert_eq!(local.stored_bytes(inode), volume.stored_bytes(inode).await, "{what}");
        assert_eq!(local.read_link(inode), volume.read_link(inode).await, "{what}");
        assert_eq!(local.next_hole(inode, 0), volume.next_hole(inode, 0).await, "{what}");
        assert_eq!(local.extended_names(inode), volume.extended_names(inode).await, "{what}");
        assert_eq!(local.lookup(inode, b".."), volume.lookup(inode, b"..").await, "{what}");
        let listed = local.read_directory(inode, b"", 100);
        assert_eq!(listed, volume.read_directory(inode, b"", 100).await, "{what}");
        for entry in listed.unwrap_or_default() {
            assert_eq!(local.lookup(inode, &entry.name), Ok(entry), "{what}");
        }
    }
}

#[test]
fn one_core_for_all_domains_answers_at_once_what_the_volume_answers() {
    for seed in 0..4 {
        let mut random = Random(seed);
        let mut bench = Bench::new(made(3, 210), ReadyOrder::Fair);
        let handles = bench.open_all(1);
        let mut model = Model::new();
        for _ in 0..600 {
            let step = step(&mut random, &model, 60_000);
            let handle = handles[0].clone().with_placement(Placement::RoundRobin);
            let _refused = bench.run(perform_on_all(&handle, &mut model, &step));
        }
        assert!(!bench.run(handles[0].tree()).is_empty());
        bench.run(compare(&handles[0]));
        bench.run(handles[0].clone().close()).unwrap();
        drop(handles);
        let handles = bench.open_all(2);
        assert!(matches!(LocalVolume::try_from(handles[0].clone()), Err(Error::Invalid(_))));
        bench.run(handles[1].clone().close()).unwrap();
    }
}

#[test]
fn files_of_any_domain_are_put_together_from_any_core() {
    let mut bench = Bench::new(made(3, 210), ReadyOrder::Fair);
    let handles = bench.open_all(2);
    let volume = handles[1].clone().with_placement(Placement::RoundRobin);
    let length = 3 * BLOCK as usize;
    bench.run(async {
        for name in ["one", "two", "three"] {
            let owner = Owner { mode: 0o755, ..Owner::default() };
            let directory = volume.make_directory(InodeId::ROOT, name.as_bytes(), owner).await.unwrap();
            let file = volume.create(directory, b"file", owner).await.unwrap();
            let other = volume.create(directory, b"other", owner).await.unwrap();
            for piece in 0..20_u8 {
                volume.append(file, &vec![piece; length]).await.unwrap();
                volume.append(other, &vec![99; length]).await.unwrap();
            }
            let before = volume.fragments(file).await.unwrap();
            let mut progress = DefragmentProgress::default();
            while !progress.is_done {
                progress = volume.defragment_step(file, progress).await.unwrap();
            }
            let after = volume.fragments(file).await.unwrap();
            assert!(before >= 20 && after < before / 2, "{name}: {before} pieces before, {after} after");
            assert_eq!(progress.moved_bytes, 20 * length as u64);
            let expected: Vec<u8> = (0..20).flat_map(|piece| vec![piece; length]).collect();
            assert!(volume.read(file, 0, 30 * length).await.unwrap() == expected, "{name}");
        }
    });
    bench.run(volume.close()).unwrap();
}
