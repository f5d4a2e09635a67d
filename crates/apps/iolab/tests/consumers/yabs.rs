//! YABS: greps the job's line of `--minimal` and cuts out rates by position.

use crate::drop_in::Folder;
use crate::terse_fields::{Line, V3};

#[test]
fn rates_stand_where_it_cuts() {
    let folder = Folder::new();
    let file = ["--filename=test.fio", "--size=1M", "--direct=0", "--gtod_reduce=1", "--minimal"];
    let setup = ["--name=setup", "--ioengine=libaio", "--rw=read", "--bs=64k", "--iodepth=64", "--numjobs=2"];
    folder.good(&[&setup[..], &["--runtime=1"], &file].concat());
    for block in ["4k", "64k", "512k", "1m"] {
        let name = format!("--name=rand_rw_{block}");
        let bs = format!("--bs={block}");
        let job = ["--ioengine=libaio", "--rw=randrw", "--rwmixread=50", "--iodepth=64", "--numjobs=2"];
        let time = ["--runtime=60ms", "--time_based", "--group_reporting", &name, &bs];
        let out = folder.good(&[&job[..], &time, &file].concat());
        let line = out.lines().find(|line| line.contains(&name[7..])).expect("the job's line");
        let line = Line::new(line, &V3);
        assert_eq!(line.text(1), "3");
        // KiB/s and IOPS, of reads and of writes.
        let rates = [7, 8, 48, 49].map(|position| line.integer(position));
        assert!(rates.iter().all(|rate| *rate > 0), "{rates:?}");
        assert_eq!((V3.direction(0, 2), V3.direction(1, 2)), (8, 49));
    }
}
