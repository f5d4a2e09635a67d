//! fio-plot: options and figures of the JSON report, and logs found by their names.
//! `ci/suites/fio_plot` runs the program itself.

use crate::drop_in::Folder;
use crate::{at, integer, number, report, text};

const JOB: &str = "[FIOJOB]
filename=target
ioengine=libaio
rw=randrw
size=1m
bs=4k
iodepth=4
numjobs=2
rwmixread=75
runtime=250ms
loops=1
time_based=1
direct=0
log_avg_msec=50
invalidate=1
write_bw_log=out/randrw-iodepth-4-numjobs-2
write_lat_log=out/randrw-iodepth-4-numjobs-2
write_iops_log=out/randrw-iodepth-4-numjobs-2
";

#[test]
fn the_report_has_what_it_draws() {
    let folder = Folder::new();
    // As bench-fio does before it starts fio.
    std::fs::create_dir(folder.path("out")).expect("a folder");
    folder.write("job.fio", JOB);
    let report = report(&folder, &["job.fio"]);
    assert!(text(&report, "fio version").starts_with("fio-3"));
    // It merges the options of the run, if there are any, into those of each job, and expects a
    // table.
    assert!(report.get("global options").is_none_or(serde_json::Value::is_object));
    for job in at(&report, "jobs").as_array().expect("jobs") {
        for option in ["iodepth", "numjobs"] {
            assert!(text(job, &format!("job options/{option}")).parse::<u32>().is_ok());
        }
        assert_eq!((text(job, "job options/rw"), text(job, "job options/bs")), ("randrw", "4k"));
        for direction in ["read", "write"] {
            let direction = at(job, direction);
            assert!(integer(direction, "bw") > 0 && number(direction, "iops") > 0.0);
            assert!(number(direction, "iops_stddev") >= 0.0);
            assert!(number(direction, "lat_ns/mean") > 0.0 && number(direction, "lat_ns/stddev") >= 0.0);
            assert!(number(at(direction, "clat_ns/percentile"), "99.990000") > 0.0);
        }
        assert!(number(job, "usr_cpu") >= 0.0 && number(job, "sys_cpu") >= 0.0);
    }
}

#[test]
fn the_logs_are_named_and_columned_as_it_reads() {
    let folder = Folder::new();
    // As bench-fio does before it starts fio.
    std::fs::create_dir(folder.path("out")).expect("a folder");
    folder.write("job.fio", JOB);
    folder.good(&["job.fio"]);
    for kind in ["bw", "iops", "lat", "slat", "clat"] {
        for job in [1, 2] {
            let log = folder.read(&format!("out/randrw-iodepth-4-numjobs-2_{kind}.{job}.log"));
            let rows: Vec<Vec<u64>> = log
                .lines()
                .map(|line| line.split(',').map(|column| column.trim().parse().expect("an integer")).collect())
                .collect();
            assert!(rows.len() >= 4, "{kind}: {log}");
            assert!(rows.iter().all(|row| row.len() == 5 && row[2] <= 1), "{kind}: {log}");
            assert!(rows.is_sorted_by_key(|row| row[0]));
        }
    }
}
