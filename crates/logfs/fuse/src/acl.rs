//! POSIX access control lists (acl(5)), as the kernel exchanges them with a FUSE server: extended
//! attributes in the format of linux/posix_acl_xattr.h.
//!
//! The kernel judges permissions by them. The server keeps mode and list in step, and gives new
//! inodes what their directory says. A list that says no more than the mode is not kept.

use iolab_logfs::{AttributeChange, Error, InodeId, InodeKind, LocalVolume};

use crate::server::Server;

/// The attribute that says who may do what.
pub(crate) const ACCESS: &[u8] = b"system.posix_acl_access";
/// The attribute of a directory that says what new inodes in it begin with.
pub(crate) const DEFAULT: &[u8] = b"system.posix_acl_default";

/// `POSIX_ACL_XATTR_VERSION`, the first word of an attribute.
const VERSION: u32 = 2;
const ENTRY_BYTES: usize = 8;

/// Tags of entries (linux/posix_acl.h).
mod tag {
    pub(super) const USER_OBJ: u16 = 0x01;
    pub(super) const USER: u16 = 0x02;
    pub(super) const GROUP_OBJ: u16 = 0x04;
    pub(super) const GROUP: u16 = 0x08;
    pub(super) const MASK: u16 = 0x10;
    pub(super) const OTHER: u16 = 0x20;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    tag: u16,
    permissions: u16,
    id: u32,
}

/// An access control list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Acl(Vec<Entry>);

/// Whether an attribute holds an access control list.
pub(crate) fn is_acl(name: &[u8]) -> bool {
    name == ACCESS || name == DEFAULT
}

/// Refuses attributes of the system (xattr(7)) that are not kept: all but access control lists, and
/// those, too, on a mount without them.
pub(crate) fn refuse_unknown(server: &Server, name: &[u8]) -> Result<(), i32> {
    let is_kept = !name.starts_with(b"system.") || (server.acl && is_acl(name));
    if is_kept { Ok(()) } else { Err(libc::EOPNOTSUPP) }
}

impl Acl {
    /// `None` for bytes that are no list: each of owner, group and others has one entry, and a list
    /// with named users or groups has a mask.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Acl> {
        let (version, rest) = bytes.split_first_chunk::<4>()?;
        if u32::from_le_bytes(*version) != VERSION || rest.len() % ENTRY_BYTES != 0 {
            return None;
        }
        let entries: Vec<Entry> = rest
            .chunks_exact(ENTRY_BYTES)
            .map(|entry| Entry {
                tag: u16::from_le_bytes([entry[0], entry[1]]),
                permissions: u16::from_le_bytes([entry[2], entry[3]]),
                id: u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]),
            })
            .collect();
        let count = |tag| entries.iter().filter(|entry| entry.tag == tag).count();
        let has_base = [tag::USER_OBJ, tag::GROUP_OBJ, tag::OTHER].iter().all(|tag| count(*tag) == 1);
        let names = count(tag::USER) + count(tag::GROUP);
        let masks = count(tag::MASK);
        let is_known = entries.len() == 3 + names + masks;
        let are_permissions = entries.iter().all(|entry| entry.permissions <= 7);
        let has_mask = masks == 1 || (masks == 0 && names == 0);
        (has_base && is_known && are_permissions && has_mask).then_some(Acl(entries))
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = VERSION.to_le_bytes().to_vec();
        for Entry { tag, permissions, id } in &self.0 {
            bytes.extend_from_slice(&tag.to_le_bytes());
            bytes.extend_from_slice(&permissions.to_le_bytes());
            bytes.extend_from_slice(&id.to_le_bytes());
        }
        bytes
    }

    /// Whether it says no more than the bits of a mode.
    fn is_minimal(&self) -> bool {
        self.0.len() == 3
    }

    /// The entries that the bits of a mode stand for, with their place in the mode: the mask stands
    /// for the group where there is one.
    fn base(&mut self) -> impl Iterator<Item = (&mut Entry, u32)> {
        let has_mask = self.0.iter().any(|entry| entry.tag == tag::MASK);
        self.0.iter_mut().filter_map(move |entry| {
            let shift = match entry.tag {
                tag::USER_OBJ => 6,
                tag::MASK => 3,
                tag::GROUP_OBJ if !has_mask => 3,
                tag::OTHER => 0,
                _ => return None,
            };
            Some((entry, shift))
        })
    }

    /// The nine permission bits that it stands for.
    fn mode(&mut self) -> u16 {
        self.base().map(|(entry, shift)| entry.permissions << shift).sum()
    }

    /// Puts the permission bits of a mode in, as chmod(2) does.
    fn set_mode(&mut self, mode: u16) {
        self.base().for_each(|(entry, shift)| entry.permissions = mode >> shift & 7);
    }

    /// Takes away what the mode of open(2) or mkdir(2) does not ask for: a new inode has no more.
    fn limit(&mut self, mode: u16) {
        self.base().for_each(|(entry, shift)| entry.permissions &= mode >> shift & 7);
    }
}

/// What a new inode begins with besides its mode.
#[derive(Debug, Default)]
pub(crate) struct Inherited {
    access: Option<Vec<u8>>,
    default: Option<Vec<u8>>,
}

/// The mode of a new inode in `directory`, made with this mode and umask, and what else it
/// inherits. A directory with a default list takes the place of the umask (acl(5), "Object creation
/// and default ACLs").
pub(crate) async fn inherit(
    server: &Server,
    directory: InodeId,
    kind: InodeKind,
    mode: u16,
    umask: u32,
) -> Result<(u16, Inherited), Error> {
    if kind == InodeKind::Symlink || !server.acl {
        return Ok((mode, Inherited::default()));
    }
    let given = match iolab_logfs::Volume::extended(&server.fs, directory, DEFAULT).await {
        Ok(bytes) => Acl::parse(&bytes),
        Err(Error::NoAttribute) => None,
        Err(error) => return Err(error),
    };
    let Some(given) = given else { return Ok((mode & !(umask as u16 & 0o777), Inherited::default())) };
    let mut access = given.clone();
    access.limit(mode);
    let mode = mode & !0o777 | access.mode();
    let access = (!access.is_minimal()).then(|| access.encode());
    let default = (kind == InodeKind::Directory).then(|| given.encode());
    Ok((mode, Inherited { access, default }))
}

impl Inherited {
    /// Gives it to the new inode.
    pub(crate) async fn give(self, fs: &LocalVolume, inode: InodeId) -> Result<(), Error> {
        for (name, value) in [(ACCESS, self.access), (DEFAULT, self.default)] {
            if let Some(value) = value {
                fs.set_extended(inode, name, &value, iolab_logfs::SetCondition::Any).await?;
            }
        }
        Ok(())
    }
}

/// Sets the list of an inode, and with an access list its mode, in one step. A caller that is not
/// in the file's group loses set-group-id, as with chmod(2); further groups of the caller are not
/// known here.
pub(crate) async fn set(
    fs: &LocalVolume,
    inode: InodeId,
    name: &[u8],
    value: &[u8],
    caller: (u32, u32),
) -> Result<(), Error> {
    let invalid = Error::Invalid("not an access control list");
    let mut acl = Acl::parse(value).ok_or(invalid)?;
    if name == DEFAULT {
        return fs.set_extended(inode, DEFAULT, value, iolab_logfs::SetCondition::Any).await;
    }
    let old = iolab_logfs::Volume::stat(fs, inode).await?;
    let mut mode = old.mode & !0o777 | acl.mode();
    if caller.0 != 0 && caller.1 != old.gid {
        mode &= !(libc::S_ISGID as u16);
    }
    let kept = (!acl.is_minimal()).then_some(value);
    fs.set_extended_with_mode(inode, ACCESS, kept, mode).await
}

/// Changes attributes, and the access list with the mode.
pub(crate) async fn change(fs: &LocalVolume, inode: InodeId, change: AttributeChange) -> Result<(), Error> {
    if let Some(mode) = change.mode
        && let Ok(bytes) = iolab_logfs::Volume::extended(fs, inode, ACCESS).await
        && let Some(mut acl) = Acl::parse(&bytes)
    {
        acl.set_mode(mode);
        fs.set_extended_with_mode(inode, ACCESS, Some(&acl.encode()), mode).await?;
    }
    fs.set_attributes(inode, change).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(u16, u16, u32)]) -> Acl {
        Acl(entries
            .iter()
            .map(|(tag, permissions, id)| Entry { tag: *tag, permissions: *permissions, id: *id })
            .collect())
    }

    /// u::rwx, u:1000:rw-, g::r-x, m::rwx, o::r--
    fn named() -> Acl {
        list(&[
            (tag::USER_OBJ, 7, u32::MAX),
            (tag::USER, 6, 1000),
            (tag::GROUP_OBJ, 5, u32::MAX),
            (tag::MASK, 7, u32::MAX),
            (tag::OTHER, 4, u32::MAX),
        ])
    }

    #[test]
    fn lists_survive_encoding_and_others_are_refused() {
        let bytes = named().encode();
        assert_eq!((bytes.len(), Acl::parse(&bytes)), (4 + 5 * 8, Some(named())));
        let mut cut = bytes.clone();
        cut.truncate(bytes.len() - 1);
        let mut other_version = bytes.clone();
        other_version[0] = 1;
        let mut permission = bytes.clone();
        permission[6] = 8;
        let no_mask = list(&[(tag::USER_OBJ, 7, 0), (tag::USER, 6, 1), (tag::GROUP_OBJ, 5, 0), (tag::OTHER, 4, 0)]);
        let no_owner = list(&[(tag::GROUP_OBJ, 5, 0), (tag::OTHER, 4, 0), (tag::OTHER, 4, 0)]);
        let unknown = list(&[(tag::USER_OBJ, 7, 0), (tag::GROUP_OBJ, 5, 0), (tag::OTHER, 4, 0), (0x40, 4, 0)]);
        let bad = [cut, other_version, permission, no_mask.encode(), no_owner.encode(), unknown.encode(), Vec::new()];
        for bytes in bad {
            assert_eq!(Acl::parse(&bytes), None, "{bytes:02x?}");
        }
    }

    #[test]
    fn the_mask_stands_for_the_group() {
        let mut acl = named();
        assert_eq!(acl.mode(), 0o774);
        acl.set_mode(0o640);
        assert_eq!(acl.mode(), 0o640);
        let group = acl.0.iter().find(|entry| entry.tag == tag::GROUP_OBJ).unwrap();
        assert_eq!(group.permissions, 5, "the group keeps its entry, the mask limits it");
        let mut minimal = list(&[(tag::USER_OBJ, 7, 0), (tag::GROUP_OBJ, 5, 0), (tag::OTHER, 4, 0)]);
        assert!(minimal.is_minimal());
        minimal.limit(0o666);
        assert_eq!(minimal.mode(), 0o644);
    }
}
