//! Reasons not to touch a file or device, each with a sentence for the user.
//!
//! Facts only: [`crate::Guard`] and the program decide what follows from them.

use std::fmt;
use std::path::{Path, PathBuf};

/// One reason not to touch the file at a path. `Display` gives a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hazard {
    /// The path.
    pub path: PathBuf,
    /// The danger.
    pub danger: Danger,
}

/// Why a file or device should not be touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Danger {
    /// The device, or one that shares its blocks, is mounted.
    Mounted {
        /// Kernel name of the device that is mounted.
        device: String,
        /// The mount point.
        mount_point: PathBuf,
    },
    /// The device or file is swapped to.
    Swap {
        /// The swap area.
        area: PathBuf,
    },
    /// Another block device is built on it (device mapper, RAID, bcache).
    Held {
        /// Kernel name of the device that is held.
        device: String,
        /// Kernel name of the device built on it.
        holder: String,
    },
    /// A loop device uses it as its disk.
    LoopBacking {
        /// Kernel name of the loop device.
        loop_device: String,
    },
    /// The kernel reports that it is held for exclusive use, possibly in another mount namespace.
    Claimed,
    /// Another program has locked the file (flock(2)) because it serves or changes it.
    Locked,
    /// The device has partitions.
    Partitioned {
        /// Their kernel names.
        partitions: Vec<String>,
    },
    /// A regular file without the mark; if only data would be lost, one that has data.
    Foreign {
        /// Its size, bytes.
        size_bytes: u64,
        /// Whether its file system supports the mark; if not, an earlier job may have created the
        /// file.
        marks_work: bool,
    },
    /// A folder without the mark, which would be removed.
    ForeignFolder,
    /// A symbolic link, which no job creates, would be removed.
    ForeignLink,
    /// A generated name does not stay below the folder of the job.
    Strays {
        /// How: a symbolic link, `..`.
        reason: String,
    },
    /// It could not be examined.
    Unknown {
        /// What went wrong.
        reason: String,
    },
}

impl Danger {
    /// A hazard of this danger at `path`.
    pub(crate) fn at(self, path: &Path) -> Hazard {
        Hazard { path: path.to_owned(), danger: self }
    }

    /// Whether it is in use at this moment. `allow_mounted_write=1` is the user's permission for
    /// that.
    pub fn is_use(&self) -> bool {
        match self {
            Danger::Mounted { .. }
            | Danger::Swap { .. }
            | Danger::Held { .. }
            | Danger::LoopBacking { .. }
            | Danger::Claimed
            | Danger::Locked
            | Danger::Partitioned { .. } => true,
            Danger::Foreign { .. }
            | Danger::ForeignFolder
            | Danger::ForeignLink
            | Danger::Strays { .. }
            | Danger::Unknown { .. } => false,
        }
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.danger)
    }
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Danger::Mounted { device, mount_point } => {
                write!(f, "{device} is mounted on {}", mount_point.display())
            }
            Danger::Swap { area } => write!(f, "{} is in use as swap", area.display()),
            Danger::Held { device, holder } => write!(f, "{device} is part of {holder}, which is in use"),
            Danger::LoopBacking { loop_device } => {
                write!(f, "{loop_device} uses it as backing file")
            }
            Danger::Claimed => f.write_str("the kernel holds it exclusively (perhaps it is mounted in a container)"),
            Danger::Locked => f.write_str("another program has locked it"),
            Danger::Partitioned { partitions } => write!(f, "it has partitions ({})", partitions.join(", ")),
            Danger::Foreign { size_bytes: 0, .. } => f.write_str("iolab did not create this file"),
            Danger::Foreign { size_bytes, .. } => {
                write!(f, "the file holds {size_bytes} bytes that iolab did not write")
            }
            Danger::ForeignFolder => f.write_str("iolab did not create this folder"),
            Danger::ForeignLink => f.write_str("iolab did not create this symbolic link"),
            Danger::Strays { reason } => f.write_str(reason),
            Danger::Unknown { reason } => write!(f, "cannot check what is there: {reason}"),
        }
    }
}
