//! Options of fio's job language that few jobs use: patterns from files, shared working sets, lists
//! of blocks, priorities of single operations, compressed logs.

use std::collections::{HashMap, HashSet};

use crate::support::Lab;
use serde_json::Value;

#[test]
fn a_pattern_is_put_together_from_pieces_and_files() {
    let lab = Lab::new();
    lab.file("piece", [1, 2, 3]);
    let job = |pattern: &str, more: &str| {
        format!("[a]\nfilename=f\nsize=16k\nbs=4k\nrw=write\nbuffer_pattern={pattern}\n{more}\n")
    };
    lab.job(&job("\"abcd\"-120xdeadface'piece'", "")).ended(0, "");
    let pattern = [&b"abcd"[..], &[0xf4, 0xff, 0xff, 0xff], &[0xde, 0xad, 0xfa, 0xce], &[1, 2, 3]].concat();
    let expected: Vec<u8> = pattern.iter().copied().cycle().take(4096).collect();
    let content = std::fs::read(lab.path("f")).unwrap();
    assert!(content.chunks(4096).all(|block| block == expected));

    // A file that is longer than a block: its beginning.
    let long: Vec<u8> = (0..10_000_u32).map(|at| (at * 7) as u8).collect();
    lab.file("long", &long);
    lab.job(&job("'long'", "")).ended(0, "");
    let content = std::fs::read(lab.path("f")).unwrap();
    assert!(content.chunks(4096).all(|block| block == &long[..4096]));

    lab.job(&job("'nothing'", "")).ended(2, "nothing");
    lab.file("empty", "");
    lab.job(&job("'empty'", "")).ended(2, "the file is empty");
    lab.job(&job("'piece", "")).ended(2, "closing quote");
    lab.job(&job("'/dev/zero'", "")).ended(2, "regular file");
}

#[test]
fn a_verify_pattern_has_the_bytes_of_files_and_the_offset() {
    let lab = Lab::new();
    lab.file("piece", b"%o 'x");
    let job = |rw: &str| {
        format!("[a]\nfilename=f\nsize=64k\nbs=4k\nrw={rw}\nverify=pattern\nverify_pattern='piece'%o\"z\"\n")
    };
    lab.job(&job("write")).ended(0, "");
    let content = std::fs::read(lab.path("f")).unwrap();
    for (number, block) in (0_u64..).zip(content.chunks(4096)) {
        assert_eq!(&block[..5], b"%o 'x");
        assert_eq!(block[5..13], (number * 4096).to_le_bytes());
        assert_eq!(&block[13..19], b"z%o 'x");
    }
    lab.job(&job("read")).ended(0, "");
    lab.file("piece", b"%o 'y");
    lab.job(&job("read")).ended(1, "");
}

/// How often each content of 4 KiB occurs in the files of two jobs, and how many contents are in
/// both.
fn shared_contents(lab: &Lab) -> (usize, usize) {
    let contents = |name: &str| {
        let bytes = std::fs::read(lab.path(name)).unwrap();
        let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
        bytes.chunks(4096).for_each(|block| *counts.entry(block.to_vec()).or_default() += 1);
        counts
    };
    let (a, b) = (contents("a.0.0"), contents("b.0.0"));
    let both = a.keys().collect::<HashSet<_>>().intersection(&b.keys().collect()).count();
    (a.len(), both)
}

#[test]
fn a_global_working_set_repeats_the_contents_of_other_jobs() {
    let lab = Lab::new();
    let job = |more: &str| {
        format!(
            "[global]\nsize=4m\nbs=4k\nrw=write\ndedupe_percentage=50\ndedupe_mode=working_set\n\
             dedupe_working_set_percentage=20\nfilename_format=$jobname.$jobnum.$filenum\n{more}[a]\n[b]\n"
        )
    };
    lab.job(&job("")).ended(0, "");
    let (own, both) = shared_contents(&lab);
    assert!((440..600).contains(&own) && both == 0, "{own} contents, {both} shared");
    lab.job(&job("dedupe_global=1\n")).ended(0, "");
    let (_, both) = shared_contents(&lab);
    assert!(both > 20, "{both} shared");
    lab.job(&job("dedupe_global=1\n").replace("working_set\n", "repeat\n")).ended(2, "dedupe_mode=working_set");
}

/// Offsets of the operations of a job, by its log.
fn offsets(lab: &Lab, more: &str) -> Vec<u64> {
    let job = format!(
        "[a]\nioengine=null\nsize=1m\nbs=4k\nio_size=64k\nrw=randread\nwrite_iops_log=x\nlog_offset=1\n{more}\n"
    );
    lab.job(&job).ended(0, "");
    let text = std::fs::read_to_string(lab.path("x_iops.1.log")).unwrap();
    text.lines().map(|line| line.split(", ").nth(4).unwrap().parse::<u64>().unwrap() / 4096).collect()
}

#[test]
fn a_sequence_of_blocks_repeats_or_moves_on() {
    let lab = Lab::new();
    let expected: Vec<u64> = [0, 2, 1].into_iter().cycle().take(16).collect();
    assert_eq!(offsets(&lab, "random_distribution=sequence:0,2,1"), expected);
    let moved = offsets(&lab, "random_distribution=sequence:0,2,1\nrandom_sequence_stride=1");
    assert_eq!(moved, [0, 2, 1, 3, 5, 4, 6, 8, 7, 9, 11, 10, 12, 14, 13, 15]);
    let job = "[a]\nioengine=null\nsize=8k\nbs=4k\nrw=randread\nrandom_distribution=sequence:0,2\n";
    lab.job(job).ended(1, "block 2 of the sequence is beyond");
}

#[test]
fn operations_with_a_priority_of_their_own_have_latencies_of_their_own() {
    let lab = Lab::new();
    for engine in ["libaio", "io_uring"] {
        let job = |more: &str| {
            format!(
                "[a]\nfilename=f\nsize=4m\nbs=4k\nrw=randrw\nioengine={engine}\niodepth=4\nprioclass=2\nprio=5\n{more}\n"
            )
        };
        let text = job("cmdprio_percentage=30,0\ncmdprio_class=2\ncmdprio=1\nwrite_lat_log=x\nlog_prio=1");
        let done = lab.job(&text).ended(0, "");
        let report = &done.json()["jobs"][0];
        let of = |direction: &str| -> Vec<(u64, u64, u64)> {
            let prios = report[direction]["prios"].as_array().unwrap_or_else(|| panic!("{report}"));
            let one = |prio: &Value| {
                let number = |key: &str| prio[key].as_u64().unwrap();
                (number("prioclass"), number("prio"), prio["clat_ns"]["N"].as_u64().unwrap())
            };
            prios.iter().map(one).collect()
        };
        let (reads, writes) = (of("read"), of("write"));
        let total = report["read"]["total_ios"].as_u64().unwrap();
        assert_eq!(reads.iter().map(|one| one.2).sum::<u64>(), total, "{engine}");
        let [(2, 5, _), (2, 1, own)] = &reads[..] else { panic!("{engine}: {reads:?}") };
        let share = *own as f64 / total as f64;
        assert!((0.2..0.4).contains(&share), "{engine}: {share}");
        assert_eq!(writes.len(), 1, "{engine}: {writes:?}");
        let log = std::fs::read_to_string(lab.path("x_clat.1.log")).unwrap();
        assert!(log.lines().any(|line| line.ends_with("0x4001")), "{engine}: the log has the priority");

        let by_size = job("bssplit=4k/50:16k/50\ncmdprio_bssplit=4k/100/2/3:16k/50/3/0,4k/0\nlat_percentiles=1");
        let report = lab.job(&by_size).ended(0, "").json();
        let read = &report["jobs"][0]["read"];
        let prios = read["prios"].as_array().unwrap();
        let classes: Vec<(u64, u64)> =
            prios.iter().map(|one| (one["prioclass"].as_u64().unwrap(), one["prio"].as_u64().unwrap())).collect();
        assert_eq!(classes, [(2, 5), (2, 3), (3, 0)], "{engine}: {read}");
        assert!(read["prios"][0]["lat_ns"]["percentile"].is_object(), "{engine}: {read}");
    }
    let refused = |more: &str, said: &str| {
        lab.job(&format!("[a]\nfilename=f\nsize=1m\nrw=read\nioengine=libaio\n{more}\n")).ended(2, said);
    };
    refused("cmdprio_percentage=10\ncmdprio_bssplit=4k/10", "exclude each other");
    refused("cmdprio_bssplit=4k/10/1", "two, four or five parts");
    refused("cmdprio_bssplit=4k/60:4k/60", "add up to 120");
}

#[test]
fn the_normal_report_shows_each_priority() {
    let lab = Lab::new();
    let done = lab.fio([
        "--name=a",
        "--filename=f",
        "--size=1m",
        "--rw=read",
        "--ioengine=libaio",
        "--iodepth=2",
        "--cmdprio_percentage=50",
        "--cmdprio_class=2",
        "--cmdprio=3",
    ]);
    let text = done.ended(0, "").printed();
    assert!(text.contains("clat prio 2/3/0 (") && text.contains("% of IOs) percentiles"), "{text}");
}

#[test]
fn compressed_logs_hold_what_plain_ones_do() {
    let lab = Lab::new();
    let job = |more: &str| {
        format!(
            "[a]\nioengine=null\nsize=8m\nbs=4k\nrw=randread\nrandseed=7\nwrite_iops_log=x\nwrite_lat_log=x\nlog_offset=1\n\
             numjobs=2\n{more}\n"
        )
    };
    lab.job(&job("")).ended(0, "");
    let offsets =
        |text: &str| -> Vec<String> { text.lines().map(|line| line.split(", ").nth(4).unwrap().to_owned()).collect() };
    let plain = std::fs::read_to_string(lab.path("x_iops.1.log")).unwrap();
    for _ in 0..2 {
        // The second time, files of the first are replaced.
        lab.job(&job("log_store_compressed=1\nlog_compression=64k")).ended(0, "");
    }
    let inflated = lab.fio(["--inflate-log=x_iops.1.log.fz"]).ended(0, "").printed();
    assert_eq!((offsets(&inflated).len(), offsets(&inflated)), (2048, offsets(&plain)));
    let stored = std::fs::metadata(lab.path("x_clat.2.log.fz")).unwrap().len();
    assert!(stored * 2 < std::fs::metadata(lab.path("x_clat.2.log")).unwrap().len(), "{stored}");
    // Jobs that share a log are compressed into one.
    lab.job(&job("log_store_compressed=1\nper_job_logs=0")).ended(0, "");
    let both = lab.fio(["--inflate-log", "x_iops.log.fz"]).ended(0, "").printed();
    assert_eq!(both.lines().count(), 4096);
    lab.file("x_iops.1.log.fz", "my notes");
    lab.job(&job("log_store_compressed=1")).ended(3, "x_iops.1.log.fz");
    lab.fio(["--inflate-log=x_iops.1.log"]).ended(1, "it is no log");
}

#[test]
fn atomic_writes_are_refused_where_they_cannot_be() {
    let lab = Lab::new();
    let job = |more: &str| format!("[a]\nfilename=f\nsize=1m\nrw=write\nbs=16k\natomic=1\n{more}\n");
    lab.job(&job("ioengine=psync")).ended(2, "engines that can: ");
    for engine in ["pvsync2", "libaio", "io_uring"] {
        let done = lab.job(&job(&format!("ioengine={engine}")));
        // Few file systems can.
        if done.code() != 0 {
            done.ended(1, "atomic=1: ");
        }
        lab.job(&job(&format!("ioengine={engine}\nbsrange=4k-16k"))).ended(1, "atomic=1: ");
    }
}

#[test]
fn buffers_of_every_kind_of_memory_carry_the_data() {
    let lab = Lab::new();
    let job = |memory: &str, more: &str| {
        format!(
            "[a]\nfilename=f\nsize=1m\nbs=8k\nrw=randrw\nverify=crc32c\nioengine=libaio\niodepth=4\niomem_align=512\n\
             mem={memory}\n{more}\n"
        )
    };
    let free = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free =
        free.lines().find_map(|line| line.strip_prefix("HugePages_Free:")).and_then(|text| text.trim().parse().ok());
    for memory in ["malloc", "shm", "mmap", "mmapshared", "mmap:buffers", "mmapshared:shared", "shmhuge", "mmaphuge"] {
        for more in ["", "thread=1", "numjobs=2\nfilename_format=f.$jobnum"] {
            if more.contains("numjobs") && memory.starts_with("mmapshared:") {
                // Both would have the same buffers.
                continue;
            }
            let done =
                lab.job(&job(memory, more).replace(if more.contains("numjobs") { "filename=f\n" } else { "\0" }, ""));
            if memory.ends_with("huge") && free.unwrap_or(0_u64) < 2 {
                done.ended(1, "nr_hugepages");
            } else {
                done.ended(0, "");
                let workers = lab.recording().workers;
                assert!(
                    workers.iter().all(|worker| worker.verification.as_ref().unwrap().intervals > 0),
                    "{memory} {more}"
                );
            }
        }
    }
    // The buffers of a shared mapping are in the file.
    let content = std::fs::read(lab.path("shared")).unwrap();
    assert!(content.iter().any(|byte| *byte != 0));
    let private = std::fs::read(lab.path("buffers")).unwrap();
    assert!(private.iter().all(|byte| *byte == 0), "those of a private one are not");
    lab.job(&job("cudamalloc", "")).ended(2, "cudamalloc");
    lab.job(&job("heap", "")).ended(2, "heap");
}

#[test]
fn operations_on_a_locked_file_exclude_each_other() {
    let lab = Lab::new();
    // With locks, no two writes of 64 KiB are mixed, whatever the system does: each write is begun
    // after the one before has ended, as the logs show.
    let job = |lock: &str, rw: &str| {
        format!(
            "[a]\nfilename=f\nsize=4m\nbs=64k\nrw={rw}\nioengine=libaio\niodepth=4\nnumjobs=3\nlockfile={lock}\n\
             write_lat_log=x\nlog_issue_time=1\n"
        )
    };
    for (lock, rw) in [("exclusive", "randread"), ("exclusive", "randrw"), ("readwrite", "randwrite")] {
        let report = lab.job(&job(lock, rw)).ended(0, "").json();
        let total: u64 = (0..3)
            .flat_map(|index| {
                ["read", "write"].map(|direction| report["jobs"][index][direction]["total_ios"].as_u64().unwrap())
            })
            .sum();
        assert_eq!(total, 3 * 64, "{lock} {rw}");
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for number in 1..=3 {
            let text = std::fs::read_to_string(lab.path(&format!("x_clat.{number}.log"))).unwrap();
            for line in text.lines() {
                let fields: Vec<u64> = line.split(", ").map(|field| field.parse().unwrap_or(0)).collect();
                let issued = *fields.last().unwrap();
                spans.push((issued, issued + fields[1]));
            }
        }
        spans.sort_unstable();
        let overlapping = spans.windows(2).filter(|pair| pair[1].0 < pair[0].1).count();
        assert_eq!(overlapping, 0, "{lock} {rw}: of {} operations", spans.len());
    }
    lab.job(&job("readwrite", "randread")).ended(0, "");
    lab.job(&format!("{}verify=md5\n", job("exclusive", "write")))
        .ended(2, "lockfile does not work together with verify");
}

#[test]
fn an_option_that_the_job_file_sets_anyway_is_named() {
    let lab = Lab::new();
    lab.file("job.fio", "[a]\nioengine=null\nsize=1m\nbs=8k\n");
    let warning = "--bs has no effect: the job file sets it for every job";
    lab.run(["run", "--bs=4k", "job.fio"]).ended(0, warning);
    assert!(!lab.run(["run", "--iodepth=4", "job.fio"]).ended(0, "").errors().contains("has no effect"));
}
