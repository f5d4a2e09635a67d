//! Exports memory as a file, for experiments: `serve_file FOLDER [--size 1G] [--transport
//! auto|classic|io_uring] …`.
//!
//! SIGINT or SIGTERM unmounts; a second one ends the export even if the file is in use. Prints the
//! file's path when it exists, and what was served when it ends. The data are then lost.
//! `--lane-looks N` makes the memory a device that has to be polled: its completions appear at the
//! last of N polls.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to whoever runs it")]

use std::process::ExitCode;
use std::sync::Arc;

use iolab_export::RamLane;
use iolab_export::fuse::{FuseEvent, FuseTransport, Options, Size, Stop, serve_queues};
use iolab_memory::{Backing, SharedBytes, SlotPool};

const USAGE: &str = "serve_file FOLDER [--name NAME] [--size BYTES] [--block BYTES] [--transport auto|classic|io_uring]
           [--depth N] [--transfer BYTES] [--cpu N,…] [--queues N] [--idle-looks N] [--lane-looks N] [--write-zeroes]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("serve_file: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let (mut options, size, lane_looks) = parse(std::env::args().skip(1))?;
    options.stop = Some(Arc::new(Stop::by_signals().map_err(|error| error.to_string())?));
    options.observer = Some(Arc::new(|moment: &FuseEvent| match moment {
        FuseEvent::Serving { path, transport } => println!("serving {} by {transport}", path.display()),
        FuseEvent::Note(text) => eprintln!("{text}"),
        FuseEvent::Busy => eprintln!("the file is in use; served on until it is unmounted, or stopped once more"),
        FuseEvent::CannotUnmount(reason) => eprintln!("cannot unmount: {reason}; stop once more to end anyway"),
    }));
    let shape = options.pool_shape();
    let memory = |error: iolab_memory::PoolError| format!("{}: {}", error.message, error.source);
    let disk = SharedBytes::anonymous(size.bytes() as usize).map_err(|error| error.to_string())?;
    let open = |_| {
        let pool = SlotPool::new(shape.slots, shape.slot_bytes, 0, &Backing::Anonymous).map_err(memory)?;
        Ok((RamLane::on(&disk, size, pool.view()).shown_after(lane_looks), pool))
    };
    let summary = serve_queues(&open, size, &options).map_err(|error| error.to_string())?;
    println!("served by {}: {:?}", summary.transport, summary.tally);
    Ok(())
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<(Options, Size, u32), String> {
    let folder = words.next().filter(|word| !word.starts_with('-')).ok_or(USAGE)?;
    let mut options = Options::new(folder, "disk");
    options.limits.trim_zeroes = true;
    let (mut bytes, mut block, mut lane_looks) = (1 << 30, 512, 0);
    while let Some(word) = words.next() {
        if word == "--write-zeroes" {
            options.limits.trim_zeroes = false;
            continue;
        }
        let value = words.next().ok_or(USAGE)?;
        match word.as_str() {
            "--name" => options.name = value,
            "--size" => bytes = number(&value)?,
            "--block" => block = number(&value)? as u32,
            "--transport" => options.transport = transport(&value)?,
            "--depth" => options.depth = number(&value)? as usize,
            "--transfer" => options.transfer_bytes = number(&value)? as usize,
            "--cpu" => {
                options.cpus = value.split(',').map(|cpu| Ok(number(cpu)? as usize)).collect::<Result<_, String>>()?
            }
            "--queues" => options.queues = number(&value)? as usize,
            "--idle-looks" => options.idle_looks = number(&value)? as u32,
            "--lane-looks" => lane_looks = number(&value)? as u32,
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok((options, Size::new(bytes, block).map_err(|error| error.to_string())?, lane_looks))
}

fn transport(word: &str) -> Result<FuseTransport, String> {
    let known = [FuseTransport::Auto, FuseTransport::Classic, FuseTransport::Uring];
    known.into_iter().find(|known| known.to_string() == word).ok_or_else(|| USAGE.to_owned())
}

/// A number with an optional k, M or G (powers of 1024).
fn number(word: &str) -> Result<u64, String> {
    let digits = word.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let shift = match word[digits.len()..].to_lowercase().as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return Err(format!("{word} is not a size")),
    };
    let number = digits.parse::<u64>().map_err(|error| format!("{word}: {error}"))?;
    number.checked_shl(shift).filter(|shifted| shifted >> shift == number).ok_or_else(|| format!("{word} is too large"))
}
