//! The streamed intervals of recorders add up to their final result, and lie on the grid.

use std::fs::OpenOptions;
use std::sync::Arc;

use iolab_histogram::SparseHistogram;
use iolab_measure::{
    CountingRecorder, DetailedRecorder, FullRecorder, IntervalSeries, IntervalStream, PerFileRecorder, Recorder,
    Sample, WorkerCounters,
};
use iolab_plan::{Direction, MeasurementPlan, Plan, WorkerPlan};
use iolab_recording::partial::{self, Partial};
use iolab_recording::{FORMAT, HostFacts, IntervalLatencies, Recording, WorkerRecording};
use proptest::prelude::*;

const ORIGIN_NS: u64 = 1_000_000;
const LENGTH_NS: u64 = 10_000;
/// Number of files of the recorders that count each file. Operations go to them in turn.
const FILES: usize = 3;

fn worker_plan() -> WorkerPlan {
    serde_json::from_str(include_str!("../../../contract/recording/tests/worker_plan.json")).expect("a worker's plan")
}

fn beginning() -> Vec<u8> {
    partial::start(&Recording {
        iolab_recording: FORMAT,
        iolab_version: String::new(),
        plan: Plan {
            sources: Vec::new(),
            rank: None,
            global_options: Default::default(),
            workers: vec![worker_plan()],
            warnings: Vec::new(),
        },
        host: HostFacts::default(),
        hosts: Vec::new(),
        calibration: None,
        started_unix_ns: 0,
        elapsed_ns: 0,
        workers: Vec::new(),
        devices: Vec::new(),
        observations: None,
        idleness: None,
        agreed_start_unix_ns: None,
        findings: Vec::new(),
        warnings: Vec::new(),
        interrupted: false,
    })
}

/// A time span, and the latency of the operation that completes at its end.
type Step = (u64, u64, bool);

/// Lets `make`'s recorder count `steps`. Returns its streamed intervals and its final result.
fn count<R: Recorder>(
    make: impl Fn(WorkerCounters) -> R,
    ramp: Option<u64>,
    steps: &[Step],
) -> (Vec<IntervalLatencies>, WorkerRecording) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.partial");
    std::fs::write(&path, beginning()).expect("a file");
    let file = OpenOptions::new().append(true).open(&path).expect("the same file");
    let mut tally = WorkerCounters::new(1, IntervalSeries::new(ORIGIN_NS, LENGTH_NS, 0));
    tally.stream_to(IntervalStream::new(Arc::new(file), 0, ORIGIN_NS, LENGTH_NS, ramp.is_some()));
    let mut recorder = make(tally);
    let mut now_ns = ORIGIN_NS + 123;
    recorder.start_measuring(now_ns);
    for (number, (passed_ns, latency_ns, write)) in steps.iter().enumerate() {
        now_ns += passed_ns;
        // As the hot loop does: first the grid line, then the completions.
        if now_ns >= recorder.next_tick_ns() {
            recorder.tick(now_ns);
        }
        let begun_ns = now_ns.saturating_sub(*latency_ns);
        recorder.completed(&Sample {
            direction: if *write { Direction::Write } else { Direction::Read },
            bytes: 512,
            offset: 0,
            file: number as u32 % FILES as u32,
            priority: 0,
            intended_ns: begun_ns.saturating_sub(5),
            sendable_ns: begun_ns.saturating_sub(2),
            begun_ns,
            submitted_ns: begun_ns + latency_ns / 3,
            reaped_ns: now_ns,
        });
        if ramp == Some(number as u64) {
            recorder.start_measuring(now_ns);
        }
    }
    recorder.finish(now_ns);
    let mut written = WorkerRecording::default();
    recorder.write_to(now_ns - ORIGIN_NS, &mut written);
    let bytes = std::fs::read(&path).expect("the file");
    let mut partial = Partial::read(&bytes).expect("a partial recording");
    assert_eq!(partial.damage, None);
    (partial.take_intervals(0), written)
}

/// Compares all but the sums: sums of floating-point numbers depend on the order of addition.
fn same(left: &SparseHistogram, right: &SparseHistogram) -> bool {
    let close = (left.sum_of_squares - right.sum_of_squares).abs() <= 1e-12 * right.sum_of_squares;
    close
        && SparseHistogram { sum_of_squares: 0.0, ..left.clone() }
            == SparseHistogram { sum_of_squares: 0.0, ..right.clone() }
}

fn check(streamed: &[IntervalLatencies], written: &WorkerRecording) {
    let mut last_end_ns = None;
    for interval in streamed {
        assert!(last_end_ns.is_none_or(|end_ns| end_ns == interval.start_ns), "intervals touch");
        let end_ns = interval.start_ns + interval.length_ns;
        let last = std::ptr::eq(interval, streamed.last().expect("not empty"));
        assert!(last || end_ns.is_multiple_of(LENGTH_NS), "intervals end on the grid");
        assert!(interval.length_ns <= LENGTH_NS || interval.directions.is_empty(), "no interval is too long");
        last_end_ns = Some(end_ns);
    }
    let sums = partial::worker_from(0, streamed.to_vec());
    for (sum, whole) in sums.directions.iter().zip(&written.directions) {
        assert_eq!((sum.ios, sum.bytes), (whole.ios, whole.bytes));
        assert!(same(&sum.lat, &whole.lat) && same(&sum.clat, &whole.clat) && same(&sum.response, &whole.response));
    }
}

/// The counters of the files add up to the worker's.
fn check_files(written: &WorkerRecording) {
    assert_eq!(written.files.len(), FILES);
    for (index, whole) in written.directions.iter().enumerate() {
        let mut sum = SparseHistogram::default();
        written.files.iter().for_each(|file| sum.merge(&file.clat[index]));
        assert_eq!((sum.count, written.files.iter().map(|file| file.bytes[index]).sum()), (whole.ios, whole.bytes));
        assert!(same(&sum, &whole.clat));
    }
    let counts: Vec<u64> = written.files.iter().map(|file| file.clat.iter().map(|one| one.count).sum()).collect();
    assert!(counts.iter().all(|count| count.abs_diff(counts[0]) <= 1), "in turn: {counts:?}");
}

fn everything() -> MeasurementPlan {
    worker_plan().measurement
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let passed_ns =
        prop_oneof![4 => 0_u64..3000, 1 => Just(LENGTH_NS - 123), 1 => Just(LENGTH_NS), 1 => 0_u64..100_000];
    prop::collection::vec((passed_ns, 0_u64..1_000_000, any::<bool>()), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn intervals_add_up(steps in steps(), ramp in prop::option::of(0_u64..60)) {
        let (streamed, written) = count(|tally| FullRecorder::new(tally, true), ramp, &steps);
        let measured = ramp.is_none_or(|ramp| ramp < steps.len() as u64);
        if measured {
            check(&streamed, &written);
        } else {
            prop_assert!(streamed.is_empty(), "the ramp is not streamed");
        }
        let (streamed, written) = count(|tally| PerFileRecorder::new(tally, true, FILES), ramp, &steps);
        if measured {
            check(&streamed, &written);
        }
        check_files(&written);
        let plan = everything();
        let with_files = |tally| {
            let mut recorder = DetailedRecorder::new(tally, &plan, false, [true; 3]);
            recorder.count_files(FILES);
            recorder
        };
        check_files(&count(with_files, ramp, &steps).1);
        let (streamed, written) = count(|tally| DetailedRecorder::new(tally, &plan, false, [true; 3]), None, &steps);
        check(&streamed, &written);
        prop_assert!(written.files.is_empty());
        prop_assert!(written.directions.iter().all(|direction| direction.response.count == direction.ios));
        let (streamed, written) = count(CountingRecorder::new, None, &steps);
        check(&streamed, &written);
    }
}

#[test]
fn a_stall_is_one_entry_and_the_next_interval_begins_on_its_line() {
    let steps = [(100, 50, false), (5 * LENGTH_NS, 5 * LENGTH_NS, false), (100, 50, true)];
    let (streamed, _) = count(|tally| FullRecorder::new(tally, false), None, &steps);
    let seen: Vec<_> = streamed
        .iter()
        .map(|interval| {
            let ios: Vec<u64> = interval.directions.iter().map(|part| part.ios).collect();
            (interval.start_ns, interval.length_ns, ios)
        })
        .collect();
    assert_eq!(
        seen,
        [(123, LENGTH_NS - 123, vec![1]), (LENGTH_NS, 4 * LENGTH_NS, vec![]), (5 * LENGTH_NS, 323, vec![1, 1])]
    );
}

#[test]
fn a_full_disk_ends_the_stream_not_the_run() {
    let Ok(full) = OpenOptions::new().append(true).open("/dev/full") else { return };
    let mut tally = WorkerCounters::new(1, IntervalSeries::new(0, LENGTH_NS, 0));
    tally.stream_to(IntervalStream::new(Arc::new(full), 0, 0, LENGTH_NS, false));
    let mut recorder = FullRecorder::new(tally, false);
    recorder.start_measuring(0);
    recorder.tick(LENGTH_NS);
    recorder.tick(2 * LENGTH_NS);
    recorder.finish(3 * LENGTH_NS);
    let mut written = WorkerRecording::default();
    recorder.write_to(3 * LENGTH_NS, &mut written);
    assert_eq!(written.intervals.len(), 3);
    assert_eq!(written.notes.len(), 1);
    assert!(written.notes[0].contains("intervals"), "{}", written.notes[0]);
}
