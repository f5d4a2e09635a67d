//! Thread and process attributes of a worker: name, CPUs, priorities, memory policy, identity,
//! locked memory.

use std::process::Command;

use iolab_plan::{ProcessPlan, WorkerPlan};

use crate::open_files::fatal;
use crate::trouble::Fatal;

/// Applies the attributes to the calling thread. Returns notes about attributes that could not be
/// set and do not affect the data.
pub(crate) fn apply(plan: &WorkerPlan) -> Result<Vec<String>, Fatal> {
    let process = &plan.process;
    iolab_process::name_thread(process.comm.as_deref().unwrap_or(&plan.job));
    iolab_process::sharpen_timers();
    let fail = |what: &'static str| move |error: std::io::Error| fatal(what, &error);
    if let Some(cpus) = cpus_of(process)? {
        iolab_process::set_cpus(&cpus).map_err(fail("cpus_allowed"))?;
    }
    if let Some(policy) = &process.numa_memory {
        iolab_process::set_numa_memory(&policy.mode, &policy.nodes).map_err(fail("numa_mem_policy"))?;
    }
    if let Some(nice) = process.nice {
        iolab_process::set_nice(nice).map_err(fail("nice"))?;
    }
    if let Some((class, level, hint)) = process.io_priority {
        iolab_process::set_io_priority(class, level, hint).map_err(fail("prio"))?;
    }
    if process.lock_memory_bytes > 0 {
        iolab_process::lock_memory(process.lock_memory_bytes as usize).map_err(fail("lockmem"))?;
    }
    iolab_process::set_identity(process.uid, process.gid).map_err(fail("uid/gid"))?;
    Ok(Vec::new())
}

fn cpus_of(process: &ProcessPlan) -> Result<Option<Vec<usize>>, Fatal> {
    let Some(nodes) = &process.numa_cpu_nodes else { return Ok(process.cpus.clone()) };
    let mut cpus = Vec::new();
    for node in nodes {
        let list = std::fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist"))
            .map_err(|error| fatal(&format!("numa_cpu_nodes: node {node}"), &error))?;
        for range in list.trim().split(',').filter(|range| !range.is_empty()) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
                cpus.extend(first..=last);
            }
        }
    }
    if let Some(allowed) = &process.cpus {
        cpus.retain(|cpu| allowed.contains(cpu));
    }
    Ok(Some(cpus))
}

/// Runs `exec_prerun` or `exec_postrun` through the shell; its output becomes a note.
pub(crate) fn run_command(command: &str) -> Result<Option<String>, Fatal> {
    let output = Command::new("/bin/sh").arg("-c").arg(command).output();
    let output = output.map_err(|error| fatal(&format!("running `{command}`"), &error))?;
    if !output.status.success() {
        let message = format!("`{command}` ended with {}", output.status);
        return Err(Fatal { errno: libc::ECHILD, message });
    }
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok((!said.is_empty()).then(|| format!("`{command}`: {said}")))
}
