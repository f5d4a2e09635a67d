//! Compares every preset with its data sheet, in virtual time: its figures when fresh, and after it
//! has been overwritten.
//!
//! ```text
//! cargo run --release -p iolab-ssd-timing --example beside_sheet -- 4g 3
//! ```
//!
//! The arguments: the visible capacity, and how many times it is overwritten at random before the
//! last column. There is no verdict, because a sheet describes a product, and a model knows neither
//! its firmware nor its cache.
#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use std::error::Error;

use iolab_ssd_timing::presets::PRESETS;
use iolab_ssd_timing::study::{Load, run};
use iolab_ssd_timing::{Capacity, CommandKind, TimingModel};
use iolab_units::{KbBase, parse_bytes};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let capacity = parse_bytes(&arguments.next().unwrap_or_else(|| "4g".to_owned()), KbBase::K1024)?;
    let rounds: u64 = arguments.next().map_or(Ok(3), |text| text.parse())?;
    println!("| preset | figure | sheet | fresh or filled | steady |");
    println!("| --- | --- | --- | --- | --- |");
    for preset in PRESETS {
        let Some(sheet) = preset.sheet else { continue };
        let fresh = || TimingModel::build(&preset.parameters(), Capacity::Visible(capacity));
        let big = Load {
            kind: CommandKind::Write,
            random: false,
            bytes: 128 << 10,
            depth: 32,
            count: capacity >> 17,
            seed: 1,
        };
        let small = Load { random: true, bytes: 4096, depth: 256, count: capacity >> 14, ..big };
        let mut drive = fresh()?;
        let row = |figure: &str, sheet: u64, now: f64, then: Option<f64>| {
            let then = then.map_or_else(String::new, |then| format!("{then:.0}"));
            println!("| {} | {figure} | {sheet} | {now:.0} | {then} |", preset.name);
        };
        let filled = run(&mut drive, 0, &big);
        row("sequential write, MB/s", sheet.write_mb_per_second, filled.mb_per_second, None);
        let read = run(&mut drive, filled.end_ns + 1_000_000_000, &Load { kind: CommandKind::Read, ..big });
        row("sequential read, MB/s", sheet.read_mb_per_second, read.mb_per_second, None);
        let reads = run(&mut drive, read.end_ns, &Load { kind: CommandKind::Read, ..small });
        row("random read, IOPS", sheet.read_iops, reads.iops, None);
        let one = run(&mut drive, reads.end_ns, &Load { kind: CommandKind::Read, depth: 1, count: 10_000, ..small });
        println!("| {} | random read at depth 1, us | | {:.1} | |", preset.name, one.mean_ns / 1000.0);
        let early = run(&mut fresh()?, 0, &Load { depth: 32, ..small });
        let aged = run(&mut drive, one.end_ns, &Load { depth: 32, count: rounds * (capacity >> 12), ..small });
        let steady = run(&mut drive, aged.end_ns, &Load { depth: 32, ..small });
        row("random write, IOPS", sheet.write_iops, early.iops, Some(steady.iops));
    }
    Ok(())
}
