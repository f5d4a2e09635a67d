//! Measures the cost of a call from another thread, to the thread of the file system and back,
//! compared with system calls on a file.
//!
//! ```sh
//! cargo run --release -p iolab-logfs-rocksdb --example call_cost -- IMAGE FOLDER [ROUNDS] [THREADS]
//! ```
//!
//! IMAGE is a logfs image that may be written to, FOLDER a directory on a file system to compare
//! with (a mount of logfs, ext4). The two take turns. Each figure is the median of the rounds; a
//! round is 2000 calls of each kind by each thread.

#![allow(clippy::print_stdout, reason = "an example says what it has measured")]

use std::os::unix::fs::FileExt;

use iolab_clock::Clock;
use iolab_logfs_rocksdb::{FileSystem, How, Location};

const CALLS: u64 = 2000;
const BLOCK: usize = 4096;
const BLOCKS: u64 = 256;

/// Operations, and the times of one call, ns.
type Figures = Vec<(&'static str, Vec<f64>)>;

fn measure(clock: &Clock, threads: usize, work: &(dyn Fn(u64) + Sync)) -> f64 {
    let start_ns = clock.now_ns();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..CALLS).for_each(work));
        }
    });
    (clock.now_ns() - start_ns) as f64 / CALLS as f64
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [image, folder, ..] = &words[..] else {
        println!("call_cost IMAGE FOLDER [ROUNDS] [THREADS]");
        return;
    };
    let number = |at: usize, usual: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(usual);
    let (rounds, threads) = (number(2, 11), number(3, 1));
    let fs = FileSystem::open(&Location { ahead_bytes: 0, ..Location::new(image) }).expect("opening the image");
    let inside = fs.open_file(b"/call_cost", How::Fresh).expect("making a file");
    inside.append(&vec![7; BLOCK * BLOCKS as usize]).and_then(|()| inside.sync()).expect("writing it");
    let path = std::path::Path::new(folder).join("call_cost");
    let outside =
        std::fs::File::options().create(true).truncate(true).read(true).write(true).open(&path).expect("a file");
    outside.write_all_at(&vec![7; BLOCK * BLOCKS as usize], 0).and_then(|()| outside.sync_all()).expect("writing it");

    let clock = Clock::monotonic();
    let place = |call: u64| call.wrapping_mul(0x9e37_79b9_7f4a_7c15) % BLOCKS * BLOCK as u64;
    let mut figures: Figures = Vec::new();
    let mut take = |name: &'static str, work: &(dyn Fn(u64) + Sync)| {
        let took = measure(&clock, threads, work);
        match figures.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.push(took),
            None => figures.push((name, vec![took])),
        }
    };
    for _ in 0..rounds {
        take("status by path, inside", &|_| {
            fs.status(b"/call_cost").expect("status");
        });
        take("status by path, folder", &|_| {
            std::fs::metadata(&path).expect("metadata");
        });
        take("read 4 KiB, inside", &|call| {
            inside.read(place(call), &mut [0; BLOCK]).expect("read");
        });
        take("read 4 KiB, folder", &|call| {
            outside.read_at(&mut [0; BLOCK], place(call)).expect("read");
        });
        take("append 100 B, inside", &|_| inside.append(&[7; 100]).expect("append"));
        take("append 100 B, folder", &|call| {
            outside.write_all_at(&[7; 100], BLOCKS * BLOCK as u64 + call * 100).expect("append");
        });
    }
    for (name, mut all) in figures {
        all.sort_by(f64::total_cmp);
        println!("{name:24} {:9.0} ns", all[all.len() / 2]);
    }
    drop(std::fs::remove_file(&path));
    drop(fs.unlink(b"/call_cost"));
}
