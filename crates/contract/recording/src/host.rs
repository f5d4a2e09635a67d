//! Facts about the machine, and block-device counters.

use serde::{Deserialize, Serialize};

/// Whether an index is that of host 0, which is left out of the JSON.
pub(crate) fn is_first(host: &u32) -> bool {
    *host == 0
}

/// The machine a run was made on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostFacts {
    /// Host name.
    pub hostname: String,
    /// `uname -r`.
    pub kernel: String,
    /// CPU model name.
    pub cpu_model: String,
    /// CPUs online.
    pub cpus: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Source of time stamps: `tsc`, `clock_gettime` or `gettimeofday`.
    pub clock: String,
    /// The program's command line.
    pub command_line: Vec<String>,
    /// Settings of block devices that were changed for the run, and restored after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device_settings: Vec<DeviceSetting>,
    /// Quotas of CPU time that were found on the control group of the run and those around it, the
    /// innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_quotas: Vec<CpuQuota>,
}

/// CPU time that a control group may use (`cpu.max`, or `cpu.cfs_quota_us` and
/// `cpu.cfs_period_us`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuQuota {
    /// The group, as a path below the root of its hierarchy.
    pub group: String,
    /// CPU time of each period, all CPUs together, ns.
    pub quota_ns: u64,
    /// Length of a period, ns.
    pub period_ns: u64,
}

/// One setting of a block device, `/sys/block/DEVICE/queue/NAME`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceSetting {
    /// Kernel name of the device.
    pub device: String,
    /// Name of the setting.
    pub name: String,
    /// The value that the job requests.
    pub asked: String,
    /// The value before the run.
    pub before: String,
    /// The value during the run.
    pub during: String,
}

/// One block device under the run's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceUse {
    /// Kernel name, e.g. `sda`.
    pub name: String,
    /// Its host, an index of [`crate::recording::Recording::hosts`].
    #[serde(default, skip_serializing_if = "is_first")]
    pub host: u32,
    /// Kernel names of the devices it is made of (dm, md, partitions); their own entries follow.
    pub parts: Vec<String>,
    /// Counters when the measured part began.
    pub before: DeviceCounters,
    /// Counters when it ended.
    pub after: DeviceCounters,
    /// Time between the two, ns.
    pub elapsed_ns: u64,
}

/// `/sys/block/*/stat` (Documentation/block/stat.rst).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceCounters {
    /// Reads completed.
    pub read_ios: u64,
    /// Reads merged.
    pub read_merges: u64,
    /// 512-byte sectors read.
    pub read_sectors: u64,
    /// Time reads waited, ms.
    pub read_ticks_ms: u64,
    /// Writes completed.
    pub write_ios: u64,
    /// Writes merged.
    pub write_merges: u64,
    /// 512-byte sectors written.
    pub write_sectors: u64,
    /// Time writes waited, ms.
    pub write_ticks_ms: u64,
    /// In flight now.
    pub in_flight: u64,
    /// Time any was in flight, ms.
    pub io_ticks_ms: u64,
    /// Weighted time in queue, ms.
    pub time_in_queue_ms: u64,
    /// Discards completed.
    pub discard_ios: u64,
    /// Discards merged.
    pub discard_merges: u64,
    /// 512-byte sectors discarded.
    pub discard_sectors: u64,
    /// Time discards waited, ms.
    pub discard_ticks_ms: u64,
    /// Flushes completed.
    pub flush_ios: u64,
    /// Time flushes waited, ms.
    pub flush_ticks_ms: u64,
}
