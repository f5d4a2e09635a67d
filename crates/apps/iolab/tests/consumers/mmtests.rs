//! mmtests: terse version 5 by position, and the latency log of each job.

use crate::drop_in::Folder;
use crate::terse_fields::{Line, V5};

#[test]
fn bandwidth_and_iops_stand_where_it_looks() {
    let folder = Folder::new();
    let arguments = ["--output-format=terse", "--terse-version=5", "--name=global", "--ioengine=null", "--size=1m"];
    let out = folder.good(&[&arguments[..], &["--name=reader", "--rw=read", "--name=writer", "--rw=write"]].concat());
    let lines: Vec<Line<'_>> = out.lines().map(|line| Line::new(line, &V5)).collect();
    let names: Vec<&str> = lines.iter().map(|line| line.text(3)).collect();
    assert_eq!(names, ["reader", "writer"]);
    let writer = &lines[1];
    assert_eq!((writer.text(1), writer.integer(5)), ("5", 0));
    assert_eq!(writer.integer(V5.direction(1, 0)), 1024, "KiB written");
    assert!(writer.integer(V5.direction(1, 1)) > 0 && writer.integer(V5.direction(1, 2)) > 0);
    // Bandwidth samples; then least, most, mean, deviation and number of samples of IOPS.
    let block: Vec<f64> = (41..47).map(|nth| writer.number(V5.direction(1, nth))).collect();
    // The extremes are integers, the mean is not.
    assert!(block[0] >= 1.0 && block[1] < block[3] + 1.0 && block[3] < block[2] + 1.0 && block[5] >= 1.0, "{block:?}");
}

#[test]
fn the_latency_log_has_a_line_for_each_operation() {
    let folder = Folder::new();
    folder.write("job", "[global]\nioengine=null\nsize=256k\nwrite_lat_log=fio\n[a]\nrw=read\n[b]\nrw=randwrite\n");
    folder.good(&["job"]);
    for (log, direction) in [("fio_lat.1.log", 0), ("fio_lat.2.log", 1)] {
        let text = folder.read(log);
        assert_eq!(text.lines().count(), 64, "{log}");
        let mut last_ms = 0;
        for line in text.lines() {
            let columns: Vec<u64> = line.split(", ").map(|column| column.parse().expect("an integer")).collect();
            assert_eq!((columns.len(), columns[2], columns[3]), (5, direction, 4096), "{line}");
            assert!(columns[0] >= last_ms && columns[1] > 0);
            last_ms = columns[0];
        }
    }
}
