//! Thread or process, CPUs, priorities, identity.

use iolab_plan::{CpuPolicy, NumaPolicy, ProcessPlan};

use crate::job::Job;
use crate::numbers;

/// Resolves what the worker runs as.
pub(crate) fn resolve(job: &Job<'_>) -> ProcessPlan {
    let (cpus, cpu_policy) = cpus(job);
    ProcessPlan {
        thread: job.on("thread"),
        nice: nice(job),
        io_priority: io_priority(job),
        cpus,
        cpu_policy,
        numa_cpu_nodes: numa_nodes(job),
        numa_memory: numa_memory(job),
        lock_memory_bytes: job.bytes("lockmem").unwrap_or(0),
        uid: job.count("uid"),
        gid: job.count("gid"),
        exec_prerun: job.text("exec_prerun"),
        exec_postrun: job.text("exec_postrun"),
        comm: job.text("comm"),
    }
}

fn nice(job: &Job<'_>) -> Option<i32> {
    let nice = job.integer("nice")?;
    if !(-20..=19).contains(&nice) {
        job.error("nice", format!("nice={nice} is outside -20 to 19"), "");
    }
    (nice != 0).then_some(nice.clamp(-20, 19) as i32)
}

/// Class, level and hint; a level without a class means best effort, as in fio.
fn io_priority(job: &Job<'_>) -> Option<(u8, u8, u16)> {
    let class = job.integer("prioclass");
    let level = job.integer("prio");
    let hint = job.integer("priohint");
    for (name, value, most) in [("prioclass", class, 3), ("prio", level, 7), ("priohint", hint, 1023)] {
        if value.is_some_and(|value| !(0..=most).contains(&value)) {
            job.error(name, format!("{name} is outside 0 to {most}"), "");
        }
    }
    if class.is_none() && level.is_none() && hint.is_none() {
        return None;
    }
    const BEST_EFFORT: u8 = 2;
    let class = class.filter(|class| *class != 0).map_or(BEST_EFFORT, |class| class.clamp(0, 3) as u8);
    Some((class, level.unwrap_or(0).clamp(0, 7) as u8, hint.unwrap_or(0).clamp(0, 1023) as u16))
}

/// The CPUs of this worker: all of the set, or with the policy `split` one, in turn over the whole run.
fn cpus(job: &Job<'_>) -> (Option<Vec<usize>>, CpuPolicy) {
    let policy = match job.word("cpus_allowed_policy").as_deref() {
        Some("split") => CpuPolicy::Split,
        _ => CpuPolicy::Shared,
    };
    let name = job.later("cpus_allowed", "cpumask");
    let Some((name, cpus)) = name.and_then(|name| job.cpus(name).map(|cpus| (name, cpus))) else {
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
        job.error(name, format!("{name} names no CPU"), "for example cpus_allowed=0-3");
        return (None, policy);
    }
    match policy {
        CpuPolicy::Shared => (Some(cpus), policy),
        CpuPolicy::Split => (Some(vec![cpus[job.number as usize % cpus.len()]]), policy),
    }
}

fn numa_nodes(job: &Job<'_>) -> Option<Vec<usize>> {
    let text = job.text("numa_cpu_nodes").filter(|text| text.trim() != "all")?;
    let nodes = numbers::list(&text);
    if nodes.is_none() {
        job.error("numa_cpu_nodes", format!("{text} is not a list of NUMA nodes"), "for example 0,2-3, or all");
    }
    nodes
}

/// `default`, `local`, `prefer:0`, `bind:0-1`, `interleave:0,1`.
fn numa_memory(job: &Job<'_>) -> Option<NumaPolicy> {
    let (mode, nodes) = job.word_and_suffix("numa_mem_policy")?;
    let needs_nodes = matches!(mode.as_str(), "prefer" | "bind" | "interleave");
    if !needs_nodes && !matches!(mode.as_str(), "default" | "local") {
        job.error(
            "numa_mem_policy",
            format!("{mode} is not a NUMA memory policy"),
            "default, prefer, bind, interleave or local",
        );
    }
    let nodes = match nodes.as_deref() {
        Some("all") | None if mode != "bind" && mode != "prefer" => Some(Vec::new()),
        text => text.and_then(numbers::list),
    };
    if needs_nodes && nodes.is_none() {
        job.error("numa_mem_policy", format!("{mode} needs NUMA nodes"), "for example bind:0-1");
    }
    if mode == "prefer" && nodes.as_ref().is_some_and(|nodes| nodes.len() != 1) {
        job.error("numa_mem_policy", "prefer takes one NUMA node", "for example prefer:0");
    }
    Some(NumaPolicy { mode, nodes: nodes.unwrap_or_default() })
}
