//! Tasks of one thread: an executor that owns no thread, no timer and no device, so that a
//! simulation can own them.
//!
//! [`Executor::run`] polls the tasks that are ready. When none is ready, it calls its [`Driver`],
//! which waits for the outside world (a device, a socket, a simulated clock). With the same driver
//! and the same [`ReadyOrder`], everything happens in the same order. A run that can make no more
//! progress ends with [`Stalled`] instead of hanging. Wakers may be used from other threads; tasks
//! stay on their own.
//!
//! It does not steal work, cancels tasks only when the executor is dropped, and reads no clock.

mod event;
mod ready;
mod spawner;

/// The primitives that threads share. `tests/interleavings` replaces them with those of a model
/// checker.
mod sync {
    pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
    pub(crate) use std::sync::{Mutex, MutexGuard};
}

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

pub use event::Notify;
use iolab_random::Lcg;
use ready::{Queue, Ready, Token};
use spawner::Task;
pub use spawner::{Joined, Spawner};

/// Waits for the outside world on behalf of all tasks.
pub trait Driver {
    /// Collects what has happened, and wakes the tasks that wait for it. With `wait`, it blocks
    /// until something has happened. Returns false if nothing is in progress, so that waiting would
    /// never end.
    fn turn(&mut self, wait: bool) -> bool;
}

/// There is no outside world: every wake-up comes from another task.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nothing;

impl Driver for Nothing {
    fn turn(&mut self, _wait: bool) -> bool {
        false
    }
}

/// Which of the ready tasks runs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadyOrder {
    /// The one that has been ready longest.
    Fair,
    /// A random one, chosen by the seed: the same seed gives the same order. This is for tests that
    /// look for a dependence on the order.
    Shuffled(u64),
}

/// The future that was passed to `run` waits, and nothing in progress can wake it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalled;

impl std::fmt::Display for Stalled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "every task waits for another one, and no operation is under way")
    }
}

impl std::error::Error for Stalled {}

/// Runs tasks, and knows which of them are ready.
pub struct Executor {
    tasks: Vec<Option<Running>>,
    free: Vec<usize>,
    /// Wakes the future of `run`.
    main: Alarm,
    /// The batch of tasks to run next; empty between calls.
    batch: Vec<usize>,
    ready: Arc<Ready>,
    queue: Queue,
    inbox: Rc<RefCell<Vec<Task>>>,
    order: ReadyOrder,
}

struct Running {
    task: Task,
    alarm: Alarm,
}

/// The waker of one task.
#[derive(Debug)]
struct Alarm {
    token: Arc<Token>,
    waker: Waker,
}

impl Alarm {
    fn new(id: usize, ready: &Arc<Ready>) -> Alarm {
        let token = Token::new(id, ready);
        let waker = Waker::from(Arc::clone(&token));
        Alarm { token, waker }
    }
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Executor({} tasks)", self.tasks())
    }
}

/// The task number that stands for the future of `run`.
const MAIN: usize = usize::MAX;

impl Executor {
    /// Creates an executor without tasks.
    pub fn new(order: ReadyOrder) -> Executor {
        let ready = Arc::<Ready>::default();
        let main = Alarm::new(MAIN, &ready);
        let queue = Queue::new(&ready);
        Executor {
            tasks: Vec::new(),
            free: Vec::new(),
            main,
            batch: Vec::new(),
            ready,
            queue,
            inbox: Rc::default(),
            order,
        }
    }

    /// Returns a handle that starts tasks, also from within tasks.
    pub fn spawner(&self) -> Spawner {
        Spawner::new(Rc::clone(&self.inbox), Arc::clone(&self.ready))
    }

    /// Polls until `main` is done. Other tasks run meanwhile, and remain for the next call.
    ///
    /// # Errors
    /// [`Stalled`] if `main` can never be done.
    pub fn run<F: Future>(&mut self, driver: &mut impl Driver, main: F) -> Result<F::Output, Stalled> {
        let (mut main, mut output) = (pin!(main), None);
        let mut poll_main =
            |context: &mut Context<'_>| main.as_mut().poll(context).map(|it| output = Some(it)).is_ready();
        self.run_until(driver, &mut poll_main)?;
        output.ok_or(Stalled)
    }

    /// [`Executor::run`], compiled once for all futures and drivers.
    fn run_until(
        &mut self,
        driver: &mut dyn Driver,
        poll_main: &mut dyn FnMut(&mut Context<'_>) -> bool,
    ) -> Result<(), Stalled> {
        // The future of an earlier call may have been woken since that call ended.
        self.main.token.seen();
        self.main.waker.wake_by_ref();
        let mut batch = std::mem::take(&mut self.batch);
        loop {
            self.take_in();
            self.queue.take(&mut batch);
            self.arrange(&mut batch);
            let mut now = batch.drain(..);
            while let Some(id) = now.next() {
                if id != MAIN {
                    self.poll_task(id);
                    continue;
                }
                self.main.token.seen();
                if poll_main(&mut Context::from_waker(&self.main.waker)) {
                    // Other tasks that were ready are still ready in the next run.
                    self.queue.put_back(now);
                    self.batch = batch;
                    return Ok(());
                }
            }
            drop(now);
            let idle = !self.is_ready();
            let under_way = driver.turn(idle);
            if idle && !under_way && self.queue.is_empty() {
                return Err(Stalled);
            }
        }
    }

    /// Polls until no task is ready and the driver, called without waiting, wakes none. This is for
    /// programs that also wait for other things.
    pub fn run_ready(&mut self, driver: &mut impl Driver) {
        let mut batch = std::mem::take(&mut self.batch);
        loop {
            self.take_in();
            self.queue.take(&mut batch);
            self.arrange(&mut batch);
            for id in batch.drain(..) {
                self.poll_task(id);
            }
            if !self.is_ready() {
                driver.turn(false);
                if !self.is_ready() {
                    self.batch = batch;
                    return;
                }
            }
        }
    }

    /// Whether a task could be polled now.
    pub fn is_ready(&self) -> bool {
        !self.queue.is_empty() || !self.inbox.borrow().is_empty()
    }

    /// How many tasks have not ended.
    pub fn tasks(&self) -> usize {
        self.tasks.len() - self.free.len() + self.inbox.borrow().len()
    }

    fn take_in(&mut self) {
        for task in self.inbox.take() {
            let id = self.free.pop().unwrap_or_else(|| {
                self.tasks.push(None);
                self.tasks.len() - 1
            });
            let alarm = Alarm::new(id, &self.ready);
            alarm.waker.wake_by_ref();
            self.tasks[id] = Some(Running { task, alarm });
        }
    }

    fn poll_task(&mut self, id: usize) {
        let Some(slot) = self.tasks.get_mut(id) else { return };
        // A waker that outlives its task may name a slot that is empty or belongs to another task.
        // This costs one needless poll.
        let Some(running) = slot else { return };
        running.alarm.token.seen();
        if running.task.as_mut().poll(&mut Context::from_waker(&running.alarm.waker)).is_ready() {
            *slot = None;
            self.free.push(id);
        }
    }

    fn arrange(&mut self, batch: &mut [usize]) {
        let ReadyOrder::Shuffled(state) = &mut self.order else { return };
        for place in (1..batch.len()).rev() {
            *state = Lcg::new(*state).next();
            batch.swap(place, ((*state >> 33) % (place as u64 + 1)) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    /// Wakes the waiting task, one turn later.
    #[derive(Default)]
    struct Bell {
        event: Rc<Notify>,
        rings_left: u32,
    }

    impl Driver for Bell {
        fn turn(&mut self, wait: bool) -> bool {
            if !wait || self.rings_left == 0 {
                return self.rings_left > 0;
            }
            self.rings_left -= 1;
            self.event.notify();
            true
        }
    }

    fn trail(order: ReadyOrder) -> Vec<u32> {
        let mut executor = Executor::new(order);
        let seen = Rc::new(RefCell::new(Vec::new()));
        let tasks: Vec<Joined<()>> = (0..8)
            .map(|number| {
                let seen = Rc::clone(&seen);
                executor.spawner().spawn(async move { seen.borrow_mut().push(number) })
            })
            .collect();
        let all = async {
            for task in tasks {
                task.await;
            }
        };
        executor.run(&mut Nothing, all).unwrap();
        assert_eq!(executor.tasks(), 0);
        Rc::try_unwrap(seen).unwrap().into_inner()
    }

    #[test]
    fn fair_is_first_come_first_served_and_a_seed_decides_otherwise() {
        assert_eq!(trail(ReadyOrder::Fair), (0..8).collect::<Vec<u32>>());
        assert_eq!(trail(ReadyOrder::Shuffled(7)), trail(ReadyOrder::Shuffled(7)));
        assert!((0..4).any(|seed| trail(ReadyOrder::Shuffled(seed)) != trail(ReadyOrder::Fair)));
    }

    #[test]
    fn the_driver_wakes_and_a_task_outlives_a_run() {
        let mut bell = Bell { rings_left: 2, ..Bell::default() };
        let mut executor = Executor::new(ReadyOrder::Fair);
        let (event, count) = (Rc::clone(&bell.event), Rc::new(RefCell::new(0)));
        let counted = Rc::clone(&count);
        let task = executor.spawner().spawn(async move {
            for _ in 0..2 {
                event.pass().await;
                *counted.borrow_mut() += 1;
            }
            "done"
        });
        executor.run(&mut bell, async {}).unwrap();
        assert_eq!((executor.tasks(), *count.borrow()), (1, 0));
        assert_eq!(executor.run(&mut bell, task), Ok("done"));
        assert_eq!(*count.borrow(), 2);
    }

    #[test]
    fn a_future_that_ended_may_still_be_woken() {
        let mut executor = Executor::new(ReadyOrder::Fair);
        let kept = Rc::new(RefCell::new(None::<Waker>));
        let keep = Rc::clone(&kept);
        let first = std::future::poll_fn(move |context| {
            *keep.borrow_mut() = Some(context.waker().clone());
            Poll::Ready(1)
        });
        assert_eq!(executor.run(&mut Nothing, first), Ok(1));
        kept.borrow().as_ref().unwrap().wake_by_ref();
        executor.run_ready(&mut Nothing);
        kept.borrow().as_ref().unwrap().wake_by_ref();
        assert_eq!(executor.run(&mut Nothing, async { 2 }), Ok(2));
        assert_eq!(executor.run(&mut Nothing, std::future::pending::<()>()), Err(Stalled));
    }

    #[test]
    fn what_is_ready_runs_and_what_waits_stays() {
        struct Once(Rc<Notify>, bool);
        impl Driver for Once {
            fn turn(&mut self, wait: bool) -> bool {
                assert!(!wait, "nobody may wait");
                if std::mem::take(&mut self.1) {
                    self.0.notify();
                }
                true
            }
        }
        let mut executor = Executor::new(ReadyOrder::Fair);
        let event = Rc::new(Notify::default());
        let (first, second, spawner) = (Rc::clone(&event), Rc::clone(&event), executor.spawner());
        let done = executor.spawner().spawn(async move {
            first.pass().await;
            spawner.spawn(async {}).await;
        });
        let _waits = executor.spawner().spawn(async move {
            second.pass().await;
            second.pass().await;
        });
        executor.run_ready(&mut Once(event, true));
        assert_eq!((executor.tasks(), executor.run(&mut Nothing, done)), (1, Ok(())));
    }

    #[test]
    fn waiting_for_nothing_ends() {
        let event = Notify::default();
        let mut executor = Executor::new(ReadyOrder::Fair);
        assert_eq!(executor.run(&mut Nothing, event.pass()), Err(Stalled));
    }

    #[test]
    fn other_threads_may_wake() {
        struct Thread(Option<std::thread::JoinHandle<()>>);
        impl Driver for Thread {
            fn turn(&mut self, wait: bool) -> bool {
                if wait {
                    self.0.take().map(std::thread::JoinHandle::join);
                }
                true
            }
        }
        let mut thread = Thread(None);
        let (send, receive) = std::sync::mpsc::channel::<Waker>();
        thread.0 = Some(std::thread::spawn(move || receive.recv().unwrap().wake()));
        let mut polls = 0;
        let main = std::future::poll_fn(|context| {
            polls += 1;
            if polls == 2 {
                return Poll::Ready(());
            }
            send.send(context.waker().clone()).unwrap();
            Poll::Pending
        });
        assert_eq!(Executor::new(ReadyOrder::Fair).run(&mut thread, main), Ok(()));
    }
}
