//! Parsed option values: plain data, all units explicit.

use serde::{Deserialize, Serialize};

/// What an operation does to the device; options and statistics are indexed by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Device to memory.
    Read = 0,
    /// Memory to device.
    Write = 1,
    /// Discard a range.
    Trim = 2,
}

impl Direction {
    /// All three, in the order of indices.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

    /// Position in per-direction arrays.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// `read`, `write` or `trim`.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
        }
    }
}

/// One value for each of read, write and trim, in that order.
pub type PerDirection<T> = [T; 3];

/// A size as the user gave it: resolved against a file or device later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SizeSpec {
    /// Bytes.
    Bytes(u64),
    /// Percent of a reference size, in hundredths of a percent (50 % = 5000).
    Percent(u32),
    /// Zones of a zoned device.
    Zones(u64),
}

/// One entry of `bssplit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockSplit {
    /// Block size, bytes.
    pub bytes: u64,
    /// Its share of operations.
    pub share: SplitShare,
}

/// The percentage of a [`BlockSplit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SplitShare {
    /// Given, percent (0 to 100).
    Percent(u8),
    /// Not given: an equal part of the rest.
    Remainder,
}

/// `random_distribution` for one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Distribution {
    /// Every block equally likely.
    Uniform,
    /// Zipf with exponent `theta`, hottest block at `center` (fraction of the range, 0 to 1) if
    /// given, else scattered.
    Zipf {
        /// Exponent, > 0, != 1.
        theta: f64,
        /// Position of the hottest block.
        center: Option<f64>,
    },
    /// Pareto with power `h` (0 < h < 1).
    Pareto {
        /// Power.
        h: f64,
        /// Position of the hottest block.
        center: Option<f64>,
    },
    /// Gaussian around the middle (or `center`), with this deviation in percent of the range.
    Normal {
        /// Deviation, percent of the range.
        deviation_percent: f64,
        /// Position of the mean.
        center: Option<f64>,
    },
    /// Shares of accesses to shares of the range, in order.
    Zoned(Vec<ZoneShare>),
    /// Shares of accesses to ranges of bytes, in order (`size_percent` unused).
    ZonedAbsolute(Vec<ZoneShare>),
    /// These blocks in this order, again and again.
    Sequence {
        /// Block numbers.
        blocks: Vec<u64>,
        /// Each round begins behind the largest block of the one before (`random_sequence_stride`).
        strides: bool,
    },
}

/// One entry of `zoned:` and `zoned_abs:`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZoneShare {
    /// Share of accesses, percent.
    pub access_percent: f64,
    /// Share of the range, percent (`zoned`).
    pub size_percent: f64,
    /// Length in bytes (`zoned_abs`).
    pub size_bytes: u64,
}

/// How paced operations are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RateProcess {
    /// Evenly.
    Linear,
    /// Exponential gaps (a Poisson process).
    Poisson,
}

/// A parsed option value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Value {
    /// Free text.
    Text(String),
    /// On or off.
    Flag(bool),
    /// Whole number.
    Integer(i64),
    /// Numbers for read, write, trim; a direction the user left out is `None`.
    Integers(PerDirection<Option<i64>>),
    /// Percentage that may have a fraction.
    Percent(crate::Percent),
    /// Bytes.
    Size(u64),
    /// Bytes, percent or zones.
    SizeSpec(SizeSpec),
    /// Bytes for read, write, trim; a direction the user left out is `None`.
    Sizes(PerDirection<Option<u64>>),
    /// `(min, max)` bytes for read, write, trim; a direction the user left out is `None`.
    SizeRanges(PerDirection<Option<(u64, u64)>>),
    /// Nanoseconds for read, write, trim; a direction the user left out is `None`.
    Times(PerDirection<Option<u64>>),
    /// `(min, max)` nanoseconds.
    TimeRange((u64, u64)),
    /// Block splits for read, write, trim; a direction the user left out is `None`.
    Splits(PerDirection<Option<Vec<BlockSplit>>>),
    /// Nanoseconds.
    Time(u64),
    /// Canonical word of a choice.
    Choice(String),
    /// Access pattern word and its signed `:N` suffix (a count for `:8`, bytes for `:8k`).
    Pattern {
        /// `read`, `randrw`, ….
        word: String,
        /// `:8`: change offsets only every 8 operations.
        every: Option<u32>,
        /// `:8k` or `:-8k`: add these bytes to each next sequential offset.
        skip_bytes: i64,
    },
    /// Floating-point list.
    Floats(Vec<f64>),
    /// Distributions for read, write, trim.
    Distributions(PerDirection<Distribution>),
    /// CPU numbers, ascending.
    Cpus(Vec<usize>),
    /// Literal bytes of a buffer pattern.
    Bytes(Vec<u8>),
}
