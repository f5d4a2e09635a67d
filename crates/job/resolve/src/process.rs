//! Thread or process, CPUs, priorities, identity.

use iolab_jobfile::{NumberRules, parse_value};
use iolab_options::{Value, ValueKind};
use iolab_plan::{CgroupPlan, CpuPolicy, NumaPolicy, ProcessPlan};

use crate::job::{Job, split_suffix};
use crate::readings;

/// Resolves the process attributes of the worker.
pub(crate) fn resolve(job: &Job<'_>) -> ProcessPlan {
    let (cpus, cpu_policy) = cpus(job);
    ProcessPlan {
        // Only threads can share a device that is opened once, or a library that has threads.
        thread: job.on("thread") || job.engine.capabilities.files.needs_threads(),
        nice: nice(job),
        io_priority: io_priority(job),
        cpus,
        cpu_policy,
        numa_cpu_nodes: numa_nodes(job),
        numa_memory: numa_memory(job),
        lock_memory_bytes: job.bytes("lockmem"),
        uid: job.given("uid", readings::count),
        gid: job.given("gid", readings::count),
        exec_prerun: job.text("exec_prerun"),
        exec_postrun: job.text("exec_postrun"),
        cgroup: cgroup(job),
        comm: job.text("comm"),
    }
}

/// `cgroup` and related options. A group contains whole processes.
fn cgroup(job: &Job<'_>) -> Option<CgroupPlan> {
    let weight = Some(job.count("cgroup_weight")).filter(|weight| *weight > 0);
    let keep = job.on("cgroup_nodelete");
    let Some(name) = job.text("cgroup") else {
        for name in ["cgroup_weight", "cgroup_nodelete"].into_iter().filter(|name| job.has(name)) {
            job.warn(name, format!("{name} has no effect without cgroup"), "");
        }
        return None;
    };
    if job.on("thread") {
        job.error("cgroup", "a thread cannot run in another control group than its process", "remove thread");
    }
    if name.split('/').any(|part| part == "..") {
        job.error("cgroup", format!("cgroup={name} leaves the hierarchy"), "name a group without `..`");
    }
    Some(CgroupPlan { name, weight, keep })
}

fn nice(job: &Job<'_>) -> Option<i32> {
    Some(job.integer("nice")).filter(|nice| *nice != 0).map(|nice| nice.clamp(-20, 19) as i32)
}

/// Class, level and hint; a level without a class means best effort, as in fio.
fn io_priority(job: &Job<'_>) -> Option<(u8, u8, u16)> {
    let class = job.given("prioclass", readings::integer);
    let level = job.given("prio", readings::integer);
    let hint = job.given("priohint", readings::integer);
    if class.is_none() && level.is_none() && hint.is_none() {
        return None;
    }
    const BEST_EFFORT: u8 = 2;
    let class = class.filter(|class| *class != 0).map_or(BEST_EFFORT, |class| class.clamp(0, 3) as u8);
    Some((class, level.unwrap_or(0).clamp(0, 7) as u8, hint.unwrap_or(0).clamp(0, 1023) as u16))
}

/// The CPUs of this worker: the whole set, or one of it with the policy `split`, assigned in turn
/// over the whole run.
fn cpus(job: &Job<'_>) -> (Option<Vec<usize>>, CpuPolicy) {
    let policy = match job.word("cpus_allowed_policy").as_str() {
        "split" => CpuPolicy::Split,
        _ => CpuPolicy::Shared,
    };
    let name = job.later("cpus_allowed", "cpumask");
    let Some((name, cpus)) = name.and_then(|name| job.given(name, readings::cpus).map(|cpus| (name, cpus))) else {
        if policy == CpuPolicy::Split {
            job.warn("cpus_allowed_policy", "cpus_allowed_policy has no effect without cpus_allowed", "");
        }
        return (None, policy);
    };
    let online = job.request.machine.cpus_online();
    if let Some(missing) = cpus.iter().find(|cpu| !online.contains(cpu)) {
        let last = online.last().copied().unwrap_or(0);
        job.error(name, format!("CPU {missing} is not online"), &format!("CPUs are numbered 0 to {last} here"));
    }
    if cpus.is_empty() {
        job.error(name, format!("{name} lists no CPU"), "for example cpus_allowed=0-3");
        return (None, policy);
    }
    match policy {
        CpuPolicy::Shared => (Some(cpus), policy),
        CpuPolicy::Split => (Some(vec![cpus[job.number as usize % cpus.len()]]), policy),
    }
}

fn numa_nodes(job: &Job<'_>) -> Option<Vec<usize>> {
    job.given("numa_cpu_nodes", readings::cpus)
}

/// `default`, `local`, `prefer:0`, `bind:0-1`, `interleave:0,1`, checked by the parser.
fn numa_memory(job: &Job<'_>) -> Option<NumaPolicy> {
    let (mode, nodes) = split_suffix(job.given("numa_mem_policy", readings::word)?);
    let nodes =
        match parse_value(&ValueKind::CpuList, Some(nodes.as_deref().unwrap_or_default()), NumberRules::default()) {
            Ok(Value::Cpus(nodes)) => nodes,
            _ => Vec::new(),
        };
    Some(NumaPolicy { mode, nodes })
}
