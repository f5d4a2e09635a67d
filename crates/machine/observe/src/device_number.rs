//! Device numbers, as in the kernel (makedev(3)).

use std::fmt;

use rustix::fs::{major, minor};

/// A device number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// Driver.
    pub major: u32,
    /// Instance.
    pub minor: u32,
}

impl DeviceNumber {
    /// From `st_dev` or `st_rdev` (makedev(3)).
    pub fn from_raw(raw: u64) -> DeviceNumber {
        DeviceNumber { major: major(raw), minor: minor(raw) }
    }

    /// Parses `8:1`.
    pub fn parse(text: &str) -> Option<DeviceNumber> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}
