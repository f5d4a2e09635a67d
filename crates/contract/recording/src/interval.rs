//! The latencies of one interval.

use iolab_histogram::{PackedHistogram, SparseHistogram};
use iolab_plan::Direction;
use serde::{Deserialize, Serialize};

/// The operations that one worker completed in one interval of the plan's `histogram_interval_ns`,
/// with the latencies.
///
/// Intervals end on lines common to all workers, `k × histogram_interval_ns` after the start of the
/// run; the first begins and the last ends with the worker's measured part. An interval without
/// completions may be missing, or be part of one longer entry without directions. Operations that
/// completed exactly on the last line may form an entry of length 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntervalLatencies {
    /// Start, ns since the start of the run.
    pub start_ns: u64,
    /// Length, ns.
    pub length_ns: u64,
    /// The directions in which something completed, in the order of [`Direction::ALL`].
    pub directions: Vec<DirectionInterval>,
}

/// One direction of one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionInterval {
    /// Which.
    pub direction: Direction,
    /// Operations completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// reaped - begun, if measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lat: Option<PackedHistogram>,
    /// reaped - submitted, if measured and not equal to `lat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clat: Option<PackedHistogram>,
    /// The completion latencies equal `lat`, because nothing happens between begin and submission.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clat_equals_lat: bool,
    /// reaped - intended, if the load is paced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<PackedHistogram>,
}

impl IntervalLatencies {
    /// One direction, if anything completed in it.
    pub fn direction(&self, direction: Direction) -> Option<&DirectionInterval> {
        self.directions.iter().find(|interval| interval.direction == direction)
    }
}

impl DirectionInterval {
    /// Total latencies; empty when they were not measured.
    pub fn lat(&self) -> SparseHistogram {
        unpack(self.lat.as_ref())
    }

    /// Completion latencies; empty when they were not measured.
    pub fn clat(&self) -> SparseHistogram {
        unpack(if self.clat_equals_lat { self.lat.as_ref() } else { self.clat.as_ref() })
    }

    /// Response times; empty when the load was not paced.
    pub fn response(&self) -> SparseHistogram {
        unpack(self.response.as_ref())
    }
}

fn unpack(packed: Option<&PackedHistogram>) -> SparseHistogram {
    packed.map(PackedHistogram::to_sparse).unwrap_or_default()
}
