//! Application, block layer and machine on one time axis: a table for people, JSON lines for
//! programs.
//!
//! This is not a format of fio. A row covers the time between two samples of the machine, or as
//! many such times as make it no shorter than the intervals of the application's operations.
//! Operations of an interval that ends within a row are distributed evenly over the interval.

use std::borrow::Cow;
use std::fmt::Write;

use iolab_iostat::{DataUnit, DeviceActivity, EXTENDED};
use iolab_order::Gather;
use iolab_recording::{DeviceSample, HostSample, Observations, Recording};
use serde_json::{Map, Value, json};

const NS_PER_SECOND: f64 = 1e9;
const MIB: f64 = 1_048_576.0;

/// One row.
struct Row<'a> {
    start_ns: u64,
    end_ns: u64,
    /// Operations and bytes of the application, by direction.
    ios: [f64; 3],
    bytes: [f64; 3],
    /// What each device did, and its last sample.
    devices: Vec<(Cow<'a, str>, DeviceActivity, DeviceSample)>,
    host: Option<(HostSample, HostSample)>,
}

/// The table.
pub fn observed_table(recording: &Recording) -> String {
    let rows = rows(recording);
    if rows.is_empty() {
        return "the machine was not looked at while this run went on\n".to_owned();
    }
    let mut text = format!(
        "{:>9} | {:>9} {:>9} {:>9} | {:<10} {:>9} {:>9} {:>9} {:>8} {:>8} {:>7} {:>6} {:>6} | {:>6} {:>6} {:>8} {:>9}\n",
        "end s",
        "app r/s",
        "app w/s",
        "app MiB/s",
        "device",
        "r/s",
        "w/s",
        "MiB/s",
        "rareq-sz",
        "wareq-sz",
        "aqu-sz",
        "flight",
        "%util",
        "busy %",
        "steal",
        "io some",
        "dirty MiB"
    );
    for row in &rows {
        let seconds = (row.end_ns - row.start_ns) as f64 / NS_PER_SECOND;
        let moved: f64 = row.bytes.iter().sum::<f64>() / MIB / seconds;
        let head = format!(
            "{:>9.3} | {:>9.0} {:>9.0} {moved:>9.1}",
            row.end_ns as f64 / NS_PER_SECOND,
            row.ios[0] / seconds,
            row.ios[1] / seconds
        );
        let machine = row.host.as_ref().map(machine_text).unwrap_or_default();
        let mut devices: Vec<String> = row.devices.iter().map(device_text).collect();
        if devices.is_empty() {
            devices.push(format!("{:<79}", "-"));
        }
        for (at, device) in devices.iter().enumerate() {
            let (head, machine) = if at == 0 { (head.as_str(), machine.as_str()) } else { ("", "") };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}", format!("{head:<41} | {device} | {machine}").trim_end_matches([' ', '|']));
        }
    }
    text
}

fn device_text((name, activity, look): &(Cow<'_, str>, DeviceActivity, DeviceSample)) -> String {
    let value = |column: &str| value(column, activity);
    format!(
        "{name:<10} {:>9.0} {:>9.0} {:>9.1} {:>8.1} {:>8.1} {:>7.1} {:>6} {:>6.1}",
        value("r/s"),
        value("w/s"),
        (value("rkB/s") + value("wkB/s")) / 1024.0,
        value("rareq-sz"),
        value("wareq-sz"),
        value("aqu-sz"),
        look.reads_in_flight + look.writes_in_flight,
        value("%util"),
    )
}

fn machine_text((before, after): &(HostSample, HostSample)) -> String {
    let [busy, steal, stalled] = shares(before, after);
    let stalled = stalled.map_or("-".to_owned(), |percent| format!("{percent:.1}"));
    let (busy, steal) = (busy.unwrap_or(0.0), steal.unwrap_or(0.0));
    format!("{busy:>6.1} {steal:>6.1} {stalled:>8} {:>9}", after.dirty_bytes >> 20)
}

/// Busy, stolen, and stalled on I/O, percent.
fn shares(before: &HostSample, after: &HostSample) -> [Option<f64>; 3] {
    let gained = |of: fn(&HostSample) -> u64| of(after).saturating_sub(of(before)) as f64;
    let all = gained(|host| host.user_ns + host.system_ns + host.idle_ns + host.iowait_ns + host.steal_ns);
    let of_all = |ns: f64| (all > 0.0).then(|| ns * 100.0 / all);
    let elapsed_ns = gained(|host| host.at_ns).max(1.0);
    let stalled = after.io_some_ns.zip(before.io_some_ns);
    let stalled = stalled.map(|(after, before)| after.saturating_sub(before) as f64 * 100.0 / elapsed_ns);
    [of_all(gained(|host| host.user_ns + host.system_ns)), of_all(gained(|host| host.steal_ns)), stalled]
}

/// CPU time lost to quotas; `None` if unknown.
fn stopped_ns(before: &HostSample, after: &HostSample) -> Option<u64> {
    let (from, to) = before.quota.zip(after.quota)?;
    Some(to.throttled_ns.saturating_sub(from.throttled_ns))
}

fn thermal_events(before: &HostSample, after: &HostSample) -> Option<u64> {
    let (from, to) = before.thermal_events.zip(after.thermal_events)?;
    Some(to.saturating_sub(from))
}

fn value(name: &str, activity: &DeviceActivity) -> f64 {
    let column = EXTENDED.iter().find(|column| column.name == name);
    column.map_or(0.0, |column| (column.value)(activity, DataUnit::Kilobytes))
}

/// One JSON object per row. Rates are per second, shares in percent; the columns of devices are
/// those of `iostat -x -k`.
pub fn observed_json_lines(recording: &Recording) -> String {
    let mut text = String::new();
    for row in rows(recording) {
        let seconds = (row.end_ns - row.start_ns) as f64 / NS_PER_SECOND;
        let per_second = |counts: [f64; 3]| counts.map(|count| count / seconds);
        let devices = row.devices.iter().map(|(name, activity, look)| {
            let columns = EXTENDED.iter().map(|column| (column.name, (column.value)(activity, DataUnit::Kilobytes)));
            let mut object: Map<String, Value> = columns.map(|(name, value)| (name.to_owned(), value.into())).gather();
            object.insert("reads_in_flight".into(), look.reads_in_flight.into());
            object.insert("writes_in_flight".into(), look.writes_in_flight.into());
            (name.to_string(), Value::from(object))
        });
        let machine = row.host.as_ref().map(|(before, after)| {
            let [busy, steal, stalled] = shares(before, after);
            json!({"busy_percent": busy, "steal_percent": steal, "io_some_percent": stalled,
                   "quota_stopped_ns": stopped_ns(before, after), "thermal_events": thermal_events(before, after),
                   "cached_bytes": after.cached_bytes, "dirty_bytes": after.dirty_bytes})
        });
        let line = json!({
            "start_ns": row.start_ns,
            "length_ns": row.end_ns - row.start_ns,
            "application": {"ios_per_second": per_second(row.ios), "bytes_per_second": per_second(row.bytes)},
            "devices": devices.collect::<Map<_, _>>(),
            "machine": machine,
        });
        let _ = writeln!(text, "{line}");
    }
    text
}

fn rows(recording: &Recording) -> Vec<Row<'_>> {
    let Some(seen) = &recording.observations else { return Vec::new() };
    let stretches = recording.workers.iter().flat_map(|worker| &worker.intervals);
    let least_ns = stretches.map(|stretch| stretch.length_ns).max().unwrap_or(0).max(1);
    let edges = edges(seen, least_ns);
    edges.windows(2).map(|pair| row(recording, seen, pair[0], pair[1])).collect()
}

/// The boundaries of rows: the first samples after the ends of intervals. The last row takes the
/// rest.
fn edges(seen: &Observations, least_ns: u64) -> Vec<u64> {
    let times: Vec<u64> = seen.host.iter().map(|host| host.at_ns).collect();
    let mut edges: Vec<u64> = times.first().copied().into_iter().collect();
    for at_ns in times.iter().copied().skip(1) {
        if at_ns / least_ns > edges.last().copied().unwrap_or(0) / least_ns {
            edges.push(at_ns);
        }
    }
    match (times.last().copied(), edges.len()) {
        (Some(last_ns), 1) if last_ns > edges[0] => edges.push(last_ns),
        (Some(last_ns), 2..) => edges.last_mut().into_iter().for_each(|edge| *edge = last_ns),
        _ => {}
    }
    edges
}

fn row<'a>(recording: &Recording, seen: &'a Observations, start_ns: u64, end_ns: u64) -> Row<'a> {
    let (mut ios, mut bytes) = ([0.0; 3], [0.0; 3]);
    for stretch in recording.workers.iter().flat_map(|worker| &worker.intervals) {
        let stretch_end_ns = stretch.start_ns + stretch.length_ns;
        let common_ns = stretch_end_ns.min(end_ns).saturating_sub(stretch.start_ns.max(start_ns));
        let share = common_ns as f64 / stretch.length_ns.max(1) as f64;
        for direction in 0..3 {
            ios[direction] += stretch.ios[direction] as f64 * share;
            bytes[direction] += stretch.bytes[direction] as f64 * share;
        }
    }
    // A device is sampled just before the machine: its samples are the last ones before the
    // boundaries.
    let devices = seen.devices.iter().filter_map(|device| {
        let up_to = |edge_ns: u64| device.samples.iter().rev().find(|sample| sample.at_ns <= edge_ns);
        let (before, after) = (up_to(start_ns).or(device.samples.first())?, up_to(end_ns)?);
        (after.at_ns > before.at_ns).then(|| {
            let name = recording.device_name(device.host, &device.name);
            (name, DeviceActivity::between(before, after), *after)
        })
    });
    let host_at = |edge_ns: u64| seen.host.iter().find(|host| host.at_ns == edge_ns).copied();
    Row { start_ns, end_ns, ios, bytes, devices: devices.collect(), host: host_at(start_ns).zip(host_at(end_ns)) }
}
