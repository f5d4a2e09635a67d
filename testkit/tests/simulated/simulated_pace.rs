//! Paced loads against a simulated device on a simulated clock: response time and its parts are
//! exactly what the schedule and the device make of them.

use std::sync::{Arc, Mutex};

use iolab_clock::Clock;
use iolab_histogram::SparseHistogram;
use iolab_random::{GOLDEN_GAMMA, finalize};
use iolab_recording::{DirectionRecording, WorkerRecording};
use iolab_testkit::simulated::{Fate, make_device};
use iolab_testkit::whole_run::run;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

fn run_on(name: &str, job: &str, script: impl Fn(u64, &Clock) -> Fate + Send + Sync + 'static) -> WorkerRecording {
    let clock = Clock::simulated(S);
    let own = clock.clone();
    make_device(name, &clock, move |n, _| script(n, &own));
    run(&format!("filename={name}\n[a]\nsize=8g\nrw=randread\n{job}\n"), &clock).workers.remove(0)
}

/// The parts of the response times add up to them.
fn check_parts(read: &DirectionRecording) {
    assert_eq!(read.response.sum, read.backlog_wait.sum + read.generator_late.sum + read.lat.sum);
    for part in [&read.response, &read.backlog_wait, &read.generator_late] {
        assert_eq!(part.count, read.ios);
    }
}

fn near(found: u64, expected_ns: u64, percent: f64) -> bool {
    (found as f64 / expected_ns as f64 - 1.0).abs() * 100.0 <= percent
}

fn uniform(n: u64) -> f64 {
    let mixed = finalize(n.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA));
    (mixed >> 11) as f64 / (1_u64 << 53) as f64 + f64::EPSILON
}

#[test]
fn an_outage_is_in_the_response_and_not_in_the_service_time() {
    for depth in [1, 4] {
        // A file system frozen for a second holds whatever is sent in it until its end.
        let frozen = |n: u64, clock: &Clock| {
            let until_ns = if (4 * S..5 * S).contains(&clock.now_ns()) { 5 * S - clock.now_ns() } else { 0 };
            Fate::Served(until_ns + 20 * US + n % 7)
        };
        let job = format!("iodepth={depth}\nrate_iops=1000\nruntime=6\ntime_based");
        let worker = run_on(&format!("frozen{depth}"), &job, frozen);
        let read = &worker.directions[0];
        check_parts(read);
        assert_eq!(read.ios, 6_000);
        assert!(near(read.response.percentile(99.0), 940 * MS, 1.0), "{}", read.response.percentile(99.0));
        assert!(near(read.backlog_wait.percentile(99.0), 940 * MS, 1.0), "{}", read.backlog_wait.percentile(99.0));
        assert!(read.response.percentile(80.0) < 21 * US, "the rest of the run is untouched");
        for percent in [1.0, 50.0, 99.0, 99.9] {
            assert!((20 * US..20 * US + 300).contains(&read.lat.percentile(percent)), "service time is as ever");
        }
        assert!(near(read.lat.max, S, 0.1), "the operations caught by the outage: {}", read.lat.max);
        assert!(read.generator_late.max <= 100, "nothing is late by itself on this clock but by a step of polling");
        let schedule = worker.schedule.unwrap();
        assert_eq!((schedule.asked, schedule.sent, schedule.backlog_at_end), (6_000, 6_000, 0));
        assert!((990..=1_000).contains(&schedule.backlog_most), "{schedule:?}");
        assert_eq!(worker.saturation(), None, "it was made up for");
    }
}

#[test]
fn a_device_that_holds_the_call_that_hands_over_is_to_blame() {
    // The first half second of the 100th submission is spent inside the lane, with 31 slots free.
    let blocking = |n: u64, clock: &Clock| {
        clock.advance(if n == 100 { S / 2 } else { 0 });
        Fate::Served(50 * US)
    };
    let worker = run_on("blocking", "iodepth=32\nrate_iops=1000\nruntime=2\ntime_based", blocking);
    let read = &worker.directions[0];
    check_parts(read);
    assert!(near(read.backlog_wait.max, 499 * MS, 0.1), "{}", read.backlog_wait.max);
    assert!(read.generator_late.max < 100 * US, "{}", read.generator_late.max);
}

#[test]
fn too_much_load_is_called_saturation() {
    let slow = |_: u64, _: &Clock| Fate::Served(1_250 * US);
    let worker = run_on("slow", "rate_iops=1000\nruntime=10\ntime_based", slow);
    check_parts(&worker.directions[0]);
    let schedule = worker.schedule.unwrap();
    assert_eq!((schedule.asked, schedule.sent), (10_000, 8_000), "{schedule:?}");
    assert_eq!((schedule.backlog_at_end, schedule.backlog_most), (2_000, 2_000), "{schedule:?}");
    assert!(near(schedule.lag_at_end_ns, 2 * S, 0.2) && schedule.behind_for_ns > 9 * S, "{schedule:?}");
    let sentence = worker.saturation().unwrap();
    assert!(
        sentence.starts_with("saturated: requested 1,000 IOPS, reached 800; 2,000 operations were never sent"),
        "{sentence}"
    );
    assert!(worker.notes.contains(&sentence));

    let finite = run_on("finite", "rate_iops=1000\nnumber_ios=4000", slow);
    let schedule = finite.schedule.unwrap();
    assert_eq!((schedule.asked, schedule.sent, schedule.backlog_at_end), (4_000, 4_000, 0));
    assert!(
        (schedule.asked_iops() - 1_000.0).abs() < 0.1 && (schedule.sent_iops() - 800.0).abs() < 1.0,
        "{schedule:?}"
    );
    assert!(
        finite.saturation().unwrap().contains("the last of them was sent 999.8 ms late"),
        "{:?}",
        finite.saturation()
    );

    for (name, job, script) in [
        ("enough", "rate_iops=1000\nruntime=10\ntime_based", 990 * US),
        ("deep enough", "iodepth=2\nrate_iops=1000\nruntime=10\ntime_based", 1_250 * US),
        ("finished", "rate_iops=1000\nnumber_ios=100", 100 * US),
    ] {
        let worker = run_on(name, job, move |_, _| Fate::Served(script));
        assert_eq!(worker.saturation(), None, "{name}");
        assert!(worker.notes.is_empty(), "{name}: {:?}", worker.notes);
    }
}

#[test]
fn only_what_is_scheduled_has_a_response_time() {
    let fast = |_: u64, _: &Clock| Fate::Served(10 * US);
    let mixed = run_on("half", "rw=randrw\nrate_iops=,100\nruntime=1\ntime_based", fast);
    assert!(mixed.directions[0].response.is_empty() && mixed.directions[0].ios > 0);
    check_parts(&mixed.directions[1]);
    let thinking = run_on("thinking", "thinktime=500\nnumber_ios=100", fast);
    assert!(thinking.directions[0].response.is_empty() && thinking.schedule.is_none());
    let unpaced = run_on("unpaced", "number_ios=100", fast);
    assert!(unpaced.directions[0].response.is_empty() && unpaced.schedule.is_none());
}

#[test]
fn a_ramp_is_not_part_of_the_account() {
    let worker = run_on("ramped", "rate_iops=1000\nramp_time=2\nruntime=3\ntime_based", |_, _| Fate::Served(MS / 2));
    let schedule = worker.schedule.unwrap();
    assert!((2_999..=3_001).contains(&schedule.asked) && schedule.sent_within_ns.abs_diff(3 * S) <= MS, "{schedule:?}");
}

/// Poisson arrivals at a device with exponential service times and one server: the response time is
/// exponential, too (M/M/1; Kleinrock, Queueing Systems, 3.2).
#[test]
fn a_queue_whose_truth_is_known_is_measured_truly() {
    let (arrivals, services) = (700.0, 1_000.0);
    let served = move |n: u64, _: &Clock| Fate::Served((-uniform(n).ln() / services * 1e9) as u64);
    let job = format!("rate_iops={arrivals}\nrate_process=poisson\nnumber_ios=400000");
    let worker = run_on("kleinrock", &job, served);
    let read = &worker.directions[0];
    check_parts(read);
    let mean_ns = 1e9 / (services - arrivals);
    let check = |what: &str, histogram: &SparseHistogram, mean_ns: f64, tolerance: f64| {
        for percent in [10.0, 50.0, 90.0, 99.0, 99.9] {
            let truth = -mean_ns * (1.0_f64 - percent / 100.0).ln();
            let found = histogram.percentile(percent) as f64;
            assert!((found / truth - 1.0).abs() < tolerance, "{what} p{percent}: {found} for {truth}");
        }
        assert!((histogram.mean() / mean_ns - 1.0).abs() < tolerance, "{what}: {}", histogram.mean());
    };
    check("service", &read.lat, 1e9 / services, 0.04);
    check("response", &read.response, mean_ns, 0.10);
    let (waited, load) = (read.backlog_wait.mean(), arrivals / services);
    assert!((waited / (load * mean_ns) - 1.0).abs() < 0.08, "waiting is the load's share of the response: {waited}");
    assert_eq!(read.generator_late.max, 0);
}

#[test]
fn recorded_arrivals_are_replayed_to_the_nanosecond() {
    let path = std::env::temp_dir().join(format!("iolab-arrivals-{}", std::process::id()));
    std::fs::write(&path, "# a burst, a pause, one more\n10\n10\n12.345\n500\n").unwrap();
    let replay = |name: &str, more: &str| {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&sent);
        let script = move |_: u64, clock: &Clock| {
            seen.lock().unwrap().push(clock.now_ns());
            Fate::Served(US)
        };
        let worker = run_on(name, &format!("iodepth=8\narrivals={}\n{more}", path.display()), script);
        let sent = sent.lock().unwrap();
        let from_ns = sent[0] - 10 * US;
        (worker, sent.iter().map(|at_ns| at_ns - from_ns).collect::<Vec<u64>>())
    };
    let (once, sent) = replay("once", "");
    assert_eq!(sent, [10_000, 10_000, 12_345, 500_000]);
    assert_eq!(once.directions[0].response.max, US);
    assert_eq!(once.schedule.unwrap().asked, 4);

    let (again, sent) = replay("again", "arrivals_repeat=1\nnumber_ios=9");
    let period_ns = 500_000 + 490_000_u64.div_ceil(3);
    assert_eq!(
        sent[4..],
        [10_000, 10_000, 12_345, 500_000]
            .map(|at| at + period_ns)
            .into_iter()
            .chain([10_000 + 2 * period_ns])
            .collect::<Vec<_>>()[..]
    );
    assert_eq!(again.directions[0].ios, 9);
    std::fs::remove_file(&path).unwrap();
}
