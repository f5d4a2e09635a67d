//! Compares the structure with fio's own output: `tests/fio` has the paths and types of fio 3.33's
//! JSON (`path TAB type`) and the kinds of its terse fields. Newer versions only add keys; the
//! additions are named here.

use std::collections::BTreeMap;

use iolab_report::{JsonStyle, TerseVersion, json, terse};
use serde_json::Value;

use crate::fixture;

/// Keys newer than fio 3.33.
const NEWER: [&str; 5] = ["job_start", "latency_target_ns", "latency_window_us", "read_sectors", "write_sectors"];
/// Keys that only iolab writes.
const OURS: [&str; 3] = ["iolab version", "resp_ns", "global options"];
/// fio omits `sync` next to `mixed`; it is kept here because the figures exist.
const KEPT: [&str; 1] = ["sync"];

/// Paths and types of `value`; names of options, percentiles and bins are data and become `*`.
fn paths(value: &Value, path: &str, found: &mut BTreeMap<String, &'static str>) {
    let kind = match value {
        Value::Object(members) => {
            let data = ["options", "percentile", "bins"].iter().any(|end| path.ends_with(end));
            for (key, member) in members {
                let name = if data { "*" } else { key };
                paths(member, &format!("{path}.{name}"), found);
            }
            "object"
        }
        Value::Array(items) => {
            items.iter().for_each(|item| paths(item, &format!("{path}[]"), found));
            "array"
        }
        Value::String(_) => "text",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "integer",
        other => panic!("{path} is {other}"),
    };
    found.insert(path.trim_start_matches('.').to_owned(), kind);
}

fn fio_paths(text: &str) -> BTreeMap<String, &str> {
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    lines
        .map(|(path, kind)| match path.split_once(".percentile.") {
            Some((before, _)) => (format!("{before}.percentile.*"), kind),
            None => (path.to_owned(), kind),
        })
        .filter(|(path, _)| !path.starts_with("disk_util"))
        .collect()
}

#[test]
fn json_has_fios_paths_and_types() {
    for (name, text) in [
        ("mixed_rw_sync", include_str!("fio/mixed_rw_sync.paths")),
        ("unified_mixed", include_str!("fio/unified_mixed.paths")),
        ("unified_both", include_str!("fio/unified_both.paths")),
    ] {
        let fio = fio_paths(text);
        let ours = json(&fixture::case(name), JsonStyle { plus: true, utc_offset_seconds: 0 });
        let mut found = BTreeMap::new();
        paths(&serde_json::from_str(&ours).expect("our JSON parses"), "", &mut found);
        found.remove("");
        for (path, kind) in &fio {
            // Which directions have percentiles depends on which had I/O, not on the format.
            let data = path.contains("_ns.percentile") || path.contains("_ns.bins");
            match found.get(path) {
                Some(ours) => assert_eq!(ours, kind, "{name}: {path}"),
                None => assert!(data, "{name}: {path} is missing"),
            }
        }
        for path in found.keys().filter(|path| !fio.contains_key(*path)) {
            let named = |keys: &[&str]| keys.iter().any(|key| path.split('.').any(|part| part == *key));
            let data = path.contains("_ns.percentile") || path.contains("_ns.bins");
            assert!(data || named(&NEWER) || named(&OURS) || named(&KEPT), "{name}: {path} is not fio's");
        }
    }
}

/// `i`nteger, `f`loat, `p`ercent of six decimals, `1` and `2` decimals, `q`uantile, `t`ext.
fn kind(field: &str) -> char {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits(field) {
        return 'i';
    }
    if field.contains("%=") {
        return 'q';
    }
    let number = field.trim_end_matches('%');
    match number.split_once('.') {
        Some((whole, fraction)) if digits(whole) && digits(fraction) => match (fraction.len(), number == field) {
            (6, true) => 'f',
            (6, false) => 'p',
            (1, false) => '1',
            (2, false) => '2',
            _ => 't',
        },
        _ => 't',
    }
}

#[test]
fn terse_has_fios_fields() {
    for line in include_str!("fio/terse.kinds").lines() {
        let [version, situation, count, kinds] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line} has not four columns")
        };
        let version = TerseVersion::from_number(version.parse().expect("a number")).expect("2 to 5");
        let mut recording = fixture::case(if situation == "unified_mixed" { situation } else { "single" });
        recording.plan.workers[0].description = None;
        recording.devices.retain(|device| situation == "one_device" && device.parts.is_empty());
        let text = terse(&recording, version);
        let ours: String = text.trim_end().split(';').map(kind).collect();
        assert_eq!((ours.len(), ours.as_str()), (count.parse().expect("a number"), kinds), "{version:?} {situation}");
    }
    assert_eq!([1, 6].map(TerseVersion::from_number), [None, None]);
}

#[test]
fn json_frames_and_order() {
    for (name, recording) in fixture::CASES {
        let text = json(&recording(), JsonStyle::default());
        assert_eq!((text.lines().next(), text.lines().last()), (Some("{"), Some("}")), "{name}");
        serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let text = json(&fixture::case("unified_both"), JsonStyle::default());
    let keys = [
        "fio version",
        "timestamp",
        "timestamp_ms",
        "time",
        "global options",
        "jobs",
        "jobname",
        "groupid",
        "job_start",
        "error",
        "eta",
        "elapsed",
        "job options",
        "read",
        "write",
        "trim",
        "sync",
        "mixed",
        "job_runtime",
        "usr_cpu",
        "sys_cpu",
        "ctx",
        "majf",
        "minf",
        "iodepth_level",
        "iodepth_submit",
        "iodepth_complete",
        "latency_ns",
        "latency_us",
        "latency_ms",
        "latency_depth",
        "latency_target",
        "latency_target_ns",
        "latency_percentile",
        "latency_window",
        "latency_window_us",
        "desc",
    ];
    let places: Vec<Option<usize>> = keys.iter().map(|key| text.find(&format!("\"{key}\" :"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
}
