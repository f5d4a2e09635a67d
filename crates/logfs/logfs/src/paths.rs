//! Operations by path. Paths are bytes, start at the root with or without a slash, and do not
//! follow symbolic links: following is left to whoever mounts the file system.

use crate::names::DirectoryEntry;
use crate::record::{InodeId, InodeKind};
use crate::{Error, LogFs};

/// A path without its last name, and that name.
pub(crate) fn split_last(path: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let trimmed = path.iter().rposition(|byte| *byte != b'/').map_or(&path[..0], |last| &path[..=last]);
    let cut = trimmed.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let (parent, name) = trimmed.split_at(cut);
    if name.is_empty() { Err(Error::Invalid("the root has no name")) } else { Ok((parent, name)) }
}

impl LogFs {
    /// The inode at a path; `""` and `/` are the root.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotDirectory`].
    pub fn resolve(&self, path: &[u8]) -> Result<InodeId, Error> {
        let mut inode = InodeId::ROOT;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".") {
            inode = self.lookup(inode, name)?.inode;
        }
        Ok(inode)
    }

    /// The directory that contains a path, and the path's last name.
    ///
    /// # Errors
    /// As [`LogFs::resolve`]; [`Error::Invalid`] for the root, which has no parent.
    pub fn resolve_parent<'a>(&self, path: &'a [u8]) -> Result<(InodeId, &'a [u8]), Error> {
        let (parent, name) = split_last(path)?;
        Ok((self.resolve(parent)?, name))
    }

    /// Everything below the root with its path, parents before children.
    pub fn tree(&self) -> Vec<(Vec<u8>, DirectoryEntry)> {
        let mut found = Vec::new();
        let mut open = vec![(Vec::new(), InodeId::ROOT)];
        while let Some((path, directory)) = open.pop() {
            for entry in self.read_directory(directory, b"", usize::MAX).unwrap_or_default() {
                let path = [&path[..], b"/", &entry.name].concat();
                if entry.kind == InodeKind::Directory {
                    open.push((path.clone(), entry.inode));
                }
                found.push((path, entry));
            }
        }
        found
    }
}
