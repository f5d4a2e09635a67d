//! `cmdprio_*`: operations that are sent with a priority of their own.

use serde::{Deserialize, Serialize};

/// Which reads and writes have one. All others have that of their worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PriorityPlan {
    /// Of reads.
    pub reads: Vec<PriorityShare>,
    /// Of writes.
    pub writes: Vec<PriorityShare>,
}

/// A share of operations, and their priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PriorityShare {
    /// Operations of this many bytes; of any size if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Percent of them.
    pub percent: u32,
    /// The priority.
    pub priority: IoPriority,
}

/// An I/O priority (ioprio_set(2)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IoPriority {
    /// 0 none, 1 realtime, 2 best effort, 3 idle.
    pub class: u8,
    /// 0, the highest, to 7.
    pub level: u8,
    /// 0 none, 1 to 7 a duration limit of the drive.
    #[serde(default)]
    pub hint: u16,
}
