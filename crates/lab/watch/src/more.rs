//! Figures for which iostat has no column: requests in flight, settings of the queue, pressure,
//! stolen time, page cache.

use std::fmt::Write;

use iolab_histogram::SparseHistogram;
use iolab_iostat::{CPU, DeviceActivity};
use iolab_order::Gather;
use iolab_recording::{HostSample, RequestInterval};
use serde_json::{Map, Value, json};

use super::groups::Of;
use super::looks::{Look, Looker};
use crate::request::WatchFormat;

/// The settings that matter most for the meaning of the columns.
const TELLING: [&str; 6] = ["scheduler", "nr_requests", "nomerges", "max_sectors_kb", "write_cache", "rotational"];

/// Lines after iostat's table.
pub(crate) fn text(before: Option<&Look>, look: &Look, devices: &[(Of, DeviceActivity)], looker: &Looker) -> String {
    let mut text = String::new();
    for (of, _) in devices {
        let Of::Device(name) = of else { continue };
        let shown = looker.shown(of);
        let Some((_, sample)) = look.devices.iter().find(|(known, _)| known == name) else { continue };
        let settings = looker.settings(name);
        let settings: Vec<String> =
            TELLING.iter().filter_map(|key| Some(format!("{key} {}", settings.get(*key)?))).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{shown:<13} in flight: {} read, {} written; {}",
            sample.reads_in_flight,
            sample.writes_in_flight,
            settings.join(", ")
        );
        let requests = look.requests.iter().find(|(known, _)| known == name);
        text += &requests.map(|(_, requests)| requests_text(requests)).unwrap_or_default();
    }
    if let Some(host) = &look.host {
        let _ = writeln!(text, "machine       {}", host_text(before.and_then(|look| look.host.as_ref()), host));
    }
    text
}

/// Latencies and sizes of an interval, a line for each direction in which something was completed.
fn requests_text(requests: &RequestInterval) -> String {
    let mut text = String::new();
    let us = |ns: u64| ns as f64 / 1000.0;
    for (what, latency, size) in directions(requests) {
        if latency.is_empty() {
            continue;
        }
        let [p50, p99, p99_9] = [50.0, 99.0, 99.9].map(|percent| us(latency.percentile(percent)));
        let _ = writeln!(
            text,
            "{:13} {what}: {} requests, in the device for p50 {p50:.1}, p99 {p99:.1}, p99.9 {p99_9:.1}, max {:.1} µs; {} to {} KiB, half of \
             them up to {}",
            "",
            latency.count,
            us(latency.max),
            size.min / 1024,
            size.max / 1024,
            size.percentile(50.0) / 1024,
        );
    }
    if requests.lost_events > 0 {
        let _ =
            writeln!(text, "{:13} {} trace events were lost: some requests are missing here", "", requests.lost_events);
    }
    text
}

fn directions(requests: &RequestInterval) -> [(&'static str, &SparseHistogram, &SparseHistogram); 2] {
    [("reads", &requests.read_ns, &requests.read_bytes), ("writes", &requests.write_ns, &requests.write_bytes)]
}

fn requests_json(requests: &RequestInterval) -> Value {
    let mut object = Map::new();
    for (what, latency, size) in directions(requests) {
        let latencies = [("p50_ns", 50.0), ("p99_ns", 99.0), ("p99_9_ns", 99.9), ("max_ns", 100.0)];
        let figures = latencies.map(|(name, percent)| (name.to_owned(), Value::from(latency.percentile(percent))));
        let mut figures: Map<String, Value> = figures.into_iter().gather();
        figures.insert("count".into(), latency.count.into());
        figures.insert("mean_bytes".into(), size.mean().into());
        figures.insert("max_bytes".into(), size.max.into());
        object.insert(what.into(), figures.into());
    }
    object.insert("lost_events".into(), requests.lost_events.into());
    object.into()
}

/// Shares of the time between two looks: (what, percent). Without an earlier look, since boot.
fn shares(before: Option<&HostSample>, host: &HostSample) -> Vec<(&'static str, f64)> {
    let since = before.copied().unwrap_or_default();
    let elapsed_ns = host.at_ns.saturating_sub(since.at_ns).max(1) as f64;
    let stalled = |now: Option<u64>, then: Option<u64>| {
        now.map(|now| now.saturating_sub(then.unwrap_or(0)) as f64 * 100.0 / elapsed_ns)
    };
    let cpu = |ns: fn(&HostSample) -> u64| ns(host).saturating_sub(ns(&since)) as f64;
    let all = cpu(|host| host.user_ns + host.system_ns + host.idle_ns + host.iowait_ns + host.steal_ns).max(1.0);
    let pressure = [
        ("io_some", stalled(host.io_some_ns, since.io_some_ns)),
        ("io_full", stalled(host.io_full_ns, since.io_full_ns)),
        ("cpu_some", stalled(host.cpu_some_ns, since.cpu_some_ns)),
        ("memory_some", stalled(host.memory_some_ns, since.memory_some_ns)),
        ("steal", Some(cpu(|host| host.steal_ns) * 100.0 / all)),
    ];
    pressure.into_iter().filter_map(|(name, percent)| Some((name, percent?))).collect()
}

/// How often processors throttled between two samples; without an earlier one, since boot.
fn thermal_events(before: Option<&HostSample>, host: &HostSample) -> Option<u64> {
    let since = before.map_or(Some(0), |before| before.thermal_events)?;
    Some(host.thermal_events?.saturating_sub(since))
}

/// Pressure, stolen time and page cache on one line.
pub(crate) fn host_text(before: Option<&HostSample>, host: &HostSample) -> String {
    let shares: Vec<String> = shares(before, host)
        .iter()
        .map(|(name, percent)| format!("{} {percent:.1} %", name.replace('_', " ")))
        .collect();
    let mib = |bytes: u64| bytes >> 20;
    // Heat concerns the machine. A quota concerns one control group, here that of this program, and
    // says nothing about others.
    let hot = thermal_events(before, host).filter(|events| *events > 0);
    let hot = hot.map(|events| format!("; {events} thermal events")).unwrap_or_default();
    format!(
        "stalled: {}; page cache {} MiB, dirty {} MiB{hot}",
        shares.join(", "),
        mib(host.cached_bytes),
        mib(host.dirty_bytes)
    )
}

/// One object for each device and one for the machine. Times are ns, sizes and rates in the unit of
/// the key's name.
pub(crate) fn json_lines(
    form: WatchFormat,
    before: Option<&Look>,
    look: &Look,
    devices: &[(Of, DeviceActivity)],
    looker: &Looker,
) -> String {
    let mut text = String::new();
    let elapsed_ns = look.at_ns.saturating_sub(before.map_or(0, |look| look.at_ns));
    let unit = form.layout.unit;
    for (of, activity) in devices.iter().filter(|_| form.devices) {
        let mut object = Map::new();
        object.insert("unix_ns".into(), look.unix_ns.into());
        object.insert("elapsed_ns".into(), elapsed_ns.into());
        let (key, name) = match of {
            Of::Device(name) => ("device", name),
            Of::Group(name) => ("group", name),
        };
        object.insert(key.into(), Value::from(looker.shown(of).trim_start()));
        for column in form.layout.columns() {
            object.insert(column.name_in(unit).into(), (column.value)(activity, unit).into());
        }
        if let Some((_, sample)) = look.devices.iter().find(|(known, _)| known == name) {
            object.insert("reads_in_flight".into(), sample.reads_in_flight.into());
            object.insert("writes_in_flight".into(), sample.writes_in_flight.into());
        }
        if let Some((_, requests)) = look.requests.iter().find(|(known, _)| known == name) {
            object.insert("requests".into(), requests_json(requests));
        }
        if form.more && key == "device" {
            object.insert("settings".into(), json!(looker.settings(name)));
        }
        let _ = writeln!(text, "{}", Value::from(object));
    }
    let mut machine = Map::new();
    for column in CPU.iter().filter(|_| form.cpu) {
        let since = before.map(|look| look.cpu).unwrap_or_default();
        machine.insert(column.name.into(), column.percent(&since, &look.cpu).into());
    }
    if let Some(host) = &look.host {
        let shares = shares(before.and_then(|look| look.host.as_ref()), host);
        machine.extend(shares.into_iter().map(|(name, percent)| (format!("{name}_percent"), percent.into())));
        let hot = thermal_events(before.and_then(|look| look.host.as_ref()), host);
        machine.extend(hot.map(|events| ("thermal_events".into(), events.into())));
        machine.insert("cached_bytes".into(), host.cached_bytes.into());
        machine.insert("dirty_bytes".into(), host.dirty_bytes.into());
    }
    let _ = writeln!(text, "{}", json!({"unix_ns": look.unix_ns, "elapsed_ns": elapsed_ns, "machine": machine}));
    text
}
