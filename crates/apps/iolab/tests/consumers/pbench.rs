//! pbench, crucible and fio's own fio-histo-log-pctiles: histogram logs of 29 groups of 64 bins.
//! Counts cover one interval only, and bins stand for known latencies.

use crate::drop_in::Folder;
use crate::{at, integer, number, report};

const BINS: usize = 29 * 64;

/// The latency (ns) that a bin stands for: exact in the first two groups, then the middle of the
/// bin, whose width doubles with each group.
fn nanoseconds(bin: usize) -> f64 {
    if bin < 128 {
        return bin as f64;
    }
    let width = f64::from(1 << (bin / 64 - 1));
    width * 64.0 + (bin % 64) as f64 * width + width / 2.0
}

fn counts(folder: &Folder, log: &str, direction: u64) -> Vec<u64> {
    let mut sums = vec![0; BINS];
    for line in folder.read(log).lines() {
        let columns: Vec<u64> = line.split(", ").map(|column| column.parse().expect("an integer")).collect();
        assert_eq!(columns.len(), 3 + BINS, "time, direction, block size, bins");
        assert_eq!(columns[2], 4096);
        if columns[1] == direction {
            sums.iter_mut().zip(&columns[3..]).for_each(|(sum, count)| *sum += count);
        }
    }
    sums
}

#[test]
fn the_logs_add_up_to_the_report() {
    let folder = Folder::new();
    let log = ["--write_hist_log=hist", "--log_hist_msec=20", "--rate_iops=2000"];
    let job = ["--name=h", "--ioengine=null", "--rw=randrw", "--size=1m", "--bs=4k", "--numjobs=2"];
    let report = report(&folder, &[&job[..], &log].concat());
    for (index, log) in ["hist_clat_hist.1.log", "hist_clat_hist.2.log"].iter().enumerate() {
        let job = at(&report, &format!("jobs/{index}"));
        for (direction, name) in [(0, "read"), (1, "write")] {
            let counts = counts(&folder, log, direction);
            let total: u64 = counts.iter().sum();
            assert_eq!(total as i64, integer(job, &format!("{name}/total_ios")), "{log} {name}");
            let mut below = 0;
            let median = counts.iter().position(|count| {
                below += count;
                2 * below >= total
            });
            let told = number(at(job, &format!("{name}/clat_ns/percentile")), "50.000000");
            let found = nanoseconds(median.expect("a bin"));
            assert!((found - told).abs() <= told / 32.0 + 1.0, "{log} {name}: {found} and {told}");
        }
    }
}

#[test]
fn coarser_logs_have_fewer_bins() {
    let folder = Folder::new();
    let arguments = ["--name=h", "--ioengine=null", "--rw=read", "--size=64k", "--write_hist_log=c"];
    folder.good(&[&arguments[..], &["--log_hist_msec=10", "--log_hist_coarseness=3"]].concat());
    let log = folder.read("c_clat_hist.1.log");
    assert!(log.lines().all(|line| line.split(", ").count() == 3 + BINS / 8));
    assert!(log.lines().count() > 0);
}
