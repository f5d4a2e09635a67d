//! Verification of written data: good data is never reported as damaged, and damage is found at its
//! place.

use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::support::Lab;
use iolab_random::SplitMix64;

/// Runs a job that must verify `intervals` intervals without damage.
#[track_caller]
fn clean(lab: &Lab, job: &str, intervals: u64) {
    lab.job(job).ended(0, "");
    let recording = lab.recording();
    let checked = |worker: &iolab_recording::WorkerRecording| worker.verification.clone().unwrap_or_default();
    let found: u64 = recording.workers.iter().map(|worker| checked(worker).intervals).sum();
    let damaged: u64 = recording.workers.iter().map(|worker| checked(worker).damaged).sum();
    assert_eq!((found, damaged), (intervals, 0), "{job}");
}

#[test]
fn every_way_to_write_verifies() {
    let lab = Lab::new();
    let of = |options: &str| format!("[a]\nfilename=f\nbs=4k\nsize=256k\n{}\n", options.replace(' ', "\n"));
    for (options, intervals) in [
        ("rw=write verify=crc32c", 64),
        ("rw=randwrite verify=md5", 64),
        ("rw=randwrite verify=md5 random_generator=lfsr", 64),
        ("rw=write verify=sha3-256 do_verify=0", 0),
        ("rw=write verify=null", 64),
        ("rw=write verify=crc32c loops=3", 192),
        ("rw=write verify=crc32c verify_interval=512", 512),
        ("rw=write verify=crc32c verify_interval=1k verify_offset=100", 256),
        ("rw=write verify=xxhash ioengine=libaio iodepth=8", 64),
        ("rw=randwrite verify=crc64 ioengine=io_uring iodepth=16", 64),
        ("rw=write verify=meta offset=64k size=64k", 16),
        ("rw=write verify=pattern verify_pattern=0xff%o\"abcd\"-12", 64),
        ("rw=randwrite verify=pattern_hdr verify_pattern=0xdeadbeef", 64),
        ("rw=write verify=crc32c verify_backlog=7", 64),
        ("rw=randwrite verify=crc32c verify_backlog=8 verify_backlog_batch=3 ioengine=libaio iodepth=4", 64),
        ("rw=write verify=sha1 buffer_compress_percentage=40", 64),
        ("rw=write verify=sha1 zero_buffers=1", 64),
        ("rw=write verify=crc16 bsrange=4k-16k", 64),
        ("rw=randwrite verify=crc7 bssplit=4k/30:8k/70", 64),
        ("rw=trimwrite verify=crc32c", 64),
    ] {
        let _ = std::fs::remove_file(lab.path("f"));
        clean(&lab, &of(options), intervals);
    }
    // Files whose size is not a multiple of the block size, several files, blocks that are written
    // more than once.
    for options in [
        "rw=randrw verify=crc32c ioengine=libaio iodepth=8",
        "rw=randwrite verify=md5 norandommap=1 io_size=1m ioengine=libaio iodepth=16",
        "rw=randwrite verify=crc32c random_distribution=zipf:1.2 io_size=1m ioengine=io_uring iodepth=8",
        "rw=randwrite:4 verify=crc32c rw_sequencer=identical ioengine=libaio iodepth=8",
        "rw=write:4k verify=crc32c",
        "rw=rw verify=crc32c bsrange=1k-16k ioengine=libaio iodepth=4",
        "rw=write verify=crc32c time_based=1 runtime=1",
        "rw=randwrite verify=crc32c trim_percentage=30 trim_backlog=10 trim_backlog_batch=4",
        "rw=randtrimwrite verify=md5 ioengine=libaio iodepth=4",
        "rw=randwrite verify=crc32c numjobs=4 norandommap=1 io_size=512k ioengine=libaio iodepth=8",
        "rw=randrw verify=crc32c numjobs=3 thread=1 ioengine=io_uring iodepth=4 loops=2",
    ] {
        let job = of(options);
        lab.job(&job).ended(0, "");
        let workers = lab.recording().workers;
        let found: Vec<_> = workers.iter().filter_map(|worker| worker.verification.clone()).collect();
        assert!(found.iter().any(|found| found.intervals > 0), "{options}: nothing was checked");
        assert!(found.iter().all(|found| found.damaged == 0), "{options}: {found:?}");
    }
    let files = "[a]\nrw=randwrite\nbs=4k\nsize=1m\nnrfiles=5\nverify=sha256\nioengine=libaio\niodepth=4\n";
    lab.job(files).ended(0, "");
    assert!(lab.recording().workers[0].verification.as_ref().unwrap().intervals >= 250);
}

#[test]
fn an_earlier_runs_file_verifies_by_itself() {
    let lab = Lab::new();
    let write = "[w]\nfilename=f\nrw=randwrite\nbs=4k\nsize=256k\nverify=crc32c\ndo_verify=0\n";
    lab.job(write).ended(0, "");
    clean(&lab, "[r]\nfilename=f\nrw=read\nbs=4k\nsize=256k\nverify=crc32c\n", 64);
    clean(&lab, "[r]\nfilename=f\nrw=randread\nbs=16k\nverify_interval=4k\nsize=256k\nverify=crc32c\n", 64);
    clean(&lab, &write.replace("do_verify=0", "verify_only=1"), 64);
    // `crc32c-intel` is another name of the same kind; md5 is a different kind.
    clean(&lab, "[r]\nfilename=f\nrw=read\nbs=4k\nsize=256k\nverify=crc32c-intel\n", 64);
    lab.job("[r]\nfilename=f\nrw=read\nbs=4k\nsize=256k\nverify=md5\n").ended(1, "kind of the header");
}

/// Writes bytes into a file of the lab.
fn overwrite(path: &Path, offset: u64, bytes: &[u8]) {
    std::fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, offset).unwrap();
}

#[test]
fn damage_ends_the_job_as_asked() {
    let lab = Lab::new();
    let write = || {
        lab.job("[w]\nfilename=f\nrw=write\nbs=4k\nsize=256k\nverify=crc32c\ndo_verify=0\n").ended(0, "");
        overwrite(&lab.path("f"), 2 * 4096 + 100, b"xyz");
        overwrite(&lab.path("f"), 40 * 4096, &[0; 4096]);
    };
    let read =
        |options: &str| lab.job(&format!("[r]\nfilename=f\nrw=read\nbs=4k\nsize=256k\nverify=crc32c\n{options}\n"));
    write();
    let done = read("").ended(1, "offset 8192, length 4096");
    assert!(done.errors().contains("bit flips"), "{}", done.errors());
    assert_eq!(done.json()["jobs"][0]["error"], 84);
    // The whole file was read.
    assert_eq!(done.json()["jobs"][0]["read"]["total_ios"], 64);
    let found = lab.recording().workers[0].verification.clone().unwrap();
    assert_eq!((found.intervals, found.damaged), (64, 2));
    let [first, second] = &found.first[..] else { panic!("{found:?}") };
    assert_eq!((first.offset, second.offset), (8192, 40 * 4096));
    assert!(second.damage.starts_with("zeroes"), "{second:?}");
    // The first damage ends the job.
    let done = read("verify_fatal=1").ended(1, "offset 8192");
    assert!(done.json()["jobs"][0]["read"]["total_ios"].as_u64().unwrap() < 64);
    // The job continues, and counts the damage.
    let done = read("continue_on_error=verify").ended(0, "");
    assert_eq!(done.json()["jobs"][0]["total_err"], 2);
    assert_eq!(done.json()["jobs"][0]["first_error"], 84);
    // Both blocks are dumped, and no dump is overwritten.
    read("verify_dump=1").ended(1, "received data dumped as f.8192.received");
    read("verify_dump=1").ended(1, "f.8192.received.2");
    let received = std::fs::read(lab.path("f.8192.received")).unwrap();
    let mut expected = std::fs::read(lab.path("f.8192.expected")).unwrap();
    assert_ne!(received, expected);
    expected[100..103].copy_from_slice(b"xyz");
    assert_eq!(received, expected);
}

#[test]
fn a_lost_write_is_found_though_the_block_is_sound() {
    let lab = Lab::new();
    // The file of the first pass is kept, and one of its blocks is copied back before the check.
    let job = "[global]\nfilename=f\nbs=4k\nsize=64k\nverify=crc32c\n\
         [one]\nrw=write\ndo_verify=0\nexec_postrun=cp f old\n\
         [two]\nstonewall\nrw=write\ndo_verify=0\nexec_postrun=dd if=old of=f bs=4k skip=3 seek=3 count=1 conv=notrunc 2>/dev/null\n\
         [check]\nstonewall\nrw=read\n";
    let done = lab.job(job).ended(1, "offset 12288, length 4096");
    assert!(done.errors().contains("a stale block, of generation 1"), "{}", done.errors());
}

#[test]
fn refusals_say_why() {
    let lab = Lab::new();
    for (options, said) in [
        ("verify=pattern", "needs a pattern"),
        ("verify=sha512\nbs=64", "needs 128 bytes"),
        ("verify=md5\nverify_interval=1000", "does not divide"),
        ("verify=md5\nbs_unaligned=1", "bs_unaligned"),
        ("verify=md5\nverify_state_load=1", "verify_state_load"),
        ("verify=md5\nioengine=cpuio\ncpuload=10", "moves no data"),
        ("verify=md5\nioengine=null", "keeps no data"),
    ] {
        let job = format!("[a]\nfilename=f\nrw=write\nsize=64k\n{options}\n");
        let done = lab.job(&job);
        assert!(done.code() != 0 && done.errors().contains(said), "{options}: {done:?}");
    }
}

/// One of `choices`.
fn one<'a>(random: &mut SplitMix64, choices: &[&'a str]) -> &'a str {
    choices[random.below(choices.len() as u64) as usize]
}

fn random_job(random: &mut SplitMix64) -> String {
    let mut job = String::from("[a]\nfilename=f\n");
    let mut add = |line: &str| {
        if !line.is_empty() {
            job.push_str(line);
            job.push('\n');
        }
    };
    add(one(
        random,
        &["rw=write", "rw=randwrite", "rw=rw", "rw=randrw", "rw=randwrite:3", "rw=trimwrite", "rw=randtrimwrite"],
    ));
    add(&format!(
        "verify={}",
        one(
            random,
            &["crc32c", "md5", "crc64", "crc16", "sha1", "xxhash", "meta", "crc7", "crc32", "sha3-224", "pattern_hdr"]
        )
    ));
    add("verify_pattern=0xabcd%o\"z\"");
    add(one(random, &["bs=4k", "bs=1k", "bs=4k,8k,4k", "bsrange=1k-9k", "bssplit=2k/50:6k/20:16k/30", "bs=12k"]));
    add(one(random, &["size=64k", "size=300k", "size=129k", "size=1m"]));
    add(one(random, &["", "offset=4k", "offset=3k", "io_size=700k", "number_ios=40"]));
    add(one(random, &["", "norandommap=1", "random_distribution=zipf:1.1", "random_generator=lfsr", "ba=512"]));
    add(one(random, &["", "verify_backlog=5", "verify_backlog=16\nverify_backlog_batch=4", "loops=2"]));
    add(one(random, &["", "verify_interval=512", "verify_offset=64", "nrfiles=3", "unlink_each_loop=1\nloops=3"]));
    add(one(random, &["", "trim_percentage=25\ntrim_backlog=6", "buffer_compress_percentage=50", "verify_fatal=1"]));
    add(one(
        random,
        &["ioengine=psync", "ioengine=libaio\niodepth=8", "ioengine=io_uring\niodepth=16\niodepth_batch=4"],
    ));
    add(one(random, &["", "numjobs=3", "numjobs=2\nthread=1", "serialize_overlap=1", "rate_iops=4000", "fsync=3"]));
    add(&format!("randseed={}", random.below(1000)));
    job
}

/// `IOLAB_VERIFY_RUNS` sets the number of combinations, `IOLAB_VERIFY_SEED` the seed.
#[test]
fn no_combination_gives_a_false_alarm() {
    let number = |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (runs, seed) = (number("IOLAB_VERIFY_RUNS", 100), number("IOLAB_VERIFY_SEED", 1));
    let lab = Lab::new();
    let mut random = SplitMix64::new(seed);
    let (mut refused, mut checked) = (0, 0);
    for run in 0..runs {
        let job = random_job(&mut random);
        for entry in std::fs::read_dir(lab.path("")).unwrap().flatten() {
            if entry.file_type().unwrap().is_file() {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        let done = lab.job(&job);
        let ruled_out = ["does not divide", "share intervals", "made anew while"];
        if ruled_out.iter().any(|reason| done.errors().contains(reason)) {
            refused += 1;
            continue;
        }
        assert_eq!(done.code(), 0, "run {run} of seed {seed}:\n{job}\n{}", done.errors());
        let workers = lab.recording().workers;
        let found = workers.iter().filter_map(|worker| worker.verification.clone());
        checked += found.map(|found| found.intervals).sum::<u64>();
    }
    assert!(refused * 2 < runs && checked > runs * 20, "{runs} runs: {refused} refused, {checked} intervals checked");
}
