//! The life of a drive from fresh to steady as CSV: random writes over its whole visible capacity,
//! in virtual time.
//!
//! ```text
//! cargo run --release -p iolab-ssd-timing --example overwrite_curve -- 970pro 16g drive_writes=4 victim=cost-benefit
//! ```
//!
//! The first argument is a preset, the second the visible capacity; then `name=value` for
//! parameters of the model and for `drive_writes`, `points`, `depth`, `bs`, `seed` and `fill_first`
//! (yes or no) of the load. Columns: drive writes, seconds, IOPS, write amplification, free lines.
//! It does not draw.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its user")]

use std::error::Error;

use iolab_ssd_timing::study::{Overwriting, overwrite_at_random};
use iolab_ssd_timing::{Capacity, Preset, TimingModel};
use iolab_units::{KbBase, parse_bytes};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let preset = Preset::named(&arguments.next().unwrap_or_else(|| "970pro".to_owned()))?;
    let capacity = parse_bytes(&arguments.next().unwrap_or_else(|| "4g".to_owned()), KbBase::K1024)?;
    let mut parameters = preset.parameters();
    let mut how = Overwriting {
        depth: 32,
        write_bytes: 4096,
        drive_writes: 3,
        points_per_drive_write: 20,
        seed: 1,
        fill_first: true,
    };
    for argument in arguments {
        let (name, value) = argument.split_once('=').ok_or_else(|| format!("`{argument}` is not name=value"))?;
        let number = || parse_bytes(value, KbBase::K1024);
        match name {
            "drive_writes" => how.drive_writes = number()?,
            "points" => how.points_per_drive_write = number()?,
            "depth" => how.depth = number()? as usize,
            "bs" => how.write_bytes = number()?.max(512),
            "seed" => how.seed = number()?,
            "fill_first" => how.fill_first = value == "yes",
            _ => parameters.set(name, value)?,
        }
    }
    let mut drive = TimingModel::build(&parameters, Capacity::Visible(capacity))?;
    println!("drive_writes,seconds,iops,write_amplification,free_lines");
    overwrite_at_random(&mut drive, &how, |point| {
        println!(
            "{:.3},{:.3},{:.0},{:.3},{}",
            point.drive_writes, point.seconds, point.iops, point.write_amplification, point.free_lines
        );
    });
    eprintln!("{:?}", drive.statistics());
    Ok(())
}
