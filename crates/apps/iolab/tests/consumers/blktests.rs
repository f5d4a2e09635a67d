//! blktests: `--output-format=terse --terse-version=4 --group_reporting=1`, fields by position.

use crate::drop_in::Folder;
use crate::terse_fields::{Line, V4};

#[test]
fn its_fields_stand_where_it_looks() {
    let folder = Folder::new();
    let arguments = ["--output-format=terse", "--terse-version=4", "--group_reporting=1", "--output=terse"];
    let job = ["--name=perf", "--ioengine=psync", "--rw=randrw", "--rwmixread=50", "--size=1m", "--numjobs=2"];
    assert_eq!(folder.good(&[&arguments[..], &job].concat()), "");
    let text = folder.read("terse");
    assert_eq!(text.lines().count(), 1, "one line for the group");
    let line = Line::new(text.trim_end(), &V4);
    assert_eq!((line.text(1), line.text(3), line.integer(4), line.integer(5)), ("4", "perf", 0, 0));
    assert!(line.text(2).starts_with("fio-3"));
    // The consumer's own table: read I/O, bandwidth, IOPS, runtime from field 6; write from 47;
    // trim from 88; CPU from 129.
    for (direction, first) in [(0, 6), (1, 47), (2, 88)] {
        assert_eq!(V4.direction(direction, 0), first);
        let used = direction < 2;
        for nth in 0..4 {
            assert_eq!(line.integer(first + nth) > 0, used, "field {}", first + nth);
        }
        // slat and clat: least, most, mean, deviation, in microseconds; then twenty percentiles.
        assert!(line.integer(first + 8) <= line.integer(first + 9));
        assert!(line.number(first + 10) >= 0.0);
        for slot in 12..32 {
            let (percent, value) = line.text(first + slot).split_once("%=").expect("percent%=value");
            assert!(percent.parse::<f64>().is_ok() && value.parse::<u64>().is_ok());
        }
        // Bandwidth: least, most, share, mean, deviation.
        assert!(line.text(first + 38).ends_with('%'));
    }
    assert_eq!(line.integer(6) + line.integer(47), 2048, "KiB moved");
    assert_eq!(V4.after(), 129);
    assert!(line.text(129).ends_with('%') && line.text(130).ends_with('%'));
    let depths: f64 = (134..141).map(|position| line.number(position)).sum();
    assert!((depths - 100.0).abs() < 0.5, "{depths}");
}
