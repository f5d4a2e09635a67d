//! Fresh and steady drives: compares random writes of every preset with its sheet, and draws a
//! picture of one drive's way from fresh to steady. Everything runs in virtual time.
//!
//! ```text
//! cargo run --release -p iolab-ssd-timing --example steady_state -- docs/images 4g
//! ```
//!
//! The arguments: the folder for `write-amplification.csv` and `.svg` (without it, neither is
//! written), and the visible capacity. The table goes to standard output. There is no verdict; see
//! the sheet's caveats in docs/reference/ssd-presets.md.
#![allow(clippy::print_stdout, reason = "an example talks to its user")]

mod curves;
mod picture;

use std::error::Error;
use std::path::Path;

use iolab_ssd_timing::presets::PRESETS;
use iolab_ssd_timing::study::{Age, Load, Overwriting, age, run};
use iolab_ssd_timing::{Capacity, CommandKind, ParameterError, Preset, TimingModel};
use iolab_units::{KbBase, parse_bytes};

/// The drive of the picture, and its spares: consumer, enterprise for reading, enterprise for
/// writing.
const DRAWN: (&str, [u64; 3]) = ("970pro", [7, 14, 28]);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next();
    let capacity = parse_bytes(&arguments.next().unwrap_or_else(|| "4g".to_owned()), KbBase::K1024)?;
    print_table(capacity)?;
    if let Some(folder) = folder {
        let how = Overwriting {
            depth: 32,
            write_bytes: 4096,
            drive_writes: 8,
            points_per_drive_write: 10,
            seed: 1,
            fill_first: false,
        };
        let csv = curves::to_csv(&curves::measure(Preset::named(DRAWN.0)?, capacity, &DRAWN.1, &how)?);
        // The picture is drawn from the text, so that it can be drawn again from the file.
        let rows = curves::of_csv(&csv).ok_or("the CSV cannot be read back")?;
        std::fs::write(Path::new(&folder).join("write-amplification.csv"), &csv)?;
        std::fs::write(Path::new(&folder).join("write-amplification.svg"), picture::draw(&rows))?;
    }
    Ok(())
}

fn print_table(capacity: u64) -> Result<(), ParameterError> {
    println!("Random writes of 4 KiB at a depth of 32, drives of {} GiB:\n", capacity as f64 / f64::from(1 << 30));
    println!("| preset | sheet, IOPS | fresh, IOPS | steady, IOPS | steady / sheet | write amplification |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for preset in PRESETS {
        let Some(sheet) = preset.sheet.filter(|sheet| sheet.write_iops > 0) else { continue };
        let count = capacity / 4096 / 4;
        let writes = Load { kind: CommandKind::Write, random: true, bytes: 4096, depth: 32, count, seed: 2 };
        let mut drive = TimingModel::build(&preset.parameters(), Capacity::Visible(capacity))?;
        let fresh = run(&mut drive.clone(), 0, &writes);
        age(&mut drive, Age::Overwritten { drive_writes: 2, seed: 1 });
        let steady = run(&mut drive, 0, &writes);
        let counted = drive.statistics();
        let factor = counted.write_amplification().filter(|_| counted.lines > 0);
        println!(
            "| `{}` | {} | {:.0} | {:.0} | {:.2} | {} |",
            preset.name,
            sheet.write_iops,
            fresh.iops,
            steady.iops,
            steady.iops / sheet.write_iops as f64,
            factor.map_or_else(|| "no flash".to_owned(), |factor| format!("{factor:.2}"))
        );
    }
    Ok(())
}
