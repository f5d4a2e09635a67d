//! What a study costs in time and in bytes written, from the plans of its trials. Making them also finds every mistake before anything runs.

use iolab_jobfile::command_line;
use iolab_plan::{Direction, Plan, WorkerPlan};
use iolab_resolve::Mode;
use iolab_study::{Design, JobSource, Study, with_settings};
use iolab_units::{format_bytes, format_ns};

use crate::exit::Failure;
use crate::pipeline;
use crate::surroundings::Here;

/// The cost of all trials.
#[derive(Debug, Default)]
pub(super) struct Cost {
    /// Trials that are commands, of which nothing is known.
    commands: usize,
    /// Time that trials take by their plans, ns.
    planned_ns: u64,
    /// Trials whose time depends on the device.
    open_ended: usize,
    /// Bytes that trials write by their plans.
    written_bytes: u64,
    /// Trials that write for a time: how much depends on the device.
    open_writes: usize,
}

/// Plans a trial of every configuration.
pub(super) fn of(study: &Study, design: &Design, job: &str) -> Result<Cost, Failure> {
    let mut cost = Cost::default();
    if let JobSource::Command(_) = study.job {
        cost.commands = design.trials.len();
        return Ok(cost);
    }
    for (number, configuration) in design.configurations.iter().enumerate() {
        let plan = plan(&with_settings(job, &configuration.settings)).map_err(|mut failure| {
            failure.message = format!("configuration {}:\n{}", configuration.points.join(", "), failure.message);
            failure
        })?;
        let trials = design.trials.iter().filter(|trial| trial.configuration == number).count();
        cost.add(&plan, trials);
    }
    Ok(cost)
}

/// The plan of a job text.
fn plan(job: &str) -> Result<Plan, Failure> {
    // A file, because that is what job files are named by in messages and variables.
    let file = tempfile::Builder::new().prefix("trial").suffix(".fio").tempfile().map_err(anyhow::Error::from)?;
    std::fs::write(file.path(), job).map_err(anyhow::Error::from)?;
    let words = [file.path().display().to_string()];
    let line = command_line::parse(&words, &Here::new())
        .map_err(|failure| Failure::mistake(iolab_jobfile::render(&failure.diagnostics, &failure.sources, false)))?;
    Ok(pipeline::plan(&line, Mode::Iolab)?.plan)
}

impl Cost {
    fn add(&mut self, plan: &Plan, trials: usize) {
        let stages = plan.workers.iter().map(|worker| worker.stage).max().unwrap_or(0);
        let mut is_open_ended = false;
        for stage in 0..=stages {
            let workers = || plan.workers.iter().filter(|worker| worker.stage == stage);
            let longest = workers().filter_map(longest_ns).max().unwrap_or(0);
            self.planned_ns += longest * trials as u64;
            is_open_ended |= workers().any(|worker| longest_ns(worker).is_none());
        }
        self.open_ended += if is_open_ended { trials } else { 0 };
        let writers =
            || plan.workers.iter().filter(|worker| worker.workload.pattern.directions.contains(&Direction::Write));
        self.open_writes += if writers().any(|worker| worker.limits.time_based) { trials } else { 0 };
        let bytes: u64 = writers().filter(|worker| !worker.limits.time_based).map(written_bytes).sum();
        self.written_bytes += bytes * trials as u64;
    }

    /// In a line.
    pub(super) fn describe(&self) -> String {
        if self.commands > 0 {
            return "as long, and as many bytes, as its command takes\n".to_owned();
        }
        let mut text = format!("at most {}", format_ns(self.planned_ns));
        if self.open_ended > 0 {
            text += &format!(", and {} trials that end when their data is done", self.open_ended);
        }
        text += &format!("; writes up to {}", format_bytes(self.written_bytes));
        if self.open_writes > 0 {
            text += &format!(", and in {} trials as much as the device takes", self.open_writes);
        }
        text + "\n"
    }
}

fn longest_ns(worker: &WorkerPlan) -> Option<u64> {
    let limits = &worker.limits;
    Some(limits.start_delay_ns + limits.ramp_ns + limits.runtime_ns?)
}

fn written_bytes(worker: &WorkerPlan) -> u64 {
    worker.limits.io_bytes.saturating_mul(worker.limits.loops.max(1))
}
