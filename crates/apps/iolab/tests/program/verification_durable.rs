//! Data after a loss of power is judged by what was flushed (`verify_policy`, `iolab verify`).

use std::os::unix::fs::FileExt;

use crate::support::Lab;

const WRITE: &str = "[w]\nfilename=f\nrw=randwrite\nbs=4k\nsize=256k\nverify=crc32c\ndo_verify=0\n\
                     verify_state_save=1\nverify_policy=durable\n";
const STATE: &str = "local-f-verify.state";

/// Makes a file with a state: a first pass flushes all blocks; a second pass rewrites every other
/// block and flushes half of those. Returns the file after the first pass.
fn written(lab: &Lab, more: &str) -> Vec<u8> {
    lab.job(&format!("{WRITE}end_fsync=1\n{more}")).ended(0, "");
    let old = std::fs::read(lab.path("f")).unwrap();
    let second = WRITE.replace("rw=randwrite", "rw=write:4k\nnumber_ios=32\nfsync=16");
    lab.job(&format!("{second}verify_state_load=1\n{more}")).ended(0, "");
    old
}

#[test]
fn a_state_says_of_each_block_what_it_must_hold() {
    let lab = Lab::new();
    written(&lab, "");
    let listed = lab.run(["verify", STATE, "--list"]).ended(0, "").printed();
    // The flush after the sixteenth write covers it; later writes are not covered.
    assert!(listed.contains("must be new") && listed.contains("must not be older"), "{listed}");
    let done = lab.run(["verify", STATE]).ended(0, "").printed();
    assert!(done.contains("must be new=48, must not be older=16, may be either=0"), "{done}");
    assert!(done.contains("newest=64, older=0"), "{done}");
}

#[test]
fn what_was_flushed_must_not_be_lost_and_what_was_not_may_be() {
    let lab = Lab::new();
    for more in
        ["", "verify=md5\n", "verify=sha256\nbuffer_compress_percentage=50\n", "verify=meta\nverify_offset=64\n"]
    {
        let old = written(&lab, more);
        let new = std::fs::read(lab.path("f")).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(lab.path("f")).unwrap();
        let put = |block: usize, bytes: &[u8]| file.write_all_at(bytes, block as u64 * 4096).unwrap();
        let block = |all: &[u8], number: usize| all[number * 4096..][..4096].to_vec();
        // Blocks 0, 2, … 62 have two writes; the second one of 0 to 30 is flushed.
        for (number, bytes, code, said) in [
            (40, block(&old, 40), 0, "older=1"),
            (40, [&block(&new, 40)[..1024], &block(&old, 40)[1024..]].concat(), 0, "torn=1"),
            (40, [&block(&old, 40)[..1024], &block(&new, 40)[1024..]].concat(), 0, "torn=1"),
            (40, vec![0; 4096], 1, "damaged=1"),
            (40, block(&new, 42), 1, "damaged=1"),
            (2, block(&old, 2), 1, "damaged=1"),
            (2, [&block(&old, 2)[..1024], &block(&new, 2)[1024..]].concat(), 1, "damaged=1"),
            (1, vec![0; 4096], 1, "damaged=1"),
        ] {
            put(number, &bytes);
            let done = lab.run(["verify", STATE]).ended(code, "");
            assert!(done.printed().contains(said), "{more}block {number} {said}: {}", done.printed());
            put(number, &block(&new, number));
        }
        lab.run(["verify", STATE]).ended(0, "");
        // Options of a job give the same results; `fsynced` ignores blocks that may be either.
        let read = format!("[r]\nfilename=f\nrw=read\nbs=4k\nsize=256k\nverify=crc32c\nverify_state_load=1\n{more}");
        put(40, &block(&old, 40));
        lab.job(&format!("{read}verify_policy=durable\n")).ended(0, "");
        lab.job(&format!("{read}verify_policy=fsynced\n")).ended(0, "");
        assert_eq!(lab.recording().workers[0].verification.as_ref().unwrap().intervals, 48);
        lab.job(&read).ended(1, "offset 163840");
        put(2, &block(&old, 2));
        lab.job(&format!("{read}verify_policy=fsynced\n")).ended(1, "offset 8192");
        std::fs::remove_file(lab.path("f")).unwrap();
    }
}

#[test]
fn a_copy_is_verified_and_what_a_short_file_lacks_is_missing() {
    let lab = Lab::new();
    written(&lab, "");
    std::fs::rename(lab.path("f"), lab.path("g:1")).unwrap();
    lab.run(["verify", STATE, "--file", "g:1"]).ended(0, "");
    let file = std::fs::OpenOptions::new().write(true).open(lab.path("g:1")).unwrap();
    file.set_len(128 << 10).unwrap();
    let done = lab.run(["verify", STATE, "--file", "g:1"]).ended(1, "32 blocks that must be there are missing");
    assert!(done.errors().contains("the first at 131072"), "{}", done.errors());
    assert_eq!(std::fs::metadata(lab.path("g:1")).unwrap().len(), 128 << 10, "nothing was written");
    lab.run(["verify", "g:1"]).ended(2, "not a state");
    // A state without flushes does not say what is durable.
    let plain = WRITE.replace("verify_policy=durable\n", "");
    lab.job(&plain).ended(0, "");
    lab.run(["verify", STATE]).ended(2, "does not know what was flushed");
}

#[test]
fn synchronous_writes_are_durable_at_once_and_a_killed_run_is_judged() {
    let lab = Lab::new();
    lab.job(&format!("{WRITE}sync=dsync\n")).ended(0, "");
    let done = lab.run(["verify", STATE]).ended(0, "").printed();
    assert!(done.contains("must be new=64, must not be older=0, may be either=0"), "{done}");
    lab.job(WRITE).ended(0, "");
    let done = lab.run(["verify", STATE]).ended(0, "").printed();
    assert!(done.contains("must be new=0, must not be older=0, may be either=64"), "{done}");
    let endless = "norandommap=1\ntime_based=1\nruntime=600\nioengine=libaio\niodepth=8\nfsync=8\n";
    lab.file("endless.fio", format!("{WRITE}{endless}"));
    std::fs::remove_file(lab.path(STATE)).unwrap();
    let running = lab.start(["run", "endless.fio"]);
    // The second half of the state holds the words about durability.
    running.until(|_| {
        let state = std::fs::read(lab.path(STATE)).unwrap_or_default();
        state.get(8192 + 128..).is_some_and(|durable| durable.chunks(2).filter(|word| word != &[0, 0]).count() > 40)
    });
    running.signal(9);
    drop(running.finish());
    let done = lab.run(["verify", STATE]).ended(0, "").printed();
    assert!(done.contains("damaged=0") && !done.contains("must be new=0,"), "{done}");
}

#[test]
fn threads_find_what_the_worker_finds() {
    let lab = Lab::new();
    let write = "[w]\nfilename=f\nrw=write\nbs=4k\nsize=1m\nverify=md5\n";
    for more in ["", "verify_backlog=16\n", "ioengine=libaio\niodepth=16\n", "verify_async_cpus=0\n", "loops=2\n"] {
        lab.job(&format!("{write}verify_async=3\n{more}")).ended(0, "");
        let found = lab.recording().workers[0].verification.clone().unwrap();
        assert_eq!((found.intervals % 256, found.damaged), (0, 0), "{more}");
    }
    let file = std::fs::OpenOptions::new().write(true).open(lab.path("f")).unwrap();
    for block in [3, 100, 255] {
        file.write_all_at(b"xyz", block * 4096 + 1000).unwrap();
    }
    let read = "[r]\nfilename=f\nrw=read\nbs=4k\nsize=1m\nverify=md5\nverify_async=2\n";
    let done = lab.job(read).ended(1, "offset 12288");
    assert_eq!(done.json()["jobs"][0]["error"], 84);
    assert_eq!(done.json()["jobs"][0]["read"]["total_ios"], 256);
    let found = lab.recording().workers[0].verification.clone().unwrap();
    assert_eq!((found.intervals, found.damaged), (256, 3));
    let mut offsets: Vec<u64> = found.first.iter().map(|damage| damage.offset / 4096).collect();
    offsets.sort_unstable();
    assert_eq!(offsets, [3, 100, 255]);
    let done = lab.job(&format!("{read}continue_on_error=verify\n")).ended(0, "");
    assert_eq!(done.json()["jobs"][0]["total_err"], 3);
    lab.job(&format!("{read}verify_async_cpus=500\n")).ended(1, "verify_async_cpus");
}
