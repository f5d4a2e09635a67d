//! A job on one shard: where it is in its file, and what it has measured.

use std::cell::{Cell, RefCell};

use super::TesterOptions;
use crate::random::Random;
use crate::tester::{ArrivalPacing, Job, JobKind, JobResult, TesterConf};
use crate::{BenchError, Class};

/// Shares of the data of a job are rounded up to this, as Seastar does.
const FILE_UNIT_BYTES: u64 = 1 << 20;

/// Every job of a shard.
pub(super) fn shard_jobs(
    conf: &TesterConf,
    options: &TesterOptions,
    shard: u32,
    seeds: &mut Random,
) -> Result<Vec<ShardJob>, BenchError> {
    let (mut shard_jobs, mut files, mut first_worker) = (Vec::new(), 0, 0);
    for (place, job) in conf.jobs.iter().enumerate().filter(|(_, job)| job.shards.has(shard)) {
        let has_file = job.kind != JobKind::Cpu;
        let share = job.data_bytes.map_or(1 << 30, |bytes| bytes.div_ceil(u64::from(options.shards.max(1))));
        let size = if has_file { share.next_multiple_of(FILE_UNIT_BYTES) } else { 0 };
        if has_file && job.request_bytes > size {
            let (name, line, request) = (&job.name, job.line, job.request_bytes);
            let text = format!("line {line}: {name}: a request has {request} bytes, but the file has only {size}");
            return Err(BenchError::Unfit(text));
        }
        let progress = Progress { random: Random::new(seeds.next()), next: 0, sent: 0, class: Class::new(&job.name) };
        let shard_job = ShardJob {
            place,
            shard,
            job: job.clone(),
            file: has_file.then_some(files),
            size,
            first_worker,
            progress: RefCell::new(progress),
            ended_ns: Cell::new(0),
        };
        files += usize::from(has_file);
        first_worker += shard_job.workers();
        shard_jobs.push(shard_job);
    }
    Ok(shard_jobs)
}

/// A job on one shard.
pub(super) struct ShardJob {
    pub(super) place: usize,
    pub(super) shard: u32,
    pub(super) job: Job,
    pub(super) file: Option<usize>,
    pub(super) size: u64,
    pub(super) first_worker: usize,
    pub(super) progress: RefCell<Progress>,
    pub(super) ended_ns: Cell<u64>,
}

/// Where a job is.
pub(super) struct Progress {
    pub(super) random: Random,
    /// Offset of the next request, of jobs that go through their files.
    pub(super) next: u64,
    pub(super) sent: u64,
    pub(super) class: Class,
}

impl ShardJob {
    pub(super) fn workers(&self) -> usize {
        self.job.parallel * self.batch()
    }

    fn batch(&self) -> usize {
        match self.job.pace {
            ArrivalPacing::Open { batch, .. } => batch,
            ArrivalPacing::Closed { .. } => 1,
        }
    }

    pub(super) fn result(&self, begun_ns: u64) -> JobResult {
        let class = std::mem::take(&mut self.progress.borrow_mut().class);
        JobResult::new(self.shard, self.place, class, self.ended_ns.get().saturating_sub(begun_ns))
    }

    /// Takes one request of those that may be sent.
    pub(super) fn claim(&self) -> bool {
        let mut progress = self.progress.borrow_mut();
        let allowed = self.job.limit.is_none_or(|limit| progress.sent < limit);
        progress.sent += u64::from(allowed);
        allowed
    }

    /// Offset of the next request.
    pub(super) fn position(&self) -> u64 {
        let (progress, length) = (&mut *self.progress.borrow_mut(), self.job.request_bytes);
        let at = match self.job.kind {
            JobKind::RandRead | JobKind::RandWrite => return progress.random.below(self.size / length) * length,
            JobKind::SeqRead | JobKind::SeqWrite if progress.next + length > self.size => 0,
            _ => progress.next,
        };
        progress.next = at + length;
        at
    }
}
