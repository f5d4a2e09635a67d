//! The status during a study: the current step and block, and the remaining time.

use iolab_activity::Console;
use iolab_statistics::SteadyState;
use iolab_study::{
    Before, Design, Preconditioned, Step, Study, TrialId, TrialResults, TrialTimes, blocks_to_run, missing, shown,
};
use iolab_units::rounded_ns;

/// Progress of one run of a study.
pub(crate) struct Progress<'s> {
    study: &'s Study,
    design: &'s Design,
    pace: TrialTimes,
    /// Trials that this run has begun.
    begun: usize,
}

impl<'s> Progress<'s> {
    /// Begins, with what earlier runs have measured.
    pub(crate) fn new(
        study: &'s Study,
        design: &'s Design,
        planned_ns: Vec<Option<u64>>,
        results: &TrialResults,
    ) -> Self {
        let mut pace = TrialTimes::new(planned_ns);
        results.trials.iter().for_each(|trial| pace.add(trial.configuration, trial.elapsed_ns));
        Progress { study, design, pace, begun: 0 }
    }

    /// A trial has ended.
    pub(crate) fn took(&mut self, trial: TrialId, ns: u64) {
        self.pace.add(trial.configuration, ns);
    }

    /// Says what is done next.
    pub(crate) fn show(&mut self, step: &Step, results: &TrialResults, console: &dyn Console) {
        let left: Vec<TrialId> = missing(self.study, self.design, results).collect();
        let rest = match self.pace.left_ns(left.iter().map(|trial| trial.configuration)) {
            // Before the first measured trial, only the plan's estimate exists, which was already
            // shown.
            Some(ns) if self.begun > 0 || !results.trials.is_empty() => {
                format!(", about {} left", rounded_ns(ns as f64))
            }
            _ => String::new(),
        };
        let line = match step {
            Step::Trial(trial) => {
                self.begun += 1;
                let blocks = blocks_to_run(self.study, self.design, results);
                let (at, of) = (self.begun, self.begun - 1 + left.len());
                let name = self.design.name_of(self.study, *trial);
                format!("[{at}/{of}{rest}] block {} of {blocks}: {name}", trial.block + 1)
            }
            Step::Purge(_) => "precondition: purge".to_owned(),
            Step::Fill(_) => "precondition: fill twice".to_owned(),
            Step::Prepare(_) => "precondition: job".to_owned(),
            Step::Round(before, round) => self.round(before, *round, results),
        };
        console.step(&line, left.len() == 1);
    }

    /// The round that begins, the result of the last one, and how far the window is from steady.
    fn round(&self, before: &Before, round: u32, results: &TrialResults) -> String {
        let Some(how) = &self.study.precondition else { return format!("precondition: round {}", round + 1) };
        let done = (0..round).map_while(|number| results.steps.get(&Step::Round(*before, number)));
        let values: Vec<Option<f64>> = done.map(|result| result.value).collect();
        let mut line = format!("precondition: round {} of at most {}", round + 1, how.rules.most_rounds);
        if let Some(Some(last)) = values.last() {
            line += &format!(", the last one gave {}", shown(&how.figure, *last));
        }
        let distance = match Preconditioned::judge(how.kind, &values, &how.rules) {
            Some(SteadyState::NotYet { range: Some(range), slope: Some(slope) }) => format!(
                "; the last {} differ by {:.0} % with a trend of {:.0} % (steady: {:.0} % and {:.0} %)",
                how.rules.window,
                range * 100.0,
                slope * 100.0,
                how.rules.range * 100.0,
                how.rules.slope * 100.0
            ),
            Some(SteadyState::NotYet { .. }) => {
                format!("; steady at the earliest after {} rounds", how.rules.window)
            }
            _ => String::new(),
        };
        line + &distance
    }
}
