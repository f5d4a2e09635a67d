//! How the run ended.

use iolab_recording::Severity;
use iolab_units::rounded_ns;

use super::RuleMatch;
use crate::facts::Facts;

/// A run that was interrupted or killed.
pub(crate) fn interrupted(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let recording = facts.recording;
    if !recording.interrupted {
        return Vec::new();
    }
    let asked = recording.plan.workers.iter().map(|worker| {
        let limits = &worker.limits;
        Some(limits.runtime_ns?.saturating_add(limits.ramp_ns).saturating_add(limits.start_delay_ns))
    });
    // Stages run one after the other, and some end by size: only for a single stage is the planned
    // time known.
    let is_one_stage = recording.plan.workers.iter().all(|worker| worker.stage == 0);
    let asked = asked.collect::<Option<Vec<u64>>>().filter(|_| is_one_stage).and_then(|all| all.into_iter().max());
    let of = asked.map(|asked_ns| format!(" of {}", rounded_ns(asked_ns as f64))).unwrap_or_default();
    let evidence = format!("the run ended after {}{of}", rounded_ns(recording.elapsed_ns as f64));
    vec![RuleMatch::of_run(Severity::Warning, evidence)]
}
