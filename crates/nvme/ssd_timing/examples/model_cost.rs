//! The cost of calling a model, for callgrind: a number of 4 KiB reads or writes of a filled drive.
//!
//! ```text
//! cargo build --release -p iolab-ssd-timing --example model_cost
//! valgrind --tool=callgrind target/release/examples/model_cost 970pro reads 100000
//! ```
//!
//! The difference between two counts, divided by the difference of their numbers of commands, is
//! the cost of one command. The arguments: a preset (or `970pro-nvmevirt`), `reads`, `writes` or
//! `overwrites`, and the number of commands. It does not measure wall-clock times, because they
//! depend on the other load of the machine.
#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use std::error::Error;

use iolab_random::SplitMix64;
use iolab_ssd_timing::study::ClosedLoop;
use iolab_ssd_timing::{Capacity, Preset, TimedCommand, TimingModel};

const VISIBLE: u64 = 1 << 30;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |at: usize, default: &str| arguments.get(at).map_or_else(|| default.to_owned(), Clone::clone);
    let preset = Preset::named(&text(0, "970pro"))?;
    let (what, count) = (text(1, "reads"), text(2, "10000").parse::<u64>()?);
    let mut drive = TimingModel::build(&preset.parameters(), Capacity::Visible(VISIBLE))?;
    let mut host = ClosedLoop::new(8, 0);
    for offset in (0..drive.visible_bytes()).step_by(128 << 10) {
        host.issue(&mut drive, &TimedCommand::write(offset, 128 << 10));
    }
    let pages = drive.visible_bytes() / 4096;
    let mut random = SplitMix64::new(1);
    let mut host = ClosedLoop::new(32, host.drain());
    if what == "overwrites" {
        for _ in 0..2 * pages {
            host.issue(&mut drive, &TimedCommand::write(random.below(pages) * 4096, 4096));
        }
    }
    let make = if what == "reads" { TimedCommand::read } else { TimedCommand::write };
    let mut last_ns = 0;
    for _ in 0..count {
        last_ns = host.issue(&mut drive, &make(random.below(pages) * 4096, 4096)).1;
    }
    println!("{count} {what} of {}: the last completes at {last_ns} ns", preset.name);
    Ok(())
}
