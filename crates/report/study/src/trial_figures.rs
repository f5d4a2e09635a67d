//! Computes the figures of a trial from a recording, or from what a command printed; a trial that
//! failed has none.

use std::borrow::Cow;

use iolab_plan::{Direction, PerDirection};
use iolab_recording::{Recording, WorkerRecording};

use crate::ladder::percents;
use crate::trial::{Behind, Trial};
use crate::warm_up::without_warm_up;
use crate::{Figure, FigureDirection, Measure, Printed, Study, TrialId};

impl Trial {
    /// A trial that measured nothing, and why.
    pub fn failed(planned: TrialId, study: &Study, reason: String) -> Trial {
        let TrialId { block, configuration, level } = planned;
        let values = vec![None; study.figures.len()];
        Trial { block, configuration, level, values, flaw: Some(reason), ..Trial::default() }
    }

    /// The figures of a recording.
    pub fn new(planned: TrialId, study: &Study, recording: &Recording) -> Trial {
        let flaw = iolab_aggregate::flaw(recording);
        let TrialId { block, configuration, level } = planned;
        let (measured, warm_up) = match study.trims_warm_up {
            true => {
                let (measured, warm_up) = without_warm_up(recording);
                (Cow::Owned(measured), Some(warm_up))
            }
            false => (Cow::Borrowed(recording), None),
        };
        let percents = study.ladder.as_ref().map(percents).unwrap_or_default();
        let percentiles = |measure: fn(f64) -> Measure| {
            let figure =
                |percent: &f64| Figure { side: FigureDirection::All, measure: measure(*percent) }.of(&measured);
            percents.iter().map(figure).collect()
        };
        // CPU time and device counters are those of the whole trial, so they are divided by all of
        // its operations.
        let value = |figure: &Figure| match figure.measure {
            Measure::CpuPerOperation | Measure::MachineCpu | Measure::Traffic | Measure::Device(_) => {
                figure.of(recording)
            }
            _ => figure.of(&measured),
        };
        Trial {
            block,
            configuration,
            level,
            values: study.figures.iter().map(value).collect(),
            flaw,
            rates: rates(&measured),
            workers: recording.workers.len() as u32,
            service: percentiles(Measure::Latency),
            response: percentiles(Measure::Response),
            behind: behind(recording),
            warm_up,
            elapsed_ns: recording.elapsed_ns,
            reached: iolab_aggregate::targets(recording),
        }
    }

    /// The figures of what a command printed.
    pub fn of_command(planned: TrialId, figures: &[Figure], printed: &Printed) -> Trial {
        let value = |figure: &Figure| match &figure.measure {
            Measure::Reported(reported) => reported.of(printed),
            _ => None,
        };
        let values: Vec<Option<f64>> = figures.iter().map(value).collect();
        let missing = figures.iter().zip(&values).find(|(_, value)| value.is_none());
        let flaw = missing.map(|(figure, _)| format!("it printed no number for '{}'", figure.name()));
        let TrialId { block, configuration, level } = planned;
        Trial { block, configuration, level, values, flaw, ..Trial::default() }
    }
}

/// Operations per second, by direction.
fn rates(recording: &Recording) -> PerDirection<f64> {
    let whole = iolab_aggregate::WholeRun::new(recording);
    Direction::ALL.map(|direction| whole.throughput(&[direction]).ios_per_second())
}

fn behind(recording: &Recording) -> Option<Behind> {
    let saturated = |worker: &&WorkerRecording| worker.schedule.is_some_and(|schedule| schedule.is_saturated());
    let directions = || recording.workers.iter().filter(saturated).flat_map(|worker| &worker.directions);
    recording.workers.iter().find(saturated)?;
    let late: u128 = directions().map(|one| one.generator_late.sum).sum();
    let waited: u128 = directions().map(|one| one.backlog_wait.sum).sum();
    Some(if late > waited { Behind::Generator } else { Behind::Device })
}
