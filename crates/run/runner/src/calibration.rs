//! What the tool itself costs on this machine now: the loops of the run's workers on a lane that
//! does nothing, clock stamps, and timers.
//!
//! It is measured before any worker exists, so that it disturbs none, and in a process or thread of
//! its own, as workers run. Each kind of loop is measured once, within a time limit that does not
//! depend on the number of workers. Kinds for which the time is too short, and those that cannot be
//! imitated (see [`trial`]), get no figure. The figure is a lower bound: caches are warm, and
//! nothing happens between two operations.

mod nothing;
mod trial;

use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::unix::fs::FileExt;

use iolab_clock::Clock;
use iolab_engine::Lane;
use iolab_guard::Guard;
use iolab_measure::Recorder;
use iolab_memory::SlotPool;
use iolab_plan::Plan;
use iolab_recording::{Calibration, LoopCost, METHOD, TimerLateness};
use iolab_workload::{BufferFiller, OpStream};

use crate::choice;
use crate::choice::{Chosen, LoopInputs, Parts};
use crate::control::Control;
use crate::deliver::Mailbox;
use crate::hot_loop::HotLoop;
use crate::hot_loop::cached::CachedFiles;
use crate::hot_loop::checker::Unchecked;
use crate::lane_opening::BoxedLane;
use crate::launch::Clocks;
use crate::pacing::Pacer;
use crate::registry::{EngineEntry, LaneKind};
use crate::task::{Spools, Task};
use crate::trouble::Fatal;
use crate::watch::{Stop, Watch};

use trial::Trial;

pub(crate) use nothing::Nothing;

/// Number of measured periods of a trial, after one for warming up; the median counts.
const STRETCHES: u64 = 5;
/// How often a period is tried, on a machine so busy that nothing is done in some of them.
const ATTEMPTS: u64 = 8 * STRETCHES;
/// Total time for the trials of a run: it is divided among them, and after it no further trial
/// begins.
const TRIALS_NS: u64 = 4_000_000;
/// Longest and shortest period. In a shorter one, reading the clock would affect the figure.
const STRETCH_NS: (u64, u64) = (20_000, 100_000);
/// Number of sleeps that measure the lateness of timers, and how long all of them may take.
const SLEEPS: usize = 16;
const SLEEP_NS: u64 = 20_000;
const SLEEPS_NS: u64 = 2_000_000;

/// Calibrates the run of a plan. `None` if no worker asks for it, or if the clock is simulated: on
/// such a clock nothing takes time by itself.
pub(crate) fn calibrate(plan: &Plan, engines: &[EngineEntry], clocks: &Clocks, guard: &Guard) -> Option<Calibration> {
    if clocks.best.is_simulated() || !plan.workers.iter().any(trial::is_wanted) {
        return None;
    }
    if plan.workers.iter().all(|worker| worker.process.thread) {
        // Its timers must be as exact as a worker's, and other threads' timers must not change.
        return std::thread::scope(|scope| scope.spawn(|| try_all(plan, engines, clocks, guard)).join().ok().flatten());
    }
    let letter = File::from(rustix::fs::memfd_create("iolab-calibration", rustix::fs::MemfdFlags::CLOEXEC).ok()?);
    let arrived = crate::launch::in_child(|| {
        // If the write fails, the read fails too, and that error is handled.
        let text = serde_json::to_vec(&try_all(plan, engines, clocks, guard)).unwrap_or_default();
        let _ = letter.write_all_at(&text, 0);
    });
    let mut text = vec![0; letter.metadata().ok()?.len() as usize];
    letter.read_exact_at(&mut text, 0).ok()?;
    if arrived { iolab_deserialize::json(&text).ok().flatten() } else { None }
}

/// Calibrates on the calling thread.
fn try_all(plan: &Plan, engines: &[EngineEntry], clocks: &Clocks, guard: &Guard) -> Option<Calibration> {
    iolab_process::sharpen_timers();
    let trials = trial::of_plan(plan, engines);
    let bench = Bench::new(guard).ok()?;
    let clock = Clock::monotonic();
    let (mut loops, begun_ns) = (Vec::new(), clock.now_ns());
    let stretch_ns = TRIALS_NS / trials.len().max(1) as u64 / (STRETCHES + 1);
    for mut trial in trials {
        if !loops.is_empty() && clock.now_ns() - begun_ns >= TRIALS_NS {
            break;
        }
        trial.plan.limits.runtime_ns = Some(stretch_ns.clamp(STRETCH_NS.0, STRETCH_NS.1));
        let clock = clocks.of(trial.plan.measurement.clock);
        // A loop that cannot be tried has no figure; the run reports the error, if there is one.
        if let Ok(op_ps) = bench.time_of_op(&trial, clock) {
            loops.push(LoopCost { workers: trial.workers, op_ps, stamp_ps: time_of_stamp(clock) });
        }
    }
    (!loops.is_empty()).then(|| Calibration { method: METHOD, timer: timer_lateness(&clock), loops })
}

/// The cost of a stamp, ps: the median of a few batches.
fn time_of_stamp(clock: &Clock) -> u64 {
    const BATCH: u64 = 64;
    median((0..STRETCHES).map(|_| {
        let begun_ns = clock.now_ns();
        for _ in 1..BATCH {
            black_box(clock.now_ns());
        }
        (clock.now_ns().saturating_sub(begun_ns)) * 1000 / BATCH
    }))
}

fn timer_lateness(clock: &Clock) -> TimerLateness {
    let begun_ns = clock.now_ns();
    let mut late_ns = Vec::with_capacity(SLEEPS);
    let mut now_ns = begun_ns;
    while late_ns.len() < SLEEPS && now_ns - begun_ns < SLEEPS_NS {
        let due_ns = clock.now_ns() + SLEEP_NS;
        clock.sleep_until(due_ns, 0);
        now_ns = clock.now_ns();
        late_ns.push(now_ns.saturating_sub(due_ns));
    }
    TimerLateness::of(SLEEP_NS, late_ns)
}

/// Shared inputs of the trials.
struct Bench<'a> {
    guard: &'a Guard,
    control: Control,
    mailbox: Mailbox,
    spools: Spools,
}

impl Bench<'_> {
    fn new(guard: &Guard) -> io::Result<Bench<'_>> {
        let spool = rustix::fs::memfd_create("iolab-calibration", rustix::fs::MemfdFlags::CLOEXEC)?;
        let spools = Spools { logs: Some(File::from(spool)), operations: None };
        Ok(Bench { guard, control: Control::new(1)?, mailbox: Mailbox::new(0)?, spools })
    }

    /// The cost of an operation, ps.
    fn time_of_op(&self, trial: &Trial, clock: &Clock) -> Result<u64, Fatal> {
        let plan = &trial.plan;
        let task = Task {
            plan,
            worker_control: self.control.worker_control(0),
            guard: self.guard,
            clock,
            spools: &self.spools,
            stream: None,
            mailbox: &self.mailbox,
            supply: None,
            progress: None,
            peers: None,
            others: None,
            verify: None,
            zones: &[],
            locks: None,
            telling: None,
        };
        let stream = choice::stream_of(plan, true)?;
        let depth = plan.queue.depth as usize;
        let (pool, filler) = trial.buffers()?;
        match trial.lane {
            LaneKind::Synchronous => run_on(&task, Nothing::<true, false>::new(depth), stream, pool, filler),
            LaneKind::Fusing => run_on(&task, Nothing::<false, true>::new(depth), stream, pool, filler),
            LaneKind::Plain => run_on(&task, Nothing::<false, false>::new(depth), stream, pool, filler),
        }
    }
}

fn run_on<L: Lane + 'static>(
    task: &Task<'_>,
    lane: L,
    stream: OpStream,
    mut pool: SlotPool,
    filler: Option<BufferFiller>,
) -> Result<u64, Fatal> {
    let inputs =
        LoopInputs { arrivals: None, following: None, synchronous: L::SYNCHRONOUS, origin_ns: task.clock.now_ns() };
    let pool = &mut pool;
    if choice::is_detailed(task) {
        let stretches = Stretches { task, lane: BoxedLane::new(lane), stream, pool, filler };
        return choice::choose_detailed(task, inputs, stretches);
    }
    choice::choose(task, &inputs, Stretches { task, lane, stream, pool, filler })
}

/// A trial, once recorder and pacer are chosen.
struct Stretches<'a, 'b, L> {
    task: &'a Task<'a>,
    lane: L,
    stream: OpStream,
    pool: &'b mut SlotPool,
    filler: Option<BufferFiller>,
}

impl<L: Lane> Chosen for Stretches<'_, '_, L> {
    type Answer = u64;

    fn go<R: Recorder, P: Pacer>(self, recorder: R, pacer: P) -> Result<u64, Fatal> {
        let Stretches { task, lane, stream, pool, filler } = self;
        let begun_ns = task.clock.now_ns();
        let watch = Watch::new(task.worker_control, task.plan, begun_ns);
        let cached = CachedFiles::default();
        let parts = Parts { lane, recorder, pacer, checker: Unchecked, stream, cached, filler, pool, watch };
        let mut hot = choice::assemble(task, parts);
        hot.recorder.start_measuring(begun_ns);
        let mut times = Vec::new();
        for _ in 0..ATTEMPTS {
            times.extend(stretch(task, &mut hot)?);
            if times.len() as u64 > STRETCHES {
                break;
            }
        }
        let nothing = || Fatal { errno: libc::EINVAL, message: "the loop did no work".to_owned() };
        if times.len() < 2 { Err(nothing()) } else { Ok(median(times.into_iter().skip(1))) }
    }
}

/// One period: the time of an operation, ps. `None` when the thread was preempted for so long that
/// nothing was done.
fn stretch<'a, L: Lane, R: Recorder, P: Pacer>(
    task: &Task<'a>,
    hot: &mut HotLoop<'a, L, R, P>,
) -> Result<Option<u64>, Fatal> {
    let before = completed(&mut hot.recorder);
    hot.watch = Watch::new(task.worker_control, task.plan, task.clock.now_ns());
    hot.pacer.start(task.clock.now_ns());
    let begun_ns = task.clock.now_ns();
    let (stop, end_ns) = hot.run();
    if stop != Stop::TimeUp {
        return Err(Fatal { errno: libc::EINVAL, message: "the loop has no work".to_owned() });
    }
    Ok((end_ns.saturating_sub(begun_ns) * 1000).checked_div(completed(&mut hot.recorder) - before))
}

fn completed<R: Recorder>(recorder: &mut R) -> u64 {
    let tally = recorder.tally();
    tally.totals.ios.iter().sum::<u64>() + tally.sync.count()
}

fn median(times: impl Iterator<Item = u64>) -> u64 {
    let mut times: Vec<u64> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}
