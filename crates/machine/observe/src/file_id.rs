//! The identity of a file, independent of its names: hard links, bind mounts and other names lead
//! to the same one.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use rustix::fs::Stat;

/// A file, folder or anything else with its own inode, by file system and inode number (`st_dev`,
/// `st_ino`; stat(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    /// The file system.
    pub device: u64,
    /// The inode number.
    pub inode: u64,
}

impl FileId {
    /// From metadata.
    pub fn of(metadata: &Metadata) -> FileId {
        FileId { device: metadata.dev(), inode: metadata.ino() }
    }

    /// From the result of the system call.
    pub fn of_stat(stat: &Stat) -> FileId {
        FileId { device: stat.st_dev, inode: stat.st_ino }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_of_a_file_are_the_same_file_and_a_copy_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "text").unwrap();
        std::fs::hard_link(path("file"), path("name")).unwrap();
        std::fs::copy(path("file"), path("copy")).unwrap();
        let [file, name, copy] = ["file", "name", "copy"].map(|name| FileId::of(&path(name).metadata().unwrap()));
        assert!(file == name && file != copy);
        assert_eq!(FileId::of_stat(&rustix::fs::stat(path("name")).unwrap()), file);
    }
}
