//! The order of measurements: interleaved, every pattern once in each round.
//!
//! If the machine slows down for some seconds, this affects one round of several patterns, which
//! the intervals show. Otherwise it would affect all rounds of one pattern, which nothing would
//! show.

use iolab_statistics::{SniaRules, SteadyState, snia};

use crate::profiles::{BenchPattern, BenchProfile, Procedure};
use crate::results::{Case, Reading, RunFindings};

/// The result of the rounds.
#[derive(Debug, Default)]
pub struct MeasuredRounds {
    /// Each pattern with its samples.
    pub cases: Vec<Case>,
    /// What findings and limits say.
    pub seen: RunFindings,
    /// Whether the rounds became steady, if the profile asks for that.
    pub steady: Option<SteadyState>,
}

/// Measures the patterns of a profile that the target supports. `run` gets a pattern and the round.
/// A profile that requires a steady state has at least as many rounds as its rule needs, and
/// continues until they are steady or the rule gives up. `None`: the user ended it.
///
/// # Errors
/// The error of `run`.
pub fn measure<E>(
    profile: &BenchProfile,
    writable: bool,
    rounds: u32,
    mut run: impl FnMut(&BenchPattern, u32) -> Result<Option<Reading>, E>,
) -> Result<Option<MeasuredRounds>, E> {
    let measured = profile.patterns.iter().filter(|pattern| writable || !pattern.access.writes());
    let cases = measured.map(|pattern| Case { pattern: *pattern, samples: Vec::new() }).collect();
    let mut measured = MeasuredRounds { cases, ..MeasuredRounds::default() };
    for round in 0.. {
        for case in &mut measured.cases {
            let Some(reading) = run(&case.pattern, round)? else { return Ok(None) };
            measured.seen.take(&case.pattern, &reading);
            case.samples.push(reading.sample);
        }
        measured.steady = settled(profile, &measured.cases);
        let done = round as usize + 1;
        let settles = matches!(measured.steady, Some(SteadyState::NotYet { .. }));
        if done >= rounds as usize && !(settles && done < SniaRules::default().most_rounds) {
            break;
        }
    }
    if let Some(SteadyState::Reached { start, end, .. }) = measured.steady {
        // Rounds before the steady state are not part of the result.
        measured.cases.iter_mut().for_each(|case| case.samples = case.samples[start..end].to_vec());
    }
    Ok(Some(measured))
}

/// Whether the watched pattern of a profile keeps its speed.
fn settled(profile: &BenchProfile, cases: &[Case]) -> Option<SteadyState> {
    let Procedure::UntilSteady { tracked } = profile.procedure else { return None };
    let case = cases.iter().find(|case| case.pattern.key == tracked)?;
    let rounds: Vec<f64> = case.samples.iter().map(|sample| sample.iops).collect();
    Some(snia(&rounds, &SniaRules::default()))
}
