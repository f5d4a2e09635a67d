//! Ranks: the parts of one run, started as a launcher starts them, and merged.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use iolab_aggregate::{Latency, WholeRun};
use iolab_histogram::SparseHistogram;
use iolab_plan::Direction;
use iolab_recording::partial::Partial;
use iolab_recording::{Recording, WorkerOutcome};

use crate::hosts::{Host, jobs, total_ios};
use crate::support::{Lab, read_recording};

/// The processes below one whose command line has this word.
pub(super) fn descendants_named(pid: i32, word: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for child in crate::support::children(pid) {
        let line = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
        found.extend(line.contains(word).then_some(child));
        found.extend(descendants_named(child, word));
    }
    found
}

/// Whether a process was forked by one of the same command line.
pub(super) fn is_worker(pid: i32) -> bool {
    let of = |pid: i32, what: &str| std::fs::read_to_string(format!("/proc/{pid}/{what}")).unwrap_or_default();
    let parent = of(pid, "stat").rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
    parent.is_some_and(|parent| of(parent, "cmdline") == of(pid, "cmdline"))
}

/// What the ranks on this machine have kept so far.
pub(super) fn partials(lab: &Lab) -> Vec<Recording> {
    let files = std::fs::read_dir(lab.path("recordings")).into_iter().flatten().flatten().map(|entry| entry.path());
    let partials = files.filter(|path| path.extension().is_some_and(|extension| extension == "partial"));
    let read = |path: std::path::PathBuf| Some(Partial::read(&std::fs::read(path).ok()?).ok()?.into_recording());
    partials.filter_map(read).collect()
}

/// A remote shell that stays on this machine.
pub(super) const SHELL: &str = "--rsh=sh rsh";
pub(super) const SHELL_TEXT: &str = "shift; exec sh -c \"$*\"\n";

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

/// Operations of all workers.
fn operations(recording: &Recording) -> u64 {
    recording.workers.iter().flat_map(|worker| &worker.directions).map(|direction| direction.ios).sum()
}

#[test]
fn when_the_time_is_up_all_go_on_until_they_have_done_as_much_as_the_first() {
    let lab = Lab::new();
    lab.file("rsh", SHELL_TEXT);
    // Each rank is slower than the one before it.
    lab.file(
        "job.fio",
        "[a]\nioengine=tree\nfilename=$rank\nrw=write\nbs=1\nsize=1000000\nruntime=300ms\nwear_out=1\n\
         rate_iops=(2000/($rank+1))\n",
    );
    let words = ["hosts", "run", "--hosts=a,b,c", SHELL, "job.fio", "--no-db", "--record=it.iolab"];
    lab.run(words).ended(0, "on to ");
    let recording = read_recording(&lab.path("it.iolab"));
    let done: Vec<u64> = recording.workers.iter().map(|worker| worker.directions[1].ios).collect();
    assert!(done[0] > 0 && done.iter().all(|one| *one == done[0]), "{done:?}");
    for (rank, worker) in recording.workers.iter().enumerate() {
        let items = std::fs::read_dir(lab.path(&rank.to_string())).unwrap().count() as u64;
        assert_eq!(items, done[0] + 1, "rank {rank}: the items, and the mark of the tree");
        assert_eq!(worker.outcome, WorkerOutcome::Finished);
    }
    let alone = "--name=a --ioengine=null --rw=write --bs=4k --size=64k --numjobs=2 --runtime=60 --wear_out=1 --no-db";
    let alone = [&["run"], &alone.split(' ').collect::<Vec<_>>()[..], &["--record=b.iolab"]].concat();
    lab.run(alone).ended(0, "");
    assert_eq!(operations(&read_recording(&lab.path("b.iolab"))), 32, "the work was over before the time");
    lab.run(["run", "--name=a", "--ioengine=null", "--size=4k", "--wear_out=1"]).ended(2, "there is none");
}

#[test]
fn the_phases_of_io500_find_and_remove_what_was_written() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("mount")).unwrap();
    let printed =
        lab.run(["io500", "mount", "--ranks=2", "--stonewall=150ms", "--results=kept"]).ended(0, "").printed();
    assert!(printed.contains("NOT A VALID SCORE\n  ior-easy-write: it wrote for "), "{printed}");
    assert!(!printed.contains("it found") && !printed.contains("equally"), "{printed}");
    let ios = |phase: &str| operations(&read_recording(&lab.path(&format!("kept/{phase}.iolab"))));
    for (written, later) in [
        ("ior-easy-write", &["ior-easy-read"][..]),
        ("ior-hard-write", &["ior-hard-read"]),
        ("mdtest-easy-write", &["mdtest-easy-stat", "mdtest-easy-delete"]),
        ("mdtest-hard-write", &["mdtest-hard-stat", "mdtest-hard-read", "mdtest-hard-delete"]),
    ] {
        assert!(ios(written) > 0, "{written}");
        later.iter().for_each(|phase| assert_eq!(ios(phase), ios(written), "{phase}"));
    }
    assert_eq!(std::fs::read_dir(lab.path("mount")).unwrap().count(), 0, "nothing is left");
    std::fs::create_dir(lab.path("mount/iolab-io500")).unwrap();
    lab.run(["io500", "mount", "--quick"]).ended(2, "is there already");
    lab.run(["io500", "missing"]).ended(2, "name a folder");
    let shown = lab.run(["io500", "mount", "--show", "--hosts=a,b"]).ended(0, "").printed();
    assert!(shown.contains("ior-hard-write: --name=ior-hard --bs=47008 --rw=write"), "{shown}");
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
fn ranks_begin_at_the_agreed_moment_and_keep_how_far_from_it() {
    let lab = Lab::new();
    lab.file("job.fio", JOB);
    let now = iolab_clock::Clock::monotonic().unix_ns() / 1_000_000_000;
    let at = |seconds: u64| format!("--start-at={seconds}.25");
    for (rank, moment) in [("0/2", at(now + 2)), ("1/2", at(now - 10))] {
        let record = format!("--record=part-{}.iolab", &rank[..1]);
        let run = lab.run(["run", &format!("--rank={rank}"), &moment, "job.fio", "--no-db", &record]);
        let run = run.ended(0, "recording saved");
        assert_eq!(run.errors().contains("had passed for"), rank == "1/2", "{run:?}");
    }
    let [first, late] = ["part-0.iolab", "part-1.iolab"].map(|name| read_recording(&lab.path(name)));
    let agreed_ns = (now + 2) * 1_000_000_000 + 250_000_000;
    assert_eq!(first.agreed_start_unix_ns, Some(agreed_ns));
    assert!(first.started_unix_ns >= agreed_ns, "not before it");
    let merged = lab.run(["hosts", "merge", "part-0.iolab", "part-1.iolab", "--record=all.iolab"]).ended(0, "");
    assert!(merged.printed().contains(" from the agreed start"), "{merged:?}");
    let skews: Vec<_> = read_recording(&lab.path("all.iolab")).hosts.iter().map(|host| host.start_skew_ns).collect();
    let first_ns = |part: &Recording| part.workers.iter().map(|worker| worker.started_ns).min().unwrap() as i64;
    let skew_ns =
        |part: &Recording| part.started_unix_ns as i64 + first_ns(part) - part.agreed_start_unix_ns.unwrap() as i64;
    assert_eq!(skews, [Some(skew_ns(&first)), Some(skew_ns(&late))]);
    lab.run(["run", "--start-at=tomorrow", "job.fio"]).ended(2, "is not a moment");
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

#[test]
fn ranks_through_a_remote_shell_are_one_run() {
    let lab = Lab::new();
    lab.file("job.fio", JOB);
    lab.file("rsh", SHELL_TEXT);
    let words = ["hosts", "run", "--hosts=a,b:2", SHELL, "job.fio", "--no-db", "--record=all.iolab"];
    let report = lab.run(words).ended(0, "recording saved as all.iolab").printed();
    for said in ["All ranks:", "from the agreed start", "until the last ended: "] {
        assert!(report.contains(said), "{said}: {report}");
    }
    let all = read_recording(&lab.path("all.iolab"));
    let named: Vec<_> = all.hosts.iter().map(|host| (host.name.as_str(), host.rank, host.port)).collect();
    assert_eq!(named, [("a", Some(0), None), ("b#1", Some(1), None), ("b#2", Some(2), None)]);
    assert_eq!(WholeRun::new(&all).throughput(&Direction::ALL).ios, 3 * 2 * 1024 + 256);
    // They are all on this machine, so there is one clock.
    assert!(all.hosts.iter().all(|host| host.start_skew_ns.is_some_and(|skew_ns| skew_ns >= 0)));
    assert!(all.hosts.iter().all(|host| (host.clock_offset_ns, host.clock_error_ns) == (0, 0)));
}

#[test]
fn nothing_is_written_before_every_rank_has_agreed() {
    let lab = Lab::new();
    lab.file("rsh", SHELL_TEXT);
    // Rank 1 is refused: its file is the user's.
    lab.file("precious1", "mine");
    lab.file("job.fio", "[a]\nfilename=precious$rank\nrw=write\nsize=1m\n");
    let words = ["hosts", "run", "--hosts=a,b,c", SHELL, "job.fio", "--no-db"];
    let refused = lab.run(words).ended(3, "rank 1 (b)");
    assert!(refused.errors().contains("precious1"), "{refused:?}");
    assert_eq!(std::fs::read(lab.path("precious1")).unwrap(), b"mine");
    assert!(!lab.path("precious0").exists() && !lab.path("precious2").exists());
}

#[test]
fn a_rank_that_fails_ends_the_others_and_all_is_kept() {
    let lab = Lab::new();
    lab.file("rsh", SHELL_TEXT);
    lab.file(
        "job.fio",
        "[a]\nioengine=null\nrw=randread\nsize=4m\nrate_iops=1000\ntime_based\nruntime=1h\ninterval=10ms\n",
    );
    let words = ["hosts", "run", "--hosts=a,b,c", SHELL, "job.fio", "--no-db", "--record=all.iolab", "--eta=never"];
    let running = lab.start(words);
    // The process of one rank's job dies when all of them have measured something.
    running.until(|_| {
        let kept = partials(&lab);
        kept.len() == 3 && kept.iter().all(|read| WholeRun::new(read).throughput(&Direction::ALL).ios > 0)
    });
    let jobs: Vec<i32> = descendants_named(running.id() as i32, "internal-host-job")
        .into_iter()
        .filter(|pid| !is_worker(*pid))
        .collect();
    assert_eq!(jobs.len(), 3, "{jobs:?}");
    iolab_process::kill(jobs[1], 9);
    let done = running.finish().ended(1, "the others were ended");
    assert!(done.errors().contains("the process of the job ended before its results"), "{done:?}");
    let all = read_recording(&lab.path("all.iolab"));
    assert!(all.workers.iter().all(|worker| worker.directions[0].ios > 0), "each rank's work is there");
    let ended =
        |wanted: fn(&WorkerOutcome) -> bool| all.workers.iter().filter(|worker| wanted(&worker.outcome)).count();
    assert_eq!(ended(|outcome| matches!(outcome, WorkerOutcome::Finished)), 2, "{:?}", done.errors());
    assert_eq!(ended(|outcome| matches!(outcome, WorkerOutcome::Crashed { .. })), 1);
}

#[test]
fn an_interrupt_ends_all_ranks_with_what_they_have() {
    let lab = Lab::new();
    lab.file("rsh", SHELL_TEXT);
    lab.file(
        "job.fio",
        "[a]\nioengine=null\nrw=randread\nsize=4m\nrate_iops=1000\ntime_based\nruntime=1h\ninterval=10ms\n",
    );
    let words = ["hosts", "run", "--hosts=a:2", SHELL, "job.fio", "--no-db", "--record=all.iolab", "--eta=never"];
    let running = lab.start(words);
    running.until(|_| {
        let kept = partials(&lab);
        kept.len() == 2 && kept.iter().all(|read| WholeRun::new(read).throughput(&Direction::ALL).ios > 0)
    });
    running.signal(2);
    running.finish().ended(128, "interrupted");
    let all = read_recording(&lab.path("all.iolab"));
    assert!(all.interrupted && all.workers.iter().all(|worker| worker.directions[0].ios > 0));
}

#[test]
fn a_launch_that_cannot_be_says_why() {
    let lab = Lab::new();
    lab.file("job.fio", JOB);
    lab.file("rsh", SHELL_TEXT);
    let run = |words: &[&str]| lab.run(["hosts", "run"].iter().chain(words).copied().collect::<Vec<_>>());
    run(&["--hosts=a", "--rsh=false", "job.fio"]).ended(1, "no iolab answered there");
    run(&["--hosts=a", "--rsh=/no/such/shell", "job.fio"]).ended(1, "/no/such/shell");
    run(&["--hosts=a:0", SHELL, "job.fio"]).ended(2, "number of ranks");
    run(&["--hosts=a", SHELL, "--dir=/no/such/folder", "job.fio"]).ended(2, "/no/such/folder");
    run(&["--hosts=a", SHELL, "job.fio", "--rank=0/2"]).ended(2, "--rank does not go with hosts run");
    let shown = run(&["--hosts=a,b:2", SHELL, "--show", "job.fio"]).ended(0, "").printed();
    assert_eq!(shown.lines().map(|line| line.split(' ').nth(2).unwrap()).collect::<Vec<_>>(), ["a", "b", "b"]);
    // Which launcher is on this machine, if any, is not known here.
    for (version, line) in [
        ("Open MPI", "--host a:1,b:2 -np 3 --bind-to none --mca odls_base_sigkill_timeout 3"),
        ("HYDRA", "-hosts a:1,b:2 -n 3"),
    ] {
        let launcher = lab.file("launcher", format!("#!/bin/sh\necho '{version} 1.2'\n"));
        std::fs::set_permissions(&launcher, Permissions::from_mode(0o755)).unwrap();
        let mpirun = format!("--mpirun={}", launcher.display());
        let shown = run(&["--hosts=a,b:2", "--mpi", &mpirun, "--show", "job.fio"]).ended(0, "is of ").printed();
        assert!(shown.starts_with(&format!("{} {line} ", launcher.display())), "{shown}");
        assert!(shown.ends_with("iolab-rank run job.fio\n"), "{shown}");
    }
    run(&["--hosts=a", "--mpi", "--mpirun=/no/such", "job.fio"]).ended(1, "--mpirun=COMMAND");
    run(&["--hosts=a", "--mpi", "--mpirun=echo", "job.fio"]).ended(2, "neither of Open MPI nor with Hydra");
}
