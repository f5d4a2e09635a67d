//! Stripping of privileges: a file changed by a process without the right to keep them loses
//! set-user-id, set-group-id and its capabilities.

use iolab_logfs::{AttributeChange, Attributes, Error, InodeId, InodeKind, LocalVolume};

/// The attribute with a file's capabilities (capabilities(7)).
const CAPABILITIES: &[u8] = b"security.capability";

/// The mode of a file without the set-user-id and set-group-id bits; `None` when it has neither.
fn stripped(attributes: &Attributes) -> Option<u16> {
    let mode = u32::from(attributes.mode);
    let mut less = mode & !libc::S_ISUID;
    // Without the group's execute bit it has another meaning (inode(7)).
    if mode & libc::S_IXGRP != 0 {
        less &= !libc::S_ISGID;
    }
    (attributes.kind != InodeKind::Directory && less != mode).then_some(less as u16)
}

/// Removes set-user-id, set-group-id and capabilities from a file changed by a process without the
/// right to keep them; returns true when its mode has changed.
pub(crate) async fn strip_privileges(fs: &LocalVolume, inode: InodeId) -> Result<bool, Error> {
    let less = stripped(&fs.stat(inode)?);
    if less.is_some() {
        fs.set_attributes(inode, AttributeChange { mode: less, ..AttributeChange::default() }).await?;
    }
    if fs.extended(inode, CAPABILITIES).is_ok() {
        fs.remove_extended(inode, CAPABILITIES).await?;
    }
    Ok(less.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn privileges_are_stripped_as_the_kernel_does() {
        let attributes = |kind, mode| Attributes {
            kind,
            mode,
            uid: 0,
            gid: 0,
            links: 1,
            size: 0,
            accessed_ns: 0,
            modified_ns: 0,
            changed_ns: 0,
            born_ns: 0,
        };
        let table = [
            (InodeKind::File, 0o4755, Some(0o755)),
            (InodeKind::File, 0o6755, Some(0o755)),
            (InodeKind::File, 0o2644, None),
            (InodeKind::File, 0o6644, Some(0o2644)),
            (InodeKind::File, 0o1755, None),
            (InodeKind::Directory, 0o2755, None),
        ];
        for (kind, mode, expected) in table {
            assert_eq!(stripped(&attributes(kind, mode)), expected, "{mode:o}");
        }
    }
}
