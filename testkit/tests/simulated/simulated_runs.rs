//! Whole runs against a simulated device on a simulated clock: what is recorded is exactly what
//! happened.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use iolab_clock::Clock;
use iolab_random::{GOLDEN_GAMMA, finalize};
use iolab_recording::{Recording, WorkerOutcome};
use iolab_runner::{Event, RunObserver, State, Wish};
use iolab_testkit::simulated::{Fate, make_device};
use iolab_testkit::whole_run::{plan, repeatable, run, try_run};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// The n-th number of a fixed sequence.
fn mixed(n: u64) -> u64 {
    finalize(n.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA))
}

/// Service times from 10 us upwards with a long tail.
fn long_tailed(n: u64) -> u64 {
    let uniform = ((mixed(n) >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
    (10_000.0 * uniform.powf(-0.8)) as u64
}

fn run_on(name: &str, text: &str, script: impl Fn(u64) -> Fate + Send + Sync + 'static) -> Recording {
    let clock = Clock::simulated(S);
    make_device(name, &clock, move |n, _| script(n));
    run(&format!("filename={name}\n{text}"), &clock)
}

#[test]
fn the_same_seed_gives_the_same_recording_byte_for_byte() {
    for (index, job) in [
        "rw=randrw\nsize=64m\nio_size=40m\niodepth=16",
        "rw=randwrite\nsize=64m\niodepth=4\nrate_iops=5000\nrate_process=poisson\nruntime=3\nfsync=32",
        "rw=randread\nsize=1g\niodepth=8\nramp_time=1\nruntime=2\ntime_based\nthinktime=300",
        "rw=write\nsize=8m\niodepth=32\niodepth_batch=8\niodepth_batch_complete_min=4\niodepth_low=12\nloops=3",
        "rw=randread\nsize=8m\niodepth=8\niodepth_batch_complete_min=0\ngtod_reduce=1",
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("[a]\n{job}\n");
        let once = || repeatable(run_on(&format!("repeat{index}"), &text, |n| Fate::Served(long_tailed(n)))).to_json();
        let first = once();
        assert!(first == once(), "{job}");
        let recording = Recording::from_json(&first).unwrap();
        assert_eq!(recording.workers[0].outcome, WorkerOutcome::Finished, "{job}");
        assert!(recording.to_json() == first, "a recording survives being written and read: {job}");
        let worker = &recording.workers[0];
        let in_intervals: u64 = worker.intervals.iter().flat_map(|interval| interval.ios).sum();
        assert_eq!(in_intervals, worker.directions.iter().map(|direction| direction.ios).sum::<u64>(), "{job}");
    }
}

#[test]
fn a_simulated_clock_is_not_calibrated() {
    let text = "[a]\nrw=randread\nsize=1m\n";
    assert!(plan(&format!("filename=uncalibrated\n{text}")).workers[0].measurement.calibrate);
    let recording = run_on("uncalibrated", text, |_| Fate::Served(US));
    assert_eq!((recording.calibration, recording.warnings), (None, vec![]));
}

#[test]
fn recorded_latencies_are_those_of_the_device() {
    for depth in [1, 7, 64] {
        let text = format!("[a]\nrw=randread\nsize=400m\niodepth={depth}\n");
        let recording = run_on(&format!("latencies{depth}"), &text, |n| Fate::Served(long_tailed(n)));
        let read = &recording.workers[0].directions[0];
        assert_eq!(read.ios, 102_400);
        let mut served: Vec<u64> = (0..read.ios).map(long_tailed).collect();
        served.sort_unstable();
        for latencies in [&read.lat, &read.clat] {
            assert_eq!((latencies.count, latencies.min), (read.ios, served[0]));
            assert_eq!(latencies.max, served[served.len() - 1]);
            for percent in [1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99] {
                let rank = (percent / 100.0 * served.len() as f64).ceil() as usize;
                let (found, truth) = (latencies.percentile(percent) as f64, served[rank - 1] as f64);
                assert!((found / truth - 1.0).abs() <= 0.008, "depth {depth}, p{percent}: {found} for {truth}");
            }
            let mean = served.iter().sum::<u64>() as f64 / served.len() as f64;
            assert!((latencies.mean() / mean - 1.0).abs() < 1e-9, "the mean is exact");
        }
        assert_eq!(read.slat.max, 0, "no time passes in a submission on this clock");
    }
}

#[test]
fn a_stall_is_seen_in_full_by_the_response_time_and_once_by_the_latency() {
    // 1,000 operations a second for 10 s; the 3,000th takes a whole second.
    let text = "[a]\nrw=randread\nsize=1g\nrate_iops=1000\nruntime=10\ntime_based\n";
    let recording = run_on("stall", text, |n| Fate::Served(if n == 3_000 { S } else { 100 * US }));
    let read = &recording.workers[0].directions[0];
    assert!((9_990..=10_001).contains(&read.ios), "{}", read.ios);
    let slow = |histogram: &iolab_histogram::SparseHistogram, over_ms: u64| {
        let fast = (0..=1000).rev().map(|tenth| f64::from(tenth) / 10.0);
        fast.take_while(|percent| histogram.percentile(*percent) > over_ms * MS).count() as f64 / 1000.0
    };
    assert!(slow(&read.lat, 1) < 0.002, "one operation was slow");
    // Those intended during the stall waited for its end, and the backlog drained at 10,000 a
    // second.
    let share = slow(&read.response, 1);
    assert!((0.10..0.13).contains(&share), "{share} of the responses were late");
    assert_eq!(read.response.max, S);
    assert!(read.response.mean() > 40.0 * 1e6 && read.lat.mean() < 0.3e6, "{}", read.response.mean());
}

#[test]
fn the_run_time_is_exact_and_the_ramp_is_left_out() {
    for (index, (job, longest_ns)) in [
        ("runtime=2\ntime_based", MS),
        ("ramp_time=1\nruntime=2\ntime_based", MS),
        ("startdelay=3\nruntime=2\ntime_based", MS),
        ("runtime=2\ntime_based\nrate_iops=7", MS),
        ("runtime=2\ntime_based\niodepth=32", MS),
        ("runtime=2\ntime_based\nthinktime=5s", MS),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("[a]\nrw=randread\nsize=1m\n{job}\n");
        let recording = run_on(&format!("time{index}"), &text, |_| Fate::Served(MS));
        let worker = &recording.workers[0];
        let over = worker.runtime_ns.checked_sub(2 * S);
        assert!(over.is_some_and(|over| over <= longest_ns), "{job}: {}", worker.runtime_ns);
        let ramp_ns = plan(&format!("filename=x\n{text}")).workers[0].limits.ramp_ns;
        let delay_ns = plan(&format!("filename=x\n{text}")).workers[0].limits.start_delay_ns;
        assert_eq!(worker.started_ns, delay_ns, "{job}");
        let first = worker.intervals.first().unwrap();
        assert!(first.start_ns.abs_diff(delay_ns + ramp_ns) <= MS, "{job}: {first:?}");
        if !job.contains("rate") && !job.contains("think") {
            let depth = u64::from(plan(&format!("filename=x\n{text}")).workers[0].queue.depth);
            let ios = worker.directions[0].ios;
            assert!(ios.abs_diff(2_000 * depth) <= depth, "{job}: {ios}");
            assert_eq!(worker.directions[0].issued.saturating_sub(ios) > 100, ramp_ns > 0, "{job}: the ramp is issued");
        }
    }
}

#[test]
fn a_device_that_blocks_delays_the_end_by_no_more_than_itself() {
    // The last operation before the end of the run takes a long time: it is waited for, and
    // counted.
    let recording = run_on("blocked", "[a]\nrw=randread\nsize=1m\nruntime=1\ntime_based\n", |n| {
        Fate::Served(if n == 99 { 700 * MS } else { 5 * MS })
    });
    let worker = &recording.workers[0];
    assert_eq!(worker.runtime_ns, 99 * 5 * MS + 700 * MS);
    assert_eq!((worker.directions[0].ios, worker.directions[0].lat.max), (100, 700 * MS));
}

#[test]
fn short_transfers_are_continued_and_count_once() {
    let recording = run_on("short", "[a]\nrw=read\nbs=4k\nsize=40k\n", |n| match n {
        2 => Fate::Short(512, MS),
        3 => Fate::Short(1024, MS),
        _ => Fate::Served(MS),
    });
    let read = &recording.workers[0].directions[0];
    assert_eq!((read.ios, read.bytes, read.short_ios), (10, 40 << 10, 2));
    // The operation that was sent three times took three times as long, in one piece.
    assert_eq!((read.lat.max, read.lat.count), (3 * MS, 10));
    assert_eq!(recording.workers[0].outcome, WorkerOutcome::Finished);
}

#[test]
fn errors_end_a_job_unless_it_says_otherwise() {
    let eio = |n: u64| if n % 10 == 3 { Fate::Failed(libc::EIO, MS) } else { Fate::Served(MS) };
    let job = "rw=write\nbs=4k\nsize=400k\n";
    let failed = |recording: &Recording| match &recording.workers[0].outcome {
        WorkerOutcome::Failed { errno, message } => Some((*errno, message.clone())),
        _ => None,
    };
    let counts = |recording: &Recording| {
        let worker = &recording.workers[0];
        (worker.directions[1].ios, worker.directions[1].dropped_ios, worker.errors.first().map(|error| error.count))
    };

    let plain = run_on("errors", &format!("[a]\n{job}"), eio);
    let (errno, message) = failed(&plain).unwrap();
    assert_eq!((errno, counts(&plain)), (libc::EIO, (3, 1, Some(1))));
    assert!(message.contains("write offset=12288, length=4096"), "{message}");

    let survived = run_on("errors", &format!("[a]\n{job}continue_on_error=write\n"), eio);
    assert_eq!((failed(&survived), counts(&survived)), (None, (90, 10, Some(10))));
    assert_eq!(survived.workers[0].notes.len(), 10);

    let wrong_kind = run_on("errors", &format!("[a]\n{job}continue_on_error=read\n"), eio);
    assert!(failed(&wrong_kind).is_some());

    let ignored = run_on("errors", &format!("[a]\n{job}ignore_error=,EIO\n"), eio);
    assert_eq!((failed(&ignored), counts(&ignored)), (None, (100, 0, None)));
    assert!(ignored.workers[0].notes.is_empty());

    let dumped = run_on("errors", &format!("[a]\n{job}ignore_error=,EIO\nerror_dump=1\n"), eio);
    assert_eq!(dumped.workers[0].notes.len(), 10);
}

#[test]
fn an_ignored_sync_error_is_not_a_read() {
    let script = |n: u64| if n % 5 == 4 { Fate::Failed(libc::EIO, MS) } else { Fate::Served(MS) };
    let recording = run_on("syncs", "[a]\nrw=write\nbs=4k\nsize=40k\nfsync=4\nignore_error=,EIO\n", script);
    let worker = &recording.workers[0];
    assert_eq!((worker.directions[0].ios, worker.directions[1].ios), (0, 10));
    assert_eq!(worker.outcome, WorkerOutcome::Finished);
}

#[test]
fn what_the_lane_refuses_is_an_error_and_a_panic_is_a_crash() {
    let refuse = |n: u64| if n == 4 { Fate::Refused(libc::EINVAL) } else { Fate::Served(MS) };
    let refused = run_on("refusing", "[a]\nrw=randread\nsize=1m\niodepth=4\n", refuse);
    assert!(matches!(refused.workers[0].outcome, WorkerOutcome::Failed { errno: libc::EINVAL, .. }));
    assert_eq!(refused.workers[0].directions[0].ios, 4, "what was accepted before is collected and counted");

    let text = "[a]\nrw=randread\nsize=1m\nnumjobs=2\n";
    let first = AtomicU64::new(0);
    let panicked = run_on("panicking", text, move |n| {
        if n == 9 && first.fetch_add(1, Ordering::Relaxed) == 0 { Fate::Panic } else { Fate::Served(MS) }
    });
    let crashed = |outcome: &WorkerOutcome| matches!(outcome, WorkerOutcome::Crashed { signal: 0, message } if message == "internal error: the script says so");
    let outcomes: Vec<&WorkerOutcome> = panicked.workers.iter().map(|worker| &worker.outcome).collect();
    assert_eq!(outcomes.iter().filter(|outcome| crashed(outcome)).count(), 1, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|outcome| ***outcome == WorkerOutcome::Finished).count(), 1, "{outcomes:?}");
}

#[test]
fn limits_on_latency_and_rate_end_the_job() {
    let slow = run_on("slow", "[a]\nrw=randread\nsize=1g\nmax_latency=10ms\n", |n| {
        Fate::Served(if n == 50 { 20 * MS } else { MS })
    });
    let WorkerOutcome::Failed { errno, message } = &slow.workers[0].outcome else {
        panic!("{:?}", slow.workers[0].outcome)
    };
    assert_eq!((*errno, message.as_str()), (libc::ETIME, "a read took 20000 µs; max_latency allows 10000 µs"));

    let meagre = run_on("meagre", "[a]\nrw=randread\nsize=1g\nrate_min=8m\nratecycle=500\n", |_| Fate::Served(MS));
    let WorkerOutcome::Failed { message, .. } = &meagre.workers[0].outcome else { panic!() };
    assert!(message.starts_with("rate_min=8388608 B/s not met: 4"), "{message}");
    assert!(meagre.workers[0].runtime_ns < 600 * MS);
    let enough = run_on("enough", "[a]\nrw=randread\nsize=8m\nrate_min=3m\nratecycle=500\n", |_| Fate::Served(MS));
    assert_eq!(enough.workers[0].outcome, WorkerOutcome::Finished);
}

#[test]
fn a_full_device_is_the_end_that_fill_device_asks_for() {
    let script = |n: u64| if n >= 100 { Fate::Failed(libc::ENOSPC, MS) } else { Fate::Served(MS) };
    for (job, errno) in [("fill_device=1", 0), ("", libc::ENOSPC)] {
        let recording = run_on("filled", &format!("[a]\nrw=write\nsize=1g\niodepth=4\n{job}\n"), script);
        assert_eq!(recording.workers[0].outcome.errno(), errno, "{job}");
        assert_eq!(recording.workers[0].directions[1].ios, 100);
    }
}

#[test]
fn stages_and_exits_follow_the_plan() {
    let clock = Clock::simulated(S);
    make_device("quick", &clock, |_, _| Fate::Served(MS));
    make_device("failing", &clock, |n, _| if n == 5 { Fate::Failed(libc::EIO, MS) } else { Fate::Served(MS) });
    let outcomes = |text: &str| -> Vec<WorkerOutcome> {
        run(text, &clock).workers.into_iter().map(|worker| worker.outcome).collect()
    };
    let long = "rw=randread\nsize=1m\nruntime=500\ntime_based\nfilename=quick\n";
    let short = "rw=randread\nsize=64k\nfilename=quick\n";
    let failing = "rw=randread\nsize=1m\nfilename=failing\n";

    // A job that ends takes the others with it: all of them, those of its group, those of its
    // stage.
    assert_eq!(
        outcomes(&format!("[a]\n{short}exitall\n[b]\n{long}")),
        [WorkerOutcome::Finished, WorkerOutcome::Finished]
    );
    assert_eq!(
        outcomes(&format!("[a]\n{short}exitall\n[b]\n{long}startdelay=400\n")),
        [WorkerOutcome::Finished, WorkerOutcome::Finished],
        "an order given during the start delay is no interruption"
    );
    let next_stage = outcomes(&format!("[a]\n{short}exitall\nexit_what=all\n[b]\nstonewall\n{short}"));
    assert_eq!(next_stage, [WorkerOutcome::Finished, WorkerOutcome::NotRun]);
    let own_stage = outcomes(&format!("[a]\n{short}exitall\nexit_what=stonewall\n[b]\nstonewall\n{short}"));
    assert_eq!(own_stage, [WorkerOutcome::Finished, WorkerOutcome::Finished]);
    let failed = outcomes(&format!("[a]\n{failing}exitall_on_error\n[b]\n{long}"));
    assert!(
        matches!(failed[..], [WorkerOutcome::Failed { errno: libc::EIO, .. }, WorkerOutcome::Finished]),
        "{failed:?}"
    );

    // Stages and awaited jobs: each begins when the one before has ended.
    let chain = format!("[a]\n{short}[b]\nwait_for=a\n{short}[c]\nstonewall\n{short}[d]\nwait_for=c\n{short}");
    let workers = run(&chain, &clock).workers;
    for (earlier, later) in workers.iter().zip(&workers[1..]) {
        assert!(
            later.started_ns >= earlier.started_ns + earlier.runtime_ns,
            "{} after {}",
            later.number,
            earlier.number
        );
    }
}

#[test]
fn a_job_that_fails_leaves_the_others_alone() {
    let clock = Clock::simulated(S);
    make_device("hole", &clock, |n, _| if n == 3 { Fate::Refused(libc::ENODEV) } else { Fate::Served(MS) });
    make_device("sound", &clock, |_, _| Fate::Served(MS));
    let recording =
        run("[a]\nrw=randread\nsize=1m\nfilename=hole\n[b]\nrw=randread\nsize=1m\nfilename=sound\n", &clock);
    assert_eq!(recording.workers[0].outcome.errno(), libc::ENODEV);
    assert_eq!(
        (&recording.workers[1].outcome, recording.workers[1].directions[0].ios),
        (&WorkerOutcome::Finished, 256)
    );
}

/// Interrupts once when every worker runs, and again when the workers have had time to obey.
struct Impatient<'a> {
    interrupts: &'a AtomicU32,
    seen_running: u32,
    again: bool,
}

impl RunObserver for Impatient<'_> {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        if let Event::Progress(progress) = event {
            if progress.workers.iter().all(|worker| worker.state >= State::Running) {
                self.seen_running += 1;
            }
            let count = if self.seen_running > 3 && self.again { 2 } else { self.seen_running.min(1) };
            self.interrupts.store(count, Ordering::Relaxed);
        }
        Wish::Nothing
    }
}

#[test]
fn operations_that_never_come_back_are_waited_for_until_the_second_interrupt() {
    let clock = Clock::simulated(S);
    make_device("swallowing", &clock, |n, _| if n % 4 == 3 { Fate::Lost } else { Fate::Served(MS) });
    make_device("tireless", &clock, |_, _| Fate::Served(MS));
    let interrupts = AtomicU32::new(0);
    let text = "[a]\nrw=randread\nsize=1g\niodepth=8\nfilename=swallowing\n\
                [b]\nrw=randread\nsize=1g\ntime_based\nruntime=90000\nfilename=tireless\n";
    let mut observer = Impatient { interrupts: &interrupts, seen_running: 0, again: true };
    let recording = try_run(&plan(text), &clock, &interrupts, &mut observer).unwrap().recording;
    assert!(recording.interrupted);
    let outcomes: Vec<&WorkerOutcome> = recording.workers.iter().map(|worker| &worker.outcome).collect();
    assert_eq!(outcomes, [&WorkerOutcome::Interrupted; 2]);
    let first = &recording.workers[0];
    let read = &first.directions[0];
    assert_eq!((read.dropped_ios, read.ios), (8, read.issued - 8));
    assert!(first.notes[0].starts_with("not counted: 8 operations still in flight"), "{:?}", first.notes);
    assert!(recording.workers[1].notes.is_empty() && recording.workers[1].directions[0].ios > 0);
}
