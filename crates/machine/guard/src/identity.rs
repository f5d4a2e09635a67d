//! The identity of a file or block device, independent of its name.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use iolab_observe::{DeviceNumber, FileId};

/// Identity of a file or block device on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    /// A file, folder or anything else with its own inode.
    Inode(FileId),
    /// A block device (`st_rdev`): every node for it is the same device.
    Device(DeviceNumber),
}

impl Identity {
    /// The identity of what the metadata describe.
    pub fn of(metadata: &Metadata) -> Identity {
        if metadata.file_type().is_block_device() {
            return Identity::Device(DeviceNumber::from_raw(metadata.rdev()));
        }
        Identity::Inode(FileId::of(metadata))
    }
}
