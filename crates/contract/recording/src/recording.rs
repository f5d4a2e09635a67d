//! One run, as data.

use std::borrow::Cow;

use iolab_plan::Plan;
use serde::{Deserialize, Serialize};

use crate::{Calibration, DeviceUse, Finding, Host, HostFacts, Idleness, Observations, WorkerRecording};

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recording {
    /// Format number; readers refuse unknown formats.
    #[cfg_attr(feature = "schema", schemars(range(min = FORMAT, max = FORMAT_OF_SEVERAL_HOSTS)))]
    pub iolab_recording: u32,
    /// Version of the program that made it.
    pub iolab_version: String,
    /// What was to be done.
    pub plan: Plan,
    /// Where it was done.
    pub host: HostFacts,
    /// All hosts, of a run of several; `host` is the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Host>,
    /// The cost of the tool itself, if the plan requested it and it could be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Start of the first stage, ns since the Unix epoch.
    pub started_unix_ns: u64,
    /// When all ranks of the run were to start, by the clock of this host, ns since the Unix epoch;
    /// nothing if that was not agreed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed_start_unix_ns: Option<u64>,
    /// From there to the end of the last worker, ns.
    pub elapsed_ns: u64,
    /// The workers, in plan order.
    pub workers: Vec<WorkerRecording>,
    /// Block devices under the files, before and after.
    pub devices: Vec<DeviceUse>,
    /// Samples of the machine during the run, if any were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observations: Option<Observations>,
    /// How idle the processors were, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idleness: Option<Idleness>,
    /// Warnings about the figures, the most severe first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What the user should know about the figures.
    pub warnings: Vec<String>,
    /// The user or a signal ended the run early.
    pub interrupted: bool,
}

impl Recording {
    /// A sentence for each job whose figures show the tool rather than the device.
    pub fn tool_limits(&self) -> Vec<String> {
        let Some(calibration) = &self.calibration else { return Vec::new() };
        let mut members: Vec<_> = self.plan.workers.iter().zip(&self.workers).collect();
        members.retain(|(plan, _)| plan.measurement.stats);
        let (mut sentences, loops) = (Vec::new(), calibration.of_workers());
        for section in members.chunk_by(|one, next| one.0.section == next.0.section) {
            let limits = loops.overheads(section).into_iter().filter_map(|overhead| overhead.limit());
            sentences.extend(limits.map(|limit| format!("{}: {limit}", section[0].0.job)));
        }
        sentences
    }
}

impl Recording {
    /// All hosts; for a run of one host, that host.
    pub fn all_hosts(&self) -> Cow<'_, [Host]> {
        match self.hosts.as_slice() {
            [] => {
                let facts = self.host.clone();
                Cow::Owned(vec![Host { name: facts.hostname.clone(), facts, ..Host::default() }])
            }
            hosts => Cow::Borrowed(hosts),
        }
    }

    /// Whether it has several hosts, so that output must name the host.
    pub fn has_several_hosts(&self) -> bool {
        self.hosts.len() > 1
    }

    /// Whether its jobs were those of a client, and ran on servers.
    pub fn is_of_servers(&self) -> bool {
        self.hosts.iter().any(|host| host.port.is_some())
    }

    /// Whether its hosts are the ranks of one run.
    pub fn is_of_ranks(&self) -> bool {
        self.hosts.iter().any(|host| host.rank.is_some())
    }

    /// The name of a host; `None` for a run of one host, which is not named.
    pub fn host_name(&self, host: u32) -> Option<&str> {
        self.hosts.get(host as usize).map(|host| host.name.as_str())
    }

    /// The name of a device, with its host if there are several.
    pub fn device_name<'a>(&self, host: u32, name: &'a str) -> Cow<'a, str> {
        match self.host_name(host) {
            Some(host) => Cow::Owned(format!("{host}:{name}")),
            None => Cow::Borrowed(name),
        }
    }
}

/// Format number of recordings of one host.
pub const FORMAT: u32 = 1;

/// Format number of recordings of several hosts. A reader that does not know them would mistake
/// their workers for those of one host.
pub const FORMAT_OF_SEVERAL_HOSTS: u32 = 2;
