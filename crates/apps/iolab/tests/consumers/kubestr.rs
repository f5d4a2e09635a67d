//! kubestr (and kbench): decodes the JSON report into Go structs, where an integer field refuses
//! `1.0` and a 32-bit field refuses values that do not fit.

use serde_json::Value;

use crate::drop_in::Folder;
use crate::{at, report};

/// The Go type of a field.
#[derive(Clone, Copy, Debug)]
enum Go {
    Text,
    Int64,
    Int32,
    Float,
}
use Go::{Float, Int32, Int64, Text};

fn check(value: &Value, path: &str, fields: &[(&str, Go)]) {
    let value = if path.is_empty() { value } else { at(value, path) };
    for (name, kind) in fields {
        let field = at(value, name);
        let fits = match kind {
            Text => field.is_string(),
            Int64 => field.is_i64(),
            Int32 => field.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
            Float => field.is_number(),
        };
        assert!(fits, "{path}/{name} = {field} is no {kind:?}");
    }
}

const TOP: &[(&str, Go)] = &[("fio version", Text), ("timestamp", Int64), ("timestamp_ms", Int64), ("time", Text)];
const JOB: &[(&str, Go)] = &[
    ("jobname", Text),
    ("groupid", Int32),
    ("error", Int32),
    ("eta", Int32),
    ("elapsed", Int32),
    ("job_runtime", Int32),
    ("usr_cpu", Float),
    ("sys_cpu", Float),
    ("ctx", Int32),
    ("majf", Int32),
    ("minf", Int32),
    ("latency_depth", Int32),
    ("latency_target", Int32),
    ("latency_percentile", Float),
    ("latency_window", Int32),
];
const DIRECTION: &[(&str, Go)] = &[
    ("io_bytes", Int64),
    ("io_kbytes", Int64),
    ("bw_bytes", Int64),
    ("bw", Int64),
    ("iops", Float),
    ("runtime", Int64),
    ("total_ios", Int64),
    ("short_ios", Int64),
    ("drop_ios", Int64),
    ("bw_min", Int64),
    ("bw_max", Int64),
    ("bw_agg", Float),
    ("bw_mean", Float),
    ("bw_dev", Float),
    ("bw_samples", Int32),
    ("iops_min", Int32),
    ("iops_max", Int32),
    ("iops_mean", Float),
    ("iops_stddev", Float),
    ("iops_samples", Int32),
];
const LATENCY: &[(&str, Go)] = &[("min", Int64), ("max", Int64), ("mean", Float), ("stddev", Float), ("N", Int64)];
const DISK: &[(&str, Go)] = &[
    ("name", Text),
    ("read_ios", Int64),
    ("write_ios", Int64),
    ("read_merges", Int64),
    ("write_merges", Int64),
    ("read_ticks", Int64),
    ("write_ticks", Int64),
    ("in_queue", Int64),
    ("util", Float),
];

fn floats(value: &Value, path: &str, keys: &[&str]) {
    for key in keys {
        assert!(at(at(value, path), key).is_number(), "{path}/{key}");
    }
}

fn check_report(report: &Value) {
    check(report, "", TOP);
    for job in at(report, "jobs").as_array().expect("jobs") {
        check(job, "", JOB);
        for (name, value) in at(job, "job options").as_object().expect("options") {
            assert!(value.is_string(), "job option {name} = {value}: a map of text to text");
        }
        for direction in ["read", "write", "trim"] {
            check(job, direction, DIRECTION);
            for latency in ["slat_ns", "clat_ns", "lat_ns"] {
                check(at(job, direction), latency, LATENCY);
            }
        }
        check(at(job, "sync"), "lat_ns", &LATENCY[..4]);
        check(at(job, "sync"), "", &[("total_ios", Int64)]);
        floats(job, "iodepth_level", &["1", "2", "4", "8", "16", "32", ">=64"]);
        floats(job, "iodepth_submit", &["0", "4", "8", "16", "32", "64", ">=64"]);
        floats(job, "iodepth_complete", &["0", "4", "8", "16", "32", "64", ">=64"]);
        let tens = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"];
        floats(job, "latency_ns", &tens);
        floats(job, "latency_us", &tens);
        floats(job, "latency_ms", &tens);
        floats(job, "latency_ms", &["2000", ">=2000"]);
    }
    for disk in report.get("disk_util").and_then(Value::as_array).into_iter().flatten() {
        check(disk, "", DISK);
    }
}

/// Its own four sections; the folder of the claim is given on the command line.
const JOBS: &str = "[global]
randrepeat=0
verify=0
ioengine=libaio
direct=0
gtod_reduce=1
[job1]
name=read_iops
bs=4K
iodepth=64
size=1M
readwrite=randread
time_based
ramp_time=20ms
runtime=50ms
[job2]
name=write_iops
bs=4K
iodepth=64
size=1M
readwrite=randwrite
time_based
ramp_time=20ms
runtime=50ms
[job3]
name=read_bw
bs=128K
iodepth=64
size=1M
readwrite=randread
time_based
ramp_time=20ms
runtime=50ms
[job4]
name=write_bw
bs=128k
iodepth=64
size=1M
readwrite=randwrite
time_based
ramp_time=20ms
runtime=50ms
";

#[test]
fn its_structs_take_the_report_of_its_own_job() {
    let folder = Folder::new();
    folder.write("fiojob", JOBS);
    std::fs::create_dir(folder.path("dataset")).expect("a folder");
    let report = report(&folder, &["--directory", "dataset", "fiojob"]);
    check_report(&report);
    let jobs = at(&report, "jobs").as_array().expect("jobs");
    assert_eq!(jobs.len(), 4);
    for (job, direction) in jobs.iter().zip(["read", "write", "read", "write"]) {
        assert!(at(job, &format!("{direction}/iops")).as_f64().is_some_and(|iops| iops > 0.0));
    }
    let global = at(&report, "global options");
    check(global, "", &[("directory", Text), ("randrepeat", Text), ("verify", Text), ("ioengine", Text)]);
    check(global, "", &[("direct", Text), ("gtod_reduce", Text)]);
    assert_eq!(at(&jobs[0], "job options/iodepth"), "64");
}

#[test]
fn its_structs_take_every_kind_of_job() {
    let jobs: [&[&str]; 4] = [
        &["--name=a", "--ioengine=null", "--rw=randrw", "--size=64k", "--numjobs=2", "--group_reporting"],
        &["--name=a", "--ioengine=null", "--rw=randtrim", "--size=64k", "--iodepth=8"],
        &["--name=a", "--rw=write", "--size=64k", "--fsync=4"],
        &["--name=a", "--ioengine=null", "--rw=read", "--size=64k", "--percentile_list=50:99.999"],
    ];
    for arguments in jobs {
        check_report(&report(&Folder::new(), arguments));
    }
}
