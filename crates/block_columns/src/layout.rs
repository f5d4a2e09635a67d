//! Columns as iostat lays them out: text with a header, and objects of its JSON.

use std::fmt::Write;

use crate::{Activity, CPU, Column, CpuTicks, EXTENDED, PLAIN, Unit};

const NAME_WIDTH: usize = 13;
const AMOUNT_WIDTH: usize = 10;

/// The header of the table, without a line break. `extended`: the columns of `-x`.
pub fn header(extended: bool, unit: Unit) -> String {
    let mut line = format!("{:<NAME_WIDTH$}", "Device");
    for column in columns(extended) {
        // Writing to a String cannot fail, here and below.
        let _ = write!(line, " {:>width$}", column.name_in(unit), width = column.width);
    }
    for name in amounts(extended, unit) {
        let _ = write!(line, " {name:>AMOUNT_WIDTH$}");
    }
    line
}

/// A device's line of the table, without a line break.
pub fn row(name: &str, activity: &Activity, extended: bool, unit: Unit) -> String {
    let mut line = format!("{name:<NAME_WIDTH$}");
    for column in columns(extended) {
        let _ = write!(line, " {:>width$.2}", (column.value)(activity, unit), width = column.width);
    }
    for (_, amount) in amounts(extended, unit).iter().zip(whole_amounts(activity, unit)) {
        let _ = write!(line, " {amount:>AMOUNT_WIDTH$}");
    }
    line
}

/// A device as an object of iostat's JSON. Its order there: requests, amounts, merges, their shares, waits, sizes, queue.
pub fn json_object(name: &str, activity: &Activity, extended: bool, unit: Unit) -> String {
    let mut text = format!(r#"{{"disk_device": {}"#, serde_json::Value::from(name));
    for column in json_order(extended) {
        let _ = write!(text, r#", "{}": {:.2}"#, column.key_in(unit), (column.value)(activity, unit));
    }
    for (name, amount) in amounts(extended, unit).iter().zip(whole_amounts(activity, unit)) {
        let _ = write!(text, r#", "{name}": {amount}"#);
    }
    text + "}"
}

/// The header of the CPU's line.
pub fn cpu_header() -> String {
    CPU.iter().fold("avg-cpu:".to_owned(), |line, column| {
        line + &format!("{:>width$}", column.name, width = column.header_width)
    })
}

/// The CPU's line: what was done between two looks.
pub fn cpu_row(before: &CpuTicks, after: &CpuTicks) -> String {
    let shares = CPU.iter().map(|column| format!(" {:>7.2}", column.percent(before, after)));
    shares.fold(" ".repeat(7), |line, share| line + &share)
}

/// The CPU's object of iostat's JSON.
pub fn cpu_json(before: &CpuTicks, after: &CpuTicks) -> String {
    let share = |column: &crate::CpuColumn| format!(r#""{}": {:.2}"#, &column.name[1..], column.percent(before, after));
    format!("{{{}}}", CPU.iter().map(share).collect::<Vec<_>>().join(", "))
}

fn columns(extended: bool) -> &'static [Column] {
    if extended { EXTENDED } else { PLAIN }
}

fn amounts(extended: bool, unit: Unit) -> &'static [&'static str] {
    match (extended, unit) {
        (true, _) => &[],
        (false, Unit::Kilobytes) => &["kB_read", "kB_wrtn", "kB_dscd"],
        (false, Unit::Megabytes) => &["MB_read", "MB_wrtn", "MB_dscd"],
    }
}

fn whole_amounts(activity: &Activity, unit: Unit) -> [u64; 3] {
    let gained = &activity.gained;
    [gained.read_sectors, gained.write_sectors, gained.discard_sectors].map(|sectors| sectors / unit.sectors())
}

fn json_order(extended: bool) -> Vec<&'static Column> {
    let rank = |column: &Column| -> usize {
        let endings = ["/s", "B/s", "rqm/s", "rqm", "_await", "req-sz", "aqu-sz", "util"];
        // `r/s` ends like `rkB/s`: the longest ending decides.
        let fits = |at: &usize| column.name.ends_with(endings[*at]);
        (0..endings.len()).filter(fits).max_by_key(|at| endings[*at].len()).unwrap_or(endings.len())
    };
    let mut all: Vec<&Column> = columns(extended).iter().collect();
    if extended {
        all.sort_by_key(|column| rank(column));
    }
    all
}

#[cfg(test)]
mod tests {
    use iolab_recording::{DeviceCounters, DeviceSample};

    use super::*;

    fn activity() -> Activity {
        let counters = DeviceCounters {
            read_ios: 1000,
            read_merges: 10,
            read_sectors: 80_000,
            read_ticks_ms: 5000,
            write_ios: 2000,
            write_merges: 30,
            write_sectors: 160_001,
            write_ticks_ms: 9000,
            in_flight: 0,
            io_ticks_ms: 1500,
            time_in_queue_ms: 26_000,
            discard_ios: 3,
            discard_merges: 1,
            discard_sectors: 800,
            discard_ticks_ms: 40,
            flush_ios: 7,
            flush_ticks_ms: 9,
        };
        Activity::since_boot(&DeviceSample { at_ns: 2_000_000_000, counters, ..DeviceSample::default() })
    }

    #[test]
    fn the_extended_table_is_iostats() {
        let table = [header(true, Unit::Megabytes), row("sdb", &activity(), true, Unit::Megabytes)];
        assert_eq!(
            table,
            [
                "Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wMB/s   wrqm/s  %wrqm w_await wareq-sz \
                 \x20   d/s     dMB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util",
                "sdb            500.00     19.53     5.00   0.99    5.00    40.00 1000.00     39.06    15.00   1.48    4.50    40.00 \
                 \x20  1.50      0.20     0.50  25.00   13.33   133.33    3.50    1.29   13.00  75.00",
            ]
        );
        let kilobytes = row("averylongdevicename0", &activity(), true, Unit::Kilobytes);
        assert!(kilobytes.starts_with("averylongdevicename0  500.00  20000.00     5.00 "), "{kilobytes}");
    }

    #[test]
    fn the_plain_table_is_iostats() {
        let table = [header(false, Unit::Kilobytes), row("sdb", &activity(), false, Unit::Kilobytes)];
        assert_eq!(
            table,
            [
                "Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd",
                "sdb            1501.50     20000.00     40000.25       200.00      40000      80000        400",
            ]
        );
    }

    #[test]
    fn the_objects_are_iostats() {
        assert_eq!(
            json_object("sdb", &activity(), true, Unit::Kilobytes),
            r#"{"disk_device": "sdb", "r/s": 500.00, "w/s": 1000.00, "d/s": 1.50, "f/s": 3.50, "rkB/s": 20000.00, "wkB/s": 40000.25, "dkB/s": 200.00, "rrqm/s": 5.00, "wrqm/s": 15.00, "drqm/s": 0.50, "rrqm": 0.99, "wrqm": 1.48, "drqm": 25.00, "r_await": 5.00, "w_await": 4.50, "d_await": 13.33, "f_await": 1.29, "rareq-sz": 40.00, "wareq-sz": 40.00, "dareq-sz": 133.33, "aqu-sz": 13.00, "util": 75.00}"#
        );
        assert_eq!(
            json_object("sdb", &activity(), false, Unit::Megabytes),
            r#"{"disk_device": "sdb", "tps": 1501.50, "MB_read/s": 19.53, "MB_wrtn/s": 39.06, "MB_dscd/s": 0.20, "MB_read": 39, "MB_wrtn": 78, "MB_dscd": 0}"#
        );
    }

    #[test]
    fn the_cpu_line_is_iostats() {
        let after = CpuTicks { user: 50, nice: 5, system: 25, iowait: 10, steal: 1, idle: 109 };
        assert_eq!(cpu_header(), "avg-cpu:  %user   %nice %system %iowait  %steal   %idle");
        assert_eq!(cpu_row(&CpuTicks::default(), &after), "          25.00    2.50   12.50    5.00    0.50   54.50");
        assert_eq!(cpu_row(&after, &after), "           0.00    0.00    0.00    0.00    0.00    0.00");
        let json = cpu_json(&CpuTicks::default(), &after);
        assert_eq!(
            json,
            r#"{"user": 25.00, "nice": 2.50, "system": 12.50, "iowait": 5.00, "steal": 0.50, "idle": 54.50}"#
        );
    }

    #[test]
    fn no_time_and_counters_that_go_backwards_are_nothing() {
        let late = DeviceSample { at_ns: 5, counters: activity().gained, ..DeviceSample::default() };
        let early = DeviceSample { at_ns: 9, ..DeviceSample::default() };
        let none = Activity::between(&late, &early);
        assert!(none.is_idle() && none.elapsed_ns == 4);
        assert!(EXTENDED.iter().all(|column| (column.value)(&none, Unit::Megabytes) == 0.0));
        let same = Activity::between(&late, &late);
        assert!(EXTENDED.iter().all(|column| (column.value)(&same, Unit::Megabytes) == 0.0));
    }

    #[test]
    fn every_name_leads_to_its_column() {
        let mut seen = std::collections::HashSet::new();
        for column in EXTENDED.iter().chain(PLAIN) {
            for name in [column.name, column.mega].iter().chain(column.aliases).filter(|name| !name.is_empty()) {
                assert!(seen.insert(name.to_ascii_lowercase()), "{name} stands twice");
                assert_eq!(crate::find(name).map(|found| found.name), Some(column.name), "{name}");
            }
            assert!(crate::text(column).contains(column.misleads) && crate::reference_page().contains(column.formula));
        }
        assert!(crate::find("").is_none() && crate::find("svctm").is_none());
    }
}
