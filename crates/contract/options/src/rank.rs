//! Ranks: the processes that each run their part of one job, on one machine or on many.

use serde::{Deserialize, Serialize};

/// Which of several ranks somebody is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rank {
    /// Its number, from 0.
    pub number: u32,
    /// How many there are.
    pub ranks: u32,
    /// The name of the host it runs on.
    pub host: String,
}

impl Default for Rank {
    /// The only one, on a host without a name.
    fn default() -> Rank {
        Rank::only("")
    }
}

impl Rank {
    /// The only one, on this host.
    pub fn only(host: impl Into<String>) -> Rank {
        Rank { number: 0, ranks: 1, host: host.into() }
    }
}
