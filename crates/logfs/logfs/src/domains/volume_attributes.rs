//! Extended attributes over all domains; those of the root directory are the first domain's.

use super::volume::{Answered, Volume};
use crate::record::InodeId;
use crate::{AttributeChange, Error, LogFs, SetCondition};

impl Volume {
    /// As [`LogFs::extended`].
    ///
    /// # Errors
    /// As [`LogFs::extended`].
    pub fn extended<'a>(&'a self, inode: InodeId, name: &'a [u8]) -> Answered<'a, Result<Vec<u8>, Error>> {
        Box::pin(async move {
            let name = name.to_vec();
            self.with_owner(inode, async move |fs: LogFs| fs.extended(inode, &name)).await
        })
    }

    /// As [`LogFs::extended_names`].
    ///
    /// # Errors
    /// As [`LogFs::extended_names`].
    pub fn extended_names(&self, inode: InodeId) -> Answered<'_, Result<Vec<Vec<u8>>, Error>> {
        Box::pin(async move { self.with_owner(inode, async move |fs: LogFs| fs.extended_names(inode)).await })
    }

    /// As [`LogFs::set_extended`].
    ///
    /// # Errors
    /// As [`LogFs::set_extended`].
    pub fn set_extended<'a>(
        &'a self,
        inode: InodeId,
        name: &'a [u8],
        value: &'a [u8],
        setting: SetCondition,
    ) -> Answered<'a, Result<(), Error>> {
        Box::pin(async move {
            let (name, value) = (name.to_vec(), value.to_vec());
            self.with_owner(inode, async move |fs: LogFs| fs.set_extended(inode, &name, &value, setting).await).await
        })
    }

    /// As [`LogFs::set_extended_with_mode`]; of the root directory in two steps, because each
    /// domain has its mode.
    ///
    /// # Errors
    /// As [`LogFs::set_extended_with_mode`].
    pub fn set_extended_with_mode<'a>(
        &'a self,
        inode: InodeId,
        name: &'a [u8],
        value: Option<&'a [u8]>,
        mode: u16,
    ) -> Answered<'a, Result<(), Error>> {
        Box::pin(async move {
            let (name, value) = (name.to_vec(), value.map(<[u8]>::to_vec));
            let set = async move |fs: LogFs| fs.set_extended_with_mode(inode, &name, value.as_deref(), mode).await;
            self.with_owner(inode, set).await?;
            if inode == InodeId::ROOT {
                self.set_attributes(inode, AttributeChange { mode: Some(mode), ..AttributeChange::default() }).await?;
            }
            Ok(())
        })
    }

    /// As [`LogFs::remove_extended`].
    ///
    /// # Errors
    /// As [`LogFs::remove_extended`].
    pub fn remove_extended<'a>(&'a self, inode: InodeId, name: &'a [u8]) -> Answered<'a, Result<(), Error>> {
        Box::pin(async move {
            let name = name.to_vec();
            self.with_owner(inode, async move |fs: LogFs| fs.remove_extended(inode, &name).await).await
        })
    }
}
