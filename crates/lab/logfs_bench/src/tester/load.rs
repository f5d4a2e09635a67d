//! Lays out the files of all jobs, then runs the jobs concurrently until the time is up.
//!
//! During a pause, the devices are polled continuously, so that it ends on time: no timer of the
//! kernel is involved. At a given rate, latencies count from when a request was due, not from when
//! it was sent, so that a store that cannot keep up does not look fast. Nothing is synced in the
//! measured part, as in Seastar. Every shard has its own thread, and all begin at the same moment.

mod fair_queue;
mod shard_job;

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_executor::Spawner;

use super::{ArrivalPacing, JobKind, JobResult, TesterConf, TesterResult};
use crate::BenchError;
use crate::gate::{Gate, pass};
use crate::random::Random;
use crate::store::{BenchTarget, Load, Shape, Span, Stage, Store, run_on};
use fair_queue::FairQueue;
use shard_job::{ShardJob, shard_jobs};

/// How long, and on how many shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TesterOptions {
    /// No request is sent after this, ns.
    pub duration_ns: u64,
    /// Shards.
    pub shards: u32,
    /// Everything random follows from it.
    pub seed: u64,
}

/// Bytes per write when files are laid out.
const PIECE_BYTES: u64 = 256 << 10;
const MOST_WORKERS: usize = 4096;
const MOST_BUFFER_BYTES: u64 = 1 << 30;

/// Runs all jobs of a file on a target that is made anew for it.
///
/// # Errors
/// What the target answers; [`BenchError::Unfit`] for jobs that do not fit it.
pub fn run_tester(
    target: &BenchTarget,
    conf: &TesterConf,
    options: &TesterOptions,
) -> Result<TesterResult, BenchError> {
    let mut seeds = Random::new(options.seed);
    let shard_jobs = (0..options.shards).map(|shard| shard_jobs(conf, options, shard, &mut seeds));
    let shards: Vec<Vec<ShardJob>> = shard_jobs.collect::<Result<_, _>>()?;
    let workers: usize = shards.iter().flatten().map(ShardJob::workers).sum();
    let requests = shards.iter().flatten().map(|shard_job| shard_job.job.request_bytes);
    let most_bytes = requests.fold(PIECE_BYTES, u64::max).next_multiple_of(4096);
    if workers > MOST_WORKERS || workers as u64 * most_bytes > MOST_BUFFER_BYTES {
        return Err(BenchError::Unfit(format!(
            "{workers} requests in flight with buffers of {most_bytes} bytes: the limits are {MOST_WORKERS} requests \
            and {MOST_BUFFER_BYTES} bytes in total"
        )));
    }
    refuse_what_is_too_large(target, &shards)?;
    let part = |shard_jobs: Vec<ShardJob>| {
        let files = shard_jobs.iter().filter(|shard_job| shard_job.file.is_some()).count();
        let workers: usize = shard_jobs.iter().map(ShardJob::workers).sum();
        let seed = options.seed.wrapping_add(shard_jobs.first().map_or(0, |shard_job| u64::from(shard_job.shard)));
        // A ring needs a file to register and a buffer, even if no job has one.
        let shape = Shape { files: files.max(1), remote_files: 0, workers: workers.max(1), most_bytes, seed };
        (shape, TesterLoad { shard_jobs, duration_ns: options.duration_ns })
    };
    let results = run_on(target, shards.into_iter().map(part).collect())?;
    Ok(TesterResult::new(results.into_iter().flatten().collect(), conf.jobs.len()))
}

/// Files have to fit the target; on an image, those of each shard its part of it.
fn refuse_what_is_too_large(target: &BenchTarget, shards: &[Vec<ShardJob>]) -> Result<(), BenchError> {
    let needed =
        |shard_jobs: &[ShardJob]| shard_jobs.iter().fold(0, |sum: u64, shard_job| sum.saturating_add(shard_job.size));
    let (capacity, place) = (target.capacity_bytes()?, target.path().display());
    let all = shards.iter().fold(0, |sum: u64, shard_jobs| sum.saturating_add(needed(shard_jobs)));
    if all > capacity {
        let text = format!(
            "{place}: the files of all jobs need {all} bytes, but only {capacity} are available: set \
            data_size"
        );
        return Err(BenchError::Unfit(text));
    }
    let part = capacity / shards.len().max(1) as u64;
    let most = shards.iter().map(|shard_jobs| needed(shard_jobs)).max().unwrap_or(0);
    if matches!(target, BenchTarget::Image(_)) && most > part {
        let text =
            format!("{place}: the files of one shard need {most} bytes, but its domain has {part}: set data_size");
        return Err(BenchError::Unfit(text));
    }
    Ok(())
}

struct TesterLoad {
    shard_jobs: Vec<ShardJob>,
    duration_ns: u64,
}

impl Load for TesterLoad {
    type Output = Vec<JobResult>;

    async fn run<S: Store + 'static>(self, store: Rc<S>, stage: Stage) -> Result<Vec<JobResult>, BenchError> {
        let Stage { clock, spawner, gate } = stage;
        let shares: Vec<Option<u32>> = self.shard_jobs.iter().map(|shard_job| shard_job.job.shares).collect();
        let common = Rc::new(Common {
            queue: FairQueue::new(&shares),
            shard_jobs: self.shard_jobs,
            clock: clock.clone(),
            begun_ns: Cell::new(0),
            stop_ns: Cell::new(u64::MAX),
            failed: RefCell::new(None),
            gate: Arc::clone(&gate),
        });
        let worker = |shard_job: usize, number: usize| {
            let (common, store) = (Rc::clone(&common), Rc::clone(&store));
            Worker { common, store, spawner: spawner.clone(), shard_job, number }
        };
        let with_files = (0..common.shard_jobs.len()).filter(|shard_job| common.shard_jobs[*shard_job].file.is_some());
        let layers = with_files
            .flat_map(|shard_job| (0..common.shard_jobs[shard_job].workers()).map(move |number| (shard_job, number)));
        let laying: Vec<_> =
            layers.map(|(shard_job, number)| spawner.spawn(worker(shard_job, number).lay_out())).collect();
        for layer in laying {
            layer.await;
        }
        common.failed.take().map_or(Ok(()), Err)?;
        store.sync().await?;
        for shard_job in &common.shard_jobs {
            shard_job.progress.borrow_mut().next =
                if shard_job.job.kind == JobKind::Append { shard_job.size } else { 0 };
        }
        let begun = gate.pass(&clock).await?;
        common.begun_ns.set(begun);
        common.stop_ns.set(begun.saturating_add(self.duration_ns));
        let senders = (0..common.shard_jobs.len()).flat_map(|shard_job| {
            (0..common.shard_jobs[shard_job].job.parallel).map(move |number| (shard_job, number))
        });
        let sending: Vec<_> =
            senders.map(|(shard_job, number)| spawner.spawn(worker(shard_job, number).work())).collect();
        for sender in sending {
            sender.await;
        }
        common.failed.take().map_or(Ok(()), Err)?;
        Ok(common.shard_jobs.iter().map(|shard_job| shard_job.result(begun)).collect())
    }
}

/// What all workers share.
struct Common {
    shard_jobs: Vec<ShardJob>,
    /// Where jobs have shares.
    queue: Option<FairQueue>,
    clock: Clock,
    begun_ns: Cell<u64>,
    stop_ns: Cell<u64>,
    /// The first error ends all workers.
    failed: RefCell<Option<BenchError>>,
    gate: Arc<Gate>,
}

/// One of a job's senders.
struct Worker<S> {
    common: Rc<Common>,
    store: Rc<S>,
    spawner: Spawner,
    shard_job: usize,
    number: usize,
}

impl<S> Clone for Worker<S> {
    fn clone(&self) -> Worker<S> {
        let (common, store, spawner) = (Rc::clone(&self.common), Rc::clone(&self.store), self.spawner.clone());
        Worker { common, store, spawner, ..*self }
    }
}

impl<S: Store + 'static> Worker<S> {
    fn shard_job(&self) -> &ShardJob {
        &self.common.shard_jobs[self.shard_job]
    }

    fn has_ended(&self) -> bool {
        let common = &*self.common;
        common.clock.now_ns() >= common.stop_ns.get() || common.failed.borrow().is_some() || common.gate.is_broken()
    }

    fn fail(&self, error: BenchError) {
        self.common.failed.borrow_mut().get_or_insert(error);
    }

    /// Writes pieces of the file until there are none left.
    async fn lay_out(self) {
        let shard_job = self.shard_job();
        let Some(file) = shard_job.file else { return };
        while !self.has_ended() {
            let offset = shard_job.progress.borrow().next;
            if offset >= shard_job.size {
                return;
            }
            let length = PIECE_BYTES.min(shard_job.size - offset);
            shard_job.progress.borrow_mut().next += length;
            let span = Span { file, offset, length, worker: shard_job.first_worker + self.number };
            if let Err(error) = self.store.write(span).await {
                self.fail(error);
            }
        }
    }

    async fn work(self) {
        match self.shard_job().job.pace {
            ArrivalPacing::Closed { think_ns, think_after_ns } => self.work_closed(think_ns, think_after_ns).await,
            ArrivalPacing::Open { rate, poisson, batch } => self.work_open(1e9 / rate as f64, poisson, batch).await,
        }
        let ended = &self.shard_job().ended_ns;
        ended.set(ended.get().max(self.common.clock.now_ns()));
    }

    async fn work_closed(&self, think_ns: u64, think_after_ns: u64) {
        let clock = &self.common.clock;
        while !self.has_ended() && self.shard_job().claim() {
            self.request(self.number, clock.now_ns()).await;
            let now = clock.now_ns();
            let phase = (now - self.common.begun_ns.get()) % think_after_ns.saturating_add(think_ns).max(1);
            if think_ns > 0 && phase >= think_after_ns {
                self.wait_until(now.saturating_add(think_ns)).await;
            }
        }
    }

    async fn work_open(&self, period_ns: f64, poisson: bool, batch: usize) {
        let shard_job = self.shard_job();
        // The workers of a job take turns.
        let mut due =
            self.common.begun_ns.get() as f64 + period_ns * self.number as f64 / shard_job.job.parallel as f64;
        loop {
            self.wait_until(due as u64).await;
            if self.has_ended() {
                return;
            }
            let claimed = (0..batch).take_while(|_| shard_job.claim()).count();
            if claimed == 0 {
                return;
            }
            let others: Vec<_> = (1..claimed)
                .map(|other| {
                    let worker = self.clone();
                    let number = self.number * batch + other;
                    self.spawner.spawn(async move { worker.request(number, due as u64).await })
                })
                .collect();
            self.request(self.number * batch, due as u64).await;
            for other in others {
                other.await;
            }
            let times = if poisson { shard_job.progress.borrow_mut().random.exponential() } else { 1.0 };
            due += period_ns * times;
        }
    }

    /// Performs one request; its latency counts from `from_ns`.
    async fn request(&self, number: usize, from_ns: u64) {
        let (common, shard_job) = (&*self.common, self.shard_job());
        let Some(file) = shard_job.file else {
            // Spins the whole time: this is the load.
            common.clock.sleep_until(common.clock.now_ns().saturating_add(shard_job.job.execution_ns), u64::MAX);
            shard_job.progress.borrow_mut().class.add(0, common.clock.now_ns().saturating_sub(from_ns));
            return pass().await;
        };
        let length = shard_job.job.request_bytes;
        let admitted = match &common.queue {
            Some(queue) => Some(queue.admit(self.shard_job, length).await),
            None => None,
        };
        let span = Span { file, offset: shard_job.position(), length, worker: shard_job.first_worker + number };
        let mut has_waited = false;
        let result = {
            let mut moving = pin!(async {
                match shard_job.job.kind {
                    JobKind::SeqRead | JobKind::RandRead => self.store.read(span).await,
                    _ => self.store.write(span).await,
                }
            });
            std::future::poll_fn(|context| {
                let polled = moving.as_mut().poll(context);
                has_waited |= polled.is_pending();
                polled
            })
            .await
        };
        drop(admitted);
        match result {
            Ok(()) => shard_job.progress.borrow_mut().class.add(length, common.clock.now_ns().saturating_sub(from_ns)),
            Err(error) => self.fail(error),
        }
        // A request answered at once from memory must not keep others from their turn.
        if !has_waited {
            pass().await;
        }
    }

    /// Lets others go on until the time has come, or the run has ended.
    async fn wait_until(&self, ns: u64) {
        while self.common.clock.now_ns() < ns && !self.has_ended() {
            pass().await;
        }
    }
}

#[cfg(test)]
mod tests;
