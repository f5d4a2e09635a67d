//! The engine in a minimal loop: random 4 KiB reads at a depth, counted but not measured.
//!
//! For counting instructions and system calls per operation: run it with two counts under
//! `valgrind --tool=callgrind` or `strace -c` and take the slope. Not a benchmark: it has no clock.
//!
//! `bare_uring PATH DEPTH BATCH COUNT [OPTION=0|1 ...]`: PATH holds at least 1 MiB and takes
//! `O_DIRECT`; a wait is for BATCH completions.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use iolab_engine::{Completions, Engine, Lane, LaneRequest, Op, OpKind, SlotPool, Submission, TargetFile, Wait};
use iolab_engine_uring::Uring;
use iolab_memory::Backing;
use iolab_options::{Setting, Settings, Value};

const BLOCK: u32 = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, depth, batch, count, switches @ ..] = arguments.as_slice() else {
        return Err("usage: bare_uring PATH DEPTH BATCH COUNT [OPTION=0|1 ...]".into());
    };
    let (depth, batch, count): (usize, usize, u64) = (depth.parse()?, batch.parse()?, count.parse()?);
    let mut options = Settings::default();
    for switch in switches {
        let (name, text) = switch.split_once('=').ok_or("options are NAME=0 or NAME=1")?;
        let value = Value::Flag(text == "1");
        options.set(name, Setting { value, text: text.into(), source: 0, span: (0, 0) });
    }
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path)?;
    let size_bytes = file.seek(SeekFrom::End(0))?;
    let pool = SlotPool::new(depth, BLOCK as usize, 0, &Backing::Anonymous).map_err(|error| error.message)?;
    let files = [TargetFile { path: path.into(), fd: file.as_raw_fd(), size_bytes, is_block_device: false }];
    let request =
        LaneRequest { files: &files, depth, buffers: pool.view(), options: &options, direct: true, seed: 0, worker: 0 };
    let mut lane = Uring::open(&request).map_err(|error| error.message)?;
    let errors = run(&mut lane, depth, batch, count, size_bytes / u64::from(BLOCK))?;
    println!("{count} reads, {errors} not whole, notes: {:?}", lane.notes());
    Ok(())
}

/// Reads `count` blocks at random. Returns the number of incomplete reads.
fn run<L: Lane>(lane: &mut L, depth: usize, batch: usize, count: u64, blocks: u64) -> Result<u64, Box<dyn Error>> {
    let mut out = Completions::with_room(depth);
    let (mut random, mut submitted, mut done, mut errors) = (0x9e37_79b9_7f4a_7c15_u64, 0, 0, 0);
    let mut next = |slot: u32| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // The upper half of the product is uniform below `blocks`, without a division.
        let block = ((u128::from(random) * u128::from(blocks)) >> 64) as u64;
        let offset = block * u64::from(BLOCK);
        Op { offset, length: BLOCK, buffer_offset: 0, file: 0, slot: slot as u16, kind: OpKind::Read, priority: 0 }
    };
    for slot in 0..depth as u32 {
        if lane.submit(&next(slot)) != Submission::Accepted {
            return Err("a lane with free slots is full".into());
        }
        submitted += 1;
    }
    while done < submitted {
        let at_least = batch.min((submitted - done) as usize);
        lane.flush_and_reap(Wait { at_least, timeout_ns: u64::MAX }, &mut out).map_err(|error| format!("{error:?}"))?;
        for completion in out.as_slice() {
            done += 1;
            errors += u64::from(completion.result != BLOCK as i32);
            if submitted < count {
                if lane.submit(&next(completion.slot)) != Submission::Accepted {
                    return Err("a lane with free slots is full".into());
                }
                submitted += 1;
            }
        }
        out.clear();
    }
    Ok(errors)
}
