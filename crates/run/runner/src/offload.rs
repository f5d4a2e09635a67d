//! `io_submit_mode=offload`: separate threads submit operations and wait for them.
//!
//! ```text
//!  loop ─ operations ─▶ threads, each with a lane of depth 1 ─ completions ─▶ loop
//! ```
//!
//! There is one thread per slot. A thread takes the next operation, performs it on its own lane,
//! and repeats. So synchronous engines have several operations in flight, and an engine that blocks
//! in submission does not delay other operations. Handing over an operation costs two wake-ups,
//! which are part of its latency.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use iolab_engine::{Completion, Completions, Lane, LaneError, LaneRequest, Op, Submission, TargetFile, Wait};
use iolab_memory::PoolView;
use iolab_options::Settings;
use iolab_plan::WorkerPlan;

use crate::lane_opening::{OpenLane, not_opened};
use crate::open_files::{OpenFiles, fatal};
use crate::trouble::Fatal;

/// What a thread needs to open its lane.
struct Opening {
    files: Vec<TargetFile>,
    buffers: PoolView,
    options: Settings,
    direct: bool,
    seed: u64,
    worker: u32,
    depth: usize,
}

/// A thread's answer.
type Answer = Result<Completion, LaneError>;

/// The threads of one worker.
pub(crate) struct OffloadThreads {
    parts: Mutex<Option<Ends>>,
    notes: Vec<String>,
    threads: Vec<JoinHandle<()>>,
}

/// The loop's ends of the channels.
struct Ends {
    tasks: SyncSender<Op>,
    answers: Receiver<Answer>,
    depth: usize,
}

impl OffloadThreads {
    /// Starts the threads, each with its lane.
    pub(crate) fn start<L: Lane + 'static>(
        open_lane: OpenLane<L>,
        plan: &WorkerPlan,
        files: &OpenFiles,
        buffers: PoolView,
    ) -> Result<Self, Fatal> {
        let depth = plan.queue.depth as usize;
        let (tasks, taken) = sync_channel::<Op>(depth);
        let (answers, received) = sync_channel::<Answer>(depth);
        let taken = Arc::new(Mutex::new(taken));
        let mut started = OffloadThreads { parts: Mutex::new(None), notes: Vec::new(), threads: Vec::new() };
        for number in 0..depth {
            let (targets, kept_open) = files.for_another_lane(plan)?;
            let opening = Opening {
                files: targets,
                buffers,
                options: plan.engine.options.clone(),
                direct: plan.layout.direct,
                seed: plan.workload.seed.wrapping_add(number as u64),
                worker: plan.number,
                depth,
            };
            let (taken, answers) = (Arc::clone(&taken), answers.clone());
            let (report, opened) = sync_channel(1);
            let body = move || {
                // Closed when the lane is gone.
                let _kept_open = kept_open;
                match open(open_lane, &opening) {
                    Ok(lane) => {
                        let _ = report.send(Ok(lane.notes().to_vec()));
                        serve(lane, &taken, &answers);
                    }
                    Err(fatal) => _ = report.send(Err(fatal)),
                }
            };
            let thread = std::thread::Builder::new().name("submit".to_owned()).spawn(body);
            started.threads.push(thread.map_err(|error| fatal("io_submit_mode=offload", &error))?);
            let notes = opened.recv().unwrap_or_else(|_| {
                Err(Fatal { errno: libc::EIO, message: "a thread of io_submit_mode=offload ended".to_owned() })
            })?;
            if started.notes.is_empty() {
                started.notes = notes;
            }
        }
        started.parts = Mutex::new(Some(Ends { tasks, answers: received, depth }));
        Ok(started)
    }

    /// The loop's lane; there is only one.
    pub(crate) fn lane(&self) -> Result<OffloadLane, Fatal> {
        let ends = self.parts.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Ends { tasks, answers, depth } = ends.ok_or_else(|| Fatal {
            errno: libc::EBUSY,
            message: "unlink_each_loop cannot open files again with io_submit_mode=offload".to_owned(),
        })?;
        Ok(OffloadLane { tasks, answers, in_flight: 0, depth, notes: self.notes.clone() })
    }
}

impl Drop for OffloadThreads {
    fn drop(&mut self) {
        // The lane is gone. Without a sender, the threads end.
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).take();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn open<L: Lane>(open_lane: OpenLane<L>, opening: &Opening) -> Result<L, Fatal> {
    let request = LaneRequest {
        files: &opening.files,
        depth: opening.depth,
        buffers: opening.buffers,
        options: &opening.options,
        direct: opening.direct,
        seed: opening.seed,
        worker: opening.worker,
    };
    open_lane(&request).map_err(not_opened)
}

/// A thread's loop: performs one operation after the other until there is no sender.
fn serve<L: Lane>(mut lane: L, taken: &Mutex<Receiver<Op>>, answers: &SyncSender<Answer>) {
    let mut done = Completions::with_room(1);
    loop {
        let next = taken.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(op) = next else { return };
        if answers.send(perform(&mut lane, &op, &mut done)).is_err() {
            return;
        }
    }
}

fn perform<L: Lane>(lane: &mut L, op: &Op, done: &mut Completions) -> Answer {
    done.clear();
    let slot = u32::from(op.slot);
    match lane.submit(op) {
        Submission::Accepted => {}
        Submission::Full => return Ok(Completion { slot, result: -libc::EAGAIN }),
        Submission::Refused(errno) => return Ok(Completion { slot, result: -errno }),
    }
    lane.flush_and_reap(Wait { at_least: 1, timeout_ns: u64::MAX }, done)?;
    Ok(done.as_slice().first().copied().unwrap_or(Completion { slot, result: -libc::EIO }))
}

/// The loop's side.
#[derive(Debug)]
pub(crate) struct OffloadLane {
    tasks: SyncSender<Op>,
    answers: Receiver<Answer>,
    in_flight: usize,
    depth: usize,
    notes: Vec<String>,
}

/// All threads have ended, which they do only when there is no sender.
const GONE: LaneError = LaneError { call: "the threads of io_submit_mode=offload", errno: libc::EIO };

impl Lane for OffloadLane {
    const SYNCHRONOUS: bool = false;

    fn submit(&mut self, op: &Op) -> Submission {
        if self.in_flight == self.depth {
            return Submission::Full;
        }
        match self.tasks.send(*op) {
            Ok(()) => {
                self.in_flight += 1;
                Submission::Accepted
            }
            Err(_) => Submission::Refused(libc::EIO),
        }
    }

    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let mut found = 0;
        // The timeout applies to each completion that it waits for.
        let timeout = Duration::from_nanos(wait.timeout_ns.min(1 << 60));
        while out.room_left() > 0 && self.in_flight > 0 {
            let answer = if found >= wait.at_least {
                self.answers.try_recv().map_err(|_| RecvTimeoutError::Timeout)
            } else {
                self.answers.recv_timeout(timeout)
            };
            match answer {
                Ok(completion) => {
                    out.push(completion?);
                    self.in_flight -= 1;
                    found += 1;
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return Err(GONE),
            }
        }
        Ok(found)
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}
