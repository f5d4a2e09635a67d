//! Checks whether a paced load was sent on schedule, and timed by a reliable clock.

use iolab_plan::ClockChoice;
use iolab_recording::Severity;
use iolab_units::rounded_ns;

use super::{RuleMatch, of_jobs};
use crate::facts::{Facts, Member};
use crate::wording::{count, percent};

/// Below this share of the requested rate, the load was a different one.
const REACHED: f64 = 0.95;

/// From this share of response time on, the generator's own lateness is visible.
const LATE: f64 = 0.2;

/// A stamp that takes more than this share of the time per operation affects latencies.
const STAMP: f64 = 0.05;

/// A schedule that could not be kept.
pub(crate) fn rate_not_reached(facts: &Facts<'_>) -> Vec<RuleMatch> {
    of_jobs(facts, Severity::Warning, |job| {
        if let Some(sentence) = job.members.iter().find_map(|member| member.worker.saturation()) {
            return Some(sentence);
        }
        let schedules = || job.members.iter().filter_map(|member| member.worker.schedule.as_ref());
        let asked: f64 = schedules().map(|schedule| schedule.asked_iops()).sum();
        let sent: f64 = schedules().map(|schedule| schedule.sent_iops()).sum();
        let operations: u64 = schedules().map(|schedule| schedule.asked).sum();
        // The number of arrivals of a Poisson process varies around its mean by its square root.
        let chance = 3.0 / (operations.max(1) as f64).sqrt();
        (asked > 0.0 && sent < (REACHED - chance) * asked)
            .then(|| format!("requested {} IOPS, reached {}", count(asked.round() as u64), count(sent.round() as u64)))
    })
}

/// Operations that were sent late although the device was ready.
pub(crate) fn generator_late(facts: &Facts<'_>) -> Vec<RuleMatch> {
    of_jobs(facts, Severity::Warning, |job| {
        let (mut late, mut response, mut worst) = (0.0, 0.0, 0);
        for direction in job.members.iter().flat_map(|member| &member.worker.directions) {
            late += direction.generator_late.sum as f64;
            response += direction.response.sum as f64;
            worst = worst.max(direction.generator_late.max);
        }
        (response > 0.0 && late >= LATE * response).then(|| {
            let share = percent(late / response);
            format!("{share} of the response time was delay in iolab itself, up to {}", rounded_ns(worst as f64))
        })
    })
}

/// Time stamps from a slower clock than the processor's.
pub(crate) fn clock(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let recording = facts.recording;
    let chosen = |member: &Member<'_>| member.plan.measurement.clock != ClockChoice::Best;
    if recording.host.clock == "tsc" || facts.jobs.iter().flat_map(|job| &job.members).any(chosen) {
        return Vec::new();
    }
    let Some(calibration) = &recording.calibration else { return Vec::new() };
    let loops = calibration.of_workers();
    of_jobs(facts, Severity::Note, |job| {
        let members: Vec<_> = job.members.iter().map(|member| (member.plan, member.worker)).collect();
        let overheads = loops.overheads(&members);
        let slow =
            overheads.iter().find(|overhead| !overhead.null && overhead.stamp_ns > STAMP * overhead.per_io_ns)?;
        let stamp = rounded_ns(slow.stamp_ns);
        Some(format!(
            "time stamps come from {} and cost {stamp} each; an operation takes {}",
            recording.host.clock,
            rounded_ns(slow.per_io_ns)
        ))
    })
}
