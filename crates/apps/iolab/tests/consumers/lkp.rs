//! lkp-tests: skips everything before the first `{`, then reads rates, latencies and their
//! distribution.

use serde_json::Value;

use crate::drop_in::Folder;
use crate::{at, number};

#[test]
fn its_columns_are_there_behind_the_header_lines() {
    let folder = Folder::new();
    folder.write("task", "[task_0]\nioengine=libaio\nrw=randrw\nbs=4k\niodepth=4\nfilesize=512k\nnr_files=1\n");
    let out = folder.good(&["--output-format=normal,json", "task"]);
    let from = out.find("\n{").expect("a document") + 1;
    let document = serde_json::Deserializer::from_str(&out[from..]).into_iter::<Value>().next();
    let report = document.expect("one document").expect("JSON");
    let job = at(&report, "jobs/0");
    for direction in ["read", "write"] {
        for path in ["bw", "iops", "clat_ns/mean", "clat_ns/stddev", "slat_ns/mean", "slat_ns/stddev"] {
            assert!(number(job, &format!("{direction}/{path}")) >= 0.0);
        }
        let clat = at(job, &format!("{direction}/clat_ns"));
        let tail = ["90.000000", "95.000000", "99.000000"].map(|key| number(at(clat, "percentile"), key));
        assert!(tail[0] > 0.0 && tail.is_sorted(), "{tail:?}");
    }
    let shares = ["latency_ns", "latency_us", "latency_ms"].map(|table| at(job, table).as_object().expect("a table"));
    let sum: f64 = shares.iter().flat_map(|table| table.values()).filter_map(Value::as_f64).sum();
    assert!((sum - 100.0).abs() < 0.1, "shares of all operations: {sum}");
}
