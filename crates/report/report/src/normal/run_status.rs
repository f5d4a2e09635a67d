//! The sums of groups, and the devices.

use std::fmt::Write;

use iolab_aggregate::{DeviceFigures, RunStatus};
use iolab_recording::DeviceCounters;

use crate::number::NumberStyle;

pub(super) fn write_group(text: &mut String, group: &RunStatus<'_>) {
    let style = NumberStyle::of(group.measurement);
    let _ = writeln!(text, "\nRun status group {} (all jobs):", group.number);
    for line in &group.lines {
        let (slowest, fastest) = (line.worker_rates.0 as u64, line.worker_rates.1 as u64);
        let whole = line.bytes_per_second as u64;
        let _ = writeln!(
            text,
            "{:>7}: bw={} ({}), {}-{} ({}-{}), io={} ({}), run={}-{}msec",
            line.name.to_uppercase(),
            style.rate(whole),
            style.rate_other(whole),
            style.rate(slowest),
            style.rate(fastest),
            style.rate_other(slowest),
            style.rate_other(fastest),
            style.bytes(line.bytes),
            style.bytes_other(line.bytes),
            line.runtime_range_ms.0,
            line.runtime_range_ms.1
        );
    }
}

/// Writes nothing when there are no devices.
pub(super) fn write_devices(text: &mut String, devices: &[DeviceFigures]) {
    if devices.is_empty() {
        return;
    }
    text.push_str("\nDisk stats (read/write):\n");
    for device in devices {
        let margin = if device.parts.is_some() { "    " } else { "  " };
        let _ = write!(text, "{margin}{}: {}", device.name, counters(&device.gained, "", device.util_percent));
        if let Some((mean, util)) = &device.parts {
            let _ = write!(text, ", {}", counters(mean, "aggr", *util));
        }
        text.push('\n');
    }
}

fn counters(of: &DeviceCounters, prefix: &str, util_percent: f64) -> String {
    let aggregated_sectors = if prefix.is_empty() { "sectors" } else { "aggsectors" }; // fio's spelling
    format!(
        "{prefix}ios={}/{}, {aggregated_sectors}={}/{}, {prefix}merge={}/{}, {prefix}ticks={}/{}, \
         {prefix}in_queue={}, {prefix}util={util_percent:3.2}%",
        of.read_ios,
        of.write_ios,
        of.read_sectors,
        of.write_sectors,
        of.read_merges,
        of.write_merges,
        of.read_ticks_ms,
        of.write_ticks_ms,
        of.time_in_queue_ms
    )
}
