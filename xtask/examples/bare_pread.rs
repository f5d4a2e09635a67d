//! The least that can be done to read 4 KiB blocks at random with pread(2): no stamps, no counters,
//! no engine.
//!
//! `bare_pread PATH 1 1 COUNT`: PATH holds at least 1 MiB and takes `O_DIRECT`. The two ones stand
//! where the bare loops of the asynchronous engines have depth and batch.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

const BLOCK: usize = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, _, _, count] = arguments.as_slice() else { return Err("usage: bare_pread PATH 1 1 COUNT".into()) };
    let count: u64 = count.parse()?;
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path)?;
    let blocks = file.seek(SeekFrom::End(0))? / BLOCK as u64;
    let mut memory = vec![0_u8; 2 * BLOCK];
    let start = memory.as_ptr().align_offset(BLOCK);
    let buffer = &mut memory[start..start + BLOCK];
    let (mut random, mut errors) = (0x9e37_79b9_7f4a_7c15_u64, 0);
    for _ in 0..count {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // The upper half of the product is uniform below `blocks`, without a division.
        let block = ((u128::from(random) * u128::from(blocks)) >> 64) as u64;
        errors += u64::from(file.read_at(buffer, block * BLOCK as u64)? != BLOCK);
    }
    println!("{count} reads, {errors} not whole");
    Ok(())
}
