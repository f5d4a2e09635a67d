//! The polling threads. Each dispatcher thread polls some queues of every controller; the first one
//! also polls the controllers. Each worker thread copies data for every dispatcher.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use iolab_clock::Clock;
use iolab_pci_device::DmaTable;
use iolab_virtual_ssd::{Controller, Copier, Dispatcher};
use rustix::thread::CpuSet;

use crate::service::idle::Idle;
use crate::service::{ServeError, ServeOptions};

/// Polls of the dispatchers for each poll of the admin queues and the inbox. Admin commands are
/// rare, and polling for them reads many registers.
const POLLS_PER_CONTROL_POLL: u32 = 64;

/// State shared by the connection that owns a controller and the threads that poll it.
#[derive(Debug, Default)]
pub(crate) struct PolledState {
    /// The driver is gone. The threads drop the controller.
    pub(crate) gone: AtomicBool,
    /// Resets requested, begun, and done: the queues have stopped and the registers are cleared.
    pub(crate) resets_requested: AtomicU32,
    pub(crate) resets_begun: AtomicU32,
    pub(crate) resets_done: AtomicU32,
}

/// A new task for a thread.
pub(crate) enum NewTask {
    Dispatcher(Arc<PolledState>, Box<Dispatcher<DmaTable>>),
    Controller(Arc<PolledState>, Box<Controller<DmaTable>>),
    Copier(Arc<PolledState>, Box<Copier<DmaTable>>),
}

/// The channels for new tasks.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThreadInboxes {
    /// The dispatcher threads; the first also takes controllers.
    pub(crate) dispatchers: Vec<Sender<NewTask>>,
    /// The worker threads; every dispatcher has a worker in each of them.
    pub(crate) workers: Vec<Sender<NewTask>>,
    /// How many passes each thread has begun; each pass looks up its tasks and their mappings.
    pub(crate) passes: Vec<Arc<AtomicU64>>,
}

/// The threads; they end when this value is dropped.
#[derive(Debug)]
pub(crate) struct Threads {
    inboxes: ThreadInboxes,
    stop: Arc<AtomicBool>,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    pub(crate) fn start(clock: &Clock, options: &ServeOptions) -> Result<Threads, ServeError> {
        let mut threads = Threads { inboxes: ThreadInboxes::default(), stop: Arc::default(), handles: Vec::new() };
        let mut cpus = options.cpus.iter().copied().cycle();
        for number in 0..options.dispatchers.max(1) {
            let inbox = threads.begin(clock, &format!("dispatcher-{number}"), cpus.next())?;
            threads.inboxes.dispatchers.push(inbox);
        }
        for number in 0..options.workers {
            let inbox = threads.begin(clock, &format!("worker-{number}"), cpus.next())?;
            threads.inboxes.workers.push(inbox);
        }
        Ok(threads)
    }

    /// Starts one thread. It is bound to its processor before this function returns.
    fn begin(&mut self, clock: &Clock, name: &str, cpu: Option<usize>) -> Result<Sender<NewTask>, ServeError> {
        let (inbox, new_tasks) = channel();
        let (clock, stop) = (clock.clone(), Arc::clone(&self.stop));
        let passes = Arc::<AtomicU64>::default();
        self.inboxes.passes.push(Arc::clone(&passes));
        let (bound, is_bound) = channel();
        let body = move || {
            let answer = cpu.map_or(Ok(()), bind);
            let go = answer.is_ok();
            // The thread that started this one waits for the answer.
            let _ = bound.send(answer);
            if go {
                PollingThread::new(new_tasks, clock).run(&stop, &passes);
            }
        };
        let failed = |what: String| move |source: std::io::Error| ServeError::Thread { what, source };
        let handle = std::thread::Builder::new().name(name.to_owned()).spawn(body);
        self.handles.push(handle.map_err(failed(format!("starting {name}")))?);
        if let Ok(answer) = is_bound.recv() {
            answer.map_err(failed(format!("binding {name} to CPU {}", cpu.unwrap_or(0))))?;
        }
        Ok(inbox)
    }

    /// The channels for new tasks.
    pub(crate) fn inboxes(&self) -> ThreadInboxes {
        self.inboxes.clone()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for handle in self.handles.drain(..) {
            // A thread that panicked has already reported it.
            let _ = handle.join();
        }
    }
}

fn bind(cpu: usize) -> std::io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// The state of one thread.
struct PollingThread {
    new_tasks: Receiver<NewTask>,
    clock: Clock,
    dispatchers: Vec<(Arc<PolledState>, Box<Dispatcher<DmaTable>>)>,
    controllers: Vec<(Arc<PolledState>, Box<Controller<DmaTable>>)>,
    copiers: Vec<(Arc<PolledState>, Box<Copier<DmaTable>>)>,
}

impl PollingThread {
    fn new(new_tasks: Receiver<NewTask>, clock: Clock) -> PollingThread {
        PollingThread { new_tasks, clock, dispatchers: Vec::new(), controllers: Vec::new(), copiers: Vec::new() }
    }

    fn run(&mut self, stop: &AtomicBool, passes: &AtomicU64) {
        let mut idle = Idle::default();
        while !stop.load(Ordering::Relaxed) {
            passes.fetch_add(1, Ordering::AcqRel);
            let mut worked = self.poll_control();
            for _ in 0..POLLS_PER_CONTROL_POLL {
                let now_ns = self.clock.now_ns();
                for (_, dispatcher) in &mut self.dispatchers {
                    worked |= dispatcher.poll(now_ns);
                }
                for (_, copier) in &mut self.copiers {
                    worked |= copier.poll();
                }
                let Some(rest) = idle.after(worked) else { continue };
                std::thread::sleep(self.until_due(rest));
                break;
            }
        }
    }

    /// Takes new tasks, drops those of drivers that are gone, and polls the controllers.
    fn poll_control(&mut self) -> bool {
        let mut worked = false;
        loop {
            match self.new_tasks.try_recv() {
                Ok(NewTask::Dispatcher(state, dispatcher)) => self.dispatchers.push((state, dispatcher)),
                Ok(NewTask::Controller(state, controller)) => self.controllers.push((state, controller)),
                Ok(NewTask::Copier(state, copier)) => self.copiers.push((state, copier)),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
            worked = true;
        }
        self.dispatchers.retain(|(state, _)| !state.gone.load(Ordering::Acquire));
        self.controllers.retain(|(state, _)| !state.gone.load(Ordering::Acquire));
        self.copiers.retain(|(state, _)| !state.gone.load(Ordering::Acquire));
        let now_ns = self.clock.now_ns();
        for (state, controller) in &mut self.controllers {
            let requested = state.resets_requested.load(Ordering::Acquire);
            if requested != state.resets_begun.load(Ordering::Relaxed) {
                controller.reset_function();
                state.resets_begun.store(requested, Ordering::Relaxed);
            }
            worked |= controller.poll(now_ns);
            let begun = state.resets_begun.load(Ordering::Relaxed);
            if begun != state.resets_done.load(Ordering::Relaxed) && !controller.is_stopping() {
                state.resets_done.store(begun, Ordering::Release);
                worked = true;
            }
        }
        worked
    }

    /// `rest`, shortened so that it ends when the next command is due.
    fn until_due(&self, rest: std::time::Duration) -> std::time::Duration {
        let now_ns = self.clock.now_ns();
        let due = self.dispatchers.iter().filter_map(|(_, dispatcher)| dispatcher.next_event_ns()).min();
        due.map_or(rest, |due_ns| rest.min(std::time::Duration::from_nanos(due_ns.saturating_sub(now_ns))))
    }
}
