//! Zoned devices: how they are divided, and what a worker asks of their zones besides reads and
//! writes.
//!
//! ```text
//!  |──────────────── zone ────────────────|──────────────── zone ────────────────|
//!  |── written ──|── to be written ──|gap |                                   |gap |
//!                ▲ write pointer     ▲ capacity
//! ```
//!
//! All positions are bytes, those of a zone count from its start.

/// How a device is divided into zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceZones {
    /// Distance between the starts of two zones, bytes.
    pub zone_bytes: u64,
    /// Most zones that may be written to at a time; 0 for no limit.
    pub most_open: u32,
}

/// How a zone may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneKind {
    /// At its write pointer only.
    Sequential,
    /// Anywhere.
    Conventional,
    /// Not at all: it is read-only or offline.
    Unusable,
}

/// The state of one zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneStatus {
    /// Where it starts, bytes.
    pub start_bytes: u64,
    /// What it can hold, bytes.
    pub capacity_bytes: u64,
    /// Bytes from its start to its write pointer.
    pub written_bytes: u64,
    /// How it may be written.
    pub kind: ZoneKind,
}

/// What is asked of a zoned device.
#[derive(Debug)]
pub enum ZoneCall<'a> {
    /// Append the zones that start in a range, ascending. The first one starts at `start_bytes`.
    Report {
        /// The start of a zone.
        start_bytes: u64,
        /// The end of the range.
        end_bytes: u64,
        /// Where they go.
        zones: &'a mut Vec<ZoneStatus>,
    },
    /// Empty a zone.
    Reset {
        /// Its start.
        start_bytes: u64,
        /// Its length.
        length_bytes: u64,
    },
    /// Mark a zone full, so that it takes none of the device's resources.
    Finish {
        /// Its start.
        start_bytes: u64,
        /// Its length.
        length_bytes: u64,
    },
}
