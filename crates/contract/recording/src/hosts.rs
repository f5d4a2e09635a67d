//! Runs of several hosts: their list, and the part of a recording that belongs to one of them.
//!
//! ```text
//! hosts[0]  the host whose clock all times of the recording refer to; its facts are `Recording::host`, too
//! hosts[n]  clock_offset_ns was added to its times;  clock_error_ns: by so much they may still be wrong
//! ```
//!
//! A recording of one host has no list, unless the host was reached through a server or is the only
//! rank of which there is a recording. Workers name
//! their host in the plan, devices themselves.

use serde::{Deserialize, Serialize};

use crate::HostFacts;

/// One host of a run of several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// The user's name for it.
    pub name: String,
    /// Its facts.
    pub facts: HostFacts,
    /// The correction added to its times to get those of host 0, ns.
    #[serde(default)]
    pub clock_offset_ns: i64,
    /// The possible error of the correction, ns.
    #[serde(default)]
    pub clock_error_ns: u64,
    /// The port of its server, if its jobs were those of a client; 0 for a UNIX socket. Reports
    /// then show each host by itself and all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The number of its rank, if it is one of several ranks; there may be several on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// How long after the first host its first operations began, ns, as exactly as the clocks are
    /// known. Its times count from then.
    #[serde(default, skip_serializing_if = "is_none")]
    pub began_late_ns: u64,
    /// How long after the agreed start its first operations began, by its own clock, ns; nothing if
    /// no start was agreed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_skew_ns: Option<i64>,
    /// How much its clock moved against that of the client from the start to the end, ns; nothing
    /// if the clocks were not compared again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_drift_ns: Option<i64>,
}

fn is_none(late_ns: &u64) -> bool {
    *late_ns == 0
}
