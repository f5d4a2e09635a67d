//! Ranks: the parts of one run, started as a launcher starts them, and merged.

use iolab_aggregate::{Latency, WholeRun};
use iolab_histogram::SparseHistogram;
use iolab_plan::Direction;
use iolab_recording::Recording;
use iolab_recording::partial::Partial;

use crate::hosts::{Host, jobs, total_ios};
use crate::support::{Lab, read_recording};

const JOB: &str = "[a]\nioengine=null\nrw=randread\nbs=4k\nsize=4m\nnumjobs=2\n[first]\nhosts=0\nioengine=null\nrw=write\nbs=4k\nsize=1m\n";

/// Runs all of four ranks, and returns their recordings.
fn run_all(lab: &Lab) -> Vec<Recording> {
    let run = |rank: u32| {
        let record = format!("--record=part-{rank}.iolab");
        lab.run(["run", &format!("--rank={rank}/4"), "job.fio", "--no-db", &record]).ended(0, "recording saved");
        read_recording(&lab.path(&format!("part-{rank}.iolab")))
    };
    (0..4).map(run).collect()
}

#[test]
fn the_sum_of_all_parts_is_the_recording_of_all() {
    let lab = Lab::new();
    lab.file("job.fio", JOB);
    let parts = run_all(&lab);
    // In any order.
    let words =
        ["hosts", "merge", "part-2.iolab", "part-0.iolab", "part-3.iolab", "part-1.iolab", "--record=all.iolab"];
    let report = lab.run(words).ended(0, "recording saved as all.iolab").printed();
    for said in ["All ranks:", "slowest ", "until the last ended: "] {
        assert!(report.contains(said), "{said}: {report}");
    }
    let all = read_recording(&lab.path("all.iolab"));
    assert_eq!(all.hosts.iter().filter_map(|host| host.rank).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!((all.workers.len(), all.plan.workers.iter().filter(|worker| worker.job == "first").count()), (9, 1));
    for direction in [Direction::Read, Direction::Write] {
        let latencies = |recording: &Recording| WholeRun::new(recording).latencies(&[direction], Latency::Total);
        let mut sum = SparseHistogram::default();
        parts.iter().for_each(|part| sum.merge(&latencies(part)));
        assert!(sum.count > 0 && latencies(&all) == sum, "{direction:?}");
    }

    let json = lab.run(["report", "all.iolab", "--output-format=json"]).ended(0, "").json();
    assert_eq!(json["all_ranks"]["read"]["total_ios"].as_u64(), Some(4 * 2 * 1024));
    assert_eq!(json["jobs"].as_array().map(Vec::len), Some(9), "the sum is not among the jobs");
    let of_hosts: u64 = json["hosts"].as_array().unwrap().iter().map(|host| host["total_ios"].as_u64().unwrap()).sum();
    assert_eq!(of_hosts, 4 * 2 * 1024 + 256);
    assert!(json["hosts_together"]["skew_ns"].as_u64().is_some_and(|skew_ns| skew_ns > 0));
}

#[test]
fn the_part_of_a_killed_rank_counts() {
    let lab = Lab::new();
    // One process, whose end is the end of all.
    lab.file(
        "job.fio",
        "[a]\nioengine=null\nthread\nrw=randread\nsize=4m\nrate_iops=1000\ntime_based\nruntime=1h\ninterval=10ms\n",
    );
    let killed = lab.start(["run", "--rank=1/2", "job.fio", "--no-db", "--record=part-1.iolab"]);
    let partial = lab.path("part-1.iolab.partial");
    let ios = |recording: &Recording| WholeRun::new(recording).throughput(&Direction::ALL).ios;
    killed.until(|_| {
        let read = std::fs::read(&partial).ok().and_then(|bytes| Partial::read(&bytes).ok());
        read.is_some_and(|read| ios(&read.into_recording()) > 0)
    });
    killed.signal(9);
    killed.finish();
    let done = lab.run(["hosts", "merge", "part-1.iolab.partial", "--record=all.iolab"]);
    let done = done.ended(0, "of 2 ranks, the recordings of 0 are missing");
    assert!(done.errors().contains("this run was killed"), "{done:?}");
    assert!(ios(&read_recording(&lab.path("all.iolab"))) > 0);
}

#[test]
fn what_is_not_of_one_run_is_refused_and_nothing_is_written() {
    let lab = Lab::new();
    lab.file("job.fio", JOB);
    for (rank, name) in [("0/2", "a"), ("1/3", "b")] {
        let (rank, record) = (format!("--rank={rank}"), format!("--record={name}.iolab"));
        lab.run(["run", &rank, "job.fio", "--no-db", &record]).ended(0, "");
    }
    lab.run(["hosts", "merge", "a.iolab", "b.iolab", "--record=c.iolab"]).ended(2, "not parts of one run");
    lab.run(["hosts", "merge", "a.iolab", "a.iolab", "--record=c.iolab"]).ended(2, "both of rank 0");
    assert!(!lab.path("c.iolab").exists());
    lab.run(["run", "--rank=2/2", "job.fio"]).ended(2, "is not a rank");
    // A rank without a job says so.
    lab.file("one.fio", "[a]\nhosts=0\nioengine=null\nsize=1m\n");
    lab.run(["plan", "--rank=1/2", "one.fio"]).ended(2, "no job is for rank 1 of 2");
    assert!(lab.run(["plan", "--rank=0/2", "one.fio"]).ended(0, "").printed().contains("rank 0 of 2, on "));
}

#[test]
fn servers_are_ranks_in_the_order_of_the_command_line() {
    let lab = Lab::new();
    lab.file(
        "job.fio",
        "[a]\nioengine=null\nrw=randread\nbs=4k\nsize=($ranks*10+$rank)m\n[b]\nhosts=1\nioengine=null\nsize=1m\n",
    );
    let hosts = [Host::tcp(&lab), Host::tcp(&lab)];
    let clients = hosts.each_ref().map(Host::client);
    let words = [clients[0].as_str(), &clients[1], "job.fio", "--output-format=json"];
    let report = lab.run(words).ended(0, "").json();
    let done: Vec<_> =
        jobs(&report).iter().map(|job| (job["jobname"].as_str().unwrap().to_owned(), total_ios(job))).collect();
    let expected = [("a", 20 * 256), ("a", 21 * 256), ("b", 256), ("All clients", 42 * 256)];
    assert_eq!(done, expected.map(|(job, ios)| (job.to_owned(), ios)));
}
