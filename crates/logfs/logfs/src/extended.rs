//! Extended attributes (xattr(7)): small values under names, stored in the log like all metadata.
//! The meaning of names and who may set which is left to whoever exposes the file system.

use crate::locks::Mode;
use crate::record::{Attributes, InodeId, Record};
use crate::space::Need;
use crate::tree::cost_bytes;
use crate::{Error, LogFs};

/// Longest name, bytes (`XATTR_NAME_MAX`).
const NAME_BYTES: usize = 255;
/// Most bytes of all attributes of an inode together, where clusters are large enough: they go into
/// one group of records. An attribute of the maximum length (`XATTR_SIZE_MAX`) leaves room for
/// others.
const MOST_BYTES: u64 = 128 << 10;

/// Whether an attribute of the name must or must not exist already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetCondition {
    /// No condition.
    Any,
    /// [`Error::Exists`] when there is one (`XATTR_CREATE`).
    Create,
    /// [`Error::NoAttribute`] when there is none (`XATTR_REPLACE`).
    Replace,
}

impl LogFs {
    /// The value of an attribute.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NoAttribute`].
    pub fn extended(&self, inode: InodeId, name: &[u8]) -> Result<Vec<u8>, Error> {
        let state = self.0.state.borrow();
        let node = state.tree.get(inode).ok_or(Error::NotFound)?;
        node.extended.get(name).map(<[u8]>::to_vec).ok_or(Error::NoAttribute)
    }

    /// The names of all attributes, in the order of their bytes.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn extended_names(&self, inode: InodeId) -> Result<Vec<Vec<u8>>, Error> {
        let state = self.0.state.borrow();
        let node = state.tree.get(inode).ok_or(Error::NotFound)?;
        Ok(node.extended.iter().map(|(name, _)| name.to_vec()).collect())
    }

    /// Sets an attribute atomically.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Exists`], [`Error::NoAttribute`], [`Error::NameTooLong`],
    /// [`Error::NoSpace`], also when the inode's attributes together would exceed their limit.
    pub async fn set_extended(
        &self,
        inode: InodeId,
        name: &[u8],
        value: &[u8],
        setting: SetCondition,
    ) -> Result<(), Error> {
        if name.len() > NAME_BYTES {
            return Err(Error::NameTooLong(NAME_BYTES));
        }
        if name.is_empty() || name.contains(&0) {
            return Err(Error::Invalid("the name is empty or contains a zero byte"));
        }
        let _held = self.0.locks.take_inode(inode, Mode::Exclusive).await;
        self.0.admit(|_| Need::Clusters(0)).await?;
        match (self.extended(inode, name), setting) {
            (Ok(_), SetCondition::Create) => return Err(Error::Exists),
            (Err(error), SetCondition::Replace) => return Err(error),
            (Err(Error::NotFound), _) => return Err(Error::NotFound),
            _ => {}
        }
        self.check_room(inode, name, value)?;
        let (name, value, time) = (name.to_vec(), value.to_vec(), self.0.now());
        self.0.commit(&[Record::SetExtended { inode, name, time, value }]).map(drop)
    }

    /// Sets an attribute, or removes it if it is there, and sets the mode: in one step, as access
    /// control lists need it.
    ///
    /// # Errors
    /// As [`LogFs::set_extended`].
    pub async fn set_extended_with_mode(
        &self,
        inode: InodeId,
        name: &[u8],
        value: Option<&[u8]>,
        mode: u16,
    ) -> Result<(), Error> {
        let _held = self.0.locks.take_inode(inode, Mode::Exclusive).await;
        self.0.admit(|_| Need::Clusters(0)).await?;
        let (old, time) = (self.stat(inode)?, self.0.now());
        let mut records = Vec::new();
        match value {
            Some(value) => {
                self.check_room(inode, name, value)?;
                records.push(Record::SetExtended { inode, name: name.to_vec(), time, value: value.to_vec() });
            }
            None if self.extended(inode, name).is_ok() => {
                records.push(Record::RemoveExtended { inode, name: name.to_vec(), time });
            }
            None => {}
        }
        let attributes = Attributes { mode: mode & 0o7777, changed_ns: time, ..old };
        records.push(Record::Attributes { inode, attributes });
        self.0.commit(&records).map(drop)
    }

    fn check_room(&self, inode: InodeId, name: &[u8], value: &[u8]) -> Result<(), Error> {
        let most = MOST_BYTES.min(u64::from(self.0.layout.cluster_bytes) / 8);
        if self.extended_bytes_with(inode, name, value) > most { Err(Error::NoSpace) } else { Ok(()) }
    }

    /// Size of all attributes if this one were set.
    fn extended_bytes_with(&self, inode: InodeId, name: &[u8], value: &[u8]) -> u64 {
        let state = self.0.state.borrow();
        let Some(node) = state.tree.get(inode) else { return 0 };
        let old = node.extended.get(name).map_or(0, |old| cost_bytes(name, old));
        node.extended.cost_bytes() + cost_bytes(name, value) - old
    }

    /// Removes an attribute.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NoAttribute`].
    pub async fn remove_extended(&self, inode: InodeId, name: &[u8]) -> Result<(), Error> {
        let _held = self.0.locks.take_inode(inode, Mode::Exclusive).await;
        self.0.admit(|_| Need::Nothing).await?;
        self.extended(inode, name)?;
        self.0.commit(&[Record::RemoveExtended { inode, name: name.to_vec(), time: self.0.now() }]).map(drop)
    }
}
