//! What it costs to hold every read against its checksum: the same reads with and without, in turn, on the same file.
//!
//! `cargo run --release -p iolab-logfs --example read_verification -- [PATH] [SECONDS]`: on a file or block device that is there (what it holds is lost),
//! around the page cache, or on a disk in memory without a path. Prints, for each length of reads and number under way, the median of all rounds
//! with and without, and the median of their quotients.

#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use iolab_block::{BlockDevice, Buffer, Opening, RamDisk, open_disk};
use iolab_clock::Clock;
use iolab_executor::{Executor, Order, Spawner};
use iolab_logfs::{Disk, Error, InodeId, LogFs, MkfsOptions, OpenOptions, Owner, mkfs, open};

const FILE_BYTES: u64 = 256 << 20;
const DISK_BYTES: usize = 400 << 20;
const ROUNDS: usize = 11;

async fn make(disk: Disk, context: (Clock, Spawner)) -> Result<InodeId, Error> {
    mkfs(&disk, &MkfsOptions::new([1; 16], 1)).await?;
    let (fs, _) = open(&disk, OpenOptions::default(), context).await?;
    let inode = fs.create(InodeId::ROOT, b"file", Owner::default()).await?;
    let content: Vec<u8> = (0..1_u32 << 20).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for at in (0..FILE_BYTES).step_by(1 << 20) {
        fs.write(inode, at, &content).await?;
    }
    fs.close().await?;
    Ok(inode)
}

/// Reads of a second's part; how many.
async fn reader(fs: LogFs, inode: InodeId, (clock, until_ns): (Clock, u64), (length, mut seed): (u64, u64)) -> u64 {
    let mut buffer = Buffer::zeroed(length as usize);
    let mut count = 0;
    while clock.now_ns() < until_ns {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let offset = (seed >> 20) % (FILE_BYTES / length) * length;
        let (result, back) = fs.read_into(inode, offset, buffer).await;
        result.expect("a sound disk");
        buffer = back.expect("the device gives buffers back");
        count += 1;
    }
    count
}

fn round(
    executor: &mut Executor,
    (disk, clock): (&Disk, &Clock),
    inode: InodeId,
    what: (u64, u64, bool),
    part_ns: u64,
) -> f64 {
    let (length, depth, verify_reads) = what;
    let context = (clock.clone(), executor.spawner());
    let spawner = executor.spawner();
    let work = async {
        let options = OpenOptions { verify_reads, ..OpenOptions::default() };
        let (fs, _) = open(disk, options, context).await.expect("a file system");
        let begun = clock.now_ns();
        let tasks: Vec<_> = (0..depth)
            .map(|number| {
                spawner.spawn(reader(fs.clone(), inode, (clock.clone(), begun + part_ns), (length, number + 7)))
            })
            .collect();
        let mut count = 0;
        for task in tasks {
            count += task.await;
        }
        let taken_ns = clock.now_ns() - begun;
        fs.close().await.expect("closing");
        count as f64 * 1e9 / taken_ns as f64
    };
    executor.run(&mut disk.clone(), work).expect("it goes on")
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next();
    let seconds: f64 = arguments.next().map_or(0.3, |text| text.parse().expect("a number of seconds"));
    let device: Box<dyn BlockDevice> = match path {
        Some(path) => open_disk(path.as_ref(), &Opening::default()).expect("a file or device").0,
        // Memory that was written to already: else every write waits for the kernel to clear a page.
        None => Box::new(RamDisk::with_contents(vec![1; DISK_BYTES], 4096)),
    };
    let (disk, mut executor) = (Disk::new(device), Executor::new(Order::Fair));
    let clock = Clock::best().0;
    let context = (clock.clone(), executor.spawner());
    let made = executor.run(&mut disk.clone(), make(disk.clone(), context)).expect("it goes on");
    let inode = made.expect("a file system");
    println!("{:>9} {:>6} {:>14} {:>14} {:>8}", "bytes", "depth", "verified /s", "as they are /s", "cost");
    for (length, depth) in [(4 << 10, 1), (4 << 10, 32), (64 << 10, 1), (64 << 10, 8), (1 << 20, 1), (1 << 20, 4)] {
        let (mut with, mut without, mut quotients) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..ROUNDS {
            let mut one =
                |verify| round(&mut executor, (&disk, &clock), inode, (length, depth, verify), (seconds * 1e9) as u64);
            // Who comes first changes.
            let (a, b) = if number % 2 == 0 {
                (one(true), one(false))
            } else {
                let b = one(false);
                (one(true), b)
            };
            with.push(a);
            without.push(b);
            quotients.push(b / a - 1.0);
        }
        let (with, without, cost) = (median(&mut with), median(&mut without), median(&mut quotients));
        println!("{length:>9} {depth:>6} {with:>14.0} {without:>14.0} {:>7.1}%", cost * 100.0);
    }
}
