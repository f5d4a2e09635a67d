//! LISA: applies regular expressions to the normal report, written out here by hand: `IOPS=(.+?),`
//! in the line of a direction, then a latency line that ends in its `avg=`.

use crate::drop_in::Folder;

#[test]
fn rates_and_latencies_match() {
    let folder = Folder::new();
    let out = folder.good(&["--name=lisa", "--ioengine=psync", "--rw=randrw", "--size=512k", "--bs=4k"]);
    for direction in ["read", "write"] {
        let start = format!("{direction}: IOPS=");
        let mut lines = out.lines().skip_while(|line| !line.trim_start().starts_with(&start));
        let rate = lines.next().expect("the direction's line").split_once("IOPS=").expect("a rate").1;
        let (iops, rest) = rate.split_once(',').expect("a comma behind the rate");
        let digits = iops.trim_end_matches(['k', 'M']);
        assert!(digits.parse::<f64>().is_ok(), "{iops}");
        assert!(rest.starts_with(" BW="), "{rest}");
        for kind in ["clat (", " lat ("] {
            let line = lines.next().expect("a latency line");
            assert!(line.contains(kind), "{line}");
            let unit = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')).expect("a unit").0;
            assert!(["nsec", "usec", "msec"].contains(&unit), "{line}");
            let average = line.split_once("avg=").and_then(|(_, rest)| rest.split_once(',')).expect("a mean").0;
            assert!(average.trim().trim_end_matches('k').parse::<f64>().is_ok(), "{line}");
        }
    }
}
