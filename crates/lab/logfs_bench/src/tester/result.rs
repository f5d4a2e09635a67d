//! The results of jobs: on each shard, and on all together.

use crate::Class;

/// The result of a job on a shard, or on all of its shards together.
#[derive(Debug)]
pub struct JobResult {
    /// The shard; nothing: all together.
    pub shard: Option<u32>,
    /// Place of the job in its file.
    pub job: usize,
    /// From the common begin to the end of the job's last worker, ns.
    pub elapsed_ns: u64,
    /// What it did.
    pub class: Class,
    /// Requests in a second; of several shards, the sum.
    pub iops: f64,
    /// Bytes in a second; of several shards, the sum.
    pub bytes_per_second: f64,
}

/// The results of all jobs.
#[derive(Debug)]
pub struct TesterResult {
    /// By shard, then by job.
    pub shards: Vec<JobResult>,
    /// By job: the time of the slowest shard, the sums of everything else.
    pub joint: Vec<JobResult>,
}

impl JobResult {
    pub(super) fn new(shard: u32, job: usize, class: Class, elapsed_ns: u64) -> JobResult {
        let in_a_second = |count: u64| count as f64 * 1e9 / elapsed_ns.max(1) as f64;
        let (iops, bytes_per_second) = (in_a_second(class.operations), in_a_second(class.bytes));
        JobResult { shard: Some(shard), job, elapsed_ns, class, iops, bytes_per_second }
    }

    fn join(&mut self, other: &JobResult) {
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.class.merge(&other.class);
        self.iops += other.iops;
        self.bytes_per_second += other.bytes_per_second;
    }
}

impl TesterResult {
    pub(super) fn new(shards: Vec<JobResult>, jobs: usize) -> TesterResult {
        let joint = |job| {
            let mut of_job = shards.iter().filter(|result| result.job == job).peekable();
            let class = Class::new(&of_job.peek()?.class.name);
            let mut sum = JobResult { shard: None, job, elapsed_ns: 0, class, iops: 0.0, bytes_per_second: 0.0 };
            of_job.for_each(|result| sum.join(result));
            Some(sum)
        };
        let joint = (0..jobs).filter_map(joint).collect();
        TesterResult { shards, joint }
    }
}
