//! Compares tables and objects, byte for byte, with what iostat prints for the same counters.

use iolab_recording::{DeviceCounters, DeviceSample};

use super::*;
use crate::{SHORT, cpu_json, json_object};

fn activity() -> DeviceActivity {
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
    DeviceActivity::since_boot(&DeviceSample { at_ns: 2_000_000_000, counters, ..DeviceSample::default() })
}

fn tables(layout: ReportLayout, name: &str) -> Vec<String> {
    layout.tables(&[(name.to_owned(), activity())]).lines().map(str::to_owned).collect()
}

const EXTENDED_MB: ReportLayout = ReportLayout {
    extended: true,
    short: false,
    unit: DataUnit::Megabytes,
    decimals: 2,
    human: false,
    name_last: false,
    broken: false,
};

#[test]
fn the_extended_table_is_iostats() {
    assert_eq!(
        tables(EXTENDED_MB, "sdb"),
        [
            "Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wMB/s   wrqm/s  %wrqm w_await wareq-sz \
             \x20   d/s     dMB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util",
            "sdb            500.00     19.53     5.00   0.99    5.00    40.00 1000.00     39.06    15.00   1.48    4.50    40.00 \
             \x20  1.50      0.20     0.50  25.00   13.33   133.33    3.50    1.29   13.00  75.00",
            "",
        ]
    );
    let kilobytes = tables(ReportLayout { unit: DataUnit::Kilobytes, ..EXTENDED_MB }, "averylongdevicename0");
    assert!(kilobytes[1].starts_with("averylongdevicename0  500.00  20000.00     5.00 "), "{kilobytes:?}");
}

#[test]
fn the_plain_table_is_iostats() {
    assert_eq!(
        tables(ReportLayout::default(), "sdb"),
        [
            "Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd",
            "sdb            1501.50     20000.00     40000.25       200.00      40000      80000        400",
            "",
        ]
    );
}

#[test]
fn the_objects_are_iostats() {
    assert_eq!(
        json_object("sdb", &activity(), &ReportLayout { extended: true, ..ReportLayout::default() }),
        r#"{"disk_device": "sdb", "r/s": 500.00, "w/s": 1000.00, "d/s": 1.50, "f/s": 3.50, "rkB/s": 20000.00, "wkB/s": 40000.25, "dkB/s": 200.00, "rrqm/s": 5.00, "wrqm/s": 15.00, "drqm/s": 0.50, "rrqm": 0.99, "wrqm": 1.48, "drqm": 25.00, "r_await": 5.00, "w_await": 4.50, "d_await": 13.33, "f_await": 1.29, "rareq-sz": 40.00, "wareq-sz": 40.00, "dareq-sz": 133.33, "aqu-sz": 13.00, "util": 75.00}"#
    );
    assert_eq!(
        json_object("sdb", &activity(), &ReportLayout { extended: false, short: true, ..EXTENDED_MB }),
        r#"{"disk_device": "sdb", "tps": 1501.50, "MB_read/s": 19.53, "MB_wrtn/s": 39.06, "MB_dscd/s": 0.20, "MB_read": 39, "MB_wrtn": 78, "MB_dscd": 0}"#
    );
}

#[test]
fn the_cpu_line_is_iostats() {
    let after = CpuTimes { user: 50, nice: 5, system: 25, iowait: 10, steal: 1, idle: 109 };
    assert_eq!(cpu_header(), "avg-cpu:  %user   %nice %system %iowait  %steal   %idle");
    assert_eq!(
        ReportLayout::default().cpu_row(&CpuTimes::default(), &after),
        "          25.00    2.50   12.50    5.00    0.50   54.50"
    );
    assert_eq!(
        ReportLayout::default().cpu_row(&after, &after),
        "           0.00    0.00    0.00    0.00    0.00    0.00"
    );
    let json = cpu_json(&CpuTimes::default(), &after);
    assert_eq!(json, r#"{"user": 25.00, "nice": 2.50, "system": 12.50, "iowait": 5.00, "steal": 0.50, "idle": 54.50}"#);
}

#[test]
fn no_time_and_counters_that_go_backwards_are_nothing() {
    let late = DeviceSample { at_ns: 5, counters: activity().gained, ..DeviceSample::default() };
    let early = DeviceSample { at_ns: 9, ..DeviceSample::default() };
    let none = DeviceActivity::between(&late, &early);
    assert!(none.is_idle() && none.elapsed_ns == 4);
    assert!(EXTENDED.iter().chain(SHORT).all(|column| (column.value)(&none, DataUnit::Megabytes) == 0.0));
    let same = DeviceActivity::between(&late, &late);
    assert!(EXTENDED.iter().chain(SHORT).all(|column| (column.value)(&same, DataUnit::Megabytes) == 0.0));
}

#[test]
fn every_name_leads_to_its_column() {
    let mut seen = std::collections::HashSet::new();
    for column in EXTENDED.iter().chain(PLAIN).chain(SHORT) {
        for name in [column.name, column.mega].iter().chain(column.aliases).filter(|name| !name.is_empty()) {
            assert!(seen.insert(name.to_ascii_lowercase()), "{name} stands twice");
            assert_eq!(crate::find(name).map(|found| found.name), Some(column.name), "{name}");
        }
        assert!(crate::text(column).contains(column.misleads) && crate::reference_page().contains(column.formula));
    }
    assert!(crate::find("").is_none() && crate::find("svctm").is_none());
}

#[test]
fn the_short_tables_are_iostats() {
    assert_eq!(
        tables(ReportLayout { short: true, ..ReportLayout::default() }, "sdb"),
        [
            "Device             tps    kB_read/s     kB_w+d/s    kB_read     kB_w+d",
            "sdb            1501.50     20000.00     40200.25      40000      80400",
            "",
        ]
    );
    assert_eq!(
        tables(ReportLayout { short: true, decimals: 1, ..EXTENDED_MB }, "sdb"),
        [
            "Device             tps      MB/s    rqm/s   await  areq-sz  aqu-sz  %util",
            "sdb             1501.5      58.8     20.5     4.7     40.1    13.0   75.0",
            "",
        ]
    );
    let object = json_object("sdb", &activity(), &ReportLayout { short: true, ..EXTENDED_MB });
    let expected = r#"{"disk_device": "sdb", "tps": 1501.50, "MB/s": 58.79, "rqm/s": 20.50, "await": 4.68, "areq-sz": 40.09, "aqu-sz": 13.00, "util": 75.00}"#;
    assert_eq!(object, expected);
}

#[test]
fn tables_for_people_are_iostats() {
    let people = ReportLayout { human: true, name_last: true, broken: true, ..EXTENDED_MB };
    assert_eq!(
        tables(people, "sdb")[..6],
        [
            "     r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz Device",
            "  500.00     19.5M     5.00   1.0%    5.00    40.0k sdb",
            "",
            "     w/s     wMB/s   wrqm/s  %wrqm w_await wareq-sz Device",
            " 1000.00     39.1M    15.00   1.5%    4.50    40.0k sdb",
            "",
        ]
    );
    assert_eq!(
        tables(people, "sdb")[9..],
        ["     f/s f_await  aqu-sz  %util Device", "    3.50    1.29   13.00  75.0% sdb", ""]
    );
    assert_eq!(
        tables(ReportLayout { human: true, decimals: 0, ..ReportLayout::default() }, "sdb")[1],
        "sdb               1502          20M          39M         200k        39M        78M       400k"
    );
    let after = CpuTimes { user: 50, nice: 5, system: 25, iowait: 10, steal: 1, idle: 109 };
    let line = ReportLayout { human: true, ..ReportLayout::default() }.cpu_row(&CpuTimes::default(), &after);
    assert_eq!(line, "          25.0%    2.5%   12.5%    5.0%    0.5%   54.5%");
}

#[test]
fn a_group_is_busy_as_its_members_are_in_the_mean() {
    let (one, idle) = (activity(), DeviceActivity::between(&DeviceSample::default(), &DeviceSample::default()));
    let group = DeviceActivity::of_group(&[one, one, idle], one.elapsed_ns);
    let value = |name: &str| (find(name).unwrap().value)(&group, DataUnit::Kilobytes);
    assert_eq!((value("tps"), value("aqu-sz"), value("%util")), (3003.0, 26.0, 50.0));
    assert!(DeviceActivity::of_group(&[], 5).is_idle());
}
