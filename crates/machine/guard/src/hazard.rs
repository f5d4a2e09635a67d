//! Reasons not to touch a file or device, each with a sentence for the user.
//!
//! Facts only: what they lead to is decided by [`crate::Guard`] and by the program.

use std::fmt;
use std::path::{Path, PathBuf};

/// One reason not to touch what stands at a path. `Display` says it in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hazard {
    /// The path asked about.
    pub path: PathBuf,
    /// What is wrong with it.
    pub danger: Danger,
}

/// What speaks against touching a file or device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Danger {
    /// The device, or one that shares its blocks, is mounted.
    Mounted {
        /// Kernel name of the device that is mounted.
        device: String,
        /// Where.
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
    /// A loop device shows its content as a disk.
    LoopBacking {
        /// Kernel name of the loop device.
        loop_device: String,
    },
    /// The kernel says that somebody holds it for exclusive use, perhaps in another mount
    /// namespace.
    Claimed,
    /// Another program has locked the file (flock(2)): it serves or changes it.
    Locked,
    /// The device has partitions.
    Partitioned {
        /// Their kernel names.
        partitions: Vec<String>,
    },
    /// A regular file without the mark, and with data if only data would be lost.
    Foreign {
        /// Its size, bytes.
        size_bytes: u64,
        /// Whether its file system could carry the mark at all; if not, a job may have made it
        /// after all.
        marks_work: bool,
    },
    /// A folder without the mark, which would be removed.
    ForeignFolder,
    /// A symbolic link, which no job makes, would be removed.
    ForeignLink,
    /// A generated name does not lead to a place of its own below the folder of the job.
    Strays {
        /// How: a symbolic link, `..`.
        reason: String,
    },
    /// It could not be looked at, so nothing can be said.
    Unknown {
        /// What went wrong.
        reason: String,
    },
}

impl Danger {
    /// The hazard that this danger is at `path`.
    pub(crate) fn at(self, path: &Path) -> Hazard {
        Hazard { path: path.to_owned(), danger: self }
    }

    /// Whether somebody uses it at this moment. `allow_mounted_write=1` is the user's word for
    /// accepting that.
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
