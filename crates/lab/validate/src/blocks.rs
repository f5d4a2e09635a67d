//! Job and application in turns, block by block.

use std::path::PathBuf;

use iolab_activity::Failure;
use iolab_clock::Clock;
use iolab_histogram::SparseHistogram;
use iolab_observe::{CpuActivity, DeviceSampler, System};
use iolab_pipeline::{Pipeline, Planned};
use iolab_plan::{Direction, WorkerPlan};
use iolab_recording::{DeviceUse, Recording, WorkerOutcome};
use iolab_resolve::Mode;
use iolab_runner::{Event, RunObserver, Wish};
use serde::Serialize;

use crate::Application;

const SECTOR_BYTES: f64 = 512.0;

/// What block devices did in a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DeviceRates {
    /// Writes a second.
    pub writes_per_s: f64,
    /// Bytes of a write, mean.
    pub write_bytes: f64,
    /// Share of the writes that were merged into others.
    pub merged: f64,
    /// Flushes a second.
    pub flushes_per_s: f64,
}

impl DeviceRates {
    fn of(uses: &[DeviceUse]) -> DeviceRates {
        // The most active device; the devices below it did the same.
        let Some(used) = uses.iter().max_by_key(|used| used.after.write_ios - used.before.write_ios) else {
            return DeviceRates::default();
        };
        let (before, after) = (&used.before, &used.after);
        let seconds = used.elapsed_ns.max(1) as f64 / 1e9;
        let writes = after.write_ios.saturating_sub(before.write_ios) as f64;
        let merges = after.write_merges.saturating_sub(before.write_merges) as f64;
        let sectors = after.write_sectors.saturating_sub(before.write_sectors) as f64;
        let flushes = after.flush_ios.saturating_sub(before.flush_ios) as f64;
        DeviceRates {
            writes_per_s: writes / seconds,
            write_bytes: sectors * SECTOR_BYTES / writes.max(1.0),
            merged: merges / (writes + merges).max(1.0),
            flushes_per_s: flushes / seconds,
        }
    }
}

/// One block of the job or of the application.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Block {
    /// Commits a second; transfers a second of a job without syncs.
    pub commits_per_s: f64,
    /// The devices meanwhile.
    pub device: DeviceRates,
    /// The share of the processors' time that other programs used; unknown for the application,
    /// because its server is another program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
}

/// Accumulated work of the processors at a moment: in total, for this process and its children, and
/// for the kernel.
#[derive(Debug, Clone, Copy)]
struct Worked {
    all: CpuActivity,
    known_ns: u64,
}

impl Worked {
    fn until_now(system: &System) -> Option<Worked> {
        let own = std::process::id() as i32;
        let known = system.processes().into_iter().filter(|one| one.is_kernel || one.id == own);
        let known_ns = known.map(|one| one.used_ns + if one.id == own { one.children_ns } else { 0 }).sum();
        Some(Worked { all: system.cpu_activity()?, known_ns })
    }

    /// The share of the time since then that other programs used.
    fn others_until(self, now: Worked) -> Option<f64> {
        let all = now.all.since(self.all);
        let others_ns = all.busy_ns.saturating_sub(now.known_ns.saturating_sub(self.known_ns));
        let all_ns = all.busy_ns + all.idle_ns;
        (all_ns > 0).then(|| others_ns as f64 / all_ns as f64)
    }
}

/// All blocks of the job.
#[derive(Debug, Clone, Default)]
pub struct JobRuns {
    /// In order.
    pub blocks: Vec<Block>,
    /// Syncs of all blocks, ns.
    pub syncs: SparseHistogram,
}

/// What takes turns.
pub struct TurnsRequest<'a> {
    /// The words of the job: the name of its file.
    pub words: &'a [String],
    /// The application; without it the job runs alone.
    pub application: Option<&'a Application>,
    /// How many times each runs.
    pub blocks: u32,
}

/// Lays the job's files out, then runs both in turns. `None` if the user ended it.
///
/// # Errors
/// The job or the application failed.
pub fn take_turns(
    pipeline: &Pipeline<'_>,
    request: &TurnsRequest<'_>,
) -> Result<Option<(JobRuns, Vec<Block>)>, Failure> {
    let clock = Clock::best().0;
    let lay_out: Vec<String> =
        std::iter::once("--create_only=1".to_owned()).chain(request.words.iter().cloned()).collect();
    run(pipeline, &pipeline.plan_words(&lay_out)?, "laying out files")?;
    // Otherwise the first blocks would write what the layout left in the page cache.
    rustix::fs::sync();
    let planned = pipeline.plan_words(request.words)?;
    let paths: Vec<PathBuf> =
        planned.plan.workers.iter().flat_map(|worker| &worker.files).map(|file| PathBuf::from(&file.path)).collect();
    let system = System::live();
    let (mut runs, mut observed) = (JobRuns::default(), Vec::new());
    for block in 0..request.blocks {
        // The order changes, so that a trend favours neither.
        for turn in 0..2 {
            let label = format!("block {} of {}", block + 1, request.blocks);
            if (turn + block) % 2 == 1 {
                let before = Worked::until_now(&system);
                let recording = run(pipeline, &planned, &format!("{label}: the job"))?;
                if recording.interrupted {
                    return Ok(None);
                }
                let others = before.zip(Worked::until_now(&system)).and_then(|(before, now)| before.others_until(now));
                runs.add(&recording, others);
            } else if let Some(application) = request.application {
                pipeline.console.status(&format!("{label}: the application"));
                let sampler = DeviceSampler::start(&system, &paths, clock.now_ns());
                let (commits_per_s, _) = application.run(&clock)?;
                let device = DeviceRates::of(&sampler.finish(clock.now_ns()));
                observed.push(Block { commits_per_s, device, others: None });
            }
        }
    }
    pipeline.console.status("");
    Ok(Some((runs, observed)))
}

fn run(pipeline: &Pipeline<'_>, planned: &Planned, label: &str) -> Result<Recording, Failure> {
    struct Quiet;
    impl RunObserver for Quiet {
        fn take(&mut self, _event: &Event<'_>) -> Wish {
            Wish::Nothing
        }
    }
    pipeline.console.status(label);
    let judged = pipeline.judge(&planned.plan, Mode::Iolab, &[])?;
    let (recording, _) = pipeline.run(planned, judged.guard, None, &mut Quiet)?;
    let failed = recording.workers.iter().find_map(|worker| match &worker.outcome {
        WorkerOutcome::Failed { message, .. } | WorkerOutcome::Crashed { message, .. } => Some(message.clone()),
        _ => None,
    });
    match failed {
        Some(message) => Err(Failure::failed(format!("iolab: validate: the job failed: {message}"))),
        None => Ok(recording),
    }
}

impl JobRuns {
    fn add(&mut self, recording: &Recording, others: Option<f64>) {
        let is_told = |plan: &WorkerPlan| plan.measurement.commits_per_sync.is_some();
        let any_told = recording.plan.workers.iter().any(is_told);
        let mut commits_per_s = 0.0;
        let mut transfers_per_s = 0.0;
        for worker in &recording.workers {
            let Some(plan) = recording.plan.workers.get(worker.number as usize) else { continue };
            let per_s = |count: u64| count as f64 * 1e9 / worker.runtime_ns.max(1) as f64;
            let writes = worker.directions[Direction::Write.index()].ios;
            // Writes that are durable by themselves need no syncs.
            let syncs = if worker.sync.ios > 0 { worker.sync.ios } else { writes };
            let each = plan.measurement.commits_per_sync.unwrap_or(1.0);
            if is_told(plan) || (!any_told && worker.sync.ios > 0) {
                commits_per_s += per_s(syncs) * each;
                self.syncs.merge(&worker.sync.lat);
            }
            transfers_per_s += per_s(worker.directions.iter().map(|direction| direction.ios).sum());
        }
        let rate = if commits_per_s > 0.0 { commits_per_s } else { transfers_per_s };
        self.blocks.push(Block { commits_per_s: rate, device: DeviceRates::of(&recording.devices), others });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_worked_is_what_is_left() {
        let worked = |busy_ns: u64, idle_ns: u64, known_ns: u64| Worked {
            all: CpuActivity { busy_ns, idle_ns, switches: 0 },
            known_ns,
        };
        let before = worked(100, 100, 50);
        assert_eq!(before.others_until(worked(160, 140, 90)), Some(0.2));
        assert_eq!(before.others_until(worked(160, 140, 190)), Some(0.0), "ticks are coarse");
        assert_eq!(before.others_until(before), None);
    }
}
