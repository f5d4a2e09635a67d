//! Which file a file is, whatever its names.

use rustix::fs::Stat;

/// A file's device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(crate) fn of(stat: &Stat) -> FileId {
        FileId { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// What stands at a name, as far as a file that replaces it has to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Old {
    pub(crate) id: FileId,
    pub(crate) mode: u32,
    pub(crate) owner: u32,
    pub(crate) group: u32,
}

impl Old {
    pub(crate) fn of(stat: &Stat) -> Old {
        Old { id: FileId::of(stat), mode: stat.st_mode, owner: stat.st_uid, group: stat.st_gid }
    }
}
