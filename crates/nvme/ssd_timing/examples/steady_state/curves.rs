//! The data behind the picture: random writes over a fresh drive, with different spare, written as
//! CSV and read back.
//!
//! Guarantees: the same drives give the same text on every machine; written rows are read back
//! unchanged. Fields are not quoted, because none needs it.

use iolab_ssd_timing::study::{Overwriting, overwrite_at_random};
use iolab_ssd_timing::{Capacity, ParameterError, Preset, TimingModel};

const HEADER: &str = "preset,spare_percent,visible_bytes,drive_writes,seconds,iops,write_amplification";

/// A section of one drive's life.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// The drive.
    pub(crate) preset: String,
    /// Its spare flash, in percent of the visible capacity.
    pub(crate) spare_percent: u64,
    /// The visible capacity.
    pub(crate) visible_bytes: u64,
    /// How many times that capacity was written so far.
    pub(crate) drive_writes: f64,
    /// Virtual time so far.
    pub(crate) seconds: f64,
    /// Writes per second in this section.
    pub(crate) iops: f64,
    /// Bytes written to flash per byte written by the host, in this section.
    pub(crate) write_amplification: f64,
}

/// Overwrites a drive of the preset for each spare.
///
/// # Errors
/// The drive cannot be built: its capacity is too small for the preset.
pub(crate) fn measure(
    preset: &Preset,
    visible: u64,
    spares: &[u64],
    how: &Overwriting,
) -> Result<Vec<Row>, ParameterError> {
    let mut rows = Vec::new();
    for &spare_percent in spares {
        let mut parameters = preset.parameters();
        parameters.set("spare", &spare_percent.to_string())?;
        let mut drive = TimingModel::build(&parameters, Capacity::Visible(visible))?;
        let visible_bytes = drive.visible_bytes();
        overwrite_at_random(&mut drive, how, |point| {
            rows.push(Row {
                preset: preset.name.to_owned(),
                spare_percent,
                visible_bytes,
                drive_writes: point.drive_writes,
                seconds: point.seconds,
                iops: point.iops,
                write_amplification: point.write_amplification,
            });
        });
    }
    Ok(rows)
}

/// A header, and one line for each row.
pub(crate) fn to_csv(rows: &[Row]) -> String {
    let lines = rows.iter().map(|row| {
        format!(
            "{},{},{},{:.3},{:.3},{:.0},{:.3}\n",
            row.preset,
            row.spare_percent,
            row.visible_bytes,
            row.drive_writes,
            row.seconds,
            row.iops,
            row.write_amplification
        )
    });
    format!("{HEADER}\n{}", lines.collect::<String>())
}

/// Parses the rows of a CSV text; `None` if it is invalid.
pub(crate) fn of_csv(text: &str) -> Option<Vec<Row>> {
    let mut lines = text.lines();
    lines.next().filter(|line| *line == HEADER)?;
    lines.map(row).collect()
}

fn row(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split(',').collect();
    let [preset, spare, visible, drive_writes, seconds, iops, factor] = fields[..] else { return None };
    Some(Row {
        preset: preset.to_owned(),
        spare_percent: spare.parse().ok()?,
        visible_bytes: visible.parse().ok()?,
        drive_writes: drive_writes.parse().ok()?,
        seconds: seconds.parse().ok()?,
        iops: iops.parse().ok()?,
        write_amplification: factor.parse().ok()?,
    })
}
