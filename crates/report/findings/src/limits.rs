//! What limited a run: one answer for each job, with the numbers behind it and an experiment that
//! would confirm it.
//!
//! A run with one setting shows where its time went, not what another setting would do; the
//! experiment is the same job with one option changed. Causes are checked in an order in which each
//! makes the later ones irrelevant: if the figures are those of the page cache, it does not matter
//! how busy the device was.

use std::fmt::Write;

use iolab_aggregate::Throughput;
use iolab_plan::{Direction, Reach};
use iolab_recording::{DeviceUse, Finding, Recording, Severity};
use iolab_units::rounded_ns;

use crate::experiment::command;
use crate::facts::{Facts, Job, Member};
use crate::rules::{host, network, processor, queue};
use crate::traffic::is_top;
use crate::wording::{bytes, count, percent};
use crate::{find, rules::RuleMatch};

/// A device that was busy for less than this share of the time was not the limit, unless its queue
/// was long meanwhile.
const MOSTLY_BUSY: f64 = 0.8;

/// The queue was full from this share of the requested depth on.
const FULL: f64 = 0.8;

/// A quota that was used up in this share of its periods was the limit.
const USED_UP: f64 = 0.5;

/// Operations of this size and more are limited by bytes rather than by their number.
const LARGE_BYTES: f64 = 131072.0;

/// What kept a job from being faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BottleneckKind {
    /// Memory answered instead of the device.
    Cache,
    /// The load generator.
    Tool,
    /// The rate or the think time that the job asks for.
    Schedule,
    /// A quota of CPU time.
    Quota,
    /// Other tasks on the processors.
    Host,
    /// The processors of the workers.
    Processor,
    /// One operation at a time, each waiting for the one before.
    Latency,
    /// Submissions, one after another.
    Submission,
    /// The network to the storage.
    Network,
    /// The device, with the queue kept full.
    Device,
    /// The recording does not say.
    Unknown,
}

/// What limited one job.
#[derive(Debug, Clone, PartialEq)]
pub struct Bottleneck {
    /// The job.
    pub job: String,
    /// The kind of limit.
    pub kind: BottleneckKind,
    /// The limit in a sentence.
    pub answer: String,
    /// The numbers behind it.
    pub evidence: Vec<String>,
    /// A command that would confirm it, and what it would show.
    pub experiment: String,
}

/// What limited each job that did something; for a run of several hosts, on each of them.
pub fn limits(recording: &Recording) -> Vec<Bottleneck> {
    if !recording.has_several_hosts() {
        return limits_on_one(recording);
    }
    let mut limits = Vec::new();
    for (host, part) in recording.parts() {
        for limit in limits_on_one(&part) {
            limits.push(Bottleneck { job: format!("{} on {}", limit.job, host.name), ..limit });
        }
    }
    limits
}

fn limits_on_one(recording: &Recording) -> Vec<Bottleneck> {
    let facts = Facts::new(recording);
    facts.shown().map(|job| limit(&facts, job)).collect()
}

fn limit(facts: &Facts<'_>, job: &Job<'_>) -> Bottleneck {
    let causes = [
        of_cache,
        of_tool,
        of_schedule,
        of_submission,
        of_quota,
        of_network,
        of_host,
        of_processor,
        of_latency,
        of_device,
    ];
    let (kind, answer, mut evidence, experiment) =
        causes.iter().find_map(|cause| cause(facts, job)).unwrap_or_else(|| unknown(job));
    let prefix = format!("{}: ", job.name);
    evidence.iter_mut().for_each(|text| *text = text.strip_prefix(&prefix).unwrap_or(text).to_owned());
    evidence.push(basics(job));
    evidence.extend(other_findings(facts, job, &evidence));
    Bottleneck { job: job.name.to_owned(), kind, answer, evidence, experiment }
}

type Cause = (BottleneckKind, String, Vec<String>, String);

fn of_cache(facts: &Facts<'_>, job: &Job<'_>) -> Option<Cause> {
    let findings = find(facts.recording);
    let is_about = |jobs: &[String]| jobs.is_empty() || jobs.iter().any(|name| name == job.name);
    let rules = ["page-cache", "unwritten-blocks", "cache-beneath", "fits-in-memory", "client-cache"];
    let mut grave =
        findings.iter().filter(|finding| finding.rule == "fits-in-memory" || finding.severity == Severity::Invalid);
    let cause = grave.find(|finding| rules.contains(&finding.rule.as_str()) && is_about(&finding.jobs))?;
    if !job.is_kernel() && cause.rule != "client-cache" {
        return None;
    }
    let experiment = match cause.rule.as_str() {
        "unwritten-blocks" => {
            format!(
                "{} (delete the file first, so that it is written before it is read): far slower",
                command(facts, job, &[])
            )
        }
        "client-cache" => {
            format!("{} with the cache of the client switched off: slower", command(facts, job, &[]))
        }
        "cache-beneath" => {
            "`iolab doctor FILE` shows which disk is below; the same job on that disk: slower".to_owned()
        }
        _ => format!("{}: measures the device instead", command(facts, job, &[("direct", "1")])),
    };
    let answer =
        "RAM: most of the I/O never reached the device, so this is the speed of memory copies and system calls";
    Some((BottleneckKind::Cache, answer.to_owned(), vec![cause.evidence.clone()], experiment))
}

fn of_tool(facts: &Facts<'_>, job: &Job<'_>) -> Option<Cause> {
    let first = job.first();
    if first.reach() == Reach::Nothing && !first.waits() {
        let answer = format!("iolab itself: engine {} does no I/O", first.plan.engine.name);
        return Some((
            BottleneckKind::Tool,
            answer,
            Vec::new(),
            format!("{}: more jobs do more operations", command(facts, job, &[("numjobs", "2")])),
        ));
    }
    let RuleMatch { evidence, .. } =
        processor::tool_bound(facts).into_iter().find(|seen| seen.jobs.iter().any(|name| name == job.name))?;
    let more = (job.members.len() * 2).to_string();
    let experiment =
        format!("{}: more jobs do more operations, if iolab was the limit", command(facts, job, &[("numjobs", &more)]));
    Some((
        BottleneckKind::Tool,
        "iolab itself: its own work takes a large part of each operation".to_owned(),
        vec![evidence],
        experiment,
    ))
}

fn of_schedule(facts: &Facts<'_>, job: &Job<'_>) -> Option<Cause> {
    let first = job.first();
    if !first.waits() || job.members.iter().any(|member| member.worker.saturation().is_some()) {
        return None;
    }
    let schedules = || job.members.iter().filter_map(|member| member.worker.schedule.as_ref());
    let asked: f64 = schedules().map(|schedule| schedule.asked_iops()).sum();
    let sent: f64 = schedules().map(|schedule| schedule.sent_iops()).sum();
    let evidence = match asked > 0.0 {
        true => format!("requested {} IOPS, sent {}", count(asked.round() as u64), count(sent.round() as u64)),
        false => "the job waits between operations (thinktime)".to_owned(),
    };
    let without = [("rate", ""), ("rate_iops", ""), ("thinktime", ""), ("rate_process", "")];
    let experiment = format!("{}: without the limit, shows what the device can do", command(facts, job, &without));
    Some((
        BottleneckKind::Schedule,
        "the job itself: it requested no more, and the device kept up".to_owned(),
        vec![evidence],
        experiment,
    ))
}

fn of_quota(facts: &Facts<'_>, job: &Job<'_>) -> Option<Cause> {
    let (throttled, _) = host::throttled(facts)?;
    if (throttled.throttled_periods as f64) < USED_UP * throttled.periods as f64 {
        return None;
    }
    let RuleMatch { evidence, .. } = host::cpu_quota(facts).into_iter().next()?;
    let experiment = format!("{} without the quota: expect higher speed and shorter tails", command(facts, job, &[]));
    let answer = "the CPU quota of its control group, which stops the job until the next period begins";
    Some((BottleneckKind::Quota, answer.to_owned(), vec![evidence], experiment))
}

fn of_host(facts: &Facts<'_>, job: &Job<'_>) -> Option<Cause> {
    let RuleMatch { evidence, .. } = host::host_busy(facts).into_iter().next()?;
    let command = command(facts, job, &[]);
    // A request whose completion waits for a processor counts as being in the device.
    if let Some(share) = share_in_devices(facts).filter(|share| *share >= 0.5) {
        let experiment = format!(
            "{command} on an otherwise idle machine: equally fast if the device is the limit, otherwise faster"
        );
        let in_devices = format!("operations spent {} of their time as requests in the device", percent(share));
        let answer = "the device, or other programs on the CPUs: this run cannot tell which";
        return Some((BottleneckKind::Host, answer.to_owned(), vec![evidence, in_devices], experiment));
    }
    let experiment = format!("{command} on an otherwise idle machine: expect higher speed and shorter tails");
    Some((BottleneckKind::Host, "the CPUs: other programs used them".to_owned(), vec![evidence], experiment))
}

fn of_processor(facts: &Facts<'_>, job: &Job<'_>) -> Option<Cause> {
    if job.first().reach() != Reach::Processor && !processor::is_cpu_bound(job) {
        return None;
    }
    let busy = job.members.iter().map(Member::cpu_share).fold(f64::INFINITY, f64::min).min(1.0);
    let per_io = job.sum(Member::cpu_ns) as f64 / job.sum(Member::ios).max(1) as f64;
    let evidence = format!("workers used a CPU {} of the time, {} per operation", percent(busy), rounded_ns(per_io));
    let more = (job.members.len() * 2).to_string();
    let experiment =
        format!("{}: more jobs on free CPUs do more operations", command(facts, job, &[("numjobs", &more)]));
    Some((
        BottleneckKind::Processor,
        "the CPU: the workers never waited for the device".to_owned(),
        vec![evidence],
        experiment,
    ))
}

fn of_network(facts: &Facts<'_>, job: &Job<'_>) -> Option<Cause> {
    let is_about = |seen: &RuleMatch| seen.jobs.is_empty() || seen.jobs.iter().any(|name| name == job.name);
    let seen = network::network_limit(facts).into_iter().find(|seen| job.is_remote() && is_about(seen))?;
    let far = !seen.jobs.is_empty();
    let (answer, experiment) = if far {
        let more = (job.first().plan.queue.depth * 2).to_string();
        ("the network: its round trip", format!("{}: about twice the IOPS", command(facts, job, &[("iodepth", &more)])))
    } else {
        let local = format!("{} at the server itself: more, if the network was the limit", command(facts, job, &[]));
        ("the network: what it carries", local)
    };
    Some((BottleneckKind::Network, answer.to_owned(), vec![seen.evidence], experiment))
}

fn of_submission(facts: &Facts<'_>, job: &Job<'_>) -> Option<Cause> {
    let seen =
        queue::submission_blocks(facts).into_iter().find(|seen| seen.jobs.iter().any(|name| name == job.name))?;
    let more = (job.members.len() * 2).to_string();
    let experiment =
        format!("{}: submissions block, so only more jobs help", command(facts, job, &[("numjobs", &more)]));
    Some((
        BottleneckKind::Submission,
        "submission: the kernel finishes each operation before it accepts the next".to_owned(),
        vec![seen.evidence],
        experiment,
    ))
}

fn of_latency(facts: &Facts<'_>, job: &Job<'_>) -> Option<Cause> {
    let queue = &job.first().plan.queue;
    if queue.depth > 1 {
        return None;
    }
    let mean = mean_latency_ns(job)?;
    let evidence = vec![format!(
        "one operation takes {} on average, so each worker can do {} per second",
        rounded_ns(mean),
        count((1e9 / mean.max(1.0)) as u64)
    )];
    let (option, more) = match queue.asked_depth > 1 {
        true => ("ioengine", "io_uring".to_owned()),
        false if job.members.len() > 1 => ("numjobs", (job.members.len() * 2).to_string()),
        false => ("numjobs", "2".to_owned()),
    };
    let experiment = format!(
        "{}: about twice the IOPS, if the device can do several operations at once",
        command(facts, job, &[(option, &more)])
    );
    let answer = "latency: each operation waits for the one before it";
    Some((BottleneckKind::Latency, answer.to_owned(), evidence, experiment))
}

fn of_device(facts: &Facts<'_>, job: &Job<'_>) -> Option<Cause> {
    let depth = job.first().plan.queue.depth;
    let depths: Option<Vec<f64>> = job.members.iter().map(Member::mean_depth).collect();
    let mean = depths.map(|depths| depths.iter().sum::<f64>() / depths.len().max(1) as f64)?;
    let busiest = facts
        .recording
        .devices
        .iter()
        .filter(|device| is_top(&device.name, facts.recording))
        .max_by(|a, b| busy(a).total_cmp(&busy(b)));
    let is_idle = |device: &DeviceUse| busy(device) < MOSTLY_BUSY && in_queue(device) < mean / 2.0;
    if mean < FULL * f64::from(depth) || (job.is_kernel() && busiest.is_some_and(is_idle)) {
        return None;
    }
    let mut evidence =
        vec![format!("{mean:.1} of iodepth={depth} operations were in flight on average: the queue was full")];
    evidence.extend(
        busiest
            .filter(|_| job.is_kernel())
            .map(|device| format!("{} was busy {} of the time", device.name, percent(busy(device).min(1.0)))),
    );
    let size = mean_bytes(job);
    let (what, unit) = if size >= LARGE_BYTES { ("its bandwidth", "bandwidth") } else { ("operations", "IOPS") };
    let more = (depth * 2).to_string();
    let experiment = format!(
        "{}: the same {unit} at twice the latency, if the device is at its limit",
        command(facts, job, &[("iodepth", &more)])
    );
    Some((BottleneckKind::Device, format!("the device ({what} of {})", bytes(size)), evidence, experiment))
}

/// The other findings about the job, so that the answer does not hide them.
fn other_findings(facts: &Facts<'_>, job: &Job<'_>, told: &[String]) -> Vec<String> {
    let is_about = |finding: &Finding| finding.jobs.is_empty() || finding.jobs.iter().any(|name| name == job.name);
    let is_told = |finding: &Finding| told.iter().any(|evidence| finding.evidence.contains(evidence.as_str()));
    let found = find(facts.recording).into_iter().filter(|finding| finding.severity <= Severity::Warning);
    let others = found.filter(|finding| is_about(finding) && !is_told(finding));
    others.map(|finding| format!("finding {}: {}", finding.rule, finding.evidence)).collect()
}

fn unknown(job: &Job<'_>) -> Cause {
    let sum = job.members.iter().filter_map(Member::mean_depth).reduce(|one, next| one + next);
    let mean = sum.map(|sum| sum / job.members.len() as f64);
    (
        BottleneckKind::Unknown,
        "unknown: the recording shows no limit by CPU, queue or schedule".to_owned(),
        mean.iter().map(|mean| format!("{mean:.1} operations were in flight on average")).collect(),
        "iolab run with --interval=100ms shows whether the rate changed over time".to_owned(),
    )
}

fn basics(job: &Job<'_>) -> String {
    let members: Vec<_> = job.members.iter().map(|member| (member.plan, member.worker)).collect();
    let rate = Throughput::of(&Direction::ALL, &members).ios_per_second();
    let mut text = format!("{} IOPS", count(rate.round() as u64));
    if let Some(mean) = mean_latency_ns(job) {
        // Writing to a String cannot fail.
        let _ = write!(text, ", mean latency {}", rounded_ns(mean));
    }
    let busy = job.members.iter().map(Member::cpu_share).sum::<f64>();
    let _ = write!(text, ", {} used {busy:.2} CPUs", iolab_text::counted(job.members.len() as u64, "worker"));
    text
}

fn mean_latency_ns(job: &Job<'_>) -> Option<f64> {
    let sum: Option<f64> = job.members.iter().map(Member::lat_sum_ns).sum();
    let sum = sum?;
    Some(sum / job.sum(Member::ios).max(1) as f64).filter(|mean| *mean > 0.0)
}

fn mean_bytes(job: &Job<'_>) -> f64 {
    let moved: u64 = Direction::ALL
        .iter()
        .map(|way| job.sum(|member| member.worker.directions[*way as usize].bytes))
        .fold(0, u64::saturating_add);
    moved as f64 / job.sum(Member::ios).max(1) as f64
}

fn busy(device: &DeviceUse) -> f64 {
    let ticks_ms = device.after.io_ticks_ms.saturating_sub(device.before.io_ticks_ms);
    ticks_ms as f64 * 1e6 / device.elapsed_ns.max(1) as f64
}

/// The share of the operations' total time in which they were requests of a device; `None` if
/// unknown.
fn share_in_devices(facts: &Facts<'_>) -> Option<f64> {
    let tops = facts.recording.devices.iter().filter(|device| is_top(&device.name, facts.recording));
    let waited_ns: f64 = tops.map(|device| in_queue(device) * device.elapsed_ns as f64).reduce(|a, b| a + b)?;
    let members = facts.jobs.iter().filter(|job| job.is_direct()).flat_map(|job| &job.members);
    let sum_ns: Option<f64> = members.map(Member::lat_sum_ns).sum();
    sum_ns.filter(|sum_ns| *sum_ns > 0.0).map(|sum_ns| (waited_ns / sum_ns).min(1.0))
}

/// Mean number of requests in the device's queue.
fn in_queue(device: &DeviceUse) -> f64 {
    let waited_ms = device.after.time_in_queue_ms.saturating_sub(device.before.time_in_queue_ms);
    waited_ms as f64 * 1e6 / device.elapsed_ns.max(1) as f64
}
