//! A recording in the form that rules read: jobs with their workers, and stages with the activity
//! of devices.
//!
//! Only sums and comparisons of recorded values. A worker that did nothing is left out.

use iolab_order::Arrange;
use iolab_plan::{Direction, PacingPlan, Reach, WorkerPlan};
use iolab_recording::{Recording, WorkerRecording};

use crate::traffic::{Traffic, is_top, uncounted, whole_run, within};

/// The jobs and stages of a recording.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) recording: &'a Recording,
    /// In the order of the plan.
    pub(crate) jobs: Vec<Job<'a>>,
    /// Stretches of the run for which the devices' counters are known.
    pub(crate) stages: Vec<Stage>,
}

/// The workers of one section.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) name: &'a str,
    pub(crate) members: Vec<Member<'a>>,
}

/// One worker: its plan and its results.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member<'a> {
    pub(crate) plan: &'a WorkerPlan,
    pub(crate) worker: &'a WorkerRecording,
}

/// Jobs that ran at the same time, and the activity of the devices meanwhile.
#[derive(Debug)]
pub(crate) struct Stage {
    /// Indices of its jobs.
    pub(crate) jobs: Vec<usize>,
    /// The activity of the topmost devices; `None` when no device was observed.
    pub(crate) traffic: Option<Traffic>,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(recording: &'a Recording) -> Facts<'a> {
        let pairs = recording.plan.workers.iter().zip(&recording.workers);
        let members = pairs.map(|(plan, worker)| Member { plan, worker }).filter(|member| member.ios() > 0);
        let members: Vec<Member<'a>> = members.collect();
        let sections = members.chunk_by(|one, next| one.plan.section == next.plan.section);
        let jobs: Vec<Job<'a>> =
            sections.map(|section| Job { name: &section[0].plan.job, members: section.to_vec() }).collect();
        let stages = stages(recording, &jobs);
        Facts { recording, jobs, stages }
    }

    /// The jobs that appear in reports.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Job<'a>> {
        self.jobs.iter().filter(|job| job.first().plan.measurement.stats)
    }

    /// The jobs of a stage.
    pub(crate) fn of(&self, stage: &Stage) -> impl Iterator<Item = &Job<'a>> {
        stage.jobs.iter().map(|index| &self.jobs[*index])
    }
}

impl<'a> Job<'a> {
    /// Its first worker; every job here has one.
    pub(crate) fn first(&self) -> Member<'a> {
        self.members[0]
    }

    pub(crate) fn sum(&self, of: impl Fn(&Member<'a>) -> u64) -> u64 {
        self.members.iter().map(of).fold(0, u64::saturating_add)
    }

    pub(crate) fn is_kernel(&self) -> bool {
        self.first().is_kernel()
    }

    /// Whether it reaches its storage past the kernel's block layer, perhaps over a network.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.first().reach(), Reach::Device | Reach::Network)
    }

    /// Whether its data goes through the page cache.
    pub(crate) fn is_buffered(&self) -> bool {
        self.first().is_buffered()
    }

    /// Whether it bypasses the page cache.
    pub(crate) fn is_direct(&self) -> bool {
        self.is_kernel() && !self.is_buffered()
    }

    /// Bytes requested over its whole life, ramp included.
    pub(crate) fn whole_bytes(&self, direction: Direction) -> u64 {
        self.sum(|member| member.whole_bytes(direction))
    }

    /// Operations issued over its whole life, ramp included.
    pub(crate) fn whole_ios(&self, direction: Direction) -> u64 {
        self.sum(|member| member.worker.directions[direction as usize].issued)
    }
}

impl<'a> Member<'a> {
    /// Operations completed in the measured part.
    pub(crate) fn ios(&self) -> u64 {
        self.worker.directions.iter().map(|direction| direction.ios).sum()
    }

    fn whole_bytes(&self, direction: Direction) -> u64 {
        let direction = &self.worker.directions[direction as usize];
        if direction.ios == 0 {
            return 0;
        }
        (direction.bytes as f64 / direction.ios as f64 * direction.issued as f64) as u64
    }

    /// Where its operations go.
    pub(crate) fn reach(&self) -> Reach {
        self.plan.engine.traits().reach
    }

    /// Whether its operations appear in the counters of block devices.
    pub(crate) fn is_kernel(&self) -> bool {
        self.reach() == Reach::BlockLayer
    }

    pub(crate) fn is_buffered(&self) -> bool {
        self.is_kernel() && self.plan.engine.traits().is_buffered(self.plan.layout.direct)
    }

    /// Whether the load waits for a schedule or for think time.
    pub(crate) fn waits(&self) -> bool {
        let pacing: &PacingPlan = &self.plan.pacing;
        pacing.scheduled() != [false; 3] || pacing.think.is_some()
    }

    /// Whether it waits by spinning, so that a busy CPU means nothing.
    pub(crate) fn polls(&self) -> bool {
        self.plan.queue.batch_complete_min == 0 || self.plan.engine.traits().polls
    }

    /// CPU time of the measured part, ns.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.worker.cpu.user_ns + self.worker.cpu.system_ns
    }

    /// The share of its measured part in which it was on a CPU.
    pub(crate) fn cpu_share(&self) -> f64 {
        self.cpu_ns() as f64 / self.worker.runtime_ns.max(1) as f64
    }

    /// Sum of the times of all operations from begin to completion, ns; `None` when they were not
    /// measured.
    pub(crate) fn lat_sum_ns(&self) -> Option<f64> {
        let directions = self.worker.directions.iter().filter(|direction| direction.ios > 0);
        directions.map(|direction| (!direction.lat.is_empty()).then_some(direction.lat.sum as f64)).sum()
    }

    /// Mean number of operations in flight (Little's law: rate times latency).
    pub(crate) fn mean_depth(&self) -> Option<f64> {
        Some(self.lat_sum_ns()? / self.worker.runtime_ns.max(1) as f64)
    }

    /// Whether the job itself ever syncs its data.
    pub(crate) fn flushes(&self) -> bool {
        let (layout, sync) = (&self.plan.layout, &self.plan.workload.sync);
        layout.sync != iolab_plan::FileSync::None
            || layout.end_fsync
            || layout.fsync_on_close
            || layout.end_syncfs
            || sync.fsync_every + sync.fdatasync_every + sync.barrier_every > 0
            || sync.file_range.is_some()
    }

    /// End of its measured part, ns since the start of the run.
    pub(crate) fn ended_ns(&self) -> u64 {
        self.worker.started_ns + self.plan.limits.ramp_ns + self.worker.runtime_ns
    }
}

/// The stages of a run, each with its own traffic if samples allow; otherwise all jobs as one
/// stage.
pub(crate) fn stages(recording: &Recording, jobs: &[Job<'_>]) -> Vec<Stage> {
    let mut numbers: Vec<u32> = jobs.iter().map(|job| job.first().plan.stage).collect();
    numbers.arrange();
    numbers.dedup();
    if numbers.len() > 1 {
        let stages: Option<Vec<Stage>> = numbers.iter().map(|number| sampled_stage(recording, jobs, *number)).collect();
        if let Some(stages) = stages {
            return stages;
        }
    }
    let all = Stage { jobs: (0..jobs.len()).collect(), traffic: whole_run(recording) };
    if jobs.is_empty() { Vec::new() } else { vec![all] }
}

fn sampled_stage(recording: &Recording, jobs: &[Job<'_>], number: u32) -> Option<Stage> {
    let members: Vec<usize> = (0..jobs.len()).filter(|at| jobs[*at].first().plan.stage == number).collect();
    let workers = || members.iter().flat_map(|at| &jobs[*at].members);
    let from_ns = workers().map(|member| member.worker.started_ns).min()?;
    let to_ns = workers().map(|member| member.ended_ns()).max()?;
    if !uncounted(recording).is_empty() {
        return None;
    }
    let observations = recording.observations.as_ref()?;
    let tops = observations.devices.iter().filter(|device| is_top(&device.name, recording));
    let traffic: Option<Vec<Traffic>> = tops.map(|device| within(device, from_ns, to_ns)).collect();
    let traffic = traffic?.into_iter().reduce(Traffic::add)?;
    Some(Stage { jobs: members, traffic: Some(traffic) })
}
