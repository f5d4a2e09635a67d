//! Runs of several hosts: which there are, and the part of a recording that is of one of them.
//!
//! ```text
//! hosts[0]  the host whose clock all times of the recording are told by; its facts are `Recording::host`, too
//! hosts[n]  clock_offset_ns was added to its times;  clock_error_ns: by so much they may still be wrong
//! ```
//!
//! A recording of one host has no list. Workers name their host in the plan, devices themselves.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{HostFacts, Recording};

/// One host of a run of several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// What the user calls it.
    pub name: String,
    /// What it is.
    pub facts: HostFacts,
    /// What was added to its times to get those of host 0, ns.
    #[serde(default)]
    pub clock_offset_ns: i64,
    /// By so much that may be wrong, ns.
    #[serde(default)]
    pub clock_error_ns: u64,
}

impl Recording {
    /// All hosts; of a run of one host, that one.
    pub fn all_hosts(&self) -> Cow<'_, [Host]> {
        match self.hosts.as_slice() {
            [] => {
                let facts = self.host.clone();
                Cow::Owned(vec![Host { name: facts.hostname.clone(), facts, ..Host::default() }])
            }
            hosts => Cow::Borrowed(hosts),
        }
    }

    /// Whether it is of several hosts, so that readers must be told which is meant.
    pub fn has_several_hosts(&self) -> bool {
        self.hosts.len() > 1
    }

    /// The name of a host; `None` for a run of one host, where it goes without saying.
    pub fn host_name(&self, host: u32) -> Option<&str> {
        self.hosts.get(host as usize).map(|host| host.name.as_str())
    }

    /// What a device is called: by its host, too, where there are several.
    pub fn device_name<'a>(&self, host: u32, name: &'a str) -> Cow<'a, str> {
        match self.host_name(host) {
            Some(host) => Cow::Owned(format!("{host}:{name}")),
            None => Cow::Borrowed(name),
        }
    }

    /// What is of one host, as a recording of that host alone. Looks at the machine are host 0's.
    pub fn of_host(&self, host: u32) -> Recording {
        let mut part = self.clone();
        let facts = self.hosts.get(host as usize).map(|host| host.facts.clone());
        part.host = facts.unwrap_or_else(|| self.host.clone());
        part.hosts = Vec::new();
        part.iolab_recording = crate::FORMAT;
        let pairs = part.plan.workers.into_iter().zip(part.workers);
        (part.plan.workers, part.workers) = pairs.filter(|(plan, _)| plan.host == host).unzip();
        part.devices.retain(|device| device.host == host);
        if let Some(seen) = &mut part.observations {
            seen.devices.retain(|device| device.host == host);
            if host > 0 {
                seen.host.clear();
            }
        }
        part
    }
}
