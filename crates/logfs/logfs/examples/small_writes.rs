//! Measures single writes on a disk in memory, where only the file system itself takes time.
//!
//! `cargo run --release -p iolab-logfs --example small_writes -- [BYTES] [WRITES] [INLINE_MIB]`:
//! WRITES writes of BYTES, one after the other, over a few files that wrap around, with a sync now
//! and then; prints percentiles of the latency of a write, and the slowest writes.

#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use iolab_clock::Clock;
use iolab_disk::RamDisk;
use iolab_executor::{Executor, ReadyOrder};
use iolab_logfs::{Disk, Error, InodeId, MkfsOptions, OpenOptions, Owner, Runtime, mkfs, open};

const DISK_BYTES: u64 = 1 << 30;
const FILES: usize = 16;
const FILE_BYTES: u64 = 16 << 20;

async fn load(disk: Disk, runtime: Runtime, length: usize, count: usize, inline_bytes: u64) -> Result<Vec<u64>, Error> {
    let clock = runtime.clock.clone();
    mkfs(&disk, &MkfsOptions::new([1; 16], 1)).await?;
    let options = OpenOptions { inline_bytes: Some(inline_bytes), ..OpenOptions::default() };
    let (fs, _) = open(&disk, options, runtime).await?;
    let mut files = Vec::new();
    for number in 0..FILES {
        files.push(fs.create(InodeId::ROOT, format!("f{number}").as_bytes(), Owner::default()).await?);
    }
    let content = vec![7; length];
    let mut taken_ns = Vec::with_capacity(count);
    for number in 0..count {
        let offset = (number / FILES * length) as u64 % FILE_BYTES;
        let began = clock.now_ns();
        fs.write(files[number % FILES], offset, &content).await?;
        taken_ns.push(clock.now_ns() - began);
        if number % 4096 == 4095 {
            fs.sync().await?;
        }
    }
    println!("{:?}\n{:?}", fs.activity(), fs.space());
    fs.close().await?;
    Ok(taken_ns)
}

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|text| text.parse().expect("a number")).collect();
    let length = numbers.first().copied().unwrap_or(4096);
    let count = numbers.get(1).copied().unwrap_or(400_000);
    let inline_bytes = numbers.get(2).map_or(64 << 20, |mib| (*mib as u64) << 20);
    // Memory that was written to already; otherwise every write waits for the kernel to clear a
    // page.
    let memory = RamDisk::with_contents(vec![1; DISK_BYTES as usize], 4096);
    let (disk, mut executor) = (Disk::new(memory), Executor::new(ReadyOrder::Fair));
    let runtime = Runtime { clock: Clock::best().0, spawner: executor.spawner() };
    let taken =
        executor.run(&mut disk.clone(), load(disk.clone(), runtime, length, count, inline_bytes)).expect("it goes on");
    let mut taken = taken.unwrap_or_else(|error| panic!("{error}"));
    taken.sort_unstable();
    let at = |share: f64| taken[((taken.len() - 1) as f64 * share) as usize] as f64 / 1e3;
    for share in [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0] {
        println!("p{:<7} {:9.1} us", share * 100.0, at(share));
    }
}
