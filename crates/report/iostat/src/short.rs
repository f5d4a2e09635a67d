//! Columns that only iostat's short tables have (`-s`): reads, writes and discards together.

use crate::activity::quotient;
use crate::activity::{ios, sectors};
use crate::{DeviceColumn, FigureKind};

/// Columns of `iostat -s` and `iostat -x -s` that the wide tables lack.
pub const SHORT: &[DeviceColumn] = &[
    DeviceColumn {
        name: "kB_w+d/s",
        mega: "MB_w+d/s",
        key: "",
        aliases: &["kB_w+d", "MB_w+d"],
        width: 12,
        figure: FigureKind::Amount,
        value: |of, unit| unit.of_sectors(of.per_second(of.gained.write_sectors + of.gained.discard_sectors)),
        meaning: "Kilobytes (megabytes) written or discarded per second; kB_w+d is the amount.",
        formula: "gained write and discard sectors / 2 / seconds",
        source: "stat fields 7 and 14",
        misleads: "One discard of gigabytes, which moves no data, hides all writes: see wkB/s and dkB/s.",
    },
    DeviceColumn {
        name: "kB/s",
        mega: "MB/s",
        key: "",
        aliases: &[],
        width: 9,
        figure: FigureKind::Amount,
        value: |of, unit| unit.of_sectors(of.per_second(sectors(of))),
        meaning: "Kilobytes (megabytes) read, written or discarded per second.",
        formula: "gained sectors / 2 / seconds (megabytes: / 2048)",
        source: "stat fields 3, 7 and 14",
        misleads: "See kB_w+d/s.",
    },
    DeviceColumn {
        name: "rqm/s",
        mega: "",
        key: "",
        aliases: &[],
        width: 8,
        figure: FigureKind::Number,
        value: |of, _| of.per_second(of.gained.read_merges + of.gained.write_merges + of.gained.discard_merges),
        meaning: "Requests per second that were merged into a neighbour already waiting in the queue.",
        formula: "gained merges / seconds",
        source: "stat fields 2, 6 and 13",
        misleads: "See rrqm/s and wrqm/s.",
    },
    DeviceColumn {
        name: "await",
        mega: "",
        key: "",
        aliases: &[],
        width: 7,
        figure: FigureKind::Number,
        value: |of, _| {
            quotient(of.gained.read_ticks_ms + of.gained.write_ticks_ms + of.gained.discard_ticks_ms, ios(of))
        },
        meaning: "Mean time of a request, ms: from entering the queue to completion, waiting included.",
        formula: "gained ticks of reads, writes and discards / gained I/Os",
        source: "stat fields 4, 8 and 15; 1, 5 and 12",
        misleads: "A mean over reads and writes, which often differ by an order of magnitude; flushes are left out. See r_await and w_await.",
    },
    DeviceColumn {
        name: "areq-sz",
        mega: "",
        key: "",
        aliases: &["avgrq-sz"],
        width: 8,
        figure: FigureKind::Amount,
        value: |of, _| quotient(sectors(of), ios(of)) / 2.0,
        meaning: "Mean size of a request as the device got it, KiB.",
        formula: "gained sectors / gained I/Os / 2",
        source: "stat fields 3, 7 and 14; 1, 5 and 12",
        misleads: "See rareq-sz and wareq-sz. Tools that call it avgrq-sz count sectors.",
    },
];
