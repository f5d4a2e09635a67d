//! The threads that poll: dispatchers each some queues of every controller, the first of them also the controllers
//! themselves; workers the copies of every dispatcher.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use iolab_clock::Clock;
use iolab_pci_device::DmaTable;
use iolab_virtual_ssd::{Controller, Copier, Dispatcher};
use rustix::thread::CpuSet;

use crate::idle::Idle;
use crate::{ServeError, ServeOptions};

/// Rounds of the dispatchers for each look at the admin queues and at the door: admin commands are rare, and each look
/// costs registers' worth of loads.
const ROUNDS_PER_LOOK: u32 = 64;

/// What the owner of a controller and the threads that poll it tell each other.
#[derive(Debug, Default)]
pub(crate) struct Tie {
    /// The driver is gone: forget the controller.
    pub(crate) gone: AtomicBool,
    /// Resets asked for, and done.
    pub(crate) resets_wanted: AtomicU32,
    pub(crate) resets_done: AtomicU32,
}

/// Work for a thread.
pub(crate) enum Newcomer {
    Dispatcher(Arc<Tie>, Box<Dispatcher<DmaTable>>),
    Controller(Arc<Tie>, Box<Controller<DmaTable>>),
    Copier(Arc<Tie>, Box<Copier<DmaTable>>),
}

/// Where newcomers are sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    /// A thread each; the first takes controllers, too.
    pub(crate) dispatchers: Vec<Sender<Newcomer>>,
    /// A thread each; every dispatcher has a worker in all of them.
    pub(crate) workers: Vec<Sender<Newcomer>>,
}

/// The threads; they end when this is dropped.
#[derive(Debug)]
pub(crate) struct Threads {
    places: Places,
    stop: Arc<AtomicBool>,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    pub(crate) fn start(clock: &Clock, options: &ServeOptions) -> Result<Threads, ServeError> {
        let mut threads = Threads { places: Places::default(), stop: Arc::default(), handles: Vec::new() };
        let mut cpus = options.cpus.iter().copied().cycle();
        for number in 0..options.dispatchers.max(1) {
            let place = threads.begin(clock, &format!("dispatcher-{number}"), cpus.next())?;
            threads.places.dispatchers.push(place);
        }
        for number in 0..options.workers {
            let place = threads.begin(clock, &format!("worker-{number}"), cpus.next())?;
            threads.places.workers.push(place);
        }
        Ok(threads)
    }

    /// One thread, bound to its processor before this returns.
    fn begin(&mut self, clock: &Clock, name: &str, cpu: Option<usize>) -> Result<Sender<Newcomer>, ServeError> {
        let (place, newcomers) = channel();
        let (clock, stop) = (clock.clone(), Arc::clone(&self.stop));
        let (bound, is_bound) = channel();
        let body = move || {
            let answer = cpu.map_or(Ok(()), bind);
            let go = answer.is_ok();
            // Whoever started this waits for the answer.
            let _ = bound.send(answer);
            if go {
                Polling::new(newcomers, clock).run(&stop);
            }
        };
        let failed = |what: String| move |source: std::io::Error| ServeError::Thread { what, source };
        let handle = std::thread::Builder::new().name(name.to_owned()).spawn(body);
        self.handles.push(handle.map_err(failed(format!("starting {name}")))?);
        if let Ok(answer) = is_bound.recv() {
            answer.map_err(failed(format!("binding {name} to CPU {}", cpu.unwrap_or(0))))?;
        }
        Ok(place)
    }

    /// Where newcomers are sent.
    pub(crate) fn places(&self) -> Places {
        self.places.clone()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for handle in self.handles.drain(..) {
            // A thread that panicked has said so.
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

/// One thread's work.
struct Polling {
    newcomers: Receiver<Newcomer>,
    clock: Clock,
    dispatchers: Vec<(Arc<Tie>, Box<Dispatcher<DmaTable>>)>,
    controllers: Vec<(Arc<Tie>, Box<Controller<DmaTable>>)>,
    copiers: Vec<(Arc<Tie>, Box<Copier<DmaTable>>)>,
}

impl Polling {
    fn new(newcomers: Receiver<Newcomer>, clock: Clock) -> Polling {
        Polling { newcomers, clock, dispatchers: Vec::new(), controllers: Vec::new(), copiers: Vec::new() }
    }

    fn run(&mut self, stop: &AtomicBool) {
        let mut idle = Idle::default();
        while !stop.load(Ordering::Relaxed) {
            let mut worked = self.look();
            for _ in 0..ROUNDS_PER_LOOK {
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

    /// Newcomers, those who have left, admin queues.
    fn look(&mut self) -> bool {
        let mut worked = false;
        loop {
            match self.newcomers.try_recv() {
                Ok(Newcomer::Dispatcher(tie, dispatcher)) => self.dispatchers.push((tie, dispatcher)),
                Ok(Newcomer::Controller(tie, controller)) => self.controllers.push((tie, controller)),
                Ok(Newcomer::Copier(tie, copier)) => self.copiers.push((tie, copier)),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
            worked = true;
        }
        self.dispatchers.retain(|(tie, _)| !tie.gone.load(Ordering::Acquire));
        self.controllers.retain(|(tie, _)| !tie.gone.load(Ordering::Acquire));
        self.copiers.retain(|(tie, _)| !tie.gone.load(Ordering::Acquire));
        let now_ns = self.clock.now_ns();
        for (tie, controller) in &mut self.controllers {
            let wanted = tie.resets_wanted.load(Ordering::Acquire);
            if wanted != tie.resets_done.load(Ordering::Relaxed) {
                controller.reset_function();
                tie.resets_done.store(wanted, Ordering::Release);
            }
            worked |= controller.poll(now_ns);
        }
        worked
    }

    /// A rest that does not sleep through a command that becomes due.
    fn until_due(&self, rest: std::time::Duration) -> std::time::Duration {
        let now_ns = self.clock.now_ns();
        let due = self.dispatchers.iter().filter_map(|(_, dispatcher)| dispatcher.next_event_ns()).min();
        due.map_or(rest, |due_ns| rest.min(std::time::Duration::from_nanos(due_ns.saturating_sub(now_ns))))
    }
}
