//! gcsfuse's performance suite: options of the run and of each job, and percentiles of the whole
//! latency.

use crate::drop_in::Folder;
use crate::{at, integer, number, report, text};

const JOBS: &str = "[global]
ioengine=libaio
direct=0
fadvise_hint=0
verify=0
bs=64k
iodepth=8
lat_percentiles=1
filesize=256k
nrfiles=2
directory=.
filename_format=$jobname.$jobnum/$filenum
group_reporting=1
[1_thread]
stonewall
numjobs=1
rw=read
[2_thread]
stonewall
numjobs=2
rw=randread
";

#[test]
fn its_table_is_complete() {
    let folder = Folder::new();
    folder.write("job.fio", JOBS);
    let report = report(&folder, &["job.fio"]);
    let global = at(&report, "global options");
    assert_eq!((text(global, "filesize"), text(global, "nrfiles")), ("256k", "2"));
    assert!(integer(&report, "timestamp_ms") > 0);
    let jobs = at(&report, "jobs").as_array().expect("jobs");
    for (job, (threads, rw)) in jobs.iter().zip([("1", "read"), ("2", "randread")]) {
        assert_eq!((text(job, "job options/numjobs"), text(job, "job options/rw")), (threads, rw));
        assert!(integer(job, "elapsed") >= 1 && integer(job, "job_start") > 0);
        let read = at(job, "read");
        assert!(number(read, "iops") > 0.0 && number(read, "bw_bytes") > 0.0);
        assert_eq!(integer(read, "io_bytes"), threads.parse::<i64>().expect("a number") * 512 * 1024);
        let latency = at(read, "lat_ns");
        let keys = ["20.000000", "50.000000", "90.000000", "95.000000"];
        let percentiles = keys.map(|key| number(at(latency, "percentile"), key));
        assert!(percentiles.is_sorted() && percentiles[0] > 0.0, "{percentiles:?}");
        assert!(["min", "max", "mean"].iter().all(|name| number(latency, name) > 0.0));
    }
}
