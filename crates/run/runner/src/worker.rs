//! A worker's life: wait for its turn, set up, wait for the others, run, flush, close, deliver its
//! recording.

use iolab_engine::{EngineDescription, FileUse, Lane, LaneRequest};
use iolab_measure::{DetailedRecorder, Recorder};
use iolab_memory::{PoolView, SlotPool};
use iolab_process::{keep_freed_memory, thread_id};
use iolab_recording::{State, WorkerOutcome, WorkerRecording};
use iolab_workload::{BufferFiller, OpStream, Source};

use crate::beginning::{delay, stopped, wait_for_the_beginning};
use crate::cgroup::InCgroup;
use crate::changes::writes;
use crate::choice::{Chosen, ChosenSpecially, LoopInputs, Parts};
use crate::control::{GATE_RUN, GATE_SET_UP, Order};
use crate::given::{read_arrivals, supplied};
use crate::hot_loop::HotLoop;
use crate::hot_loop::cached::CachedFiles;
use crate::hot_loop::checker::{Checker, Unchecked};
use crate::lane_opening::{BoxedLane, OpenLane, not_opened, set_trim_ranges};
use crate::locking::Locking;
use crate::noting::Notes;
use crate::offload::OffloadThreads;
use crate::open_files::OpenFiles;
use crate::pacing::following::Following;
use crate::pacing::schedule::Schedule;
use crate::pacing::{Paced, Pacer};
use crate::passes::{Ended, Reopen, all_passes, pauses_between_passes};
use crate::steady::Steady;
use crate::task::Task;
use crate::telling::{Teller, ToldKind};
use crate::told::Told;
use crate::trouble::Fatal;
use crate::verification::read_back;
use crate::verification::verifier::{Verifier, Verifies};
use crate::watch::{Stop, Watch};
use crate::zoned::Placing;
use crate::{choice, closing, open_files, pool};

/// Everything made before the first operation.
struct Stage {
    files: OpenFiles,
    pool: SlotPool,
    stream: Option<OpStream>,
    filler: BufferFiller,
    /// Whether the engine takes data from the buffers.
    fills: bool,
    /// Whether it flushes.
    syncs: bool,
    /// Recorded arrivals, when they pace the load.
    arrivals: Option<Schedule>,
    /// The times and the order of a trace, if one is replayed.
    following: Option<Following>,
    /// The notes of its operations, if they are to be noted.
    notes_of_operations: Option<Notes>,
    notes: Vec<String>,
}

/// The loops that are compiled for a lane: [`plain_loops`] or [`all_loops`].
pub(crate) type Loops<L> = for<'a, 'b> fn(Measured<'a, 'b, L>, LoopInputs) -> Result<Stop, Fatal>;

/// The loops of jobs that are not detailed.
pub(crate) fn plain_loops<L: Lane>(measured: Measured<'_, '_, L>, inputs: LoopInputs) -> Result<Stop, Fatal> {
    choice::choose(measured.task, &inputs, measured)
}

/// The loops of all jobs.
pub(crate) fn all_loops<L: Lane>(measured: Measured<'_, '_, L>, inputs: LoopInputs) -> Result<Stop, Fatal> {
    choice::choose_specially(measured.task, inputs, measured)
}

/// Runs a worker on the lanes of an engine and returns what it measured, even after an error.
pub(crate) fn live<L: Lane + 'static>(
    task: &Task<'_>,
    engine: &EngineDescription,
    open: OpenLane<L>,
    loops: Loops<L>,
) -> WorkerRecording {
    live_through(task, engine, &mut |stage, recording| perform(task, (open, loops), stage, recording))
}

/// What a worker does on its lanes, from the first to be opened to the last one closed.
type Perform<'a> = &'a mut dyn FnMut(Stage, &mut WorkerRecording) -> Result<Stop, Fatal>;

/// As [`live`], for any lanes: compiled once.
fn live_through(task: &Task<'_>, engine: &EngineDescription, perform: Perform<'_>) -> WorkerRecording {
    let mut recording = WorkerRecording { number: task.plan.number, pid: thread_id(), ..WorkerRecording::default() };
    if task.worker_control.wait_for_gate(GATE_SET_UP) != Order::None {
        return recording;
    }
    if task.plan.layout.create_only {
        recording.outcome = WorkerOutcome::Finished;
        return recording;
    }
    task.worker_control.set_state(State::SettingUp);
    let in_cgroup = InCgroup::join(task.plan.process.cgroup.as_ref());
    let _in_cgroup = match in_cgroup {
        Ok(joined) => joined,
        Err(Fatal { errno, message }) => {
            recording.outcome = WorkerOutcome::Failed { errno, message };
            return recording;
        }
    };
    let outcome = set_up(task, engine).and_then(|mut stage| {
        recording.notes.append(&mut stage.notes);
        perform(stage, &mut recording)
    });
    recording.outcome = match outcome {
        Ok(Stop::Interrupt) => WorkerOutcome::Interrupted,
        Ok(_) => WorkerOutcome::Finished,
        Err(fatal) => WorkerOutcome::Failed { errno: fatal.errno, message: fatal.message },
    };
    recording
}

fn set_up(task: &Task<'_>, engine: &EngineDescription) -> Result<Stage, Fatal> {
    let (plan, capabilities) = (task.plan, &engine.capabilities);
    // Before the worker's attributes are set, so that the thread that reads ahead has none of them.
    let supplied = supplied(task)?;
    let notes_of_operations = Notes::of(task)?;
    let mut notes = crate::attributes::apply(plan)?;
    if let Some(command) = &plan.process.exec_prerun {
        notes.extend(crate::attributes::run_command(command)?);
    }
    let files = OpenFiles::open(plan, capabilities, task.guard)?;
    let mut pool = pool::make_pool(plan, capabilities, task.guard)?;
    let mut filler = BufferFiller::new(&plan.buffers, plan.workload.buffer_seed);
    // If neither a file nor a write uses the buffers, their pages are left to the kernel.
    if capabilities.files != FileUse::Nothing || writes(plan) {
        for slot in 0..pool.view().slots() {
            filler.initialise(pool.slot_mut(slot));
        }
    }
    let (stream, following) = match supplied {
        Some((source, following)) => (OpStream::from(Box::new(source) as Box<dyn Source>), Some(following)),
        None => (choice::stream_of(plan, capabilities.syncs)?, None),
    };
    let arrivals = plan.pacing.arrivals.as_ref().map(read_arrivals).transpose()?;
    let fills = capabilities.moves_data;
    let syncs = capabilities.syncs;
    Ok(Stage {
        files,
        pool,
        stream: Some(stream),
        filler,
        fills,
        syncs,
        arrivals,
        following,
        notes,
        notes_of_operations,
    })
}

/// From the open lane to the closed one.
fn perform<L: Lane + 'static>(
    task: &Task<'_>,
    (open_lane, loops): (OpenLane<L>, Loops<L>),
    mut stage: Stage,
    recording: &mut WorkerRecording,
) -> Result<Stop, Fatal> {
    let plan = task.plan;
    let open = |files: &OpenFiles, buffers: PoolView| {
        let request = LaneRequest {
            files: &files.targets,
            depth: plan.queue.depth as usize,
            buffers,
            options: &plan.engine.options,
            direct: plan.layout.direct,
            seed: plan.workload.seed,
            worker: plan.number,
        };
        let mut lane = open_lane(&request).map_err(not_opened)?;
        set_trim_ranges(plan, &mut lane)?;
        Ok(lane)
    };
    if plan.queue.offload {
        let threads = OffloadThreads::start(open_lane, plan, &stage.files, stage.pool.view())?;
        let open = |_: &OpenFiles, _: PoolView| threads.lane().map(BoxedLane::new);
        return on_lane(task, &mut stage, recording, (&open, all_loops));
    }
    on_lane(task, &mut stage, recording, (&open, loops))
}

/// As [`perform`], for any way of opening lanes.
fn on_lane<L: Lane>(
    task: &Task<'_>,
    stage: &mut Stage,
    recording: &mut WorkerRecording,
    (open, loops): (Reopen<'_, L>, Loops<L>),
) -> Result<Stop, Fatal> {
    let plan = task.plan;
    let mut lane = open(&stage.files, stage.pool.view())?;
    stage.files.adopt_made(plan, task.guard);
    crate::zoned::begin(plan, task.zones, &stage.files.targets, &mut lane)?;
    recording.notes.extend_from_slice(lane.notes());
    task.worker_control.set_state(State::Ready);
    if let Some(stop) = stopped(task.worker_control.wait_for_gate(GATE_RUN)).or_else(|| delay(task)) {
        return Ok(stop);
    }
    let origin_ns = task.worker_control.origin_ns();
    let (arrivals, following) = (stage.arrivals.take(), stage.following.take());
    let synchronous = lane.is_synchronous();
    let measured = Measured { task, stage, recording, origin_ns, lane, open };
    loops(measured, LoopInputs { arrivals, following, synchronous, origin_ns })
}

/// The measured part, once recorder and pacer are chosen.
pub(crate) struct Measured<'a, 'b, L> {
    task: &'a Task<'a>,
    stage: &'b mut Stage,
    recording: &'b mut WorkerRecording,
    origin_ns: u64,
    lane: L,
    /// Reopens the lane after the files were reopened. This is not a type of its own, so that
    /// engines with the same lane share their loops.
    open: Reopen<'b, L>,
}

impl<L: Lane> Chosen for Measured<'_, '_, L> {
    type Answer = Stop;

    fn go<R: Recorder, P: Pacer>(self, recorder: R, pacer: P) -> Result<Stop, Fatal> {
        self.measure(recorder, pacer, Unchecked, |_, _, ended, _| Ok(ended))
    }
}

impl<L: Lane> ChosenSpecially for Measured<'_, '_, L> {
    fn go_noting<P: Pacer>(self, recorder: DetailedRecorder, pacer: P) -> Result<Stop, Fatal> {
        let notes = self.stage.notes_of_operations.take().map(|notes| notes.count_from(self.origin_ns));
        if let Some(teller) = Teller::of_operations(self.task.plan, self.task.telling) {
            return self.measure(recorder, pacer, Told { inner: notes, teller }, |_, _, ended, _| Ok(ended));
        }
        let Some(notes) = notes else { return self.go(recorder, pacer) };
        self.measure(recorder, pacer, notes, |_, _, ended, _| Ok(ended))
    }

    fn go_verifying(self, recorder: DetailedRecorder, pacer: Paced) -> Result<Stop, Fatal> {
        let (plan, clock) = (self.task.plan, self.task.clock);
        let (Some(verify), Some(share)) = (&plan.verify, self.task.verify) else { return self.go(recorder, pacer) };
        let verifier = Verifier::new(plan, verify, share, clock)?;
        let teller = Teller::of_operations(self.task.plan, self.task.telling);
        let Some(zones) = &plan.workload.zones else {
            return match teller {
                None => self.verify(recorder, pacer, verifier),
                Some(teller) => self.verify(recorder, pacer, Told { inner: verifier, teller }),
            };
        };
        untold(teller, "zones");
        let placing = Placing::new(verifier, plan, zones, self.task.zones, &self.stage.files.targets);
        self.verify(recorder, pacer, placing)
    }

    fn go_locking(self, recorder: DetailedRecorder, pacer: Paced) -> Result<Stop, Fatal> {
        let plan = self.task.plan;
        let Some(locks) = self.task.locks else { return self.go(recorder, pacer) };
        untold(Teller::of_operations(self.task.plan, self.task.telling), "locked files");
        let locking = Locking::new(locks.clone(), plan.layout.lock, plan.queue.depth as usize);
        self.measure(recorder, pacer, locking, |_, _, ended, _| Ok(ended))
    }

    fn go_zoned(self, recorder: DetailedRecorder, pacer: Paced) -> Result<Stop, Fatal> {
        let plan = self.task.plan;
        let Some(zones) = &plan.workload.zones else { return self.go(recorder, pacer) };
        untold(Teller::of_operations(self.task.plan, self.task.telling), "zones");
        let placing = Placing::new(Unchecked, plan, zones, self.task.zones, &self.stage.files.targets);
        self.measure(recorder, pacer, placing, |_, _, ended, _| Ok(ended))
    }
}

/// Says that operations of a job on `what` are not told of.
fn untold(teller: Option<Teller<'_>>, what: &str) {
    if let Some(teller) = teller {
        teller.tell(ToldKind::Io, &format!("operations of jobs on {what} are not told of"));
    }
}

impl<L: Lane> Measured<'_, '_, L> {
    /// Runs a job whose data is verified.
    fn verify<'v, C: Verifies<'v>>(
        self,
        recorder: DetailedRecorder,
        pacer: Paced,
        mut checker: C,
    ) -> Result<Stop, Fatal> {
        let plan = self.task.plan;
        let (Some(verify), Some(share)) = (&plan.verify, self.task.verify) else { return self.go(recorder, pacer) };
        let syncs = self.stage.syncs;
        let only = verify.only && writes(plan);
        let known = (share.loaded && (only || !writes(plan))).then(|| read_back::known(plan, share));
        let expected =
            if only && known.is_none() { read_back::expect(checker.verifier(), plan, share, syncs)? } else { 0 };
        let load = self.stage.stream.take().map(|stream| read_back::with_verification(stream, plan));
        // With `verify_only`, nothing is written: the pass has no operations.
        self.stage.stream = if known.is_some() {
            known
        } else if only {
            Some(read_back::nothing())
        } else {
            load
        };
        self.measure(recorder, pacer, checker, |hot, files, ended, pass| {
            let mut writes = hot.checker.verifier().begin_read_back();
            if only {
                writes = if pass == 0 { expected } else { 0 };
            }
            let complete = matches!(ended.0, Stop::StreamOver | Stop::TimeUp) && !hot.trouble.is_fatal();
            if !complete || writes == 0 || !(verify.after || only) {
                hot.checker.verifier().end_read_back();
                return Ok(ended);
            }
            hot.checker.set_reads_back(true);
            let read = read_back::read_back(hot, plan, files, writes, pass, syncs)?;
            hot.checker.set_reads_back(false);
            if plan.layout.unlink_each_loop {
                hot.checker.verifier().forget();
            }
            Ok(if read.0 == Stop::StreamOver { (ended.0, read.1) } else { read })
        })
    }

    /// Runs pass by pass, each followed by `after`, and records. What is the same for every lane,
    /// recorder, pacer and checker is in [`begin`] and in [`closing`], because this is compiled for
    /// each of their combinations.
    fn measure<R: Recorder, P: Pacer, C: Checker>(
        self,
        recorder: R,
        mut pacer: P,
        checker: C,
        mut after: impl FnMut(&mut HotLoop<'_, L, R, P, C>, &OpenFiles, Ended, u64) -> Result<Ended, Fatal>,
    ) -> Result<Stop, Fatal> {
        let Measured { task, stage, recording, origin_ns, lane, open } = self;
        let Some(stream) = stage.stream.take() else { return Ok(Stop::StreamOver) };
        let Begun { begun_ns, mut watch, filler, cached } = begin(task, stage, recording, (origin_ns, C::FILLS))?;
        if pauses_between_passes::<C>(task.plan) {
            watch.pause_between_passes();
        }
        pacer.start(begun_ns);
        let pool = &mut stage.pool;
        let parts = Parts { lane, recorder, pacer, checker, stream, cached, filler, pool, watch };
        let mut hot = choice::assemble(task, parts);
        hot.recorder.start_measuring(begun_ns);
        let (stop, ended_ns) = all_passes(task, &mut hot, &mut stage.files, open, &mut after);
        let flushed = closing::flush(task, &stage.files, ended_ns);
        if flushed.is_durable {
            hot.checker.flushed();
        }
        let HotLoop { mut recorder, watch, trouble, lane, mut pacer, mut checker, .. } = hot;
        recording.verification = checker.finish();
        recording.zone_resets = checker.zone_resets();
        recording.latency_depth = pacer.latency_depth().map(|depth| depth as u32);
        closing::add_notes(recording, checker.lost(), lane.notes());
        drop(lane);
        stage.files.adopt_made(task.plan, task.guard);
        let fatal = closing::add_trouble(recording, trouble);
        recording.notes.extend(watch.finish_wearing(recorder.tally()));
        recorder.finish(flushed.end_ns);
        if closing::add_times(recording, &watch, &flushed) {
            recorder.write_to(recording.runtime_ns, recording);
        }
        closing::finish(task, &stage.files, recording, (&watch, flushed, fatal, pacer.paced())).map(|()| stop)
    }
}

/// What is made when the measured part begins.
struct Begun<'a> {
    begun_ns: u64,
    watch: Watch<'a>,
    filler: Option<BufferFiller>,
    cached: CachedFiles,
}

/// Waits for the beginning, and prepares what each loop needs. `checker_fills`: the checker fills
/// the buffers of writes.
fn begin<'a>(
    task: &'a Task<'_>,
    stage: &Stage,
    recording: &mut WorkerRecording,
    (origin_ns, checker_fills): (u64, bool),
) -> Result<Begun<'a>, Fatal> {
    let plan = task.plan;
    // What lives as long as the worker has been allocated.
    keep_freed_memory();
    wait_for_the_beginning(task.clock, origin_ns);
    let begun_ns = task.clock.now_ns();
    recording.started_ns = begun_ns.saturating_sub(origin_ns);
    if plan.measurement.start_clock > 0 {
        let time_ns = iolab_clock::kernel_time_ns(plan.measurement.start_clock);
        recording.started_by_clock_ns = Some(time_ns.map_err(|error| open_files::fatal("job_start_clock_id", &error))?);
    }
    let mut watch = Watch::new(task.worker_control, plan, begun_ns);
    watch.deliver_to(task.mailbox, plan.number, recording.started_ns);
    if let Some(peers) = &task.peers {
        watch.judge(Steady::new(peers).telling(Teller::of(plan, task.telling, &[ToldKind::SteadyState])));
    }
    let fills = stage.fills && writes(plan) && !checker_fills;
    let filler = (fills && stage.filler.touches_writes()).then(|| stage.filler.clone());
    let cached = CachedFiles::of(plan, &stage.files.targets);
    Ok(Begun { begun_ns, watch, filler, cached })
}
