//! A lane on the file system that all workers share: operations go to the thread of a domain, and
//! return finished.

use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iolab_clock::Clock;
use iolab_engine::{
    Completion, CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpenError, Submission, Wait,
};
use iolab_logfs::{CoreSender, Error, InodeId, Volume};
use iolab_memory::PoolView;

use crate::device::refused;
use crate::files;
use crate::opened::Opened;
use crate::options::Requested;
use crate::perform::{are_aligned, perform_run};
use crate::run::{Pattern, Run};
use crate::service::Service;

/// A lane of one worker.
pub(crate) struct SharedLane {
    core: CoreSender,
    inodes: Arc<[InodeId]>,
    slots: PoolView,
    done: Arc<Done>,
    in_flight: usize,
    depth: usize,
    /// What was submitted last, and may still grow.
    latest: Run,
    pattern: Pattern,
    /// For time-outs only.
    clock: Clock,
    /// Dropping the last lane ends it.
    _service: Arc<Service>,
}

impl std::fmt::Debug for SharedLane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedLane({} of {} in flight)", self.in_flight, self.depth)
    }
}

/// Finished operations.
struct Done {
    finished: Mutex<CompletionRow>,
    changed: Condvar,
}

impl Done {
    fn finished(&self) -> MutexGuard<'_, CompletionRow> {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, slot: u16, result: i32) {
        self.finished().push(Completion { slot: u32::from(slot), result });
        self.changed.notify_one();
    }

    /// Waits until `wanted` operations have finished, or until the timeout.
    fn wait(&self, wanted: usize, timeout_ns: u64, clock: &Clock) -> MutexGuard<'_, CompletionRow> {
        let until_ns = if timeout_ns == u64::MAX { None } else { clock.now_ns().checked_add(timeout_ns) };
        let mut finished = self.finished();
        while finished.len() < wanted {
            let Some(until_ns) = until_ns else {
                finished = self.changed.wait(finished).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left_ns = until_ns.saturating_sub(clock.now_ns());
            if left_ns == 0 {
                break;
            }
            let left = Duration::from_nanos(left_ns);
            finished = self.changed.wait_timeout(finished, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        finished
    }
}

impl SharedLane {
    pub(crate) fn open(request: &LaneRequest<'_>, requested: &Requested) -> Result<SharedLane, OpenError> {
        let service = Service::of(requested)?;
        let core = service.core(request.worker);
        let (files, seed, layout_bytes) = (request.files.to_vec(), request.seed, requested.layout_bytes);
        let (sender, receiver) = channel();
        let preparing = async move |volume: Volume| {
            let opened = Opened::Shared(volume);
            let prepared = files::prepare(&opened, &files, layout_bytes, seed).await;
            // The caller waits for this.
            let _gone = sender.send(prepared.map(|inodes| (inodes, opened.layout())));
        };
        let closed = |_| (String::new(), Error::Closed);
        let prepared =
            core.send(preparing).map_err(closed).and_then(|()| receiver.recv().unwrap_or(Err(closed(Error::Closed))));
        let (inodes, layout) = prepared.map_err(|(file, error)| {
            let advice = if error == Error::NoSpace { "; use a larger image, or lower size" } else { "" };
            refused(&format!("creating {file} on {}", service.name), &error, advice)
        })?;
        let done = Done { finished: Mutex::new(CompletionRow::with_depth(request.depth)), changed: Condvar::new() };
        Ok(SharedLane {
            core,
            inodes: inodes.into(),
            slots: request.buffers,
            done: Arc::new(done),
            in_flight: 0,
            depth: request.depth,
            latest: Run::default(),
            pattern: Pattern::new(&layout, are_aligned(request.buffers)),
            clock: Clock::monotonic(),
            _service: service,
        })
    }

    /// Sends what was submitted last to the thread of a domain.
    fn send(&mut self) {
        let run = std::mem::take(&mut self.latest);
        let inode = run.ops().first().and_then(|op| self.inodes.get(op.file as usize).copied());
        let Some(inode) = inode else { return };
        let slots: Vec<u16> = run.ops().iter().map(|op| op.slot).collect();
        let (pool, done) = (self.slots, Arc::clone(&self.done));
        let sent = self.core.send(async move |volume: Volume| {
            let finish = |slot, result| done.finish(slot, result);
            perform_run(&Opened::Shared(volume), inode, run.ops(), pool, finish).await;
        });
        if let Err(error) = sent {
            slots.into_iter().for_each(|slot| self.done.finish(slot, -error.errno()));
        }
    }
}

impl Lane for SharedLane {
    const SYNCHRONOUS: bool = false;
    const FUSES: bool = true;

    fn submit(&mut self, op: &Op) -> Submission {
        if self.in_flight == self.depth {
            return Submission::Full;
        }
        if usize::from(op.slot) >= self.depth {
            return Submission::Refused(libc::EFAULT);
        }
        if op.file as usize >= self.inodes.len() {
            return Submission::Refused(libc::EBADF);
        }
        let joins = self.pattern.submitted(op);
        if !self.latest.accept(op, joins) {
            self.send();
            self.latest.accept(op, joins);
        }
        self.in_flight += 1;
        Submission::Accepted
    }

    fn flush(&mut self) -> Result<(), LaneError> {
        self.send();
        Ok(())
    }

    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        self.send();
        let have = out.as_slice().len();
        let wanted = wait.at_least.saturating_sub(have).min(out.room_left()).min(self.in_flight);
        let mut finished = if wait.timeout_ns == 0 {
            self.done.finished()
        } else {
            self.done.wait(wanted, wait.timeout_ns, &self.clock)
        };
        let count = finished.drain_into(out);
        drop(finished);
        self.in_flight -= count;
        Ok(count)
    }

    fn flush_and_reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        self.reap(wait, out)
    }
}

impl Drop for SharedLane {
    /// Waits for operations in flight, so that the loop owns the slots again.
    fn drop(&mut self) {
        self.send();
        drop(self.done.wait(self.in_flight, u64::MAX, &self.clock));
    }
}
