//! `iolab perf`: SPDK perf's command line on virtual SSDs inside the run.

use crate::support::{Done, Lab};

const DEVICE: &str = "trtype:VIRT model:ideal size:64M";

fn perf(lab: &Lab, words: &str) -> Done {
    lab.run(["perf", "-r", DEVICE].into_iter().chain(words.split_whitespace()))
}

/// The columns after the label of a line of the table.
fn columns(table: &str, label: &str) -> Vec<f64> {
    let line = table.lines().find(|line| line.starts_with(label)).unwrap_or_else(|| panic!("no {label} in {table}"));
    let cells = line.rsplit_once(" :").unwrap_or_else(|| panic!("{line}")).1;
    cells.split_whitespace().map(|cell| cell.parse().unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

#[test]
fn the_table_its_percentiles_and_its_histograms() {
    let lab = Lab::new();
    let table = perf(&lab, "-q 4 -o 4096 -w randread -d 2000").ended(0, "").printed();
    assert!(table.contains("Device Information") && table.contains("Latency(us)"), "{table}");
    let total = columns(&table, "Total");
    let &[iops, mib, mean, least, most] = total.as_slice() else { panic!("{table}") };
    assert!((mib - iops / 256.0).abs() <= 0.01, "4 KiB each: {total:?}");
    assert!(0.0 < least && least <= mean && mean <= most, "{total:?}");
    assert!(!table.contains('%'), "{table}");

    let percentiles = perf(&lab, "-q 4 -o 4096 -w randread -d 2000 -L").ended(0, "").printed();
    assert!(percentiles.contains("Summary latency data") && percentiles.contains("99.00000%"), "{percentiles}");
    assert!(!percentiles.contains("Latency histogram"), "{percentiles}");

    let histograms = perf(&lab, "-q 4 -o 4096 -w randread -d 2000 -LL").ended(0, "").printed();
    assert!(histograms.contains("Summary latency data") && histograms.contains("Latency histogram"), "{histograms}");
    // The buckets contain every operation, and the last one ends at 100 %.
    let (_, rows) = histograms.split_once("Latency histogram").unwrap();
    let counted: u64 = rows
        .lines()
        .filter_map(|line| line.rsplit_once('(')?.1.trim().strip_suffix(')')?.trim().parse::<u64>().ok())
        .sum();
    assert_eq!(counted, 2000, "{histograms}");
    assert!(rows.contains("100.0000%"), "{rows}");
}

#[test]
fn operations_mixes_and_several_devices_are_what_was_asked_for() {
    let lab = Lab::new();
    let other = "trtype:VIRT model:ideal size:32M lba:4096";
    let words = ["perf", "-r", DEVICE, "-r", other, "-q", "2", "-o", "8k", "-w", "randrw", "-M", "70", "-d", "5000"];
    let report = lab.run(words.into_iter().chain(["--json"])).ended(0, "").json();
    let jobs = report["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 1, "{report}");
    let ios = |direction: &str| jobs[0][direction]["total_ios"].as_u64().unwrap();
    let (reads, writes) = (ios("read"), ios("write"));
    assert_eq!(reads + writes, 10_000, "-d is for each namespace");
    // Reads are chosen at random, seven of ten: a deviation of a tenth is twenty standard
    // deviations.
    assert!((6000..8000).contains(&reads), "{reads} reads");
    assert_eq!(jobs[0]["read"]["io_bytes"].as_u64(), Some(reads * 8192));

    let table = lab.run(words).ended(0, "").printed();
    let rows = [DEVICE, other].map(|device| columns(&table, &format!("{device} from core 0")));
    let total = columns(&table, "Total");
    assert!((rows[0][0] + rows[1][0] - total[0]).abs() <= 0.02, "{table}");
    assert!(rows.iter().all(|row| total[3] <= row[3] && row[3] <= row[2] && row[4] <= total[4]), "{table}");
    let files = jobs[0]["files"].as_array().unwrap();
    let of = |direction: &str| {
        let one = |file: &serde_json::Value| file[direction]["total_ios"].as_u64().unwrap();
        files.iter().map(one).collect::<Vec<u64>>()
    };
    assert_eq!((of("read").iter().sum::<u64>(), of("write").iter().sum::<u64>()), (reads, writes));
    for (reads, writes) in of("read").iter().zip(of("write")) {
        assert_eq!(reads + writes, 5000, "-d is for each namespace");
    }

    let all = perf(&lab, "-q 1 -o 4k -w rw -M 100 -d 300 --json").ended(0, "").json();
    assert_eq!(all["jobs"][0]["read"]["total_ios"].as_u64(), Some(300), "{all}");
    let timed = perf(&lab, "-q 8 -P 2 -o 4k -w write -t 1 --io-queue-size 64 --record it.iolab").ended(0, "");
    assert!(columns(&timed.printed(), "Total")[0] > 0.0, "{timed:?}");
    let worker = lab.recording().workers.remove(0);
    assert!(worker.directions[1].ios > 0 && worker.errors.is_empty());
    assert_eq!(lab.recording().plan.workers[0].queue.depth, 16, "two queue pairs, each eight deep");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let lab = Lab::new();
    for (words, said) in [
        ("-q 1 -o 4k -w randread", "set the length of the run: -t SECONDS"),
        ("-q 1 -o 4k -w randrw -t 1", "need -M"),
        ("-q 1 -o 4k -w read -t 1 -M 50", "-M is for rw and randrw"),
        ("-q 1 -o 4k -w sideways -t 1", "sideways"),
        ("-q 1 -o 4k -w read -t 1 -c xyz", "is not a core mask"),
        ("-q 0 -o 4k -w read -t 1", "0"),
        ("-q 1 -o 1000 -w read -d 1", "512"),
        ("-o 4k -w read -t 1", "--io-depth"),
        ("-q 1 -o 4k -w read -t 1 -M 101", "101"),
    ] {
        perf(&lab, words).ended(2, said);
    }
    let run = |device: &str| lab.run(["perf", "-r", device, "-q", "1", "-o", "4k", "-w", "read", "-d", "1"]);
    run("trtype:VIRT model:ideal siez:1G").ended(2, "did you mean `size`?");
    run("trtype:RDMA traddr:1.2.3.4").ended(2, "RDMA");
    run(&format!("trtype:VIRT traddr:nobody-{}", std::process::id())).ended(2, "device serve nobody");
    lab.run(["perf", "-q", "1", "-w", "read", "-d", "1"]).ended(2, "no device");
}

#[test]
fn a_failing_device_fails_the_run() {
    let lab = Lab::new();
    let device = "trtype:VIRT model:ideal size:64M fault:media-error:op=read,lba=0-131071,after=10";
    let words = ["perf", "-r", device, "-q", "1", "-o", "4k", "-w", "randread", "-d", "100"];
    lab.run(words).ended(1, "read offset=");
}
