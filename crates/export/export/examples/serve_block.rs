//! Exports memory as a block device, for experiments: `serve_block [--size 1G] [--block 512] …`, or
//! `--delete N`.
//!
//! SIGINT or SIGTERM stops the device; a second one stops it even if it is mounted. Prints the
//! device's path when it exists, and what was served when it ends. The data are then lost.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to whoever runs it")]

use std::process::ExitCode;
use std::sync::Arc;

use iolab_export::RamLane;
use iolab_export::ublk::{Options, Size, Stop, UblkEvent, delete, serve_queues};
use iolab_memory::{Backing, SharedBytes, SlotPool};

const USAGE: &str =
    "serve_block [--number N] [--size BYTES] [--block BYTES] [--depth N] [--transfer BYTES] [--cpu N] [--queues N]
            [--idle-looks N] [--write-zeroes], or serve_block --delete N; sizes in bytes";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("serve_block: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if(|word| word == "--delete").is_some() {
        let number = words.next().and_then(|word| word.parse().ok()).ok_or(USAGE)?;
        return delete(number).map_err(|error| error.to_string());
    }
    let (mut options, size) = parse(words)?;
    options.stop = Some(Arc::new(Stop::by_signals().map_err(|error| error.to_string())?));
    options.observer = Some(Arc::new(|moment: &UblkEvent| match moment {
        UblkEvent::Serving { path } => println!("serving {}", path.display()),
        UblkEvent::Busy => eprintln!("the device is in use; served on until it is stopped once more"),
    }));
    let shape = options.pool_shape();
    let memory = |error: iolab_memory::PoolError| format!("{}: {}", error.message, error.source);
    let disk = SharedBytes::anonymous(size.bytes() as usize).map_err(|error| error.to_string())?;
    let open = |_| {
        let pool = SlotPool::new(shape.slots, shape.slot_bytes, 0, &Backing::Anonymous).map_err(memory)?;
        Ok((RamLane::on(&disk, size, pool.view()), pool))
    };
    let summary = serve_queues(&open, size, &options).map_err(|error| error.to_string())?;
    println!("served as {}: {:?}", summary.number, summary.tally);
    Ok(())
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<(Options, Size), String> {
    let mut options = Options::default();
    options.limits.trim_zeroes = true;
    let (mut bytes, mut block) = (1 << 30, 512);
    while let Some(word) = words.next() {
        if word == "--write-zeroes" {
            options.limits.trim_zeroes = false;
            continue;
        }
        let value: u64 = words.next().and_then(|word| word.parse().ok()).ok_or(USAGE)?;
        match word.as_str() {
            "--number" => options.number = Some(value as u32),
            "--size" => bytes = value,
            "--block" => block = value as u32,
            "--depth" => options.depth = value as usize,
            "--transfer" => options.transfer_bytes = value as usize,
            "--cpu" => options.cpus = vec![value as usize],
            "--queues" => options.queues = value as usize,
            "--idle-looks" => options.idle_looks = value as u32,
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok((options, Size::new(bytes, block).map_err(|error| error.to_string())?))
}
