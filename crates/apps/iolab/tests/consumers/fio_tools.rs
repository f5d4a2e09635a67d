//! fio's own tools: fio_jsonplus_clat2csv reads the bins of json+; fiologparser reads logs of time,
//! value, direction and block size, and spreads each value over the interval before it.

use serde_json::Value;

use crate::drop_in::Folder;
use crate::{at, integer};

#[test]
fn json_plus_has_every_bin_and_nothing_but_bins() {
    let folder = Folder::new();
    let job = ["--name=a", "--ioengine=null", "--iodepth=4", "--rw=randrw", "--size=1m"];
    let kinds = ["--slat_percentiles=1", "--clat_percentiles=1", "--lat_percentiles=1", "--output-format=json+"];
    let report: Value = serde_json::from_str(&folder.good(&[&job[..], &kinds].concat())).expect("JSON");
    for direction in ["read", "write"] {
        for latency in ["slat_ns", "clat_ns", "lat_ns"] {
            let latency = at(&report, &format!("jobs/0/{direction}/{latency}"));
            let bins = at(latency, "bins").as_object().expect("bins");
            let mut total = 0;
            for (bin, count) in bins {
                let (bin, count) = (bin.parse::<i64>().expect("ns"), count.as_i64().expect("a count"));
                assert!(count > 0 && bin >= integer(latency, "min") - integer(latency, "min") / 64 - 1);
                total += count;
            }
            assert_eq!(total, integer(latency, "N"));
            assert!(at(latency, "percentile").is_object());
        }
    }
}

#[test]
fn the_bandwidth_log_accounts_for_the_bytes() {
    let folder = Folder::new();
    let log = ["--write_bw_log=l", "--log_avg_msec=50", "--time_based", "--runtime=300ms", "--rate=8m"];
    let job = ["--name=a", "--ioengine=null", "--rw=read", "--size=1m", "--output-format=json"];
    let report: Value = serde_json::from_str(&folder.good(&[&job[..], &log].concat())).expect("JSON");
    let (mut before_ms, mut bytes) = (0, 0);
    for line in folder.read("l_bw.1.log").lines() {
        let columns: Vec<u64> = line.split(", ").map(|column| column.parse().expect("an integer")).collect();
        bytes += columns[1] * 1024 * (columns[0] - before_ms) / 1000;
        before_ms = columns[0];
    }
    let told = integer(&report, "jobs/0/read/io_bytes") as u64;
    assert!(bytes <= told + told / 10 && bytes >= told / 2, "{bytes} of {told}");
}
