//! Blocking calls from many threads, compared with ordinary files, and after a power failure.

use std::path::Path;
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_disk::{DiskOptions, open_disk};
use iolab_executor::{Executor, ReadyOrder};
use iolab_logfs::{Disk, MkfsOptions, fsck, mkfs};
use iolab_logfs_rocksdb::{FileSystem, How, Location};

/// A file system of 64 MiB in a file.
fn image() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(64 << 20).unwrap();
    let disk = disk(file.path());
    let options = MkfsOptions::new([7; 16], Clock::monotonic().unix_ns());
    Executor::new(ReadyOrder::Fair).run(&mut disk.clone(), mkfs(&disk, &options)).unwrap().unwrap();
    file
}

fn disk(path: &Path) -> Disk {
    Disk::new(open_disk(path, &DiskOptions::default()).unwrap().0)
}

fn check(path: &Path) {
    let disk = disk(path);
    let mut executor = Executor::new(ReadyOrder::Fair);
    let runtime = iolab_logfs::Runtime { clock: Clock::monotonic(), spawner: executor.spawner() };
    let report = executor.run(&mut disk.clone(), fsck(&disk, iolab_logfs::Repair::No, runtime));
    let report = report.unwrap().unwrap();
    assert!(report.faults.is_empty(), "{:?}", report.faults);
}

fn open(location: &Location) -> FileSystem {
    FileSystem::open(location).unwrap()
}

#[test]
fn files_behave_as_files() {
    let image = image();
    for gather_bytes in [0, 100, 4096, 1 << 20] {
        let location = Location { gather_bytes, ahead_bytes: gather_bytes, ..Location::new(image.path()) };
        let fs = open(&location);
        let directory = format!("/by{gather_bytes}");
        fs.make_directory(directory.as_bytes()).unwrap();
        let name = format!("{directory}/log").into_bytes();
        let file = fs.open_file(&name, How::Fresh).unwrap();
        let reader = fs.open_file(&name, How::Existing).unwrap();
        let mut expected = Vec::new();
        for round in 0..200_usize {
            let bytes = vec![round as u8; round * 37 % 5000];
            file.append(&bytes).unwrap();
            expected.extend_from_slice(&bytes);
            if round % 17 == 0 {
                file.sync().unwrap();
            }
            assert_eq!(fs.status(&name).unwrap().size, expected.len() as u64);
            // The end, as a reader that follows a log reads it, and something before.
            for from in [expected.len().saturating_sub(3000), expected.len() / 3] {
                let mut into = vec![0; 2500];
                let found = reader.read(from as u64, &mut into).unwrap();
                assert_eq!(found, into.len().min(expected.len() - from), "round {round} from {from}");
                assert!(into[..found] == expected[from..from + found], "round {round} from {from}");
            }
        }
        file.write(10, b"hello").unwrap();
        expected[10..15].copy_from_slice(b"hello");
        file.truncate(100_001).unwrap();
        expected.truncate(100_001);
        file.append(b"end").unwrap();
        expected.extend_from_slice(b"end");
        let mut stretches = vec![vec![0; 5000]; 20];
        let mut wanted: Vec<(u64, &mut [u8])> =
            stretches.iter_mut().zip(0..).map(|(into, number)| (number * 5077, &mut into[..])).collect();
        for sent in [false, true] {
            if sent {
                file.send().unwrap();
            }
            for (found, (offset, into)) in reader.read_many(&mut wanted).into_iter().zip(&wanted) {
                let right = &expected[*offset as usize..(*offset as usize + 5000).min(expected.len())];
                assert!(into[..found.unwrap()] == *right, "sent {sent}, from {offset}");
            }
        }
        drop((file, reader));
        drop(fs);
        let fs = open(&location);
        let file = fs.open_file(&name, How::Existing).unwrap();
        let mut all = vec![0; expected.len() + 10];
        let mut at = 0;
        while at < expected.len() {
            let end = (at + 777).min(all.len());
            at += file.read(at as u64, &mut all[at..end]).unwrap();
        }
        assert!(all[..expected.len()] == expected, "gathered {gather_bytes}");
        assert_eq!(file.read(expected.len() as u64, &mut all).unwrap(), 0);
    }
    check(image.path());
}

#[test]
fn names_behave_as_names() {
    let image = image();
    let fs = open(&Location::new(image.path()));
    let errno = |failed: Result<(), iolab_logfs_rocksdb::CallFailure>| failed.unwrap_err().errno;
    fs.make_directory(b"/db").unwrap();
    assert_eq!(errno(fs.make_directory(b"/db")), 17);
    assert_eq!(errno(fs.open_file(b"/db/none", How::Existing).map(drop)), 2);
    assert_eq!(errno(fs.open_file(b"/db", How::Existing).map(drop)), 21);
    let first = fs.open_file(b"/db/first", How::OrNew).unwrap();
    first.append(b"one").unwrap();
    fs.link(b"/db/first", b"/db/linked").unwrap();
    assert_eq!(fs.status(b"/db/linked").unwrap().links, 2);
    fs.open_file(b"/db/second", How::Fresh).unwrap().append(b"second").unwrap();
    fs.rename(b"/db/second", b"/db/first").unwrap();
    assert_eq!(fs.children(b"/db").unwrap(), [b"first".to_vec(), b"linked".to_vec()]);
    assert_eq!(fs.status(b"/db/first").unwrap().size, 6);
    fs.unlink(b"/db/linked").unwrap();
    // Without a name it still exists for a user who has it open.
    let mut into = [0; 3];
    assert_eq!((first.read(0, &mut into).unwrap(), &into), (3, b"one"));
    assert_eq!(errno(fs.remove_directory(b"/db")), 39);
    let fresh = fs.open_file(b"/db/first", How::Fresh).unwrap();
    assert_eq!(fresh.size(), 0);
    fs.sync_directory(b"/db").unwrap();
    fs.lock(b"/db/LOCK").unwrap();
    assert_eq!(errno(fs.lock(b"/db/LOCK")), 11);
    fs.unlock(b"/db/LOCK");
    fs.lock(b"/db/LOCK").unwrap();
    // Another handle of the same process is the same file system.
    let again = open(&Location::new(image.path()));
    assert_eq!(errno(again.lock(b"/db/LOCK")), 11);
    assert!(again.space().unwrap().free_bytes > 0);
    drop((first, fresh, fs, again));
    check(image.path());
}

#[test]
fn threads_do_not_disturb_each_other() {
    let image = image();
    let fs = open(&Location { gather_bytes: 3000, ..Location::new(image.path()) });
    let shared = fs.open_file(b"/shared", How::Fresh).unwrap();
    shared.append(&[1; 10_000]).unwrap();
    std::thread::scope(|scope| {
        for number in 0..8_u8 {
            let (fs, shared) = (fs.clone(), Arc::clone(&shared));
            scope.spawn(move || {
                for round in 0..40_usize {
                    let name = format!("/own{number}-{}", round % 3).into_bytes();
                    let file = fs.open_file(&name, How::Fresh).unwrap();
                    let bytes = vec![number; 1 + round * 331];
                    file.append(&bytes).unwrap();
                    if round % 5 == 0 {
                        file.sync().unwrap();
                    }
                    let mut into = vec![0; bytes.len()];
                    assert_eq!(file.read(0, &mut into).unwrap(), into.len());
                    assert!(into == bytes);
                    shared.append(&[number]).unwrap();
                }
            });
        }
    });
    let mut into = vec![0; 20_000];
    let found = shared.read(10_000, &mut into).unwrap();
    let counted: Vec<usize> =
        (0..8).map(|number| into[..found].iter().filter(|byte| **byte == number).count()).collect();
    assert_eq!(counted, [40; 8]);
    drop((shared, fs));
    check(image.path());
}

/// A process that is killed on a disk with a volatile cache: simulated by a copy of the image while
/// the file system is open.
#[test]
fn what_was_synced_outlives_the_process_and_the_rest_is_a_beginning() {
    for seed in 0..12 {
        let image = image();
        let location =
            Location { volatile: Some(seed), gather_bytes: 5000, commit_seconds: 0, ..Location::new(image.path()) };
        let fs = open(&location);
        let file = fs.open_file(b"/log", How::Fresh).unwrap();
        let (mut written, mut synced) = (Vec::new(), 0);
        for round in 0..(30 + seed as usize) {
            let bytes: Vec<u8> = (0..997 * (round % 4) + 11).map(|at| (at + round) as u8).collect();
            file.append(&bytes).unwrap();
            written.extend_from_slice(&bytes);
            if round % 7 == 3 {
                file.sync().unwrap();
                synced = written.len();
            }
        }
        let left = tempfile::NamedTempFile::new().unwrap();
        std::fs::copy(image.path(), left.path()).unwrap();
        drop((file, fs));
        let fs = open(&Location::new(left.path()));
        let file = fs.open_file(b"/log", How::Existing).unwrap();
        let mut found = vec![0; file.size() as usize];
        assert_eq!(file.read(0, &mut found).unwrap(), found.len());
        assert!(found.len() >= synced, "seed {seed}: {} of {synced} synced bytes", found.len());
        assert!(written.starts_with(&found), "seed {seed}: not a beginning");
        drop((file, fs));
        check(left.path());
    }
}

#[test]
fn what_cannot_be_opened_is_said() {
    let refused = |path: &Path| FileSystem::open(&Location::new(path)).unwrap_err().to_string();
    assert!(refused(Path::new("/nowhere/image")).contains("iolab fs mkfs"));
    let letter = tempfile::NamedTempFile::new().unwrap();
    letter.as_file().set_len(1 << 20).unwrap();
    assert!(refused(letter.path()).contains("not usable"), "{}", refused(letter.path()));
}
