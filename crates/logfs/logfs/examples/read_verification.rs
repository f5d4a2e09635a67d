//! Measures the cost of comparing every read with its checksum: the same reads with and without, in
//! turn, on the same file.
//!
//! `cargo run --release -p iolab-logfs --example read_verification -- [PATH|memory] [MILLISECONDS]
//! [ROUNDS] [copied|left]`: on an existing file or block device (its content is lost), with direct
//! I/O, or on a disk in memory. For each read length and number of reads in flight, prints the
//! medians of reads a second with and without, and the medians of the ratios of adjacent rounds: of
//! the time of a read, and of its processor time. Readers copy what they have read, as a mount and
//! most users do, or leave it in place, as benchmarks do.

#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use iolab_clock::Clock;
use iolab_disk::{BlockDevice, Buffer, DiskOptions, RamDisk, open_disk};
use iolab_executor::{Executor, ReadyOrder};
use iolab_logfs::{Disk, Error, InodeId, LogFs, MkfsOptions, OpenOptions, Owner, Runtime, VerifyReads, mkfs, open};

const FILE_BYTES: u64 = 256 << 20;
const DISK_BYTES: usize = 400 << 20;

async fn make(disk: Disk, runtime: Runtime) -> Result<InodeId, Error> {
    // A new id each time: the file may hold the log of an earlier run.
    let mut id = [1; 16];
    id[..8].copy_from_slice(&runtime.clock.unix_ns().to_le_bytes());
    mkfs(&disk, &MkfsOptions::new(id, 1)).await?;
    let (fs, _) = open(&disk, OpenOptions::default(), runtime).await?;
    let inode = fs.create(InodeId::ROOT, b"file", Owner::default()).await?;
    let content: Vec<u8> = (0..1_u32 << 20).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for at in (0..FILE_BYTES).step_by(1 << 20) {
        fs.write(inode, at, &content).await?;
    }
    fs.close().await?;
    Ok(inode)
}

/// The cost of a read, ns.
#[derive(Debug, Clone, Copy)]
struct Taken {
    time_ns: f64,
    processor_ns: f64,
}

/// Processor time of this program so far (proc_pid_schedstat(5)), ns.
fn processor_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(f64::NAN)
}

/// How a file is read in one round.
#[derive(Clone, Copy)]
struct Reading {
    inode: InodeId,
    /// Whether the data read are copied once more, as a program would.
    copies: bool,
    length: u64,
    depth: u64,
    part_ns: u64,
}

/// Reads until the given time; returns the number of reads.
async fn reader(fs: LogFs, reading: Reading, clock: Clock, until_ns: u64, mut seed: u64) -> u64 {
    let Reading { inode, copies, length, .. } = reading;
    let mut copy = vec![0; length as usize];
    let mut buffer = Buffer::zeroed(length as usize);
    let mut count = 0;
    while clock.now_ns() < until_ns {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let offset = (seed >> 20) % (FILE_BYTES / length) * length;
        let (result, back) = fs.read_into(inode, offset, buffer).await;
        result.expect("a sound disk");
        buffer = back.expect("the device gives buffers back");
        if copies {
            copy.copy_from_slice(std::hint::black_box(&buffer));
            std::hint::black_box(&copy);
        }
        count += 1;
    }
    count
}

fn round(executor: &mut Executor, disk: &Disk, clock: &Clock, reading: Reading, is_verified: bool) -> Taken {
    let runtime = Runtime { clock: clock.clone(), spawner: executor.spawner() };
    let spawner = executor.spawner();
    let work = async {
        let verify_reads = if is_verified { VerifyReads::Always } else { VerifyReads::Never };
        let options = OpenOptions { verify_reads, ..OpenOptions::default() };
        let (fs, _) = open(disk, options, runtime).await.expect("a file system");
        let (begun, processor) = (clock.now_ns(), processor_ns());
        let tasks: Vec<_> = (0..reading.depth)
            .map(|number| {
                spawner.spawn(reader(fs.clone(), reading, clock.clone(), begun + reading.part_ns, number + 7))
            })
            .collect();
        let mut count = 0;
        for task in tasks {
            count += task.await;
        }
        let (time_ns, processor_ns) = ((clock.now_ns() - begun) as f64, processor_ns() - processor);
        fs.close().await.expect("closing");
        Taken { time_ns: time_ns / count as f64, processor_ns: processor_ns / count as f64 }
    };
    executor.run(&mut disk.clone(), work).expect("it goes on")
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().filter(|path| path != "memory");
    let part_ns = arguments.next().map_or(20, |text| text.parse().expect("a number of milliseconds")) * 1_000_000;
    let rounds = arguments.next().map_or(101, |text| text.parse().expect("a number of rounds"));
    let copies = arguments.next().is_none_or(|word| word != "left");
    let device: Box<dyn BlockDevice> = match path {
        Some(path) => open_disk(path.as_ref(), &DiskOptions::default()).expect("a file or device").0,
        // Memory that was written to already; otherwise every write waits for the kernel to clear a
        // page.
        None => Box::new(RamDisk::with_contents(vec![1; DISK_BYTES], 4096)),
    };
    let (disk, mut executor) = (Disk::new(device), Executor::new(ReadyOrder::Fair));
    let clock = Clock::best().0;
    let runtime = Runtime { clock: clock.clone(), spawner: executor.spawner() };
    let made = executor.run(&mut disk.clone(), make(disk.clone(), runtime)).expect("it goes on");
    let inode = made.expect("a file system");
    println!(
        "{:>9} {:>6} {:>12} {:>14} {:>8} {:>10}",
        "bytes", "depth", "verified /s", "as they are /s", "time", "processor"
    );
    for (length, depth) in [(4 << 10, 1), (4 << 10, 32), (64 << 10, 1), (64 << 10, 8), (1 << 20, 1), (1 << 20, 4)] {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        let (mut times, mut processors) = (Vec::new(), Vec::new());
        for number in 0..rounds {
            let reading = Reading { inode, copies, length, depth, part_ns };
            let mut one = |verify| round(&mut executor, &disk, &clock, reading, verify);
            // The two take turns in going first.
            let (verified, plain) = if number % 2 == 0 {
                (one(true), one(false))
            } else {
                let plain = one(false);
                (one(true), plain)
            };
            with.push(1e9 / verified.time_ns);
            without.push(1e9 / plain.time_ns);
            times.push(verified.time_ns / plain.time_ns - 1.0);
            processors.push(verified.processor_ns / plain.processor_ns - 1.0);
        }
        let [with, without, time, processor] =
            [&mut with, &mut without, &mut times, &mut processors].map(|values| median(values));
        let (time, processor) = (time * 100.0, processor * 100.0);
        println!("{length:>9} {depth:>6} {with:>12.0} {without:>14.0} {time:>7.1}% {processor:>9.1}%");
    }
}
