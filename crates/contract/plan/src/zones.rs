//! `zonemode=zbd`: writes go to the write pointers of zones.

use serde::{Deserialize, Serialize};

/// How a worker uses the zones of its devices.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZonePlan {
    /// Distance between the starts of two zones, bytes.
    pub zone_bytes: u64,
    /// What an emulated zone can hold, bytes. Zones of a device say so themselves.
    pub capacity_bytes: u64,
    /// The device has no zones: the job treats stretches of it as zones, which begin empty.
    pub emulated: bool,
    /// Most zones that all workers write to at a time; 0 for no limit (`max_open_zones`).
    pub most_open: u32,
    /// Most zones that this worker writes to at a time; 0 for no limit (`job_max_open_zones`).
    pub job_most_open: u32,
    /// Resets that make room before it is needed, if asked for.
    pub resets: Option<ZoneResetPlan>,
    /// Reads go behind write pointers, too (`read_beyond_wp`).
    pub reads_beyond: bool,
    /// After a failed write, ask the device for the write pointer (`recover_zbd_write_error`).
    pub recovers: bool,
    /// The last write of a zone is shortened to fit (`write_zone_remainder`). Otherwise a rest that
    /// is shorter than a block stays unwritten.
    pub fills_rest: bool,
}

/// `zone_reset_threshold`, `zone_reset_frequency`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZoneResetPlan {
    /// From this share of written bytes on.
    pub threshold: f64,
    /// Each of this many writes resets its zone first.
    pub every: u64,
}
