//! The statistics of a drive, as text and as JSON.

use std::fmt::Write;

use crate::health::HealthTotals;
use crate::subsystem::Subsystem;

/// Counters of a drive and of its timing model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriveStatistics {
    /// The sums over what hosts did.
    pub totals: HealthTotals,
    /// The counters of the timing model; `None` if it has none.
    pub timing: Option<iolab_ssd_timing::Statistics>,
}

impl Subsystem {
    /// Reads all counters.
    pub fn statistics(&self) -> DriveStatistics {
        DriveStatistics { totals: self.totals(), timing: self.timing_statistics() }
    }
}

impl DriveStatistics {
    /// Name, value and unit of each counter.
    fn rows(&self) -> Vec<(&'static str, u64, &'static str)> {
        let totals = &self.totals;
        let mut rows = vec![
            ("read_commands", totals.read_commands, ""),
            ("write_commands", totals.write_commands, ""),
            ("read", totals.read_bytes, "bytes"),
            ("written", totals.written_bytes, "bytes"),
            ("media_errors", totals.media_errors, ""),
        ];
        if let Some(timing) = &self.timing {
            rows.extend([
                ("trimmed", timing.trimmed_bytes, "bytes"),
                ("flash_written_for_hosts", timing.flash_host_bytes, "bytes"),
                ("flash_written_by_collection", timing.flash_moved_bytes, "bytes"),
                ("flash_left_empty", timing.flash_filler_bytes, "bytes"),
                ("lines", timing.lines, ""),
                ("free_lines", timing.free_lines, ""),
                ("collected_lines", timing.collected_lines, ""),
                ("collected_while_idle", timing.collected_idle_lines, ""),
                ("erased_blocks", timing.erased_blocks, ""),
                ("write_buffer", timing.buffer_bytes, "bytes"),
                ("write_buffer_used", timing.buffer_used_bytes, "bytes"),
                ("write_buffer_full", timing.refused, "times"),
            ]);
        }
        rows
    }

    fn write_amplification(&self) -> Option<f64> {
        self.timing.and_then(|timing| timing.write_amplification())
    }

    /// Returns one line for each counter.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, value, unit) in self.rows() {
            let name = name.replace('_', " ");
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}", format!("{name:<28} {value} {unit}").trim_end());
        }
        if let Some(factor) = self.write_amplification() {
            let _ = writeln!(text, "{:<28} {factor:.3}", "write amplification");
        }
        text
    }

    /// Returns one JSON object; names of byte counts end accordingly.
    pub fn json(&self) -> String {
        let mut members: Vec<String> = Vec::new();
        for (name, value, unit) in self.rows() {
            let suffix = if unit == "bytes" { "_bytes" } else { "" };
            members.push(format!("  \"{name}{suffix}\": {value}"));
        }
        let factor = self.write_amplification().map_or("null".to_owned(), |factor| format!("{factor:.6}"));
        members.push(format!("  \"write_amplification\": {factor}"));
        format!("{{\n{}\n}}\n", members.join(",\n"))
    }
}
