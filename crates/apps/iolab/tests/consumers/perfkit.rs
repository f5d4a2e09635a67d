//! PerfKitBenchmarker: one sample of each figure of every job and direction that transferred data.

use crate::drop_in::Folder;
use crate::{at, number, report, text};

const JOBS: &str = "[global]
ioengine=null
size=256k
invalidate=1
create_only=0
group_reporting=1
[rand_8k_read-io-depth-1-num-jobs-1]
stonewall
rw=randread
blocksize=8k
iodepth=1
numjobs=1
[rand_8k_write-io-depth-4-num-jobs-2]
stonewall
rw=randwrite
blocksize=8k
iodepth=4
numjobs=2
";

#[test]
fn every_sample_is_there() {
    let folder = Folder::new();
    folder.write("fio.job", JOBS);
    let report = report(&folder, &["--random_generator=tausworthe64", "fio.job"]);
    let jobs = at(&report, "jobs").as_array().expect("jobs");
    let names: Vec<&str> = jobs.iter().map(|job| text(job, "jobname")).collect();
    assert_eq!(names, ["rand_8k_read-io-depth-1-num-jobs-1", "rand_8k_write-io-depth-4-num-jobs-2"]);
    for (job, moved, still) in [(&jobs[0], "read", "write"), (&jobs[1], "write", "read")] {
        assert_eq!(number(job, &format!("{still}/io_bytes")), 0.0);
        let direction = at(job, moved);
        assert!(number(direction, "io_bytes") > 0.0);
        for figure in ["bw", "bw_min", "bw_max", "bw_dev", "bw_agg", "bw_mean", "iops"] {
            assert!(number(direction, figure) >= 0.0, "{figure}");
        }
        for figure in ["min", "max", "mean", "stddev"] {
            assert!(number(direction, &format!("clat_ns/{figure}")) >= 0.0, "{figure}");
        }
        let percentiles = at(direction, "clat_ns/percentile").as_object().expect("percentiles");
        assert_eq!(percentiles.len(), 17);
        for (key, value) in percentiles {
            assert!(key.parse::<f64>().is_ok_and(|percent| percent > 0.0) && value.as_u64().is_some(), "{key}");
        }
    }
}
