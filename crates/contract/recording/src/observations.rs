//! Samples of the machine during the run, on the run's own clock.
//!
//! Samples hold the kernel's counters, not rates; readers subtract one sample from the next. A run
//! whose machine could not be sampled has none.

use std::collections::BTreeMap;

use iolab_histogram::SparseHistogram;
use serde::{Deserialize, Serialize};

use crate::{DeviceCounters, DeviceUse, NetworkSeries};

/// Everything that was sampled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Observations {
    /// Time between samples, ns.
    pub interval_ns: u64,
    /// Block devices under the run's files, a device before those it is made of.
    pub devices: Vec<DeviceSeries>,
    /// The machine as a whole.
    pub host: Vec<HostSample>,
    /// The network between the run and its storage, for each host whose run used one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<NetworkSeries>,
    /// CPU time spent on taking and keeping all samples, ns.
    #[serde(default)]
    pub looking_ns: u64,
}

impl Observations {
    /// Adds later samples: new devices with all their data, and the samples and requests of the
    /// others.
    pub fn append(&mut self, later: Observations) {
        if later.interval_ns != 0 {
            self.interval_ns = later.interval_ns;
        }
        for device in later.devices {
            match self.devices.iter_mut().find(|known| (known.host, &known.name) == (device.host, &device.name)) {
                Some(known) => {
                    known.samples.extend(device.samples);
                    known.requests.extend(device.requests);
                }
                None => self.devices.push(device),
            }
        }
        for network in later.network {
            match self.network.iter_mut().find(|known| known.host == network.host) {
                Some(known) => known.append(network),
                None => self.network.push(network),
            }
        }
        self.host.extend(later.host);
        self.looking_ns = self.looking_ns.saturating_add(later.looking_ns);
    }

    /// The counters of each device at its first and its last sample.
    pub fn device_uses(&self) -> impl Iterator<Item = DeviceUse> {
        self.devices.iter().filter_map(|device| {
            let (first, last) = (device.samples.first()?, device.samples.last()?);
            Some(DeviceUse {
                name: device.name.clone(),
                host: device.host,
                parts: device.parts.clone(),
                before: first.counters,
                after: last.counters,
                elapsed_ns: last.at_ns.saturating_sub(first.at_ns),
            })
        })
    }
}

/// One block device over the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceSeries {
    /// Kernel name, e.g. `sda`.
    pub name: String,
    /// Its host, an index of [`crate::recording::Recording::hosts`].
    #[serde(default, skip_serializing_if = "crate::host::is_first")]
    pub host: u32,
    /// Kernel names of the devices it is made of; their own entries follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// `/sys/block/NAME/queue/*` as they were when the run began, and of the device itself `size`
    /// and what it is: `device/model`, `md/level`, `loop/dio`, `dm/name` and so on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Its counters, ascending in time; the first when the run began, the last when it ended.
    pub samples: Vec<DeviceSample>,
    /// Time in the device and sizes of requests in each interval, if block tracepoints were
    /// available.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestInterval>,
}

/// One look at a block device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceSample {
    /// When, ns since the start of the run.
    pub at_ns: u64,
    /// Its counters.
    pub counters: DeviceCounters,
    /// Reads in flight (`/sys/block/NAME/inflight`).
    pub reads_in_flight: u64,
    /// Writes in flight.
    pub writes_in_flight: u64,
}

/// The requests that a device completed in one interval. For a device without a request queue (its
/// settings have no `scheduler`), the requests of file systems and programs to it, from there to
/// completion (tracepoints `block_bio_queue`, `block_bio_complete`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestInterval {
    /// Start, ns since the start of the run.
    pub start_ns: u64,
    /// Length, ns.
    pub length_ns: u64,
    /// From issue to completion of reads, ns (tracepoints `block_rq_issue`, `block_rq_complete`).
    pub read_ns: SparseHistogram,
    /// From issue to completion of writes, ns.
    pub write_ns: SparseHistogram,
    /// Sizes of reads, bytes.
    pub read_bytes: SparseHistogram,
    /// Sizes of writes, bytes.
    pub write_bytes: SparseHistogram,
    /// Events that the kernel dropped because they were not read in time.
    #[serde(default)]
    pub lost_events: u64,
}

/// One look at the machine. Times are sums over all CPUs since boot, as `/proc/stat` counts
/// (proc(5)); all ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostSample {
    /// When, ns since the start of the run.
    pub at_ns: u64,
    /// User and nice.
    pub user_ns: u64,
    /// System, interrupts included.
    pub system_ns: u64,
    /// Idle.
    pub idle_ns: u64,
    /// Idle while I/O was awaited.
    pub iowait_ns: u64,
    /// Taken by the hypervisor.
    pub steal_ns: u64,
    /// Time some task was stalled on I/O (`/proc/pressure/io`, total of `some`), if the kernel
    /// says.
    pub io_some_ns: Option<u64>,
    /// Time all tasks were stalled on I/O.
    pub io_full_ns: Option<u64>,
    /// Time some task waited for a CPU.
    pub cpu_some_ns: Option<u64>,
    /// Time some task was stalled on memory.
    pub memory_some_ns: Option<u64>,
    /// Page cache, bytes (`Cached` of `/proc/meminfo`).
    pub cached_bytes: u64,
    /// Dirty pages, bytes.
    pub dirty_bytes: u64,
    /// The effect of CPU quotas on the run's control group; `None` if no group has such counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaUse>,
    /// How often processors throttled themselves because of heat since boot:
    /// `thermal_throttle/core_throttle_count` of every core and `package_throttle_count` of every
    /// package. `None` where there are no such counters (Intel only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thermal_events: Option<u64>,
}

/// Sums over the control group of the run and those around it since their creation, as counted by
/// `cpu.stat` (Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuotaUse {
    /// Periods of the quotas in which a group ran (`nr_periods`).
    pub periods: u64,
    /// Periods in which a quota was used up (`nr_throttled`).
    pub throttled_periods: u64,
    /// Time that was taken from tasks which would have run, each CPU counted (`throttled_usec`,
    /// `throttled_time`), ns.
    pub throttled_ns: u64,
}
