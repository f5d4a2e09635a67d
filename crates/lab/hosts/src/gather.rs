//! The recordings of several hosts as one.
//!
//! Workers keep their figures, counts and histograms as they are: every reduction
//! (`iolab_aggregate`) adds counts and merges histograms, so that percentiles of all hosts are
//! exact, and never averages. Times of a host count from the moment when its own first operations
//! began, which [`Host`] has beside the difference of the clocks.

use std::collections::BTreeSet;

use iolab_plan::{ClientLogPlan, Plan, WorkerPlan};
use iolab_recording::{FORMAT, FORMAT_OF_SEVERAL_HOSTS, Host, HostFacts, Recording, WorkerOutcome, WorkerRecording};

use crate::clock_offset::ClockOffset;

/// What is known of one host.
#[derive(Debug, Clone)]
pub(crate) struct Gathered {
    /// The user's name for it.
    pub(crate) name: String,
    /// The port of its server, if its jobs were those of a client; 0 for a UNIX socket.
    pub(crate) port: Option<u16>,
    /// Its clock against the client's.
    pub(crate) clock: ClockOffset,
    /// How much it moved until the end, ns; nothing if it was not compared again.
    pub(crate) clock_drift_ns: Option<i64>,
    /// The run there, or its plan if nothing else is known.
    pub(crate) recording: Recording,
    /// Why its results are missing.
    pub(crate) lost: Option<String>,
}

/// One plan of all hosts: workers are numbered through, and sections do not mix.
pub(crate) fn plan_of<'r>(hosts: impl IntoIterator<Item = (&'r str, &'r Plan)>) -> Plan {
    let mut all = Plan {
        sources: Vec::new(),
        global_options: Default::default(),
        workers: Vec::new(),
        warnings: Vec::new(),
        rank: None,
    };
    let mut sections = 0;
    for (host, (name, plan)) in (0..).zip(hosts) {
        if host == 0 {
            all.global_options.clone_from(&plan.global_options);
        }
        let new = plan.sources.iter().filter(|source| !all.sources.contains(source)).cloned().collect::<Vec<_>>();
        all.sources.extend(new);
        all.warnings.extend(plan.warnings.iter().map(|warning| format!("{name}: {warning}")));
        let first = all.workers.len() as u32;
        let moved = |worker: &WorkerPlan| {
            let mut moved = worker.clone();
            moved.number += first;
            moved.section += sections;
            moved.host = host;
            // The names of a rank's logs are its own already.
            if plan.rank.is_none() {
                moved.logs.client = Some(ClientLogPlan { host: name.to_owned(), worker: worker.number });
                moved.logs.operations =
                    worker.logs.operations.as_ref().map(|path| format!("{path}.{}", name.replace('/', "_")));
            }
            if let Some(replay) = &mut moved.replay {
                replay.first_worker += first;
            }
            moved
        };
        all.workers.extend(plan.workers.iter().map(moved));
        sections = all.workers[first as usize..].iter().map(|worker| worker.section + 1).fold(sections, u32::max);
    }
    all
}

/// One recording of all hosts. There is at least one.
pub(crate) fn recording_of(hosts: Vec<Gathered>) -> Recording {
    let plan = plan_of(hosts.iter().map(|host| (host.name.as_str(), &host.recording.plan)));
    let several = hosts.len() > 1;
    let reference = hosts[0].clock;
    // By the client's clock.
    let began_ns = |host: &Gathered| i128::from(host.recording.started_unix_ns) - i128::from(host.clock.offset_ns);
    let measured = |host: &&Gathered| host.recording.elapsed_ns > 0;
    let first_ns = hosts.iter().filter(measured).map(began_ns).min();
    let mut all = Recording { plan, ..hosts[0].recording.clone() };
    all.iolab_recording = if several { FORMAT_OF_SEVERAL_HOSTS } else { FORMAT };
    all.hosts = hosts
        .iter()
        .map(|host| {
            let late =
                first_ns.filter(|_| host.recording.elapsed_ns > 0).map_or(0, |first_ns| began_ns(host) - first_ns);
            Host {
                name: host.name.clone(),
                facts: host.recording.host.clone(),
                clock_offset_ns: reference.offset_ns.saturating_sub(host.clock.offset_ns),
                clock_error_ns: if host.clock == reference { 0 } else { reference.error_ns + host.clock.error_ns },
                port: host.port,
                rank: host.recording.plan.rank.as_ref().map(|rank| rank.number),
                began_late_ns: u64::try_from(late).unwrap_or(0),
                start_skew_ns: start_skew_ns(&host.recording),
                clock_drift_ns: host.clock_drift_ns,
            }
        })
        .collect();
    let calibration = all.calibration.as_mut();
    calibration.into_iter().for_each(|calibration| calibration.loops.clear());
    (all.workers, all.devices, all.warnings, all.interrupted) = Default::default();
    let first_seen = all.observations.take();
    all.observations = first_seen.map(|mut seen| {
        seen.devices.clear();
        seen.network.clear();
        seen
    });
    let (mut first_worker, mut seen) = (0, BTreeSet::new());
    for (number, host) in (0..).zip(hosts) {
        let workers = host.recording.plan.workers.len() as u32;
        // Ranks on one machine saw the same devices.
        let is_rank = host.recording.plan.rank.is_some();
        let machine = &host.recording.host.hostname;
        if !seen.contains(machine) {
            add_devices(&mut all, &host.recording, number);
        }
        if is_rank {
            seen.insert(machine.clone());
        }
        add(&mut all, host, first_worker);
        first_worker += workers;
    }
    all.findings = iolab_findings::find(&all);
    all
}

/// How long after the agreed start the first worker of a run began, by its own clock; nothing if it
/// did not begin.
fn start_skew_ns(of: &Recording) -> Option<i64> {
    let agreed_ns = of.agreed_start_unix_ns.filter(|_| of.elapsed_ns > 0)?;
    let first_ns = of.workers.iter().filter(|worker| worker.runtime_ns > 0).map(|worker| worker.started_ns).min();
    let began_unix_ns = i128::from(of.started_unix_ns) + i128::from(first_ns.unwrap_or(0));
    let skew_ns = began_unix_ns - i128::from(agreed_ns);
    Some(skew_ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
}

/// Takes the part: of many, two copies would be much.
fn add(all: &mut Recording, host: Gathered, first_worker: u32) {
    let of = host.recording;
    let prefix = |warning: &String| format!("{}: {warning}", host.name);
    let at = |place: usize| (first_worker as usize + place) as u32;
    let mut known = of.workers.into_iter();
    all.workers.extend((0..of.plan.workers.len()).map(|place| match (known.next(), &host.lost) {
        (Some(worker), None) => WorkerRecording { number: at(place), ..worker },
        // What it had measured when it was last asked, or nothing.
        (known, Some(why)) => {
            let message = format!("host {}: {why}", host.name);
            let outcome = WorkerOutcome::Crashed { signal: 0, message };
            WorkerRecording { number: at(place), outcome, ..known.unwrap_or_default() }
        }
        (None, None) => WorkerRecording { number: at(place), ..WorkerRecording::default() },
    }));
    all.warnings.extend(of.warnings.iter().map(prefix));
    all.warnings.extend(
        host.lost.as_ref().map(|why| format!("host {}: {why}: its results are missing or incomplete", host.name)),
    );
    // Nobody interrupted a run whose process died, whatever its partial recording looks like.
    all.interrupted |= of.interrupted && host.lost.is_none();
    all.elapsed_ns = all.elapsed_ns.max(of.elapsed_ns);
    if let (Some(known), Some(calibration)) = (&mut all.calibration, &of.calibration) {
        known.loops.extend(calibration.loops.iter().cloned().map(|mut cost| {
            cost.workers.iter_mut().for_each(|worker| *worker += first_worker);
            cost
        }));
    }
}

fn add_devices(all: &mut Recording, of: &Recording, number: u32) {
    all.devices.extend(of.devices.iter().cloned().map(|mut device| {
        device.host = number;
        device
    }));
    let Some(mut seen) = of.observations.clone() else { return };
    seen.devices.iter_mut().for_each(|device| device.host = number);
    seen.network.iter_mut().for_each(|network| network.host = number);
    match &mut all.observations {
        Some(known) => {
            known.devices.append(&mut seen.devices);
            known.network.append(&mut seen.network);
        }
        none => {
            // Samples of the machine are those of host 0.
            seen.host.clear();
            *none = Some(seen);
        }
    }
}

/// Of a host of which nothing is known, not even a plan.
pub(crate) fn nothing() -> Recording {
    Recording {
        iolab_recording: FORMAT,
        iolab_version: crate::greeting::VERSION.to_owned(),
        plan: plan_of([]),
        host: HostFacts::default(),
        hosts: Vec::new(),
        calibration: None,
        started_unix_ns: 0,
        elapsed_ns: 0,
        workers: Vec::new(),
        devices: Vec::new(),
        observations: None,
        idleness: None,
        agreed_start_unix_ns: None,
        findings: Vec::new(),
        warnings: Vec::new(),
        interrupted: false,
    }
}

#[cfg(test)]
mod tests;
