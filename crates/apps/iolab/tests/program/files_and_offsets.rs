//! Complete runs of the drop-in: the files on disk afterwards, the offsets that were accessed, the
//! counts in the report.
//!
//! Every expectation is what fio does with the same job. Nothing here depends on time, and
//! everything stays in a temporary folder.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// One run in its own folder.
struct Run {
    folder: TempDir,
    succeeded: bool,
    report: Value,
}

fn run(options: &str) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_fio"));
    command.current_dir(folder.path()).args(["--name=a", "--output-format=json", "--output=report.json"]);
    command.args(options.split(' ').filter(|word| !word.is_empty()));
    let succeeded = command.status().expect("the program starts").success();
    let text = std::fs::read_to_string(folder.path().join("report.json")).unwrap_or_default();
    let report = text.find('{').map_or(Value::Null, |start| serde_json::from_str(&text[start..]).expect("JSON"));
    Run { folder, succeeded, report }
}

impl Run {
    fn ios(&self, direction: &str) -> u64 {
        self.report["jobs"][0][direction]["total_ios"].as_u64().unwrap_or(0)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// `(offset, bytes)` of every line of a latency log with offsets, in order.
    fn logged(&self, name: &str) -> Vec<(u64, u64)> {
        let text = std::fs::read_to_string(self.path(name)).expect("a log");
        let number = |word: &str| word.trim().parse::<u64>().expect("a number");
        let line = |line: &str| {
            let words: Vec<&str> = line.split(',').collect();
            assert_eq!(words.len(), 6, "{line}");
            (number(words[4]), number(words[3]))
        };
        text.lines().map(line).collect()
    }
}

fn length(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|metadata| metadata.len())
}

#[test]
fn files_of_writes_have_their_length_before_they_are_written() {
    // Two of the sixteen blocks are written, the sixth and the tenth, so only the layout can have
    // made the rest.
    for (options, expected) in [
        ("", 65536),
        ("--fallocate=native", 65536),
        ("--fallocate=posix", 65536),
        ("--fallocate=truncate", 65536),
        ("--overwrite=1", 65536),
        ("--offset=64k", 131_072),
        ("--ioengine=mmap", 65536),
    ] {
        let job = format!("--filename=f --rw=randwrite --bs=4k --size=64k --io_size=8k {options}");
        let done = run(&job);
        assert!(done.succeeded, "{options}");
        assert_eq!(length(&done.path("f")), Some(expected), "{options}");
        assert_eq!(done.ios("write"), 2, "{options}");
    }
    for options in ["--fallocate=none", "--fallocate=keep", "--create_on_open=1"] {
        let done = run(&format!("--filename=f --rw=write --bs=4k --size=64k --io_size=8k {options}"));
        assert_eq!(length(&done.path("f")), Some(8192), "{options}");
    }
    let kept = run("--filename=f --rw=write --bs=4k --size=1m --io_size=8k --fallocate=none");
    let blocks = std::fs::metadata(kept.path("f")).expect("the file").blocks();
    assert!(blocks <= 64, "nothing was reserved: {blocks}");
}

#[test]
fn folders_are_made_and_create_only_stops_there() {
    let made = run("--filename=one/two/f --rw=write --bs=4k --size=16k");
    assert!(made.succeeded && length(&made.path("one/two/f")) == Some(16384));
    for pattern in ["read", "write"] {
        let created = run(&format!("--filename=sub/f --rw={pattern} --bs=4k --size=16k --create_only=1"));
        assert!(created.succeeded, "{pattern}");
        assert_eq!((length(&created.path("sub/f")), created.ios(pattern)), (Some(16384), 0), "{pattern}");
    }
}

#[test]
fn what_was_measured_survives_a_failure_between_passes() {
    // The file is removed before the second pass, which then finds nothing to read.
    let failed = run("--filename=f --rw=read --bs=4k --size=64k --loops=2 --unlink=1 --unlink_each_loop=1");
    assert!(!failed.succeeded);
    assert_eq!(failed.ios("read"), 16);
}

#[test]
fn nrfiles_takes_the_first_names() {
    let done = run("--filename=p:q:r --nrfiles=2 --rw=write --bs=4k --size=64k");
    assert_eq!(["p", "q", "r"].map(|name| length(&done.path(name))), [Some(32768), Some(32768), None]);
    assert_eq!(done.ios("write"), 16);
}

#[test]
fn random_writes_touch_every_block_once() {
    for engine in ["psync", "libaio"] {
        let job = "--filename=f --rw=randwrite --bs=4k --size=1m --iodepth=8 --write_lat_log=log --log_offset=1";
        let done = run(&format!("{job} --ioengine={engine}"));
        let logged = done.logged("log_clat.1.log");
        let offsets: BTreeSet<u64> = logged.iter().map(|(offset, _)| *offset).collect();
        assert_eq!((logged.len(), offsets.len()), (256, 256), "{engine}");
        assert!(offsets.into_iter().eq((0..256).map(|block| block * 4096)), "{engine}");
        assert_ne!(logged[0].0 + 4096, logged[1].0, "hardly sequential");
        // Synchronous engines have no submission latency.
        let submissions = length(&done.path("log_slat.1.log")).unwrap_or(0);
        assert_eq!(submissions == 0, engine == "psync");
    }
}

#[test]
fn clones_with_an_offset_increment_share_out_the_file() {
    let done = run(
        "--filename=f --rw=read --bs=4k --size=256k --offset_increment=256k --numjobs=4 --write_lat_log=log --log_offset=1",
    );
    let mut seen = Vec::new();
    for clone in 1..=4 {
        let offsets: Vec<u64> =
            done.logged(&format!("log_clat.{clone}.log")).iter().map(|(offset, _)| *offset).collect();
        assert!(offsets.windows(2).all(|pair| pair[1] == pair[0] + 4096), "clone {clone} reads in order");
        seen.extend(offsets);
    }
    seen.sort_unstable();
    assert!(seen.into_iter().eq((0..256).map(|block| block * 4096)), "each block is read by one clone");
}

#[test]
fn a_job_that_goes_by_time_begins_again_at_the_end() {
    let done = run(
        "--filename=f --rw=read --bs=4k --size=64k --time_based --runtime=100ms --write_lat_log=log --log_offset=1 \
         --thinktime=100us",
    );
    let offsets: Vec<u64> = done.logged("log_clat.1.log").iter().map(|(offset, _)| *offset).collect();
    assert!(offsets.len() > 32, "{} reads", offsets.len());
    assert!(offsets.iter().enumerate().all(|(index, offset)| *offset == index as u64 % 16 * 4096));
}
