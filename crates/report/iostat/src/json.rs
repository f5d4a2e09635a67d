//! Devices and CPUs as objects of iostat's JSON, in its order and with its two decimals, whatever
//! the layout of the tables.

use std::fmt::Write;

use iolab_order::Arrange;

use crate::layout::amounts;
use crate::{CPU, CpuTimes, DeviceActivity, DeviceColumn, PLAIN, ReportLayout};

/// A device as an object. The order is that of iostat: requests, amounts, merges, their shares,
/// waits, sizes, queue. Without `-x` there is no short form.
pub fn json_object(name: &str, activity: &DeviceActivity, layout: &ReportLayout) -> String {
    let mut text = format!(r#"{{"disk_device": {}"#, serde_json::Value::from(name));
    for column in json_order(layout) {
        // Writing to a String cannot fail, here and below.
        let _ = write!(text, r#", "{}": {:.2}"#, column.key_in(layout.unit), (column.value)(activity, layout.unit));
    }
    let wide = ReportLayout { short: false, ..*layout };
    for (name, sectors) in amounts(&wide, activity) {
        let _ = write!(text, r#", "{name}": {}"#, sectors / layout.unit.sectors());
    }
    text + "}"
}

/// The CPUs' object for the time between two samples.
pub fn cpu_json(before: &CpuTimes, after: &CpuTimes) -> String {
    let share = |column: &crate::CpuColumn| format!(r#""{}": {:.2}"#, &column.name[1..], column.percent(before, after));
    format!("{{{}}}", CPU.iter().map(share).collect::<Vec<_>>().join(", "))
}

fn json_order(layout: &ReportLayout) -> Vec<&'static DeviceColumn> {
    let rank = |column: &DeviceColumn| -> usize {
        let endings = ["/s", "B/s", "rqm/s", "rqm", "_await", "req-sz", "aqu-sz", "util"];
        // `r/s` is also an ending of other names such as `rkB/s`: the longest ending decides.
        let fits = |at: &usize| column.name.ends_with(endings[*at]);
        (0..endings.len()).filter(fits).max_by_key(|at| endings[*at].len()).unwrap_or(endings.len())
    };
    match (layout.extended, layout.short) {
        (false, _) => PLAIN.iter().collect(),
        (true, true) => layout.columns(),
        (true, false) => {
            let mut all = layout.columns();
            all.arrange_by_key(|column| rank(column));
            all
        }
    }
}
