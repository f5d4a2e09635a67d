//! The rules, in one table: what each looks at, what follows when it fires, what to change.

use iolab_recording::{Finding, Recording, Severity};

use crate::between::BETWEEN_RUNS;
use crate::facts::Facts;
use crate::rules::{Seen, arithmetic, cache, ending, host, processor, queue, requests, samples, schedule, steadiness};

/// One rule.
pub struct Rule {
    /// Its name, as findings carry it.
    pub name: &'static str,
    /// What it looks at, in a sentence.
    pub looks_at: &'static str,
    /// What follows for the figures.
    pub consequence: &'static str,
    /// What to change.
    pub advice: &'static str,
    find: fn(&Facts<'_>) -> Vec<Seen>,
}

/// What a rule says, whatever it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// Its name, as findings carry it.
    pub name: &'static str,
    /// What it looks at, in a sentence.
    pub looks_at: &'static str,
    /// What follows for the figures.
    pub consequence: &'static str,
    /// What to change.
    pub advice: &'static str,
}

/// Of every rule: those about several runs, then those about one.
pub fn all_words() -> impl Iterator<Item = Words> {
    let of_one = RULES.iter().map(|rule| Words {
        name: rule.name,
        looks_at: rule.looks_at,
        consequence: rule.consequence,
        advice: rule.advice,
    });
    BETWEEN_RUNS.iter().copied().chain(of_one)
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "rule {}", self.name)
    }
}

/// What must be known about the figures of a recording, the gravest first; a function of the
/// recording alone. Of a run of several hosts each is judged by itself, for processors and page
/// caches are not shared; its findings say its name.
pub fn find(recording: &Recording) -> Vec<Finding> {
    if !recording.has_several_hosts() {
        return find_on_one(recording);
    }
    let mut findings: Vec<Finding> = Vec::new();
    for (number, host) in (0..).zip(&recording.hosts) {
        for mut finding in find_on_one(&recording.of_host(number)) {
            finding.evidence = format!("{}: {}", host.name, finding.evidence);
            findings.push(finding);
        }
    }
    findings.sort_by_key(|finding| finding.severity);
    findings
}

fn find_on_one(recording: &Recording) -> Vec<Finding> {
    let facts = Facts::new(recording);
    let made = RULES.iter().flat_map(|rule| gathered((rule.find)(&facts)).into_iter().map(|seen| finding(rule, seen)));
    let mut findings: Vec<Finding> = made.collect();
    findings.sort_by_key(|finding| finding.severity);
    findings
}

/// The page of the reference, as Markdown.
pub fn reference_page() -> String {
    let mut page = String::from(
        "# Findings\n\nGenerated from the table of rules; do not edit. [The guide](../guide/findings.md) says how to read them.\n",
    );
    for rule in all_words() {
        page += &format!("\n## {}\n\nLooks at: {}\n\n", rule.name, rule.looks_at);
        page += &format!("{}\n\nWhat to change: {}\n", rule.consequence, rule.advice);
    }
    page
}

/// Most findings of one rule and severity that stand apart; a run of many stages would bury the
/// others.
const APART: usize = 3;

/// The same, with those that are more than [`APART`] told as one.
fn gathered(seen: Vec<Seen>) -> Vec<Seen> {
    let mut made = Vec::new();
    for severity in [Severity::Invalid, Severity::Warning, Severity::Note] {
        let alike: Vec<Seen> = seen.iter().filter(|one| one.severity == severity).cloned().collect();
        if alike.len() <= APART {
            made.extend(alike);
            continue;
        }
        let mut evidence: Vec<String> = alike.iter().take(APART).map(|one| one.evidence.clone()).collect();
        evidence.push(format!("and {} more of this kind", alike.len() - APART));
        let mut jobs: Vec<String> = alike.into_iter().flat_map(|one| one.jobs).collect();
        jobs.dedup();
        made.push(Seen { severity, evidence: evidence.join("; "), jobs });
    }
    made
}

fn finding(rule: &Rule, seen: Seen) -> Finding {
    Finding {
        rule: rule.name.to_owned(),
        severity: seen.severity,
        evidence: seen.evidence,
        consequence: rule.consequence.to_owned(),
        advice: rule.advice.to_owned(),
        jobs: seen.jobs,
    }
}

/// All rules; within one severity, findings stand in this order.
pub const RULES: &[Rule] = &[
    Rule {
        name: "interrupted",
        looks_at: "Whether the run came to its end.",
        consequence: "The run was interrupted: its figures are of the part that was done.",
        advice: "Run it again. A study goes on where it stopped: iolab study resume.",
        find: ending::interrupted,
    },
    Rule {
        name: "page-cache",
        looks_at: "Bytes that jobs without direct=1 read and wrote, against what the block device under their files did.",
        consequence: "As far as the device did less than the jobs, the figures are of memory.",
        advice: "Say direct=1; or use files much larger than memory, or end_fsync=1 for writes.",
        find: cache::page_cache,
    },
    Rule {
        name: "unwritten-blocks",
        looks_at: "Bytes read with direct=1, against what the block device read.",
        consequence: "The file system answered from holes or never-written extents, which is faster than any device.",
        advice: "Write the file first: remove it and let the job lay it out, or run a sequential write over it.",
        find: cache::unwritten_blocks,
    },
    Rule {
        name: "device-bytes",
        looks_at: "Bytes written with direct=1, against what the block device wrote.",
        consequence: "What was written did not reach the device as it was: something compressed, merged or kept it.",
        advice: "Look at what lies between (compression, a cache, a file system without direct I/O), or use the device itself.",
        find: cache::device_bytes,
    },
    Rule {
        name: "cache-beneath",
        looks_at: "Bytes of a device that is made of others (loop, dm, md), against those of the devices beneath it.",
        consequence: "A cache or holes beneath the device answered, so that the figures are not of the disk.",
        advice: "For a loop device: losetup --direct-io=on, and a file that has been written; else use the disk beneath.",
        find: cache::cache_beneath,
    },
    Rule {
        name: "fits-in-memory",
        looks_at: "Sizes of files read without direct=1, where no block device is known whose counters would tell.",
        consequence: "Nobody can say which of the reads came from memory.",
        advice: "Say direct=1, or use files much larger than memory.",
        find: cache::fits_in_memory,
    },
    Rule {
        name: "uncounted",
        looks_at: "Whether the block devices count their requests.",
        consequence: "What the devices did is not known, so that nobody can say whether the figures are theirs.",
        advice: "Say device.iostats=1, or echo 1 > /sys/block/NAME/queue/iostats.",
        find: requests::uncounted,
    },
    Rule {
        name: "littles-law",
        looks_at: "Rate times mean latency, which is the number of operations in flight, against the depth of the queue.",
        consequence: "Rates and latencies of this recording contradict each other; neither can be believed.",
        advice: "Run again with clocksource=clock_gettime; if it stays, this is a defect of iolab.",
        find: arithmetic::littles_law,
    },
    Rule {
        name: "bandwidth",
        looks_at: "Bytes moved, against operations times block size.",
        consequence: "Bandwidth and IOPS of this recording contradict each other; neither can be believed.",
        advice: "Look for short transfers and errors in the report; if there are none, this is a defect of iolab.",
        find: arithmetic::bandwidth,
    },
    Rule {
        name: "host-busy",
        looks_at: "CPU time of the whole machine against that of the jobs, idle time, and how long tasks waited for a CPU.",
        consequence: "Operations waited for a processor, so that latencies and rates are partly those of other tasks.",
        advice: "Stop what else runs (top says what it is), or give the jobs processors of their own (cpus_allowed).",
        find: host::host_busy,
    },
    Rule {
        name: "steal",
        looks_at: "CPU time that the hypervisor gave to other guests.",
        consequence: "The machine stood still at times, which shows as latency that is not the device's.",
        advice: "Run again at another time or on a machine of your own; compare only within blocks of a study.",
        find: host::steal,
    },
    Rule {
        name: "cpu-quota",
        looks_at: "What the CPU quotas of the run's control group and of those around it took away (cpu.stat).",
        consequence: "The run stood still for parts of each period, which shows as latency that is not the device's.",
        advice: "Raise or lift the quota (cpu.max, docker run --cpus, CPUQuota= of systemd), or run outside of the container.",
        find: host::cpu_quota,
    },
    Rule {
        name: "thermal",
        looks_at: "How often processors slowed themselves down because they were hot (thermal_throttle).",
        consequence: "CPU time of operations changed with temperature, so that another run may give other figures.",
        advice: "Cool the machine, or let it rest between runs; a lower, fixed clock rate gives figures that can be compared.",
        find: host::thermal,
    },
    Rule {
        name: "other-traffic",
        looks_at: "Bytes of the block device beyond those of the jobs, when all of their I/O is direct.",
        consequence: "The device worked for others, too, so that the figures are not all it can do.",
        advice: "Stop the others (iostat -x and iotop say who), or use a device of your own.",
        find: host::other_traffic,
    },
    Rule {
        name: "synchronous-engine",
        looks_at: "The iodepth asked for, against what the engine can do.",
        consequence: "The figures are those of one operation at a time.",
        advice: "Use ioengine=io_uring or libaio for a queue, numjobs for more at once, or leave iodepth away.",
        find: queue::synchronous_engine,
    },
    Rule {
        name: "depth-not-reached",
        looks_at: "Operations in flight on average (rate times latency), against the iodepth asked for.",
        consequence: "The device was never loaded as deep as asked.",
        advice: "Spread the load over more jobs (numjobs); with buffered files, say direct=1; with ioengine=nvme, leave queue_size away.",
        find: queue::depth_not_reached,
    },
    Rule {
        name: "submission-blocks",
        looks_at: "The time an asynchronous engine spends within submissions.",
        consequence: "The kernel does the I/O within the submission, one operation after another, whatever iodepth says.",
        advice: "With files, say direct=1; on a device that works on the caller's processor (RAM disks), use numjobs instead.",
        find: queue::submission_blocks,
    },
    Rule {
        name: "tool-bound",
        looks_at: "The calibrated cost of iolab's own loop, against the measured time per operation.",
        consequence: "The figures are of the load generator as much as of the device.",
        advice: "Spread the load over more jobs, use larger blocks, or measure less (gtod_reduce=1).",
        find: processor::tool_bound,
    },
    Rule {
        name: "cpu-bound",
        looks_at: "CPU time of the workers against their run time, when they do not poll.",
        consequence: "The processor of the workers, not the device, is the limit.",
        advice: "Spread the load over more jobs (numjobs) on processors that are free, or use larger blocks.",
        find: processor::cpu_bound,
    },
    Rule {
        name: "shared-core",
        looks_at: "CPUs that workers of the same time are bound to.",
        consequence: "The workers took turns on one processor, which shows in their latencies.",
        advice: "Give each its own: cpus_allowed with as many CPUs as jobs, and cpus_allowed_policy=split.",
        find: processor::shared_core,
    },
    Rule {
        name: "more-workers-than-cpus",
        looks_at: "Workers at the same time and their CPU time, against the CPUs there are.",
        consequence: "The workers waited for processors, not only for the device.",
        advice: "Use fewer jobs with more iodepth each.",
        find: processor::more_workers_than_cpus,
    },
    Rule {
        name: "rate-not-reached",
        looks_at: "The rate that a schedule asked for, against what was sent.",
        consequence: "The load is not the one asked for, and response times grow with the length of the run.",
        advice: "Ask for less, or for more depth or jobs if the device can do more.",
        find: schedule::rate_not_reached,
    },
    Rule {
        name: "generator-late",
        looks_at: "The part of response time in which the device was ready and iolab was late.",
        consequence: "Response times are partly the load generator's own.",
        advice: "Free a processor for the job (cpus_allowed), or compare lat instead of response.",
        find: schedule::generator_late,
    },
    Rule {
        name: "clock",
        looks_at: "The source of time stamps and what a stamp costs.",
        consequence: "Stamps take a noticeable part of the time per operation.",
        advice: "Use a machine whose TSC is invariant, or measure less (gtod_reduce=1).",
        find: schedule::clock,
    },
    Rule {
        name: "cliff",
        looks_at: "The rate over time: a level that was left downwards and not reached again.",
        consequence: "The mean is of two different states, and longer runs will show the lower one.",
        advice: "Run longer, with ramp_time beyond the fall; precondition the device for its steady state.",
        find: steadiness::cliff,
    },
    Rule {
        name: "drift",
        looks_at: "The rate over time: its line and its first and last third.",
        consequence: "The run had not settled; a longer one gives other figures.",
        advice: "Run longer, or with a ramp_time that leaves the beginning out.",
        find: steadiness::drift,
    },
    Rule {
        name: "too-short",
        looks_at: "Length of the measured part.",
        consequence: "The figures are those of the beginning and the end.",
        advice: "Say time_based and a runtime of at least some seconds.",
        find: samples::too_short,
    },
    Rule {
        name: "too-few-samples",
        looks_at: "How many samples lie beyond the percentiles that are printed (ten are wanted).",
        consequence: "These percentiles are a matter of chance.",
        advice: "Run longer, or ask only for what the run can tell (percentile_list).",
        find: samples::too_few_samples,
    },
    Rule {
        name: "requests-split",
        looks_at: "Requests of the block device, against operations of jobs with direct I/O.",
        consequence: "The device saw smaller requests than the block size says.",
        advice: "Stay within max_sectors_kb, or raise it (device.max_sectors_kb); where max_segments is the limit, use huge pages (mem=mmaphuge); a fragmented file is cut, too.",
        find: requests::split,
    },
    Rule {
        name: "requests-merged",
        looks_at: "Requests that were merged before the device saw them.",
        consequence: "The device saw fewer and larger requests than the block size says.",
        advice: "Say device.nomerges=2 to see the device with requests as they are, or use random offsets.",
        find: requests::merged,
    },
    Rule {
        name: "volatile-cache",
        looks_at: "The write cache of the device, and whether the job asks for a flush.",
        consequence: "Writes may have been acknowledged before they were durable.",
        advice: "If durability counts, say fdatasync=1, sync=dsync or end_fsync=1.",
        find: requests::volatile_cache,
    },
    Rule {
        name: "no-device",
        looks_at: "Whether a block device was found under files of direct I/O.",
        consequence: "Nothing tells whether a device was reached.",
        advice: "Name a device or a file system on one; overlays, network file systems and tmpfs have none of their own.",
        find: cache::no_device,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_often_is_told_once() {
        let seen = |number: usize| Seen {
            severity: Severity::Invalid,
            evidence: format!("evidence {number}"),
            jobs: vec![format!("job {number}")],
        };
        let many = gathered((0..9).map(seen).collect());
        assert_eq!(many.len(), 1);
        assert_eq!(many[0].evidence, "evidence 0; evidence 1; evidence 2; and 6 more of this kind");
        assert_eq!(many[0].jobs.len(), 9);
        assert_eq!(gathered((0..3).map(seen).collect()).len(), 3);
    }

    #[test]
    fn names_are_unique_and_every_text_is_a_sentence() {
        let mut names: Vec<&str> = all_words().map(|rule| rule.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len() + BETWEEN_RUNS.len());
        for rule in all_words() {
            for text in [rule.looks_at, rule.consequence, rule.advice] {
                assert!(text.ends_with('.'), "{}: {text}", rule.name);
            }
        }
    }
}
