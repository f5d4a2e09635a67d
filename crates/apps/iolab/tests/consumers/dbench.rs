//! dbench: greps the normal report of `--gtod_reduce` runs for IOPS and bandwidth, and of others
//! for latencies.

use crate::drop_in::Folder;

/// What `grep -Eoi 'KEY[CHARACTERS]+'` finds in a line, without the key. Blanks with which fio pads
/// a number are skipped.
fn grep<'a>(line: &'a str, key: &str, characters: &str) -> &'a str {
    let after = line.split_once(key).unwrap_or_else(|| panic!("no {key} in {line:?}")).1.trim_start();
    let end = after.find(|c: char| !characters.contains(c)).unwrap_or(after.len());
    assert!(end > 0, "{key} has no value in {line:?}");
    &after[..end]
}

fn run(folder: &Folder, arguments: &[&str]) -> String {
    let mut all = vec!["--randrepeat=0", "--verify=0", "--ioengine=libaio", "--direct=0", "--filename=fiotest"];
    all.extend(["--size=1M", "--time_based", "--ramp_time=10ms", "--runtime=50ms"]);
    all.extend(arguments);
    folder.good(&all)
}

#[test]
fn rates_are_found() {
    let folder = Folder::new();
    for (name, rw, bs, direction) in [
        ("--name=read_iops", "--readwrite=randread", "--bs=4K", "read"),
        ("--name=write_iops", "--readwrite=randwrite", "--bs=4K", "write"),
        ("--name=read_bw", "--readwrite=randread", "--bs=128K", "read"),
        ("--name=seq_write", "--readwrite=write", "--bs=1M", "write"),
    ] {
        let text = run(&folder, &["--gtod_reduce=1", name, rw, bs, "--iodepth=64"]);
        let line =
            text.lines().find(|line| line.contains(&format!("{direction}: IOPS"))).expect("the direction's line");
        assert!(grep(line, "IOPS=", "0123456789k.").starts_with(|c: char| c.is_ascii_digit()));
        assert!(grep(line, "BW=", "0123456789GMKiBs/.").ends_with("iB/s"));
    }
}

#[test]
fn latencies_are_found() {
    let folder = Folder::new();
    let text = run(&folder, &["--name=read_latency", "--bs=4K", "--iodepth=4", "--readwrite=randread"]);
    let line = text.lines().find(|line| line.contains(" lat") && line.contains("avg")).expect("a latency line");
    assert!(grep(line, "avg=", "0123456789.").parse::<f64>().is_ok_and(|average| average > 0.0));
}

#[test]
fn both_directions_of_a_mix_are_found() {
    let folder = Folder::new();
    let mix = ["--gtod_reduce=1", "--name=rw_mix", "--bs=4k", "--iodepth=64", "--readwrite=randrw", "--rwmixread=75"];
    let text = run(&folder, &mix);
    for direction in ["  read: IOPS=", "  write: IOPS="] {
        assert!(text.contains(direction), "{text}");
    }
}
