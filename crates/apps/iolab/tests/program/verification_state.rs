//! A later run knows what an earlier one has written (`verify_state_save`, `verify_state_load`),
//! even if the earlier one was killed.

use std::os::unix::fs::FileExt;

use crate::support::Lab;

const WRITE: &str =
    "[w]\nfilename=f\nrw=randwrite\nbs=4k\nsize=256k\nverify=crc32c\ndo_verify=0\nverify_state_save=1\n";
const READ: &str = "[r]\nfilename=f\nrw=read\nbs=4k\nsize=256k\nverify=crc32c\nverify_state_load=1\n";
const STATE: &str = "local-f-verify.state";
/// The offset of the words of a state.
const WORDS: usize = 8192;

/// Runs a job; returns how many intervals were checked and how many were damaged.
#[track_caller]
fn checked(lab: &Lab, job: &str, code: i32) -> (u64, u64) {
    lab.job(job).ended(code, "");
    let found = lab.recording().workers.into_iter().filter_map(|worker| worker.verification);
    found.fold((0, 0), |sum, found| (sum.0 + found.intervals, sum.1 + found.damaged))
}

#[test]
fn what_was_written_is_read_and_nothing_else() {
    let lab = Lab::new();
    lab.job(&format!("{WRITE}io_size=128k\n")).ended(0, "");
    assert_eq!(std::fs::metadata(lab.path(STATE)).unwrap().len(), (WORDS + 2 * 64) as u64);
    assert_eq!(checked(&lab, READ, 0), (32, 0));
    // Another order and larger blocks read the same intervals.
    let larger = READ.replace("rw=read", "rw=randread").replace("bs=4k", "bs=64k\nverify_interval=4k");
    assert_eq!(checked(&lab, &larger, 0), (32, 0));
    let only = WRITE.replace("verify_state_save=1", "verify_state_load=1\nverify_only=1");
    assert_eq!(checked(&lab, &only, 0), (32, 0));
    // Without the state, a job that reads cannot know which blocks were never written.
    assert!(checked(&lab, &READ.replace("verify_state_load=1", ""), 1).1 > 0);
    // Each pass of a job reads the state's intervals again.
    assert_eq!(checked(&lab, &format!("{READ}loops=2\n"), 0), (64, 0));
}

#[test]
fn a_lost_write_is_found_although_the_old_block_is_sound() {
    let lab = Lab::new();
    lab.job(WRITE).ended(0, "");
    let old = std::fs::read(lab.path("f")).unwrap();
    lab.job(&format!("{WRITE}loops=2\n")).ended(0, "");
    assert_eq!(checked(&lab, READ, 0), (64, 0));
    let file = std::fs::OpenOptions::new().write(true).open(lab.path("f")).unwrap();
    file.write_all_at(&old[5 * 4096..6 * 4096], 5 * 4096).unwrap();
    lab.job(READ).ended(1, "offset 20480, length 4096: generation of the header wanted 2, found 1");
    // Without the state, an old block with a sound header is not recognised as old.
    assert_eq!(checked(&lab, &READ.replace("verify_state_load=1", ""), 0), (64, 0));
}

#[test]
fn jobs_of_one_file_share_its_state_and_go_on_from_it() {
    let lab = Lab::new();
    let both = format!("{WRITE}numjobs=3\nnorandommap=1\nio_size=512k\nioengine=libaio\niodepth=4\n");
    lab.job(&both).ended(0, "");
    let (intervals, damaged) = checked(&lab, READ, 0);
    assert!(intervals > 32 && intervals <= 64 && damaged == 0, "{intervals} {damaged}");
    // A mixed job continues from the state and saves it again: it covers new and earlier writes.
    let mix = both
        .replace("rw=randwrite", "rw=randrw")
        .replace("verify_state_save=1", "verify_state_save=1\nverify_state_load=1");
    let (mixed, damaged) = checked(&lab, &mix, 0);
    assert!(mixed > 0 && damaged == 0, "{mixed} {damaged}");
    let (after, damaged) = checked(&lab, READ, 0);
    assert!(after >= intervals && damaged == 0, "{after} {damaged}");
}

#[test]
fn a_killed_run_leaves_a_true_state() {
    let lab = Lab::new();
    for engine in ["psync", "io_uring\niodepth=16"] {
        let endless = format!("thread=1\nnorandommap=1\ntime_based=1\nruntime=600\nioengine={engine}\n");
        lab.file("endless.fio", format!("{WRITE}{endless}"));
        let _ = std::fs::remove_file(lab.path(STATE));
        let running = lab.start(["run", "endless.fio"]);
        running.until(|_| {
            let state = std::fs::read(lab.path(STATE)).unwrap_or_default();
            let known = |word: &[u8]| u16::from_ne_bytes([word[0], word[1]]) & 0xfff > 2;
            state.get(WORDS..).is_some_and(|words| words.chunks_exact(2).filter(|word| known(word)).count() > 40)
        });
        running.signal(9);
        drop(running.finish());
        let (intervals, damaged) = checked(&lab, READ, 0);
        assert!(intervals > 40 - 16 && damaged == 0, "{engine}: {intervals} {damaged}");
    }
}

#[test]
fn a_state_that_does_not_fit_is_refused_and_what_is_no_state_stays() {
    let lab = Lab::new();
    lab.file("f", vec![0; 256 << 10]);
    lab.job(READ).ended(1, "a run with verify_state_save=1 makes it");
    std::fs::remove_file(lab.path("f")).unwrap();
    lab.job(WRITE).ended(0, "");
    lab.job(&READ.replace("bs=4k", "bs=8k")).ended(1, "its intervals have 4096 bytes");
    std::fs::copy(lab.path("f"), lab.path("g")).unwrap();
    std::fs::copy(lab.path(STATE), lab.path("local-g-verify.state")).unwrap();
    lab.job(&READ.replace("=f", "=g")).ended(1, "not of");
    lab.file(STATE, "a diary");
    lab.job(READ).ended(1, "not a state");
    lab.job(WRITE).ended(1, "is no state");
    assert_eq!(std::fs::read(lab.path(STATE)).unwrap(), b"a diary");
}
