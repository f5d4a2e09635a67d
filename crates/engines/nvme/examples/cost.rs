//! The cost of a read of a virtual SSD inside the thread: driver and device alone, or through the
//! engine's lane.
//!
//! `cost [path=direct|lane] [media=null|ram] [model=ideal|nand] [depth=N] [ops=N] [ms=N]
//! [size=BYTES]`: without arguments, every shape for 200 ms each. A line has shape, unit and value,
//! separated by tabs. With `ops` the number of reads is fixed and the device's time is simulated:
//! run it with two numbers under `valgrind --tool=callgrind` and take the slope. `cargo xtask cost
//! nvme` does both.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

mod load;

use std::error::Error;

use iolab_clock::Clock;
use iolab_engine::{Completions, Engine, Lane, LaneRequest, Op, OpKind, SlotPool, Submission, TargetFile, Wait};
use iolab_engine_nvme::Nvme;
use iolab_memory::Backing;
use iolab_options::Settings;

use load::{BYTES, End, Load};

/// One loop.
#[derive(Debug, Clone)]
struct Shape {
    path: String,
    media: String,
    model: String,
    size: String,
    depth: u16,
    end: End,
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut shape = Shape {
        path: "direct".into(),
        media: "null".into(),
        model: "ideal".into(),
        size: "256M".into(),
        depth: 32,
        end: End::AfterNs(200_000_000),
    };
    let mut is_one = false;
    for word in &words {
        let (name, value) = word.split_once('=').ok_or("words are name=value, see the head of the source")?;
        is_one |= !["ms", "size"].contains(&name);
        match name {
            "path" => shape.path = value.into(),
            "media" => shape.media = value.into(),
            "model" => shape.model = value.into(),
            "size" => shape.size = value.into(),
            "depth" => shape.depth = value.parse()?,
            "ops" => shape.end = End::AfterReads(value.parse()?),
            "ms" => shape.end = End::AfterNs(value.parse::<u64>()? * 1_000_000),
            _ => return Err(format!("{name} is no word, see the head of the source").into()),
        }
    }
    if is_one {
        return measure(&shape);
    }
    for (media, model) in [("null", "ideal"), ("ram", "ideal"), ("null", "nand")] {
        for path in ["direct", "lane"] {
            for depth in [1, 32, 128] {
                let (path, media, model) = (path.into(), media.into(), model.into());
                measure(&Shape { path, media, model, depth, ..shape.clone() })?;
            }
        }
    }
    Ok(())
}

fn measure(shape: &Shape) -> Result<(), Box<dyn Error>> {
    let media = &shape.media;
    let parameters = format!("size={} media={media} populate=yes model={} lba=4k", shape.size, shape.model);
    let (reads, spent_ns) = match shape.path.as_str() {
        "direct" => {
            let clock = match shape.end {
                End::AfterReads(_) => Clock::simulated(1_000_000),
                End::AfterNs(_) => Clock::best().0,
            };
            let mut load = Load::inline(&parameters, &clock, shape.depth)?;
            load.lay_out()?;
            load.reads(shape.end)?
        }
        "lane" => lane_reads(&parameters, shape)?,
        other => return Err(format!("path={other} is neither direct nor lane").into()),
    };
    let Shape { path, media, model, depth, .. } = shape;
    let iops = reads as f64 * 1e9 / spent_ns.max(1) as f64;
    println!("{path} media={media} model={model} depth={depth}\tIOPS\t{iops:.0}");
    Ok(())
}

/// Reads through the engine, as the hot loop does.
fn lane_reads(parameters: &str, shape: &Shape) -> Result<(u64, u64), Box<dyn Error>> {
    let name = format!("trtype=VIRT {parameters}");
    // The device lives as long as the process, and is laid out before the lane opens.
    Load::on(&name, 32)?.lay_out()?;
    let depth = usize::from(shape.depth);
    let pool = SlotPool::new(depth, BYTES as usize, 0, &Backing::Memfd).map_err(|error| error.message)?;
    let blocks =
        Nvme::device(&name, &Settings::default()).map_err(|error| error.message)?.size_bytes / u64::from(BYTES);
    let files = [TargetFile { path: name.into(), fd: -1, size_bytes: 0, is_block_device: true }];
    let options = Settings::default();
    let request =
        LaneRequest { files: &files, depth, buffers: pool.view(), options: &options, direct: true, seed: 1, worker: 0 };
    let mut lane = Nvme::open(&request).map_err(|error| error.message)?;
    let clock = Clock::best().0;
    let start_ns = clock.now_ns();
    let (mut out, mut idle, mut done) = (Completions::with_room(depth), (0..shape.depth).collect::<Vec<u16>>(), 0);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    loop {
        while let Some(slot) = idle.pop() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let block = ((u128::from(random) * u128::from(blocks)) >> 64) as u64;
            let op = Op {
                offset: block * u64::from(BYTES),
                length: BYTES,
                buffer_offset: 0,
                file: 0,
                slot,
                kind: OpKind::Read,
                priority: 0,
            };
            if lane.submit(&op) != Submission::Accepted {
                return Err("a lane with free slots is full".into());
            }
        }
        let wait = Wait { at_least: 1, timeout_ns: u64::MAX };
        lane.flush_and_reap(wait, &mut out).map_err(|error| format!("{error:?}"))?;
        for ended in out.as_slice() {
            if ended.result != BYTES as i32 {
                return Err(format!("a read ended with {}", ended.result).into());
            }
            idle.push(ended.slot as u16);
        }
        done += out.as_slice().len() as u64;
        out.clear();
        let over = match shape.end {
            End::AfterReads(reads) => done >= reads,
            End::AfterNs(ns) => clock.now_ns() - start_ns >= ns,
        };
        if over {
            return Ok((done, clock.now_ns() - start_ns));
        }
    }
}
