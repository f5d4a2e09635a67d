//! Cores that are threads: each with its own executor and its own access to the disk, forwarding to
//! each other.

use std::path::Path;

use iolab_clock::Clock;
use iolab_disk::{Caching, DiskOptions, open_disk};
use iolab_executor::{Executor, ReadyOrder};
use iolab_logfs::{
    CoreSetup, DirectoryEntry, Disk, Error, InodeId, Occupied, Owner, Placement, Repair, Runtime, Volume, core_setups,
};

use crate::rig::{BLOCK, Bench, CLUSTER, Random, scale, small_memory};

const SIZE: u64 = 300 * CLUSTER as u64;
/// Bytes of a file that belong to one thread.
const REGION: u64 = 30_000;

fn disk(path: &Path) -> Disk {
    let opening = DiskOptions { caching: Caching::PageCache, block_bytes: Some(BLOCK), ..DiskOptions::default() };
    Disk::new(open_disk(path, &opening).unwrap().0)
}

/// Runs some work on a core that has a thread to itself.
fn core<T>(path: &Path, setup: CoreSetup, work: impl AsyncFnOnce(Volume) -> T) -> T {
    let disk = disk(path);
    let (mut executor, mut driver) = (Executor::new(ReadyOrder::Fair), setup.driver(&disk));
    let runtime = Runtime { clock: Clock::monotonic(), spawner: executor.spawner() };
    let all = async { work(setup.open(&disk, small_memory(), runtime).await.unwrap().0).await };
    executor.run(&mut driver, all).unwrap()
}

/// Writes to its own regions of all files and reads them back, and competes for top-level names
/// with the other threads.
async fn load(fs: &Volume, number: u64, steps: u64) {
    let mut random = Random(number);
    let mut files = Vec::new();
    for file in 0..6_u64 {
        files.push(find(fs, format!("f{file}").as_bytes()).await);
    }
    let mut expected = vec![vec![0; REGION as usize]; files.len()];
    for step in 0..steps {
        let at = random.below(files.len() as u64) as usize;
        let (offset, length) = (random.below(REGION - 900), random.below(900) + 1);
        let content = vec![step as u8; length as usize];
        fs.write(files[at], number * REGION + offset, &content).await.unwrap();
        expected[at][offset as usize..(offset + length) as usize].copy_from_slice(&content);
        if step % 8 == 0 {
            let found = fs.read(files[at], number * REGION, REGION as usize).await.unwrap();
            let end = found.len();
            assert!(found == expected[at][..end], "thread {number}, step {step}");
            assert!(expected[at][end..].iter().all(|byte| *byte == 0), "thread {number}, step {step}");
        }
        if step % 5 == 0 {
            let name = |random: &mut Random| format!("n{}", random.below(4)).into_bytes();
            let (one, other) = (name(&mut random), name(&mut random));
            let root = InodeId::ROOT;
            let answer = match random.below(3) {
                0 => fs.create(root, &one, Owner::default()).await.map(drop),
                1 => fs.rename((root, &one), (root, &other), Occupied::Replace).await,
                _ => fs.unlink(root, &one).await,
            };
            assert!(matches!(answer, Ok(()) | Err(Error::Exists | Error::NotFound)), "{answer:?}");
        }
        if step % 50 == 0 {
            fs.fsync(files[at]).await.unwrap();
        }
    }
}

/// Waits for a name that another thread creates. Between two attempts, a message goes to every core
/// and back.
async fn find(fs: &Volume, name: &[u8]) -> InodeId {
    loop {
        match fs.lookup(InodeId::ROOT, name).await {
            Ok(entry) => return entry.inode,
            Err(_) => drop(fs.stat(InodeId::ROOT).await.unwrap()),
        }
    }
}

async fn list(fs: &Volume) -> Vec<DirectoryEntry> {
    fs.read_directory(InodeId::ROOT, b"", usize::MAX).await.unwrap()
}

#[test]
fn threads_forward_to_each_other_and_agree() {
    for (domains, threads) in [(2, 2), (1, 2), (3, 2)] {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(SIZE).unwrap();
        let path = file.path();
        let open = || open_disk(path, &DiskOptions { block_bytes: Some(BLOCK), ..DiskOptions::default() }).unwrap().0;
        Bench::new(open(), ReadyOrder::Fair).mkfs_of(domains);
        let steps = 400 * scale();
        let mut left = core_setups(threads);
        let first = left.remove(0);
        let seen = std::thread::scope(|scope| {
            for (setup, number) in left.into_iter().zip(1..) {
                scope.spawn(move || {
                    core(path, setup, async |fs: Volume| {
                        load(&fs, number, steps).await;
                        let name = format!("done{number}");
                        let made = fs.create(InodeId::ROOT, name.as_bytes(), Owner::default()).await;
                        // The first core may find the file, and close, before the answer is here.
                        assert!(matches!(made, Ok(_) | Err(Error::Closed)), "{made:?}");
                        fs.closed().await;
                    });
                });
            }
            core(path, first, async |fs: Volume| {
                let fs = fs.with_placement(Placement::RoundRobin);
                for file in 0..6 {
                    fs.create(InodeId::ROOT, format!("f{file}").as_bytes(), Owner::default()).await.unwrap();
                }
                load(&fs, 0, steps).await;
                for number in 1..threads {
                    find(&fs, format!("done{number}").as_bytes()).await;
                }
                let seen = list(&fs).await;
                fs.close().await.unwrap();
                seen
            })
        });
        let mut bench = Bench::new(open(), ReadyOrder::Fair);
        let report = bench.fsck(Repair::No).unwrap();
        assert!(report.is_sound() && report.recovery.closed, "{domains} domains: {report:?}");
        let handles = bench.open_all(1);
        assert_eq!(bench.run(list(&handles[0])), seen, "{domains} domains");
        let owners: std::collections::BTreeSet<u32> = seen.iter().map(|entry| entry.inode.domain()).collect();
        assert_eq!(owners.len() as u32, domains, "every domain has files");
    }
}

#[test]
fn a_core_that_cannot_open_its_domain_is_told_to_the_others() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(SIZE).unwrap();
    let path = file.path();
    let open = || open_disk(path, &DiskOptions { block_bytes: Some(BLOCK), ..DiskOptions::default() }).unwrap().0;
    Bench::new(open(), ReadyOrder::Fair).mkfs_of(2);
    // Both anchors of the second domain.
    let zeroes = vec![0; 2 * BLOCK as usize];
    std::os::unix::fs::FileExt::write_all_at(file.as_file(), &zeroes, 3 * u64::from(BLOCK)).unwrap();
    let answers: Vec<Error> = std::thread::scope(|scope| {
        let threads: Vec<_> = core_setups(2)
            .into_iter()
            .map(|setup| {
                scope.spawn(move || {
                    let disk = disk(path);
                    let (mut executor, mut driver) = (Executor::new(ReadyOrder::Fair), setup.driver(&disk));
                    let runtime = Runtime { clock: Clock::monotonic(), spawner: executor.spawner() };
                    executor.run(&mut driver, setup.open(&disk, small_memory(), runtime)).unwrap().unwrap_err()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| matches!(answer, Error::Corrupt(_))), "{answers:?}");
}

/// A file system of this number of domains in a new file.
fn made(folder: &Path, domains: u32) -> std::path::PathBuf {
    let path = folder.join("image");
    std::fs::File::create(&path).unwrap().set_len(SIZE).unwrap();
    let opening = DiskOptions { block_bytes: Some(BLOCK), ..DiskOptions::default() };
    Bench::new(open_disk(&path, &opening).unwrap().0, ReadyOrder::Fair).mkfs_of(domains);
    path
}

#[test]
fn a_core_that_never_opens_keeps_nobody_waiting() {
    for missing in [0, 2] {
        let folder = tempfile::tempdir().unwrap();
        let path = made(folder.path(), 3);
        std::thread::scope(|scope| {
            let threads: Vec<_> = core_setups(3)
                .into_iter()
                .enumerate()
                .filter(|(number, _)| *number != missing)
                .map(|(_, setup)| {
                    let path = &path;
                    scope.spawn(move || {
                        let disk = disk(path);
                        let (mut executor, mut driver) = (Executor::new(ReadyOrder::Fair), setup.driver(&disk));
                        let runtime = Runtime { clock: Clock::monotonic(), spawner: executor.spawner() };
                        let opened = executor.run(&mut driver, setup.open(&disk, small_memory(), runtime)).unwrap();
                        opened.err()
                    })
                })
                .collect();
            for thread in threads {
                assert_eq!(thread.join().unwrap(), Some(Error::Closed), "without core {missing}");
            }
        });
    }
}

#[test]
fn work_is_sent_to_cores_and_finds_what_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = made(folder.path(), 2);
    let (teller, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for (number, setup) in core_setups(2).into_iter().enumerate() {
            let (path, teller) = (&path, teller.clone());
            scope.spawn(move || {
                core(path, setup, async |fs: Volume| {
                    fs.keep(std::rc::Rc::new(number));
                    teller.send((number, fs.sender())).unwrap();
                    fs.closed().await;
                });
            });
        }
        let mut cores: Vec<_> = told.iter().take(2).collect();
        cores.sort_by_key(|(number, _)| *number);
        let (teller, told) = std::sync::mpsc::channel();
        for (_, core) in &cores {
            let teller = teller.clone();
            core.send(async move |fs: Volume| {
                let own =
                    fs.create(InodeId::ROOT, format!("of{:?}", fs.is_shared()).as_bytes(), Owner::default()).await;
                let inode = own.unwrap_or(InodeId::ROOT);
                let there = fs.beside(inode, async |number: std::rc::Rc<usize>| Ok(*number)).await;
                let other_type = fs.beside(inode, async |_: std::rc::Rc<u8>| Ok(())).await;
                teller.send((fs.serves(inode), inode.domain() as usize, there, other_type)).unwrap();
            })
            .unwrap();
        }
        for (serves, domain, there, other_type) in told.iter().take(2) {
            assert_eq!(there, Ok(domain), "what is kept on the core of domain {domain}");
            assert!(serves || domain == 0, "a core makes files in its own domain");
            assert_eq!(other_type, Err(Error::Closed));
        }
        cores[1].1.send(async |fs: Volume| fs.close().await.unwrap()).unwrap();
    });
}
