//! `merge_blktrace_file` and `--merge-blktrace-only`.

use crate::drop_in::Folder;

/// A record of blktrace(8): a request is issued (7) or completed (8); a write has kind 2.
fn record(time_ns: u64, sector: u64, bytes: u32, what: u16) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(0x6561_7407_u32.to_le_bytes());
    record.extend(1_u32.to_le_bytes());
    record.extend(time_ns.to_le_bytes());
    record.extend(sector.to_le_bytes());
    record.extend(bytes.to_le_bytes());
    record.extend(what.to_le_bytes());
    record.extend(2_u16.to_le_bytes());
    for word in [77_u32, 8 << 20 | 1, 0, 0] {
        record.extend(word.to_le_bytes());
    }
    record
}

fn trace(folder: &Folder, name: &str, sector: u64, count: u64) {
    let each = |number: u64| {
        let (at_ns, sector) = (number * 1_000_000, sector + number * 8);
        [record(at_ns + 1000, sector, 4096, 7), record(at_ns + 2000, sector, 4096, 8)].concat()
    };
    std::fs::write(folder.path(name), (0..count).flat_map(each).collect::<Vec<u8>>()).expect("writable");
}

const REPLAY: [&str; 6] = [
    "--name=r",
    "--read_iolog=a:b",
    "--merge_blktrace_file=m",
    "--replay_redirect=disk",
    "--ioengine=psync",
    "--minimal",
];

#[test]
fn traces_are_merged_and_the_merged_one_is_replayed() {
    let folder = Folder::new();
    trace(&folder, "a", 0, 5);
    trace(&folder, "b", 800, 3);
    let done = folder.fio(&[&REPLAY[..], &["--merge-blktrace-only"]].concat());
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "", ""));
    assert_eq!(std::fs::metadata(folder.path("m")).expect("a merged trace").len(), 2 * 8 * 48);
    assert!(!folder.path("disk").exists(), "merging replays nothing");
    let terse = folder.good(&REPLAY);
    // Written: 8 requests of 4 KiB, field 47 of the terse format.
    assert_eq!(terse.split(';').nth(46), Some("32"), "{terse}");
    let passes =
        folder.good(&[&REPLAY[..], &["--merge_blktrace_iters=2:1", "--merge_blktrace_scalars=50:100"]].concat());
    assert_eq!(passes.split(';').nth(46), Some("52"), "{passes}");
    assert_eq!(std::fs::metadata(folder.path("m")).expect("a merged trace").len(), 2 * 13 * 48);
}

#[test]
fn what_cannot_be_merged_is_said() {
    let folder = Folder::new();
    trace(&folder, "a", 0, 5);
    trace(&folder, "b", 800, 3);
    folder.write("mine", "words of a person");
    for (words, said) in [
        ("--merge_blktrace_iters=2", "1 numbers for 2 files"),
        ("--merge_blktrace_iters=0.5:1", "whole numbers"),
        ("--merge_blktrace_file=mine", "is no merged trace"),
        ("--merge_blktrace_file=a", "is a, which is to be merged"),
        ("--read_iolog=a:none", "none: "),
        ("--read_iolog=a:mine", "it does not begin with a blktrace record"),
    ] {
        let done = folder.fio(&[&REPLAY[..], &[words]].concat());
        assert_eq!((done.code, done.out.as_str()), (1, ""), "{words}");
        assert!(done.err.contains(said), "{words}: {}", done.err);
    }
    assert_eq!(folder.read("mine"), "words of a person");
    assert!(!folder.path("m.partial").exists());
}
