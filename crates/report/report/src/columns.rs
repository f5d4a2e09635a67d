//! The meaning of the words and columns of reports: one table for `iolab explain` and the reference
//! page.

use std::fmt::Write;

/// One word of a report.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    /// The word as reports print it.
    pub name: &'static str,
    /// Other spellings, including JSON keys.
    pub aliases: &'static [&'static str],
    /// What it is, with its unit.
    pub meaning: &'static str,
    /// How to read it, and what it does not show.
    pub reading: &'static str,
}

/// Every word that needs an explanation, in the order of the normal report.
pub const COLUMNS: &[Column] = &[
    Column {
        name: "IOPS",
        aliases: &["iops", "ios_per_second"],
        meaning: "Operations completed per second of the measured part.",
        reading: "Divided by the time from the first measured moment to the last completion, draining included; of several workers by the longest of their times.",
    },
    Column {
        name: "BW",
        aliases: &["bw", "bandwidth", "bw_bytes"],
        meaning: "Bytes moved per second of the measured part; MiB is 1,048,576 bytes, MB is 1,000,000.",
        reading: "IOPS times the mean size of an operation. In JSON, bw is in KiB/s and bw_bytes in bytes/s.",
    },
    Column {
        name: "slat",
        aliases: &["slat_ns", "submission_latency"],
        meaning: "Submission latency: from the moment the loop begins to hand an operation over to the moment it has been handed to the kernel.",
        reading: "Absent for synchronous engines, where submission and completion are one call. Operations submitted together share it.",
    },
    Column {
        name: "clat",
        aliases: &["clat_ns", "completion_latency"],
        meaning: "Completion latency: from the hand-over to the kernel to the moment the completion is collected.",
        reading: "With io_uring, waiting and submitting are one system call, so the call counts here; compare lat between engines.",
    },
    Column {
        name: "lat",
        aliases: &["lat_ns", "latency"],
        meaning: "Total latency: slat plus clat, as the application sees an operation it sends when it can.",
        reading: "The figure to compare between engines.",
    },
    Column {
        name: "resp",
        aliases: &["response", "resp_ns", "response_time"],
        meaning: "Response time of a paced load: from the moment the schedule wanted the operation sent to its completion.",
        reading: "When a device stalls, operations that should have been sent meanwhile wait; lat does not see that, resp does. Each operation's resp is its wait, late and lat together.",
    },
    Column {
        name: "wait",
        aliases: &["wait_ns", "backlog_wait"],
        meaning: "Of a paced load: how long an operation that was due waited for the device, because those before it filled the queue.",
        reading: "The device's part of what resp has over lat. Computed for a load generator that loses no time, so that the real one's lateness and what follows from it are not in it.",
    },
    Column {
        name: "late",
        aliases: &["late_ns", "generator_late", "lateness"],
        meaning: "Of a paced load: how much later an operation began than it could have, through the load generator's own fault.",
        reading: "Timers, a busy processor, the cost of the loop, and what follows from them. If it is a large part of resp, the machine that makes the load is too slow or too busy to measure this device.",
    },
    Column {
        name: "schedule",
        aliases: &[
            "asked",
            "asked_iops",
            "sent",
            "sent_iops",
            "backlog",
            "backlog_at_end",
            "backlog_most",
            "lag_at_end_ns",
            "lag_most_ns",
            "behind_for_ns",
            "saturated",
            "saturation",
        ],
        meaning: "How a paced load kept its schedule: operations per second asked and sent; operations due but not sent at the end and at most, and how long ago the first of them was due.",
        reading: "saturated: the load was behind without a break to the end, by more than half a percent of the time; resp then grows with the length of the run and says nothing but that.",
    },
    Column {
        name: "percentiles",
        aliases: &["percentile", "p50", "p99", "p99.9", "clat percentiles"],
        meaning: "The smallest latency that at least so many percent of the operations did not exceed (nearest rank).",
        reading: "Exact to 0.8 %, never above the true maximum. A p99.99 of fewer than 100,000 operations is one of the few slowest, not a rate.",
    },
    Column {
        name: "stdev",
        aliases: &["stddev", "dev"],
        meaning: "Sample standard deviation of the values beside it.",
        reading: "Latencies are not normally distributed: percentiles say more.",
    },
    Column {
        name: "cpu",
        aliases: &["usr", "sys", "usr_cpu", "sys_cpu"],
        meaning: "User and system time of the job's thread, percent of the measured time.",
        reading: "100 % of usr + sys means that the generator, not the device, sets the pace. Kernel threads that work for the job are not in it.",
    },
    Column {
        name: "overhead",
        aliases: &[
            "tool_ns_per_io",
            "ns_per_io",
            "share_percent",
            "clock_stamp_ns",
            "timer_late_ns",
            "timer jitter",
            "limited",
            "limit",
            "calibration",
        ],
        meaning: "What iolab itself spends for each I/O of such a job, as calibrated just before the run on an engine that does nothing, of a job's measured time per completed I/O; the cost of one clock stamp; how much too late short sleeps ended.",
        reading: "A lower bound. Above 25 % the figures are about iolab as much as about the device, and a warning says so. Absent in fio mode and with calibrate=0.",
    },
    Column {
        name: "ctx",
        aliases: &["context_switches"],
        meaning: "Voluntary and involuntary context switches of the job's thread in the measured part.",
        reading: "About one per operation means that the thread slept for each.",
    },
    Column {
        name: "majf",
        aliases: &["minf", "major_faults", "minor_faults"],
        meaning: "Major and minor page faults of the job's thread in the measured part.",
        reading: "Expected of mmap; of other engines only at the start.",
    },
    Column {
        name: "IO depths",
        aliases: &["iodepth_level", "depths"],
        meaning: "Share of operations by how many were in flight when they were submitted, themselves included.",
        reading: "If the depth asked for is not reached, the job was not measured at that depth.",
    },
    Column {
        name: "submit",
        aliases: &["iodepth_submit", "batch"],
        meaning: "How many operations one submission call carried.",
        reading: "Larger batches cost fewer system calls per operation.",
    },
    Column {
        name: "complete",
        aliases: &["iodepth_complete"],
        meaning: "How many completions one look found.",
        reading: "Operations collected together share the stamp of their completion.",
    },
    Column {
        name: "issued rwts",
        aliases: &["issued", "total_ios", "short_ios", "drop_ios"],
        meaning: "Operations issued (reads, writes, trims, syncs), came back short, were given up.",
        reading: "A short transfer is continued where it stopped and counted once.",
    },
    Column {
        name: "err",
        aliases: &["error", "total_err", "first_error"],
        meaning: "The errno that ended the job; 0 if none did.",
        reading: "Errors that continue_on_error survives are counted in total_err.",
    },
    Column {
        name: "util",
        aliases: &["disk_util", "%util"],
        meaning: "Share of the time in which the block device had at least one request in flight, percent.",
        reading: "A device that works on many requests at once can take more at 100 %.",
    },
    Column {
        name: "ios",
        aliases: &["read_ios", "write_ios", "merge", "ticks", "in_queue", "sectors"],
        meaning: "Requests, merges, 512-byte sectors and milliseconds of the block device while the jobs ran.",
        reading: "Everybody's traffic on the device, not only this run's. Fewer requests than operations means merging or the page cache.",
    },
    Column {
        name: "bw (min, max, avg, stdev)",
        aliases: &["bw_min", "bw_max", "bw_mean", "bw_dev", "iops_min", "iops_max", "samples", "per"],
        meaning: "Bandwidth or IOPS of windows of half a second (bwavgtime, iopsavgtime): least, most, mean, deviation.",
        reading: "For a group, of the group's summed series: not sums of each job's extremes.",
    },
];

/// The column with this name or alias, ignoring case.
pub fn find(word: &str) -> Option<&'static Column> {
    let same = |name: &str| name.eq_ignore_ascii_case(word);
    COLUMNS.iter().find(|column| same(column.name) || column.aliases.iter().any(|alias| same(alias)))
}

/// The column's explanation for a terminal.
pub fn text(column: &Column) -> String {
    let mut text = format!("{} (report)\n  {}\n  {}\n", column.name, column.meaning, column.reading);
    let _ = writeln!(text, "  also: {}", column.aliases.join(", "));
    text
}

/// The reference page, Markdown.
pub fn reference_page() -> String {
    let mut page =
        String::from("# Columns of the reports\n\nGenerated from the table in the report crate; do not edit.\n\n");
    page += "| word | meaning | how to read it |\n| --- | --- | --- |\n";
    for column in COLUMNS {
        let _ = writeln!(page, "| {} | {} | {} |", column.name, column.meaning, column.reading);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_alias_leads_to_one_column() {
        let mut seen = std::collections::HashSet::new();
        for column in COLUMNS {
            for word in column.aliases.iter().chain([&column.name]) {
                let new = seen.insert(word.to_ascii_lowercase());
                assert!(new || word.eq_ignore_ascii_case(column.name), "{word} stands twice");
                assert_eq!(find(word), Some(column), "{word}");
            }
        }
    }
}
