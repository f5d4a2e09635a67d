//! Other activity: other tasks on the CPUs, the hypervisor, quotas and heat, other traffic on the
//! device.

use iolab_recording::{HostSample, QuotaUse, Severity};
use iolab_text::counted;
use iolab_units::rounded_ns;

use super::RuleMatch;
use crate::facts::{Facts, Job, Member};
use crate::traffic::DATA;
use crate::wording::{bytes, count, percent};

/// From this share of all CPU time on, other tasks matter, if hardly any time was idle.
const OTHERS: f64 = 0.25;

/// Less idle time than this share counts as none.
const IDLE: f64 = 0.1;

/// If tasks waited for a CPU in at least this share of the time, the job's may have been among
/// them.
const WAITING: f64 = 0.2;

/// From this share of CPU time on, steal time is visible in latencies.
const STOLEN: f64 = 0.01;

/// From this share of the run's time on, throttling by a quota is visible: one stop lasts up to a
/// period, usually 100 ms, and delays every operation of that time.
const THROTTLED: f64 = 0.01;

/// Traffic below this is attributed to the file system.
const OWN_BYTES: f64 = 8388608.0;

/// From this share of the job's bytes on, other traffic is visible in its figures.
const OTHER_TRAFFIC: f64 = 0.2;

/// CPU times between two samples of the host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Processors {
    /// Time between the samples, ns.
    pub(crate) length_ns: f64,
    /// Total CPU time, ns.
    pub(crate) total_ns: f64,
    pub(crate) busy_ns: f64,
    pub(crate) idle_ns: f64,
    pub(crate) stolen_ns: f64,
    /// Time in which some task waited for a CPU, ns, if the kernel reports it.
    pub(crate) waited_ns: Option<f64>,
}

/// From the first to the last sample of the run.
pub(crate) fn processors(facts: &Facts<'_>) -> Option<Processors> {
    let host = &facts.recording.observations.as_ref()?.host;
    let (first, last) = (host.first()?, host.last()?);
    let difference = |of: fn(&HostSample) -> u64| of(last).saturating_sub(of(first)) as f64;
    let busy_ns = difference(|at| at.user_ns) + difference(|at| at.system_ns);
    let idle_ns = difference(|at| at.idle_ns) + difference(|at| at.iowait_ns);
    let stolen_ns = difference(|at| at.steal_ns);
    let total_ns = busy_ns + idle_ns + stolen_ns;
    let length_ns = difference(|at| at.at_ns);
    let waited_ns = first.cpu_some_ns.zip(last.cpu_some_ns).map(|(from, to)| to.saturating_sub(from) as f64);
    (total_ns > 0.0 && length_ns > 0.0).then_some(Processors {
        length_ns,
        total_ns,
        busy_ns,
        idle_ns,
        stolen_ns,
        waited_ns,
    })
}

/// Other tasks used the CPUs.
pub(crate) fn host_busy(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let Some(seen) = processors(facts) else { return Vec::new() };
    // The measured part of a worker is not its whole life: assume the same rate of CPU time for the
    // rest.
    let whole = |member: &Member<'_>| member.cpu_share() * (member.ended_ns() - member.worker.started_ns) as f64;
    let own_ns: f64 = facts.jobs.iter().flat_map(|job| &job.members).map(whole).sum();
    let others = (seen.busy_ns - own_ns).max(0.0) / seen.total_ns;
    let (idle, waited) = (seen.idle_ns / seen.total_ns, seen.waited_ns.map(|waited_ns| waited_ns / seen.length_ns));
    if others < OTHERS || idle > IDLE || waited.is_some_and(|share| share < WAITING) {
        return Vec::new();
    }
    let waited = waited.map(|share| format!("; tasks waited for a CPU {} of the time", percent(share.min(1.0))));
    let evidence = format!(
        "other programs used {} of the time of {} CPUs; {} was idle{}",
        percent(others),
        facts.recording.host.cpus,
        percent(idle),
        waited.unwrap_or_default()
    );
    vec![RuleMatch::of_run(Severity::Warning, evidence)]
}

/// The hypervisor gave CPU time to others.
pub(crate) fn steal(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let Some(seen) = processors(facts) else { return Vec::new() };
    let share = seen.stolen_ns / seen.total_ns;
    if share < STOLEN {
        return Vec::new();
    }
    vec![RuleMatch::of_run(Severity::Warning, format!("the hypervisor took away {} of the CPU time", percent(share)))]
}

/// A quota of the run's control group limited CPU time.
pub(crate) fn cpu_quota(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let Some((throttled, length_ns)) = throttled(facts) else { return Vec::new() };
    let length_ns = length_ns as f64;
    if throttled.throttled_periods == 0 || (throttled.throttled_ns as f64) < THROTTLED * length_ns {
        return Vec::new();
    }
    let quotas = facts.recording.host.cpu_quotas.iter().map(|quota| {
        let (part, whole) = (rounded_ns(quota.quota_ns as f64), rounded_ns(quota.period_ns as f64));
        format!(" ({part} of CPU time per {whole} for control group {})", quota.group)
    });
    let evidence = format!(
        "the CPU quota{} was used up in {} of {} periods, which stopped tasks for {} of CPU time in {}",
        quotas.collect::<Vec<_>>().join(""),
        count(throttled.throttled_periods),
        count(throttled.periods),
        rounded_ns(throttled.throttled_ns as f64),
        rounded_ns(length_ns)
    );
    vec![RuleMatch::of_run(Severity::Warning, evidence)]
}

/// Throttling by quotas between the first and the last sample, and the time between them, ns;
/// `None` if unknown.
pub(crate) fn throttled(facts: &Facts<'_>) -> Option<(QuotaUse, u64)> {
    let host = &facts.recording.observations.as_ref()?.host;
    let (first, last) = (host.first()?, host.last()?);
    let (from, to) = first.quota.zip(last.quota)?;
    let gained = QuotaUse {
        periods: to.periods.saturating_sub(from.periods),
        throttled_periods: to.throttled_periods.saturating_sub(from.throttled_periods),
        throttled_ns: to.throttled_ns.saturating_sub(from.throttled_ns),
    };
    Some((gained, last.at_ns.saturating_sub(first.at_ns).max(1)))
}

/// Processors lowered their frequency because of heat.
pub(crate) fn thermal(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let host = facts.recording.observations.as_ref().map(|seen| &seen.host[..]).unwrap_or_default();
    let (Some(first), Some(last)) = (host.first(), host.last()) else { return Vec::new() };
    let events = first.thermal_events.zip(last.thermal_events).map_or(0, |(from, to)| to.saturating_sub(from));
    if events == 0 {
        return Vec::new();
    }
    let length = rounded_ns(last.at_ns.saturating_sub(first.at_ns) as f64);
    let evidence = format!("CPUs slowed down {} in {length} because they were too hot", counted(events, "time"));
    vec![RuleMatch::of_run(Severity::Warning, evidence)]
}

/// The device had traffic that no job asked for. Checked for direct I/O only: the page cache causes
/// traffic of its own.
pub(crate) fn other_traffic(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let mut seen = Vec::new();
    for stage in &facts.stages {
        let Some(traffic) = stage.traffic else { continue };
        let jobs: Vec<&Job<'_>> = facts.of(stage).collect();
        let flushes = jobs.iter().any(|job| job.members.iter().any(|member| member.flushes()));
        if jobs.is_empty() || flushes || !jobs.iter().all(|job| job.is_direct()) {
            continue;
        }
        let asked: f64 = DATA.iter().flat_map(|way| jobs.iter().map(|job| job.whole_bytes(*way) as f64)).sum();
        let extra: [f64; 2] = DATA.map(|way| {
            let own: f64 = jobs.iter().map(|job| job.whole_bytes(way) as f64).sum();
            (traffic.bytes[way as usize] - own).max(0.0)
        });
        let other = extra[0] + extra[1];
        if other > OWN_BYTES.max(OTHER_TRAFFIC * asked) {
            let evidence = format!(
                "the device read {} and wrote {} in addition to the jobs' {}",
                bytes(extra[0]),
                bytes(extra[1]),
                bytes(asked)
            );
            seen.push(match facts.stages.len() {
                1 => RuleMatch::of_run(Severity::Warning, evidence),
                _ => RuleMatch::of_several(
                    Severity::Warning,
                    jobs.iter().map(|job| job.name.to_owned()).collect(),
                    &evidence,
                ),
            });
        }
    }
    seen
}
