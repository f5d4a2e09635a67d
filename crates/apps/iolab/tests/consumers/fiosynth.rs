//! FioSynth: its own list of percentiles, and amounts and rates of each direction.

use crate::drop_in::Folder;
use crate::{at, integer, number, report, text};

#[test]
fn its_row_is_complete() {
    let folder = Folder::new();
    let list = "--percentile_list=1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.99:99.999:99.9999";
    let arguments = ["--name=synth", "--ioengine=null", "--rw=randrw", "--bssplit=4k/50:64k/50", "--size=4m", list];
    let report = report(&folder, &arguments);
    let job = at(&report, "jobs/0");
    assert_eq!(text(job, "jobname"), "synth");
    for direction in ["read", "write"] {
        let direction = at(job, direction);
        assert!(integer(direction, "io_bytes") > 0);
        assert_eq!(integer(direction, "io_kbytes"), integer(direction, "io_bytes") / 1024);
        assert!(number(direction, "iops") > 0.0 && number(direction, "bw") > 0.0);
        let percentiles = at(direction, "clat_ns/percentile");
        assert_eq!(percentiles.as_object().map(|table| table.len()), Some(18));
        for key in ["1.000000", "50.000000", "99.500000", "99.990000", "99.999000", "99.999900"] {
            assert!(integer(percentiles, key) >= integer(direction, "clat_ns/min"), "{key}");
        }
        assert!(number(direction, "clat_ns/mean") <= number(direction, "clat_ns/max"));
    }
}
