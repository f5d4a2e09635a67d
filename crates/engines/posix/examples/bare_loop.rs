//! The engine `psync` in a minimal loop, compared with a loop of bare system calls: random 4 KiB
//! reads, in turns, so that both run under the same conditions.
//!
//! `bare_loop PATH [ROUNDS] [direct]` prints the nanoseconds per read of both, the median of the
//! rounds, and the ratio. PATH holds at least 1 MiB. The difference to `iolab run --ioengine=psync`
//! is the cost that a whole run adds.
//!
//! Unsafe: the bare system call, with which the lane is compared.
#![allow(unsafe_code, reason = "island: the bare call")]
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use iolab_clock::Clock;
use iolab_engine::{Completions, Engine, Lane, LaneRequest, Op, OpKind, PoolView, Submission, TargetFile, Wait};
use iolab_engine_posix::read_write::Psync;
use iolab_memory::{Backing, SlotPool};
use iolab_options::Settings;

const BLOCK: u32 = 4096;
const READS: u64 = 20_000;

/// Offsets at random (xorshift, Marsaglia 2003).
struct Offsets {
    random: u64,
    blocks: u64,
}

impl Offsets {
    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        // The upper half of the product is uniform below `blocks`, without a division.
        ((u128::from(self.random) * u128::from(self.blocks)) >> 64) as u64 * u64::from(BLOCK)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, rest @ ..] = arguments.as_slice() else {
        return Err("usage: bare_loop PATH [ROUNDS] [direct]".into());
    };
    let rounds: usize = rest.iter().find_map(|word| word.parse().ok()).unwrap_or(21);
    let direct = rest.iter().any(|word| word == "direct");
    let flags = if direct { libc::O_DIRECT } else { 0 };
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let size_bytes = file.seek(SeekFrom::End(0))?;
    let pool = SlotPool::new(1, BLOCK as usize, 0, &Backing::Anonymous).map_err(|error| error.message)?;
    let files = [TargetFile { path: path.into(), fd: file.as_raw_fd(), size_bytes, is_block_device: false }];
    let options = Settings::default();
    let request =
        LaneRequest { files: &files, depth: 1, buffers: pool.view(), options: &options, direct, seed: 0, worker: 0 };
    let mut lane = Psync::open(&request).map_err(|error| error.message)?;
    let clock = Clock::best().0;
    let mut offsets = Offsets { random: 0x9e37_79b9_7f4a_7c15, blocks: size_bytes / u64::from(BLOCK) };
    let (mut bare, mut engine) = (Vec::new(), Vec::new());
    for _ in 0..rounds.max(1) {
        let begun_ns = clock.now_ns();
        call_alone(&file, pool.view(), &mut offsets)?;
        let between_ns = clock.now_ns();
        through_the_lane(&mut lane, &mut offsets)?;
        bare.push(between_ns - begun_ns);
        engine.push(clock.now_ns() - between_ns);
    }
    let (bare, engine) = (median(bare), median(engine));
    let each = |ns: u64| ns as f64 / READS as f64;
    println!("pread {:.1} ns, psync {:.1} ns, ratio {:.3}", each(bare), each(engine), engine as f64 / bare as f64);
    Ok(())
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times[times.len() / 2]
}

fn call_alone(file: &File, buffers: PoolView, offsets: &mut Offsets) -> Result<(), Box<dyn Error>> {
    let address = buffers.range_ptr(0, 0, BLOCK as usize).ok_or("the pool has no slot")?;
    for _ in 0..READS {
        let offset = offsets.next() as libc::off_t;
        // SAFETY: the address is that of a slot of BLOCK bytes, to which no reference exists.
        let moved = unsafe { libc::pread(file.as_raw_fd(), address.cast(), BLOCK as usize, offset) };
        if moved != BLOCK as isize {
            return Err(format!("pread: {moved}, {}", std::io::Error::last_os_error()).into());
        }
    }
    Ok(())
}

fn through_the_lane(lane: &mut impl Lane, offsets: &mut Offsets) -> Result<(), Box<dyn Error>> {
    let mut out = Completions::with_room(1);
    for _ in 0..READS {
        let op = Op {
            offset: offsets.next(),
            length: BLOCK,
            buffer_offset: 0,
            file: 0,
            slot: 0,
            kind: OpKind::Read,
            priority: 0,
        };
        if lane.submit(&op) != Submission::Accepted {
            return Err("a lane with a free slot is full".into());
        }
        out.clear();
        lane.flush_and_reap(Wait { at_least: 1, timeout_ns: u64::MAX }, &mut out)
            .map_err(|error| format!("{error:?}"))?;
        if out.as_slice()[0].result != BLOCK as i32 {
            return Err("a read was not whole".into());
        }
    }
    Ok(())
}
