//! Supervising a run from the main thread: opening gates stage by stage, passing on orders,
//! detecting deaths, reporting to observers.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use iolab_clock::Clock;
use iolab_engine::FileUse;
use iolab_observe::{DeviceSampler, System};
use iolab_plan::{ExitScope, WorkerPlan};
use iolab_process::ChildEnd;
use iolab_recording::{Event, Observations, Progress, Recording, State, WorkerOutcome, WorkerProgress};

use crate::beginning;
use crate::control::{GATE_RUN, GATE_SET_UP, Order};
use crate::engine_of;
use crate::launch::{RunContext, collect, process_end};
use crate::observer::{Followers, RunObserver, Start, Wish};
use crate::sampling::Sampling;
use crate::zoned::ZoneTable;

const TICK_NS: u64 = 100_000_000;
/// How often to check whether a process has ended that has delivered its recording and is about to
/// exit.
const LINGER_NS: u64 = 500_000;
/// How often to ask when ready workers may begin.
const START_LOOK_NS: u64 = 5_000_000;
/// The longest time that ready workers wait for the moment at which they may begin.
const LONGEST_WAIT_NS: u64 = 60_000_000_000;
/// How long before that moment the workers are woken, ns. They wait for it by themselves: waking
/// them takes longer than beginning, and they learn how late the machine wakes them.
const LEAD_NS: u64 = beginning::LEARNING_NS + 10_000_000;
/// How long workers have to deliver a snapshot.
const PATIENCE_NS: u64 = 1_000_000_000;
/// How long they have to deliver their final recording after the user asked a second time for the
/// end.
const LAST_WORDS_NS: u64 = 300_000_000;

pub(crate) struct Supervisor<'a> {
    context: &'a RunContext,
    pids: Vec<Option<i32>>,
    ends: Vec<Option<ChildEnd>>,
    gates: Vec<u32>,
    settled: Vec<bool>,
    /// Whether a worker is done but its process not yet collected.
    lingering: bool,
    /// Whether workers are ready and may not begin yet, or wait until they may go on.
    held_back: bool,
    /// Jobs whose workers know after how many operations they end (`wear_out`).
    worn_out: HashSet<&'a str>,
    /// Worker threads that did not end although they were ordered to, twice.
    left_behind: Vec<usize>,
    clock: &'a Clock,
    interrupts: &'a AtomicU32,
    origin_ns: Option<u64>,
    abandon_at_ns: Option<u64>,
    sampler: Option<DeviceSampler>,
    sampling: Option<Sampling>,
    recording: Recording,
    /// The state of each worker as last reported to observers.
    told: Vec<State>,
}

/// Reports a sample. An observer cannot wish for anything in return.
fn observed(followers: &mut Followers<'_>, news: &Observations) {
    followers.tell(&Event::Observed(news));
}

impl<'a> Supervisor<'a> {
    pub(crate) fn new(
        context: &'a RunContext,
        pids: Vec<Option<i32>>,
        clock: &'a Clock,
        interrupts: &'a AtomicU32,
        recording: Recording,
    ) -> Supervisor<'a> {
        let workers = pids.len();
        Supervisor {
            context,
            pids,
            ends: vec![None; workers],
            gates: vec![0; workers],
            settled: vec![false; workers],
            lingering: false,
            held_back: false,
            worn_out: HashSet::new(),
            left_behind: Vec::new(),
            clock,
            interrupts,
            origin_ns: None,
            abandon_at_ns: None,
            sampler: None,
            sampling: None,
            recording,
            told: vec![State::Waiting; workers],
        }
    }

    /// Supervises the run until every worker is done.
    pub(crate) fn supervise(&mut self, observer: &mut dyn RunObserver) {
        let followers = &mut Followers::new(&self.context.stream, observer);
        let mut next_tick_ns = 0;
        loop {
            let seen = self.context.control.rings();
            let tick = self.clock.now_ns() >= next_tick_ns;
            self.pass_on_interrupts();
            self.settle_ended(tick, followers);
            if self.settled.iter().all(|settled| *settled) {
                break;
            }
            self.open_gates(followers);
            self.set_goals(followers);
            let now_ns = self.clock.now_ns();
            if tick {
                next_tick_ns = now_ns + TICK_NS;
                followers.tell_intervals();
                let wish = self.tell_progress(now_ns, followers);
                if wish == Wish::End {
                    (0..self.gates.len())
                        .filter(|worker| !self.settled[*worker])
                        .for_each(|worker| self.context.control.order(worker, Order::Finish));
                }
                if wish == Wish::SoFar {
                    followers.tell(&Event::SoFar(&self.snapshot()));
                }
            }
            let next_look_ns = self.look(self.clock.now_ns(), followers);
            let longest_ns = match (self.lingering, self.held_back) {
                (true, _) => LINGER_NS,
                (false, true) => START_LOOK_NS,
                (false, false) => TICK_NS,
            };
            let wake_ns = next_tick_ns.min(next_look_ns);
            self.context.control.wait_for_change(seen, wake_ns.saturating_sub(now_ns).min(longest_ns));
        }
        let now_ns = self.clock.now_ns();
        followers.tell_intervals();
        self.tell_progress(now_ns, followers);
        self.recording.elapsed_ns = self.origin_ns.map_or(0, |origin_ns| now_ns.saturating_sub(origin_ns));
        self.recording.devices = self.sampler.take().map(|sampler| sampler.finish(now_ns)).unwrap_or_default();
        self.recording.observations =
            self.sampling.take().map(|sampling| sampling.finish(self.clock, &mut |news| observed(followers, news)));
    }

    /// Samples the machine if it is time, and returns when the next sample is due.
    fn look(&mut self, now_ns: u64, followers: &mut Followers<'_>) -> u64 {
        let Some(sampling) = &mut self.sampling else { return u64::MAX };
        sampling.look_if_due(now_ns, self.clock, &mut |news| observed(followers, news))
    }

    /// A worker could not be started: no worker runs.
    pub(crate) fn give_up(&mut self) {
        for worker in 0..self.gates.len() {
            self.context.control.order(worker, Order::Abandon);
        }
        self.pids.iter().flatten().for_each(|pid| iolab_process::kill(*pid, libc::SIGKILL));
    }

    pub(crate) fn into_recording(mut self) -> Recording {
        self.recording.workers = collect(self.context, &self.ends);
        for worker in self.left_behind {
            let message = "it was still waiting for its device when the run ended".to_owned();
            self.recording.workers[worker].outcome = WorkerOutcome::Crashed { signal: 0, message };
        }
        self.recording
    }

    fn workers(&self) -> &'a [WorkerPlan] {
        &self.context.plan.workers
    }

    /// Marks workers that have ended, and lets `exitall` act on it. Processes that have not
    /// reported their end are only checked on a tick, because each check costs a system call.
    fn settle_ended(&mut self, tick: bool, followers: &mut Followers<'_>) {
        self.lingering = false;
        for worker in 0..self.gates.len() {
            if self.settled[worker] {
                continue;
            }
            let done = self.context.control.state(worker) == State::Done;
            if !done && (!tick || self.pids[worker].is_none()) {
                continue;
            }
            if self.pids[worker].is_some() {
                // A process is done when it has been reaped, so that none is left behind.
                let Some(end) = process_end(self.pids[worker]) else {
                    self.lingering |= done;
                    continue;
                };
                self.ends[worker] = Some(end);
                self.pids[worker] = None;
                self.context.control.declare_done(worker);
                self.context.progress.finish(worker);
            }
            self.settled[worker] = true;
            // A killed worker left at most a snapshot, and its intervals contain more.
            let killed = matches!(self.ends[worker], Some(ChildEnd::Killed(_)));
            if killed && let Some(locks) = &self.context.locks[worker] {
                locks.break_all();
            }
            for table in &self.context.zones[worker] {
                table.release_all(ZoneTable::owner(worker as u32), killed);
            }
            if let Some(recording) = self.context.mailbox[worker].take().filter(|_| !killed) {
                followers.tell(&Event::WorkerEnded(&recording));
            }
            self.pass_on_exit(worker);
        }
    }

    fn pass_on_exit(&self, ended: usize) {
        let plan = &self.workers()[ended];
        if !plan.errors.exit_all && !plan.errors.exit_all_on_error {
            return;
        }
        let outcome = self.context.mailbox[ended].take().map(|recording| recording.outcome);
        let failed = !matches!(outcome, Some(WorkerOutcome::Finished | WorkerOutcome::Interrupted));
        if !plan.errors.exit_all && !failed {
            return;
        }
        for (index, other) in self.workers().iter().enumerate() {
            let within = match plan.errors.exit_scope {
                ExitScope::All => true,
                ExitScope::Group => other.group == plan.group,
                ExitScope::Stonewall => other.stage == plan.stage,
            };
            if within && index != ended {
                self.context.control.order(index, Order::Finish);
            }
        }
    }

    /// Opens gates. A worker may set up when earlier stages and the job it waits for are over. It
    /// may run when all workers that set up with it are ready.
    fn open_gates(&mut self, followers: &mut Followers<'_>) {
        let workers = self.workers();
        let unsettled = || workers.iter().zip(&self.settled).filter(|(_, settled)| !**settled).map(|(plan, _)| plan);
        let Some(stage) = unsettled().map(|plan| plan.stage).min() else { return };
        let waiting = || (0..workers.len()).filter(|index| self.gates[*index] == 0 && workers[*index].stage <= stage);
        let awaits = waiting().any(|index| workers[index].wait_for.is_some());
        let busy: HashSet<&str> =
            if awaits { unsettled().map(|plan| plan.job.as_str()).collect() } else { HashSet::new() };
        let awaited_over = |index: &usize| workers[*index].wait_for.as_deref().is_none_or(|name| !busy.contains(name));
        let to_set_up: Vec<usize> = waiting().filter(awaited_over).collect();
        for index in to_set_up {
            self.open(index, GATE_SET_UP);
        }
        let setting_up =
            |index: usize| self.gates[index] == GATE_SET_UP && self.context.control.state(index) < State::Ready;
        if (0..workers.len()).any(setting_up) {
            return;
        }
        let ready: Vec<usize> = (0..workers.len()).filter(|index| self.gates[*index] == GATE_SET_UP).collect();
        self.held_back = !ready.is_empty() && !self.begin(followers);
        if self.held_back {
            return;
        }
        for index in ready {
            self.open(index, GATE_RUN);
        }
    }

    /// Lets workers whose time is up go on until they have done as much as the busiest of the job.
    fn set_goals(&mut self, followers: &mut Followers<'_>) {
        let workers = self.workers();
        let wearing = workers.iter().filter(|plan| plan.limits.wear_out && !self.worn_out.contains(plan.job.as_str()));
        for job in wearing.map(|plan| plan.job.as_str()).collect::<HashSet<_>>() {
            let of_job: Vec<usize> = (0..workers.len()).filter(|index| workers[*index].job == job).collect();
            let far = |index: &usize| self.context.control.reached(*index);
            if of_job.iter().any(|index| far(index).is_none() && !self.settled[*index]) {
                continue;
            }
            let goal = followers.wear_out(job, of_job.iter().filter_map(far).max().unwrap_or(0));
            self.held_back |= goal.is_none();
            if let Some(goal) = goal {
                of_job.iter().for_each(|index| self.context.control.set_goal(*index, goal));
                self.worn_out.insert(job);
            }
        }
    }

    fn open(&mut self, worker: usize, gate: u32) {
        self.gates[worker] = gate;
        self.context.control.open_gate(worker, gate);
    }

    /// The first operations begin, if they may: sets the origin of all times and takes the first
    /// sample.
    fn begin(&mut self, followers: &mut Followers<'_>) -> bool {
        if self.origin_ns.is_some() {
            return true;
        }
        let start = followers.start();
        if start == Start::Later {
            return false;
        }
        let paths: Vec<PathBuf> = self.workers().iter().flat_map(|worker| self.opened_by(worker)).collect();
        let system = System::live();
        let sampling = Sampling::open(&self.context.plan, &system, &paths, self.clock);
        let origin_ns = if let Start::At(unix_ns) = start { self.wait_for(unix_ns) } else { None };
        self.sampler = Some(DeviceSampler::start(&system, &paths, self.clock.now_ns()));
        if origin_ns.is_none() {
            self.recording.started_unix_ns = self.clock.unix_ns();
        }
        followers.tell(&Event::Begun { unix_ns: self.recording.started_unix_ns });
        let now_ns = origin_ns.unwrap_or_else(|| self.clock.now_ns());
        self.context.control.set_origin(now_ns);
        self.origin_ns = Some(now_ns);
        self.sampling =
            sampling.map(|sampling| sampling.begin(now_ns, self.clock, &mut |news| observed(followers, news)));
        self.recording.warnings.extend(self.sampling.as_mut().and_then(Sampling::trouble));
        true
    }

    /// Waits until shortly before the moment that was agreed on. Returns when it is, by this run's
    /// clock: the workers wait for it themselves. `None` if it has passed.
    fn wait_for(&mut self, unix_ns: u64) -> Option<u64> {
        self.recording.agreed_start_unix_ns = Some(unix_ns);
        let ahead_ns = unix_ns.saturating_sub(self.clock.unix_ns()).min(LONGEST_WAIT_NS);
        if ahead_ns == 0 {
            return None;
        }
        let origin_ns = self.clock.now_ns() + ahead_ns;
        self.clock.sleep_until(origin_ns.saturating_sub(LEAD_NS), 0);
        self.recording.started_unix_ns = unix_ns;
        Some(origin_ns)
    }

    /// The files and devices that a worker works on.
    fn opened_by(&self, worker: &WorkerPlan) -> Vec<PathBuf> {
        let Some(engine) = engine_of(&self.context.engines, worker) else { return Vec::new() };
        let mut paths = (engine.opens)(&worker.engine.options);
        if matches!(engine.description.capabilities.files, FileUse::Descriptors | FileUse::Paths) {
            paths.extend(worker.files.iter().map(|file| file.path.clone()));
        }
        paths
    }

    fn pass_on_interrupts(&mut self) {
        let count = self.interrupts.load(Ordering::Relaxed);
        if count == 0 {
            return;
        }
        self.recording.interrupted = true;
        let order = if count > 1 { Order::Abandon } else { Order::Interrupt };
        for worker in (0..self.gates.len()).filter(|worker| !self.settled[*worker]) {
            self.context.control.order(worker, order);
        }
        if count > 1 {
            let now_ns = self.clock.now_ns();
            if now_ns >= *self.abandon_at_ns.get_or_insert(now_ns + LAST_WORDS_NS) {
                self.pids.iter().flatten().for_each(|pid| iolab_process::kill(*pid, libc::SIGKILL));
                // A thread cannot be killed; the end of the program ends it.
                let stuck = |worker: &usize| !self.settled[*worker] && self.workers()[*worker].process.thread;
                self.left_behind = (0..self.gates.len()).filter(stuck).collect();
                self.left_behind.iter().for_each(|worker| self.settled[*worker] = true);
            }
        }
    }

    /// Reports the states of the workers, and which of them have changed since the last report.
    fn tell_progress(&mut self, now_ns: u64, followers: &mut Followers<'_>) -> Wish {
        let progress = self.progress(now_ns);
        for (number, (worker, told)) in (0..).zip(progress.workers.iter().zip(&mut self.told)) {
            if *told != worker.state {
                *told = worker.state;
                followers.tell(&Event::StateChanged { worker: number, state: worker.state });
            }
        }
        followers.tell(&Event::Progress(&progress))
    }

    fn progress(&self, now_ns: u64) -> Progress {
        let workers = (0..self.gates.len()).map(|worker| {
            let (ios, bytes, measured_ns) = self.context.control.progress(worker);
            WorkerProgress { state: self.context.control.state(worker), ios, bytes, measured_ns }
        });
        let elapsed_ns = self.origin_ns.map_or(0, |origin_ns| now_ns.saturating_sub(origin_ns));
        Progress { elapsed_ns, workers: workers.collect() }
    }

    /// Asks every running worker for its recording so far and waits for the answers for a limited
    /// time.
    fn snapshot(&self) -> Recording {
        let control = &self.context.control;
        let running = |worker: &usize| matches!(control.state(*worker), State::Ramping | State::Running);
        let asked: Vec<usize> = (0..self.gates.len()).filter(running).collect();
        asked.iter().for_each(|worker| control.ask_snapshot(*worker));
        let until_ns = self.clock.now_ns() + PATIENCE_NS;
        while asked.iter().any(|worker| running(worker) && !control.snapshot_answered(*worker))
            && self.clock.now_ns() < until_ns
        {
            self.clock.sleep_until(self.clock.now_ns() + 1_000_000, 0);
        }
        let elapsed_ns = self.origin_ns.map_or(0, |origin_ns| self.clock.now_ns().saturating_sub(origin_ns));
        let observations = self.sampling.as_ref().map(Sampling::so_far);
        Recording { workers: collect(self.context, &self.ends), elapsed_ns, observations, ..self.recording.clone() }
    }
}
