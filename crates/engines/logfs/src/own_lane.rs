//! A lane on its own domain: a task for each slot, mailboxes to them, and the executor that the
//! loop's calls drive.
//!
//! The tasks live as long as the lane, so that no operation starts one.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use iolab_clock::Clock;
use iolab_engine::{
    Completion, CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpenError, Submission, Wait,
};
use iolab_executor::{Driver, Executor, ReadyOrder};
use iolab_logfs::{Disk, Error, InodeId, LogFs};
use iolab_memory::PoolView;

use crate::device::refused;
use crate::device::{Claimed, claim};
use crate::files;
use crate::opened::Opened;
use crate::options::Requested;
use crate::perform::{are_aligned, perform_run};
use crate::run::{Pattern, Run};

/// A lane on files of a file system that no other worker uses.
pub(crate) struct OwnLane {
    fs: Option<LogFs>,
    executor: Executor,
    disk: Disk,
    shared: Rc<Shared>,
    files: usize,
    in_flight: usize,
    depth: usize,
    /// What was submitted last, and may still grow.
    latest: Run,
    pattern: Pattern,
    /// For time-outs only.
    clock: Clock,
    notes: Vec<String>,
    /// The locks of the domain, until the file system is closed.
    _lock: Option<std::fs::File>,
}

impl std::fmt::Debug for OwnLane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OwnLane({} of {} in flight)", self.in_flight, self.depth)
    }
}

/// What the lane and the tasks of its slots share.
struct Shared {
    mailboxes: Vec<Mailbox>,
    finished: RefCell<CompletionRow>,
    /// How many operations must finish before the waiting caller is woken.
    wanted: Cell<usize>,
    waiting: RefCell<Option<Waker>>,
}

#[derive(Default)]
struct Mailbox {
    /// Empty, or what the task does next.
    run: RefCell<Run>,
    task: RefCell<Option<Waker>>,
}

impl Shared {
    /// Hands over a run to the task of its first slot, and leaves an empty one.
    fn deliver(&self, run: &mut Run) {
        let Some(first) = run.ops().first() else { return };
        let mailbox = &self.mailboxes[usize::from(first.slot)];
        std::mem::swap(run, &mut *mailbox.run.borrow_mut());
        if let Some(task) = &*mailbox.task.borrow() {
            task.wake_by_ref();
        }
    }

    /// Waits for the next run of a slot, and replaces `run`, which is empty, with it.
    async fn next_run(&self, slot: usize, run: &mut Run) {
        let mailbox = &self.mailboxes[slot];
        poll_fn(|context| {
            let mut arrived = mailbox.run.borrow_mut();
            if !arrived.ops().is_empty() {
                std::mem::swap(run, &mut *arrived);
                return Poll::Ready(());
            }
            let mut task = mailbox.task.borrow_mut();
            if !task.as_ref().is_some_and(|task| task.will_wake(context.waker())) {
                *task = Some(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    fn finish(&self, slot: u16, result: i32) {
        let mut finished = self.finished.borrow_mut();
        finished.push(Completion { slot: u32::from(slot), result });
        if finished.len() >= self.wanted.get() {
            self.wake();
        }
    }

    fn wake(&self) {
        if let Some(waiting) = self.waiting.borrow_mut().take() {
            waiting.wake();
        }
    }
}

/// The loop of a slot's task.
async fn serve(slot: usize, shared: Rc<Shared>, fs: Opened, inodes: Rc<[InodeId]>, slots: PoolView) {
    let mut run = Run::default();
    loop {
        shared.next_run(slot, &mut run).await;
        let inode = run.ops().first().and_then(|op| inodes.get(op.file as usize));
        match inode {
            Some(inode) => perform_run(&fs, *inode, run.ops(), slots, |slot, result| shared.finish(slot, result)).await,
            None => run.ops().iter().for_each(|op| shared.finish(op.slot, -libc::EBADF)),
        }
        run.clear();
    }
}

/// The device, with a reading of the clock after each of its turns.
struct Turns<'a> {
    disk: &'a mut Disk,
    clock: &'a Clock,
    deadline_ns: u64,
    shared: &'a Shared,
    is_late: &'a Cell<bool>,
}

impl Driver for Turns<'_> {
    fn turn(&mut self, wait: bool) -> bool {
        let under_way = self.disk.turn(wait);
        if self.deadline_ns != u64::MAX && self.clock.now_ns() >= self.deadline_ns {
            self.is_late.set(true);
            self.shared.wake();
        }
        under_way
    }
}

impl OwnLane {
    pub(crate) fn open(request: &LaneRequest<'_>, requested: &Requested) -> Result<OwnLane, OpenError> {
        let mut executor = Executor::new(ReadyOrder::Fair);
        let Claimed { fs, mut disk, notes, name, _lock } = claim(requested, request.worker, &mut executor)?;
        let opened = Opened::Own(fs.clone());
        let preparing = files::prepare(&opened, request.files, requested.layout_bytes, request.seed);
        let prepared = executor.run(&mut disk, preparing);
        let prepared = prepared.unwrap_or_else(|_stalled| Err((String::new(), Error::Closed)));
        let inodes: Rc<[InodeId]> = prepared
            .map_err(|(file, error)| {
                let advice = if error == Error::NoSpace { "; raise logfs_size, or lower size" } else { "" };
                refused(&format!("creating {file} on {name}"), &error, advice)
            })?
            .into();
        let shared = Rc::new(Shared {
            mailboxes: (0..request.depth).map(|_| Mailbox::default()).collect(),
            finished: RefCell::new(CompletionRow::with_depth(request.depth)),
            wanted: Cell::new(usize::MAX),
            waiting: RefCell::new(None),
        });
        for slot in 0..request.depth {
            let task = serve(slot, Rc::clone(&shared), opened.clone(), Rc::clone(&inodes), request.buffers);
            executor.spawner().spawn(task);
        }
        let mut lane = OwnLane {
            latest: Run::default(),
            pattern: Pattern::new(&opened.layout(), are_aligned(request.buffers)),
            fs: Some(fs),
            executor,
            disk,
            shared,
            files: inodes.len(),
            in_flight: 0,
            depth: request.depth,
            clock: Clock::monotonic(),
            notes,
            _lock,
        };
        // Lets the tasks reach their mailboxes.
        lane.go_on();
        Ok(lane)
    }

    /// Runs the tasks until they wait for the device, and submits their requests. A device that
    /// completes transfers during submission wakes its tasks at once: they finish here, not in a
    /// later call. It stops when an operation is finished, because background work may be endless.
    fn go_on(&mut self) {
        loop {
            let _done = self.executor.run(&mut self.disk, async {});
            let is_finished = !self.shared.finished.borrow().is_empty();
            self.disk.turn(false);
            if is_finished || !self.executor.is_ready() {
                return;
            }
        }
    }

    /// Works until this many operations are finished, or the time is up.
    fn work(&mut self, wanted: usize, timeout_ns: u64) -> Result<(), LaneError> {
        let is_late = Cell::new(false);
        let deadline_ns =
            if timeout_ns == u64::MAX { timeout_ns } else { self.clock.now_ns().saturating_add(timeout_ns) };
        let OwnLane { executor, disk, shared, clock, .. } = self;
        let shared: &Shared = shared;
        shared.wanted.set(wanted);
        let mut turns = Turns { disk, clock, deadline_ns, shared, is_late: &is_late };
        let enough = poll_fn(|context| {
            if is_late.get() || shared.finished.borrow().len() >= wanted {
                return Poll::Ready(());
            }
            *shared.waiting.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        });
        let ended = executor.run(&mut turns, enough);
        shared.wanted.set(usize::MAX);
        shared.waiting.borrow_mut().take();
        ended.map_err(|_stalled| LaneError { call: "logfs", errno: libc::EDEADLK })
    }
}

impl Lane for OwnLane {
    const SYNCHRONOUS: bool = false;
    const FUSES: bool = true;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.in_flight == self.depth {
            return Submission::Full;
        }
        if usize::from(op.slot) >= self.depth {
            return Submission::Refused(libc::EFAULT);
        }
        if op.file as usize >= self.files {
            return Submission::Refused(libc::EBADF);
        }
        let joins = self.pattern.submitted(op);
        if !self.latest.accept(op, joins) {
            self.shared.deliver(&mut self.latest);
            self.latest.accept(op, joins);
        }
        self.in_flight += 1;
        Submission::Accepted
    }

    /// Starts what was submitted. For a device that transfers during submission, half of the queue
    /// is gathered first if operations that go together are submitted one by one: each would be a
    /// transfer of its own otherwise.
    fn flush(&mut self) -> Result<(), LaneError> {
        let expects_more = self.pattern.flushed();
        if expects_more && self.latest.ops().len() < self.depth / 2 && self.disk.is_synchronous() {
            return Ok(());
        }
        self.shared.deliver(&mut self.latest);
        self.go_on();
        Ok(())
    }

    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        self.shared.deliver(&mut self.latest);
        let have = out.as_slice().len();
        let wanted = wait.at_least.saturating_sub(have).min(out.room_left()).min(self.in_flight);
        let all_finished = self.in_flight > 0 && self.shared.finished.borrow().len() == self.in_flight;
        if all_finished && self.disk.is_synchronous() {
            // A turn would only do background work, which would delay them.
        } else if wanted == 0 || wait.timeout_ns == 0 {
            self.disk.turn(false);
            self.go_on();
        } else {
            self.work(wanted, wait.timeout_ns)?;
            // Submits requests begun meanwhile and collects finished operations in this call.
            self.disk.turn(false);
            if self.executor.is_ready() {
                self.go_on();
            }
        }
        let count = self.shared.finished.borrow_mut().drain_into(out);
        self.in_flight -= count;
        Ok(count)
    }

    fn flush_and_reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        self.reap(wait, out)
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Drop for OwnLane {
    /// Finishes all operations in flight, so that the loop owns the slots again, and closes the
    /// file system.
    fn drop(&mut self) {
        self.shared.deliver(&mut self.latest);
        let ended = self.work(self.in_flight, u64::MAX);
        if let (Ok(()), Some(fs)) = (ended, self.fs.take()) {
            // If the device fails now, either the job's own operations failed before, or the next
            // opening reports it.
            let _closed = self.executor.run(&mut self.disk, fs.close());
        }
    }
}
