//! Checks whether the processors of the workers, rather than the device, were the limit.

use iolab_recording::Severity;
use iolab_text::counted;
use iolab_units::rounded_ns;

use super::{RuleMatch, of_jobs, together};
use crate::facts::{Facts, Job, Member};
use crate::wording::percent;

/// From this share of its time on a CPU, a worker cannot do more.
const BUSY: f64 = 0.95;

/// In shorter runs, CPU time is too coarse.
const LEAST_NS: u64 = 200_000_000;

/// Workers that never waited.
pub(crate) fn cpu_bound(facts: &Facts<'_>) -> Vec<RuleMatch> {
    of_jobs(facts, Severity::Warning, |job| {
        is_cpu_bound(job).then(|| {
            let busy = job.members.iter().map(Member::cpu_share).fold(f64::INFINITY, f64::min);
            let per_io = job.sum(Member::cpu_ns) as f64 / job.sum(Member::ios).max(1) as f64;
            format!(
                "its workers used a CPU {} of the time ({} per operation) and hardly waited",
                percent(busy.min(1.0)),
                rounded_ns(per_io)
            )
        })
    })
}

pub(crate) fn is_cpu_bound(job: &Job<'_>) -> bool {
    let counts = |member: &Member<'_>| {
        member.is_kernel() && !member.polls() && !member.waits() && member.worker.runtime_ns >= LEAST_NS
    };
    job.members.iter().all(|member| counts(member) && member.cpu_share() >= BUSY)
}

/// The tool's own work as a large part of every operation.
pub(crate) fn tool_bound(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let Some(calibration) = &facts.recording.calibration else { return Vec::new() };
    let loops = calibration.of_workers();
    of_jobs(facts, Severity::Warning, |job| {
        let members: Vec<_> = job.members.iter().map(|member| (member.plan, member.worker)).collect();
        let overheads = loops.overheads(&members);
        let overhead = overheads.iter().find(|overhead| overhead.limit().is_some())?;
        Some(format!(
            "{} of the {} per operation is iolab's own work",
            percent(overhead.share_percent() / 100.0),
            rounded_ns(overhead.per_io_ns)
        ))
    })
}

/// Workers that are bound to the same CPU.
pub(crate) fn shared_core(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let mut seen = Vec::new();
    for job in facts.shown() {
        let on_one = |member: &Member<'_>| match member.plan.process.cpus.as_deref() {
            Some([cpu]) => Some(*cpu),
            _ => None,
        };
        let alone = job.members.iter().filter_map(|member| Some((on_one(member)?, member)));
        for (cpu, member) in alone {
            let others = facts.jobs.iter().flat_map(|other| &other.members);
            let mates = others.filter(|other| on_one(other) == Some(cpu) && overlap(member, other)).count();
            if mates > 1 {
                seen.push((job.name, format!("{mates} workers were bound to CPU {cpu} at the same time")));
                break;
            }
        }
    }
    together(Severity::Warning, seen)
}

/// More workers than CPUs, with all CPUs fully used.
pub(crate) fn more_workers_than_cpus(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let cpus = facts.recording.host.cpus;
    let all: Vec<Member<'_>> = facts.jobs.iter().flat_map(|job| job.members.iter().copied()).collect();
    // Only workers that run at the same time share the CPUs: groups that ran one after the other
    // are not added up.
    let together = all.iter().map(|one| {
        let mates: Vec<&Member<'_>> = all.iter().filter(|other| overlap(one, other)).collect();
        let long = mates.iter().filter(|mate| mate.worker.runtime_ns >= LEAST_NS);
        (mates.len() as u64, long.map(|mate| mate.cpu_share()).sum::<f64>())
    });
    let crowded = together.filter(|(workers, used)| *workers > u64::from(cpus) && *used >= 0.9 * f64::from(cpus));
    let Some((workers, used)) = crowded.max_by(|one, other| one.1.total_cmp(&other.1)).filter(|_| cpus > 0) else {
        return Vec::new();
    };
    let evidence = format!("{} used {used:.1} of {}", counted(workers, "worker"), counted(cpus.into(), "CPU"));
    vec![RuleMatch::of_run(Severity::Warning, evidence)]
}

fn overlap(one: &Member<'_>, other: &Member<'_>) -> bool {
    one.worker.started_ns < other.ended_ns() && other.worker.started_ns < one.ended_ns()
}
