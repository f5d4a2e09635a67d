//! Runs of several hosts: their list, and the part of a recording that belongs to one of them.
//!
//! ```text
//! hosts[0]  the host whose clock all times of the recording refer to; its facts are `Recording::host`, too
//! hosts[n]  clock_offset_ns was added to its times;  clock_error_ns: by so much they may still be wrong
//! ```
//!
//! A recording of one host has no list. Workers name their host in the plan, devices themselves.

use serde::{Deserialize, Serialize};

use crate::HostFacts;

/// One host of a run of several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
}
