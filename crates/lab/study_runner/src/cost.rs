//! What a study costs in time and in bytes written, from the plans of its trials. Making them also
//! finds every mistake before anything runs.

use iolab_activity::Failure;
use iolab_pipeline::Pipeline;
use iolab_plan::{Direction, Plan, WorkerPlan};
use iolab_runner::Engines;
use iolab_study::{Design, JobSource, PreconditionKind, Study, preconditionings, with_settings};
use iolab_units::{NS_PER_SECOND, format_bytes, format_ns, parse_ns};

use crate::place::Place;
use crate::preconditioning;

/// The cost of a study, and the plans it follows from.
#[derive(Debug, Default)]
pub(crate) struct Cost {
    /// Trials that are commands, of which nothing is known.
    commands: usize,
    /// Time of a trial of each configuration, where its plan says it, ns.
    times_ns: Vec<Option<u64>>,
    /// Trials that are planned when they begin.
    later: usize,
    /// A trial of each configuration that can be planned now.
    plans: Vec<Plan>,
    /// Time that trials take by their plans, ns.
    planned_ns: u64,
    /// Trials whose time depends on the device.
    open_ended: usize,
    /// Bytes that trials write by their plans.
    written_bytes: u64,
    /// Trials that write for a time: how much depends on the device.
    open_writes: usize,
    /// What preconditioning adds, in words.
    preconditioning: String,
}

/// Plans a trial of every configuration where it will run.
pub(crate) fn of(
    pipeline: &Pipeline<'_>,
    place: &Place<'_>,
    study: &Study,
    design: &Design,
    job: &str,
) -> Result<Cost, Failure> {
    let mut cost = Cost::default();
    if let JobSource::Command(_) = study.job {
        (cost.commands, cost.times_ns) = (design.trials.len(), vec![None; design.configurations.len()]);
        return Ok(cost);
    }
    for (number, configuration) in design.configurations.iter().enumerate() {
        let name = design.label(number);
        let text = with_settings(job, &configuration.settings)
            .map_err(|error| Failure::mistake(format!("configuration {name}: {error}")))?;
        let trials = design.trials.iter().filter(|trial| trial.configuration == number).count();
        if study.is_planned_later(configuration) {
            if study.precondition.is_some() {
                let reason =
                    "it is planned only when its trials begin (later), so nothing can be preconditioned for it";
                return Err(Failure::mistake(format!("configuration {name}: {reason}")));
            }
            cost.later += trials;
            cost.times_ns.push(None);
            continue;
        }
        let plan = plan(pipeline, place, &text).map_err(|mut failure| {
            failure.message = format!("in configuration {name}:\n{}", failure.message);
            failure
        })?;
        if study.ladder.is_some() {
            fits_a_ladder(&plan).map_err(|reason| Failure::mistake(format!("configuration {name}: {reason}")))?;
        }
        cost.times_ns.push(time_ns(&plan));
        cost.add(&plan, trials);
        cost.plans.push(plan);
    }
    cost.preconditioning = cost.precondition(pipeline.engines, study, design)?;
    Ok(cost)
}

/// The plan of a job text.
fn plan(pipeline: &Pipeline<'_>, place: &Place<'_>, job: &str) -> Result<Plan, Failure> {
    // A file, because that is what job files are named by in messages and variables.
    let file = tempfile::Builder::new().prefix("trial").suffix(".fio").tempfile()?;
    std::fs::write(file.path(), job)?;
    let path = file.path().display().to_string();
    let planned = place.plan(pipeline, &path);
    // The file is gone when the message is read.
    planned.map_err(|failure| Failure {
        message: failure.message.replace(&path, "the job of this configuration"),
        ..failure
    })
}

/// The rates of a ladder apply to all its workers together, so the workers must be alike; and a
/// slow load must not take forever.
fn fits_a_ladder(plan: &Plan) -> Result<(), String> {
    let Some(first) = plan.workers.first() else { return Ok(()) };
    // Each host counts its own sections.
    let is_other = |one: &WorkerPlan, next: &WorkerPlan| {
        one.job != next.job || (one.host == next.host && one.section != next.section)
    };
    if plan.workers.windows(2).any(|pair| is_other(&pair[0], &pair[1])) {
        return Err("a ladder needs a job with one section, because its rate cannot be divided between several (use numjobs for more workers)"
            .to_owned());
    }
    if first.pacing.scheduled().contains(&true) {
        return Err("a ladder sets the rate: remove rate, rate_iops or arrivals from the job".to_owned());
    }
    if first.limits.runtime_ns.is_none() {
        return Err("a ladder needs a job with a fixed run time: add runtime=10s and time_based".to_owned());
    }
    Ok(())
}

impl Cost {
    fn add(&mut self, plan: &Plan, trials: usize) {
        match time_ns(plan) {
            Some(ns) => self.planned_ns += ns * trials as u64,
            None => self.open_ended += trials,
        }
        let writers =
            || plan.workers.iter().filter(|worker| worker.workload.pattern.directions.contains(&Direction::Write));
        self.open_writes += if writers().any(|worker| worker.limits.time_based) { trials } else { 0 };
        let bytes: u64 = writers().filter(|worker| !worker.limits.time_based).map(written_bytes).sum();
        self.written_bytes += bytes * trials as u64;
    }

    fn precondition(&mut self, engines: Engines, study: &Study, design: &Design) -> Result<String, Failure> {
        let Some(how) = &study.precondition else { return Ok(String::new()) };
        let times = preconditionings(study, design).len();
        let text = match how.kind {
            PreconditionKind::Job => "the preconditioning job".to_owned(),
            PreconditionKind::Fill | PreconditionKind::Snia => {
                let targets = preconditioning::targets(engines, &self.plans);
                let (bytes, has_devices) = preconditioning::fill_bytes(&targets);
                let more = if has_devices { " and twice the capacity of each device" } else { "" };
                format!("{}{more} written to {}", format_bytes(bytes), preconditioning::names(&targets).join(", "))
            }
        };
        let rounds = match how.kind {
            PreconditionKind::Snia => {
                let round_ns = parse_ns(&how.round, NS_PER_SECOND)
                    .map_err(|error| Failure::mistake(format!("precondition: round = \"{}\": {error}", how.round)))?;
                let most = how.rules.most_rounds as u64;
                format!(
                    ", then {} to {} of rounds",
                    format_ns(round_ns * how.rules.window as u64),
                    format_ns(round_ns * most)
                )
            }
            _ => String::new(),
        };
        let embedded = preconditioning::names(&preconditioning::targets(engines, &self.plans))
            .into_iter()
            .find(|name| is_embedded(name));
        let warning = embedded.map_or(String::new(), |name| {
            format!("warning: '{name}' is created anew in each trial, so preconditioning has no effect: run a device with `iolab device serve` and name it\n")
        });
        let times = iolab_text::counted(times as u64, "time");
        Ok(format!("preconditioning, {times}: {text}{rounds}\n{warning}"))
    }

    /// The plans of the configurations; of all of them, if the study preconditions.
    pub(crate) fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// Time of a trial of each configuration, where its plan says it, ns.
    pub(crate) fn times_ns(&self) -> Vec<Option<u64>> {
        self.times_ns.clone()
    }

    /// In a line or two.
    pub(crate) fn describe(&self) -> String {
        if self.commands > 0 {
            return "time and bytes written depend on the command\n".to_owned();
        }
        let mut text = format!("{}at most {}", self.preconditioning, format_ns(self.planned_ns));
        if self.open_ended > 0 {
            text += &format!(
                ", plus {} until all data is transferred",
                iolab_text::counted(self.open_ended as u64, "trial")
            );
        }
        if self.later > 0 {
            text += &format!(
                ", plus {} that can be planned only when they begin",
                iolab_text::counted(self.later as u64, "trial")
            );
        }
        let known = (self.written_bytes > 0).then(|| format!("up to {}", format_bytes(self.written_bytes)));
        let open =
            || format!("as much as the device accepts in {}", iolab_text::counted(self.open_writes as u64, "trial"));
        let written: Vec<String> = known.into_iter().chain((self.open_writes > 0).then(open)).collect();
        text += &match written.as_slice() {
            [] => "; writes nothing".to_owned(),
            written => format!("; writes {}", written.join(", and ")),
        };
        text + "\n"
    }
}

/// Whether a name is of a virtual SSD that no process serves: it begins and ends with its run.
fn is_embedded(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("trtype=virt") && !name.contains("traddr=")
}

/// The longest duration of a trial: its stages follow one another. `None` if one of them ends with
/// its data.
fn time_ns(plan: &Plan) -> Option<u64> {
    let stages = plan.workers.iter().map(|worker| worker.stage).max().unwrap_or(0);
    let stage_ns = |stage: u32| {
        let times: Option<Vec<u64>> =
            plan.workers.iter().filter(|worker| worker.stage == stage).map(longest_ns).collect();
        Some(times?.into_iter().max().unwrap_or(0))
    };
    (0..=stages).map(stage_ns).sum()
}

fn longest_ns(worker: &WorkerPlan) -> Option<u64> {
    let limits = &worker.limits;
    Some(limits.start_delay_ns + limits.ramp_ns + limits.runtime_ns?)
}

fn written_bytes(worker: &WorkerPlan) -> u64 {
    worker.limits.io_bytes.saturating_mul(worker.limits.loops.max(1))
}
