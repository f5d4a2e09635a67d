//! Between the first and the last operation of a worker's loop nothing is allocated or freed.
//!
//! The allocator of this test counts calls of the thread that runs the loop, from the moment the
//! first operation is offered to the lane until the last one is. The clock is simulated, so
//! hundreds of intervals pass meanwhile.
#![allow(unsafe_code, reason = "island: a counting global allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use iolab_clock::Clock;
use iolab_recording::WorkerOutcome;
use iolab_testkit::parallel;
use iolab_testkit::simulated::{Fate, make_device};
use iolab_testkit::whole_run::run;

struct Counting;

thread_local! {
    /// What counts the calls of this thread, while it runs a loop.
    static COUNTER: Cell<Option<&'static AtomicU64>> = const { Cell::new(None) };
}

fn count() {
    if let Some(calls) = COUNTER.try_with(Cell::get).unwrap_or(None) {
        calls.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed on to the system's allocator as it came; counting touches no memory
// but a thread-local flag without destructor and an atomic.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const OPERATIONS: u64 = 100_000;
const MS: u64 = 1_000_000;

/// Allocator calls while a job's 100,000 operations are offered; `deed` is done at the 50,000th.
fn calls_during(name: &str, job: &str, deed: fn()) -> u64 {
    let clock = Clock::simulated(MS);
    let calls: &'static AtomicU64 = Box::leak(Box::default());
    make_device(name, &clock, move |n, _| {
        match n {
            0 => COUNTER.set(Some(calls)),
            50_000 => deed(),
            99_999 => COUNTER.set(None),
            _ => {}
        }
        Fate::Served(MS)
    });
    let recording = run(&format!("filename={name}\n[a]\nsize=100m\nbs=1k\n{job}\n"), &clock);
    let worker = &recording.workers[0];
    let issued: u64 = worker.directions.iter().map(|direction| direction.issued).sum();
    assert_eq!((&worker.outcome, issued >= OPERATIONS), (&WorkerOutcome::Finished, true), "{job}: {issued}");
    assert!(worker.intervals.len() > 5, "{job}: {} intervals", worker.intervals.len());
    calls.load(Ordering::Relaxed)
}

#[test]
fn nothing_is_allocated_in_the_loop() {
    let jobs = [
        "rw=randread\niodepth=8",
        "rw=randrw\niodepth=1",
        "rw=write\niodepth=32\niodepth_batch=8\nrefill_buffers=1",
        "rw=randwrite\niodepth=4\nnorandommap=1\nfsync=100\nloops=2",
        "rw=randread\niodepth=8\ngtod_reduce=1",
        "rw=randread\niodepth=8\nrate_iops=2000",
        "rw=randrw\niodepth=8\nrate_iops=2000\nrate_process=poisson",
        "rw=randread\niodepth=8\nthinktime=10\nthinktime_blocks=100",
        "rw=randread\niodepth=8\nramp_time=3",
        "rw=randread\niodepth=8\nmax_latency=1s",
        "rw=randread\niodepth=8\nruntime=1000\ntime_based",
    ];
    parallel::for_each(jobs.into_iter().enumerate(), |(index, job)| {
        assert_eq!(calls_during(&format!("quiet{index}"), job, || {}), 0, "{job}");
    });
}

#[test]
fn an_allocation_in_the_loop_is_counted() {
    let canary = || drop(std::hint::black_box(Box::new(1)));
    assert_eq!(calls_during("canary", "rw=randread\niodepth=8", canary), 2, "one allocation, one release");
}
