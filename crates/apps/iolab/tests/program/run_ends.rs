//! How runs end: by themselves, by signals to the program or to one of its jobs, or by time.

use crate::support::{Lab, PATIENCE_NS, Running, now_ns, read_recording};
use iolab_recording::{Recording, WorkerOutcome};

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGUSR1: i32 = 10;
const SIGTERM: i32 = 15;

fn ios(recording: &Recording) -> Vec<u64> {
    recording.workers.iter().map(|worker| worker.directions.iter().map(|direction| direction.ios).sum()).collect()
}

/// Jobs are running once the status says so; a recorded half second is enough for figures.
fn a_while() {
    std::thread::sleep(std::time::Duration::from_millis(250));
}

#[test]
fn an_interrupted_run_keeps_and_prints_what_it_has() {
    for (signal, thread) in [(SIGINT, 0), (SIGINT, 1), (SIGTERM, 0)] {
        let lab = Lab::new();
        let job = format!(
            "[global]\nioengine=null\nsize=1t\nthread={thread}\n[endless]\ntime_based\nruntime=9000\n[sized]\n[paced]\nrate_iops=3\n\
             [later]\nstonewall\n[delayed]\nstartdelay=100\n"
        );
        lab.file("job.fio", job);
        let running = lab.start(["run", "job.fio", "--output-format=json", "--record=it.iolab"]);
        running.until(|running| running.workers() >= 3 && running.workers_that_ran() >= 2);
        running.signal(signal);
        let done = running.finish().ended(128, "recording saved as it.iolab");
        let recording = lab.recording();
        assert!(recording.interrupted);
        let outcomes: Vec<&WorkerOutcome> = recording.workers.iter().map(|worker| &worker.outcome).collect();
        let interrupted = WorkerOutcome::Interrupted;
        assert_eq!(
            outcomes,
            [&interrupted, &interrupted, &interrupted, &WorkerOutcome::NotRun, &WorkerOutcome::NotRun]
        );
        assert!(ios(&recording)[..2].iter().all(|ios| *ios > 1000), "{:?}", ios(&recording));
        let report = done.json();
        assert_eq!(report["jobs"][0]["read"]["total_ios"].as_u64(), Some(ios(&recording)[0]));
    }
}

#[test]
fn the_second_interrupt_ends_at_once_even_a_thread_that_waits_for_ever() {
    for thread in [0, 1] {
        let lab = Lab::new();
        let made = std::process::Command::new("mkfifo").arg(lab.path("pipe")).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo is part of every system");
        // Opening a pipe for reading waits for a writer.
        lab.file(
            "job.fio",
            format!("[global]\nthread={thread}\n[stuck]\nioengine=sync\nfilename=pipe\nsize=1m\nrw=read\n"),
        );
        let running = lab.start(["run", "job.fio", "--output-format=json", "--record=it.iolab"]);
        running.until(|running| running.workers() >= 1);
        a_while();
        running.signal(SIGINT);
        a_while();
        running.signal(SIGINT);
        running.finish().ended(128, "recording saved as it.iolab");
        assert!(matches!(lab.recording().workers[0].outcome, WorkerOutcome::Crashed { .. }));
    }
}

#[test]
fn a_job_process_that_is_killed_is_reported_and_the_others_go_on() {
    let lab = Lab::new();
    lab.file(
        "job.fio",
        "[global]\nioengine=null\nsize=1g\nruntime=600ms\ntime_based\n[a]\n[b]\n[c]\nstonewall\nsize=1m\n",
    );
    let running = lab.start(["run", "job.fio", "--output-format=json", "--record=it.iolab"]);
    running.until(|running| running.children().len() == 3);
    a_while();
    iolab_process::kill(running.children()[0], SIGKILL);
    let done = running.finish().ended(1, "a: the process of this job was killed by signal 9");
    let recording = lab.recording();
    assert!(matches!(recording.workers[0].outcome, WorkerOutcome::Crashed { signal: 9, .. }));
    assert_eq!(
        (&recording.workers[1].outcome, &recording.workers[2].outcome),
        (&WorkerOutcome::Finished, &WorkerOutcome::Finished)
    );
    assert!(recording.workers[1].runtime_ns >= 600_000_000);
    assert_eq!(done.json()["jobs"].as_array().map(Vec::len), Some(3));
}

#[test]
fn killing_the_program_ends_its_jobs() {
    let lab = Lab::new();
    let running =
        lab.start(["run", "--name=a", "--ioengine=null", "--size=1g", "--time_based", "--runtime=600", "--numjobs=3"]);
    running.until(|running| running.children().len() == 3);
    let children = running.children();
    running.signal(SIGKILL);
    running.finish();
    let begun_ns = now_ns();
    let alive = |pid: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !status.is_empty() && !status.contains(") Z ")
    };
    while children.iter().any(alive) {
        assert!(now_ns() - begun_ns < PATIENCE_NS, "left behind: {children:?}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn reports_of_the_run_so_far_only_grow() {
    let documents = |text: &str| -> Vec<serde_json::Value> {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    for thread in ["--thread=0", "--thread=1"] {
        let lab = Lab::new();
        let running = lab.start([
            "run",
            "--name=a",
            "--ioengine=null",
            "--size=1g",
            "--time_based",
            "--runtime=800ms",
            "--numjobs=2",
            thread,
            "--status-interval=200ms",
            "--output-format=json",
            "--record=it.iolab",
        ]);
        a_while();
        running.signal(SIGUSR1);
        let done = running.finish().ended(0, "recording saved");
        let all = documents(&done.printed());
        assert!(all.len() >= 4, "three by the interval, one asked for, the last: {}", all.len());
        let figures = |document: &serde_json::Value, job: usize| {
            let job = &document["jobs"][job]["read"];
            (
                job["total_ios"].as_u64().unwrap(),
                job["runtime"].as_u64().unwrap(),
                job["clat_ns"]["N"].as_u64().unwrap(),
            )
        };
        for job in 0..2 {
            let series: Vec<_> = all.iter().map(|document| figures(document, job)).collect();
            assert!(series.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1), "{series:?}");
            assert!(series[0].0 > 0 && series.iter().all(|(ios, _, latencies)| ios == latencies), "{series:?}");
            let recording = read_recording(&lab.path("it.iolab"));
            assert_eq!(series.last().unwrap().0, ios(&recording)[job]);
        }
    }
}

#[test]
fn a_report_can_be_asked_for_by_signal_alone() {
    let lab = Lab::new();
    let running = lab.start(["run", "--name=a", "--ioengine=null", "--size=1g", "--time_based", "--runtime=600"]);
    a_while();
    running.signal(SIGUSR1);
    running.until(|running: &Running| running.printed().contains("Run status group 0"));
    running.signal(SIGINT);
    let done = running.finish().ended(128, "");
    assert_eq!(done.printed().matches("Run status group 0").count(), 2);
}

#[test]
fn the_run_time_is_kept_whatever_the_lane_waits_for() {
    let lab = Lab::new();
    for (engine, more) in [
        ("null", "iodepth=32"),
        ("psync", "ramp_time=200ms"),
        ("io_uring", "iodepth=8"),
        ("libaio", "rate_iops=3\niodepth=4"),
        ("posixaio", "thinktime=10s"),
        ("psync", "startdelay=200ms\nrate=1k"),
    ] {
        let text = format!("[a]\nioengine={engine}\nrw=randread\nsize=4m\nruntime=300ms\ntime_based\n{more}\n");
        lab.job(&text).ended(0, "");
        let recording = lab.recording();
        let runtime_ms = recording.workers[0].runtime_ns as f64 / 1e6;
        assert!((300.0..3000.0).contains(&runtime_ms), "{engine} {more}: {runtime_ms} ms");
        assert!(ios(&recording)[0] > 0, "{engine} {more}");
    }
}

#[test]
fn thinking_may_be_computing() {
    let lab = Lab::new();
    let used = |spin_ms: u64| {
        lab.job(&format!("[a]\nioengine=null\nsize=1g\nruntime=400ms\nthinktime=200ms\nthinktime_spin={spin_ms}ms\n"))
            .ended(0, "");
        lab.recording().workers[0].cpu.user_ns
    };
    // On a busy machine, a worker may begin when most of its time is over.
    let runs: Vec<[u64; 2]> =
        (0..3).map(|_| [0, 200].map(used)).take_while(|[sleeps, spins]| *spins <= sleeps + 20_000_000).collect();
    assert!(runs.len() < 3, "{runs:?}");
}

#[test]
fn every_clock_tells_the_same_time() {
    let lab = Lab::new();
    for clock in ["cpu", "clock_gettime", "gettimeofday"] {
        lab.job(&format!("[a]\nioengine=null\nsize=1g\nruntime=200ms\ntime_based\nclocksource={clock}\n")).ended(0, "");
        let worker = lab.recording().workers.remove(0);
        assert!(worker.started_ns < 3_000_000_000, "{clock}: {}", worker.started_ns);
        assert!((200_000_000..3_000_000_000).contains(&worker.runtime_ns), "{clock}: {}", worker.runtime_ns);
        assert!(worker.intervals.iter().all(|interval| interval.start_ns < 9_000_000_000), "{clock}");
    }
}
