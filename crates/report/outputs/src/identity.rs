//! The identity of the file at a path.

use iolab_observe::FileId;
use rustix::fs::Stat;

/// The existing file at a path: the properties that a file replacing it needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Old {
    pub(crate) id: FileId,
    pub(crate) mode: u32,
    pub(crate) owner: u32,
    pub(crate) group: u32,
}

impl Old {
    pub(crate) fn of(stat: &Stat) -> Old {
        Old { id: FileId::of_stat(stat), mode: stat.st_mode, owner: stat.st_uid, group: stat.st_gid }
    }
}
