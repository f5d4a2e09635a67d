//! Several domains on one disk: each alone, and all together.

mod rig;

use iolab_block::{RamDisk, Shuffled};
use iolab_executor::Order;
use iolab_logfs::{Error, InodeId, MkfsOptions, Owner, Placement, Repair, mkfs, open_domain};

use rig::load::{perform_on_all, step};
use rig::model::{Model, difference, snapshot_all};
use rig::{BLOCK, Bench, CLUSTER, Random, options, scale, small_memory};

fn made(domains: u32, clusters: u64) -> RamDisk {
    let disk = RamDisk::new(clusters * u64::from(CLUSTER), BLOCK);
    Bench::new(disk.clone(), Order::Fair).mkfs_of(domains);
    disk
}

/// Random steps from random cores, with reopening by other numbers of cores. Answers how many steps crossed domains.
fn run(domains: u32, seed: u64, steps: u64) -> u64 {
    let mut random = Random(seed);
    let disk = made(domains, 60 * u64::from(domains) + 30);
    let mut model = Model::new();
    let (mut done, mut crossed) = (0, 0);
    while done < steps {
        let order = if seed.is_multiple_of(2) { Order::Fair } else { Order::Shuffled(random.next()) };
        let mut bench = Bench::new(Shuffled::new(disk.clone(), random.next()), order);
        let cores = random.below(u64::from(domains) + 2) + 1;
        let handles = bench.open_all(cores as usize);
        let found = bench.run(snapshot_all(&handles[0]));
        assert_eq!(difference(&found, &model.snapshot()), None, "seed {seed}, step {done}, after opening");
        let placement = [Placement::CreatingCore, Placement::RoundRobin, Placement::LeastFull][done as usize % 3];
        for _ in 0..random.below(300) + 1 {
            let step = step(&mut random, &model, 60_000);
            let handle = handles[random.below(cores) as usize].clone().with_placement(placement);
            let context = format!("seed {seed}, step {done}: {step:?}");
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                bench.run(perform_on_all(&handle, &mut model, &step))
            }));
            crossed += u64::from(caught.unwrap_or_else(|_| panic!("{context}")) == Err(Error::CrossDomain));
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
            let mut bench = Bench::new(disk.clone(), Order::Fair);
            let (device, clock) = (bench.disk.clone(), bench.clock.clone());
            let spawner = bench.executor.spawner();
            bench.run(async {
                let mut open = Vec::new();
                for domain in 0..domains {
                    let context = (clock.clone(), spawner.clone());
                    open.push(open_domain(&device, domain, small_memory(), context).await.unwrap().0);
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
                let context = (clock.clone(), spawner.clone());
                let none = open_domain(&device, domains, small_memory(), context).await;
                assert!(matches!(none, Err(Error::Invalid(_))));
            });
        }
    }
}

#[test]
fn a_number_of_domains_that_cannot_be_is_refused() {
    let disk = RamDisk::new(300 * u64::from(CLUSTER), BLOCK);
    let mut bench = Bench::new(disk, Order::Fair);
    let device = bench.disk.clone();
    for domains in [0, 8, 5_000] {
        let answer = bench.run(mkfs(&device, &MkfsOptions { domains, ..options() }));
        assert!(matches!(&answer, Err(Error::Unusable(why)) if why.contains("from 1 to 7")), "{answer:?}");
    }
}
