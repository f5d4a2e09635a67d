//! Starting workers as forked processes or as threads, and detecting their death.
//!
//! All processes are forked before the first thread exists; each then waits for its gate. That
//! keeps fork sound and makes the start of a stage a matter of microseconds.
#![allow(unsafe_code, reason = "island: fork")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use iolab_clock::Clock;
use iolab_guard::Guard;
use iolab_plan::{ClockChoice, Plan};
use iolab_process::{ChildEnd, Fork, exit_now, reap_child, wait_for_child};
use iolab_recording::{State, WorkerOutcome, WorkerRecording};

use crate::containment::contained;
use crate::control::Control;
use crate::deliver::Mailbox;
use crate::locking::FileLocks;
use crate::progress::Progress;
use crate::registry::EngineEntry;
use crate::steady::Peers;
use crate::stream::Stream;
use crate::task::{Others, Spools, Supply, Task};
use crate::telling::Telling;
use crate::verification::share::VerifyShare;
use crate::zoned::ZoneShares;
use crate::{RunError, engine_of};

/// What all workers share, made before any starts. Worker threads share its ownership with the main
/// thread, so that a thread that cannot be stopped can be left behind.
pub(crate) struct RunContext {
    pub(crate) plan: Plan,
    pub(crate) engines: Vec<EngineEntry>,
    pub(crate) guard: Guard,
    pub(crate) control: Control,
    pub(crate) mailbox: Vec<Mailbox>,
    pub(crate) spools: Vec<Spools>,
    pub(crate) stream: Stream,
    pub(crate) clocks: Clocks,
    /// What each worker verifies.
    pub(crate) shares: Vec<Option<VerifyShare>>,
    /// The zones of the files of each worker.
    pub(crate) zones: ZoneShares,
    /// The locks of the files of each worker.
    pub(crate) locks: Vec<Option<FileLocks>>,
    pub(crate) supply: Option<Supply>,
    pub(crate) progress: Progress,
    pub(crate) telling: Option<Telling>,
    /// Whether each worker has panicked. If it is a thread, that thread waits for the end of the
    /// program.
    pub(crate) panicked: Vec<AtomicBool>,
}

/// The clocks workers ask for.
#[derive(Debug)]
pub(crate) struct Clocks {
    pub(crate) best: Clock,
    pub(crate) cpu: Option<Clock>,
    pub(crate) monotonic: Clock,
    pub(crate) gettimeofday: Clock,
}

impl Clocks {
    pub(crate) fn of(&self, choice: ClockChoice) -> &Clock {
        match choice {
            ClockChoice::Best => &self.best,
            ClockChoice::Cpu => self.cpu.as_ref().unwrap_or(&self.best),
            ClockChoice::ClockGettime => &self.monotonic,
            ClockChoice::Gettimeofday => &self.gettimeofday,
        }
    }
}

impl RunContext {
    /// Runs worker `index` on the calling thread, delivers its recording, and calls `end` with
    /// whether it could be delivered.
    pub(crate) fn live(self: &Arc<Self>, index: usize, end: fn(bool)) {
        let context = Arc::clone(self);
        let answer = move |message| {
            let number = context.plan.workers[index].number;
            context.panicked[index].store(true, Ordering::Release);
            end(context.deliver(index, &crashed(number, 0, format!("internal error: {message}"))));
        };
        contained(answer, || end(self.deliver(index, &self.recording_of(index))));
    }

    /// Hands over the recording of worker `index`, which is then done.
    fn deliver(&self, index: usize, recording: &WorkerRecording) -> bool {
        self.progress.finish(index);
        let delivered = self.mailbox[index].put(recording).is_ok();
        self.control.worker_control(index).set_state(State::Done);
        delivered
    }

    fn recording_of(&self, index: usize) -> WorkerRecording {
        let plan = &self.plan.workers[index];
        let task = Task {
            plan,
            worker_control: self.control.worker_control(index),
            guard: &self.guard,
            clock: self.clocks.of(plan.measurement.clock),
            spools: &self.spools[index],
            stream: self.stream.file(),
            mailbox: &self.mailbox[index],
            verify: self.shares[index].as_ref(),
            zones: &self.zones[index],
            locks: self.locks[index].as_ref(),
            telling: self.telling.as_ref(),
            supply: self.supply,
            progress: Some(&self.progress),
            peers: Peers::of(&self.control, &self.plan.workers, index),
            others: Some(Others { control: &self.control, workers: &self.plan.workers }),
        };
        match engine_of(&self.engines, plan) {
            Some(engine) => (engine.live)(&task),
            None => crashed(plan.number, 0, format!("this build does not contain the engine {}", plan.engine.name)),
        }
    }

    /// Starts every worker that runs as a thread. Returns their handles by worker.
    pub(crate) fn spawn_threads(self: &Arc<Self>) -> Result<Vec<Option<JoinHandle<()>>>, RunError> {
        let mut threads = Vec::new();
        for (index, worker) in self.plan.workers.iter().enumerate() {
            if !worker.process.thread {
                threads.push(None);
                continue;
            }
            let context = Arc::clone(self);
            let body = move || {
                context.live(index, drop);
            };
            let spawned = std::thread::Builder::new().name(worker.job.replace('\0', "")).spawn(body);
            threads.push(Some(spawned.map_err(|source| RunError::Start { job: worker.job.clone(), source })?));
        }
        Ok(threads)
    }

    /// Waits for the threads of workers that are done. A thread that did not end although it was
    /// ordered to, or that panicked, is left behind. It owns its share of the common data.
    pub(crate) fn join(&self, threads: Vec<Option<JoinHandle<()>>>) {
        for (worker, thread) in threads.into_iter().enumerate() {
            let ends = self.control.state(worker) == State::Done && !self.panicked[worker].load(Ordering::Acquire);
            if let Some(thread) = thread.filter(|_| ends) {
                // Panics do not get out of it.
                let _ = thread.join();
            }
        }
    }

    /// Forks every worker that runs as a process. Returns their process ids by worker.
    pub(crate) fn fork_processes(self: &Arc<Self>) -> Result<Vec<Option<i32>>, RunError> {
        let mut pids = vec![None; self.plan.workers.len()];
        for (index, worker) in self.plan.workers.iter().enumerate() {
            if worker.process.thread {
                continue;
            }
            // SAFETY: no thread has been started yet (`run` forks before it spawns), so the child
            // inherits no lock held by another thread.
            match unsafe { iolab_process::fork() } {
                Ok(Fork::Parent(pid)) => pids[index] = Some(pid),
                Ok(Fork::Child) => {
                    iolab_process::map_large_allocations();
                    self.live(index, |delivered| exit_now(i32::from(!delivered)));
                }
                Err(source) => {
                    pids.iter().flatten().for_each(|pid| iolab_process::kill(*pid, libc::SIGKILL));
                    return Err(RunError::Start { job: worker.job.clone(), source });
                }
            }
        }
        Ok(pids)
    }
}

/// Does `work` in a separate process and waits for it. Returns whether it finished. This is for
/// work that touches much memory before the workers are forked, because each worker would copy all
/// those pages.
pub(crate) fn in_child(work: impl FnOnce()) -> bool {
    // SAFETY: no thread has been started yet (`run` forks before it spawns), so the child inherits
    // no lock held by another thread.
    match unsafe { iolab_process::fork() } {
        Ok(Fork::Parent(pid)) => wait_for_child(pid) == ChildEnd::Exited(0),
        Ok(Fork::Child) => {
            contained(|_| exit_now(1), work);
            exit_now(0)
        }
        Err(_) => false,
    }
}

/// Checks a worker's process: returns how it ended, if it did.
pub(crate) fn process_end(pid: Option<i32>) -> Option<ChildEnd> {
    match reap_child(pid?) {
        ChildEnd::Running => None,
        end => Some(end),
    }
}

/// The recording of a worker that could not make its own.
pub(crate) fn crashed(number: u32, signal: i32, message: String) -> WorkerRecording {
    WorkerRecording { number, outcome: WorkerOutcome::Crashed { signal, message }, ..WorkerRecording::default() }
}

/// The delivered recordings, with a substitute for every worker that left none.
pub(crate) fn collect(context: &RunContext, ends: &[Option<ChildEnd>]) -> Vec<WorkerRecording> {
    let each = context.plan.workers.iter().zip(&context.mailbox).zip(ends).enumerate();
    each.map(|(index, ((plan, mailbox), end))| match (mailbox.take(), end) {
        (letter, Some(ChildEnd::Killed(signal))) => {
            let mut recording = letter.unwrap_or_else(|| crashed(plan.number, *signal, String::new()));
            let message = format!("the process of this job was killed by signal {signal}");
            recording.outcome = WorkerOutcome::Crashed { signal: *signal, message };
            recording
        }
        // The delivered recording may be an interim snapshot: only status 0 says that it is the
        // final one.
        (Some(recording), None | Some(ChildEnd::Exited(0) | ChildEnd::Running)) => recording,
        (_, Some(ChildEnd::Exited(status))) => {
            crashed(plan.number, 0, format!("the process of this job exited with status {status} without a result"))
        }
        (None, None | Some(ChildEnd::Running)) if context.control.state(index) == State::Done => {
            crashed(plan.number, 0, "the results of this job could not be sent".to_owned())
        }
        (None, _) => WorkerRecording { number: plan.number, ..WorkerRecording::default() },
    })
    .collect()
}
