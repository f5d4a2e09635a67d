//! Several domains on one disk: each alone, and all together.

mod rig;

use iolab_block::RamDisk;
use iolab_executor::Order;
use iolab_logfs::{Error, InodeId, MkfsOptions, Owner, mkfs, open_domain};

use rig::{BLOCK, Bench, CLUSTER, options, small_memory};

fn made(domains: u32, clusters: u64) -> RamDisk {
    let disk = RamDisk::new(clusters * u64::from(CLUSTER), BLOCK);
    let mut bench = Bench::new(disk.clone(), Order::Fair);
    let device = bench.disk.clone();
    bench.run(mkfs(&device, &MkfsOptions { domains, ..options() })).unwrap();
    disk
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
