//! fio-style log files asked for.

use serde::{Deserialize, Serialize};

/// Logs of one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogPlan {
    /// Path prefix of latency logs (makes `_lat`, `_clat`, `_slat` files), if asked.
    pub latency: Option<String>,
    /// Path prefix of the bandwidth log.
    pub bandwidth: Option<String>,
    /// Path prefix of the IOPS log.
    pub iops: Option<String>,
    /// The histogram log.
    pub histogram: Option<HistogramLogPlan>,
    /// The iolog that its operations are written to (`write_iolog`), if asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<String>,
    /// Average over this window, ns; 0: one line per operation.
    pub window_ns: u64,
    /// Which value of a window.
    pub window_value: LogWindow,
    /// Add the offset column.
    pub offset: bool,
    /// Print the priority as hexadecimal.
    pub priority: bool,
    /// Add the issue time column.
    pub issue_time: bool,
    /// Time stamps: ns since the run began, or since the Unix epoch.
    pub unix_epoch: bool,
    /// Clock of those times (`clock_gettime(2)`'s number); 0 is the real time.
    #[serde(default, skip_serializing_if = "is_real_time")]
    pub epoch_clock: u32,
    /// Written compressed (`log_store_compressed`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compressed: bool,
    /// One file per worker (`.N.log`), or one per job.
    pub per_job: bool,
    /// Where the worker ran, if it ran on a server for a client, which writes the logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientLogPlan>,
}

/// What the names of logs tell of a worker on a server: `PREFIX_bw.N.log.HOST`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientLogPlan {
    /// The client's name for the server.
    pub host: String,
    /// Its number among the workers there.
    pub worker: u32,
}

/// `write_hist_log`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistogramLogPlan {
    /// Path prefix.
    pub prefix: String,
    /// Interval, ns.
    pub interval_ns: u64,
    /// Each step halves the number of bins (0 to 6).
    pub coarseness: u32,
}

/// `log_window_value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LogWindow {
    /// The mean.
    Average,
    /// The maximum.
    Maximum,
    /// Both.
    Both,
}

/// Which log a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum LogKind {
    /// Total latency, ns.
    Lat = 0,
    /// Completion latency, ns.
    Clat = 1,
    /// Submission latency, ns.
    Slat = 2,
    /// Bandwidth, KiB/s.
    Bw = 3,
    /// IOPS.
    Iops = 4,
}

impl LogKind {
    /// The word in the file name (`PREFIX_clat.1.log`).
    pub const fn suffix(self) -> &'static str {
        match self {
            LogKind::Lat => "lat",
            LogKind::Clat => "clat",
            LogKind::Slat => "slat",
            LogKind::Bw => "bw",
            LogKind::Iops => "iops",
        }
    }
}

fn is_real_time(clock: &u32) -> bool {
    *clock == 0
}
