//! Measures how long opening takes: a sparse image of 100 GiB with many files, opened from a
//! checkpoint and from a log without one.
//!
//! `cargo run --release -p iolab-logfs --example open_million -- PATH [FILES]` creates the image at
//! PATH (an existing file is overwritten) and removes it afterwards. Of four files, one has content
//! in the log and one has content on the disk.

#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use std::path::Path;

use iolab_clock::Clock;
use iolab_disk::{Caching, FileDisk};
use iolab_executor::{Executor, ReadyOrder};
use iolab_logfs::{Disk, Error, InodeId, LogFs, MkfsOptions, OpenOptions, Owner, Runtime, mkfs, open};

const IMAGE_BYTES: u64 = 100 << 30;
const FILES_IN_DIRECTORY: u64 = 1_000;

/// Runs some work over the image, on a new executor.
fn over<T>(path: &Path, work: impl AsyncFnOnce(Disk, Runtime) -> Result<T, Error>) -> T {
    let device = FileDisk::open(path, 4096, Caching::PageCache).expect("the image can be opened");
    let (disk, mut executor) = (Disk::new(device), Executor::new(ReadyOrder::Fair));
    let runtime = Runtime { clock: Clock::monotonic(), spawner: executor.spawner() };
    let answer = executor.run(&mut disk.clone(), work(disk.clone(), runtime)).expect("it goes on");
    answer.unwrap_or_else(|error| panic!("{error}"))
}

async fn fill(fs: &LogFs, files: u64) -> Result<(), Error> {
    for directory in 0..files.div_ceil(FILES_IN_DIRECTORY) {
        let parent = fs.make_directory(InodeId::ROOT, format!("d{directory}").as_bytes(), Owner::default()).await?;
        for number in 0..FILES_IN_DIRECTORY.min(files - directory * FILES_IN_DIRECTORY) {
            let file = fs.create(parent, format!("file{number}").as_bytes(), Owner::default()).await?;
            match number % 4 {
                0 => fs.write(file, 0, &[1; 40]).await?,
                1 => fs.write(file, 0, &[2; 4096]).await?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Processor time of this thread, which other programs do not lengthen.
fn busy_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

/// Opens, prints how long that took, then runs `and_then`.
fn opening(path: &Path, what: &str, and_then: impl AsyncFnOnce(LogFs) -> Result<(), Error>) {
    over(path, async |disk, runtime| {
        let clock = runtime.clock.clone();
        let (began, busy) = (clock.now_ns(), busy_ns());
        let (fs, recovery) = open(&disk, OpenOptions::default(), runtime).await?;
        let (opened, busy) = (clock.now_ns(), (busy_ns() - busy) as f64 / 1e9);
        let inodes = fs.space().inodes;
        and_then(fs).await?;
        let (took, after) = ((opened - began) as f64 / 1e9, (clock.now_ns() - opened) as f64 / 1e9);
        println!(
            "{what}: {inodes} inodes in {took:.3} s ({busy:.3} s on a processor), {} frames, {} records; then {after:.3} s",
            recovery.frames, recovery.records
        );
        Ok(())
    });
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("the path of an image to make");
    let files = arguments.next().map_or(1_000_000, |text| text.parse().expect("a number of files"));
    let path = Path::new(&path);
    std::fs::File::create(path).and_then(|file| file.set_len(IMAGE_BYTES)).expect("the image can be made");
    over(path, async |disk, _| mkfs(&disk, &MkfsOptions::new([1; 16], 1)).await);
    opening(path, "empty", async |fs| {
        fill(&fs, files).await?;
        fs.sync().await
    });
    opening(path, "from the log of a crash", async |fs| {
        fs.want_checkpoint();
        while fs.activity().checkpoints == 0 {
            fs.create(InodeId::ROOT, b"one more", Owner::default()).await?;
            fs.unlink(InodeId::ROOT, b"one more").await?;
            fs.sync().await?;
        }
        fs.close().await
    });
    for _ in 0..3 {
        opening(path, "from a checkpoint", async |fs| fs.close().await);
    }
    std::fs::remove_file(path).expect("the image can be removed");
}
