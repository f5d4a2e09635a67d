//! Extended attributes over all domains; those of the root directory are the first domain's.

use super::volume::Volume;
use crate::record::InodeId;
use crate::{AttributeChange, Error, LogFs, SetCondition};

impl Volume {
    /// As [`LogFs::extended`].
    ///
    /// # Errors
    /// As [`LogFs::extended`].
    pub async fn extended(&self, inode: InodeId, name: &[u8]) -> Result<Vec<u8>, Error> {
        let name = name.to_vec();
        self.with_owner(inode, async move |fs: LogFs| fs.extended(inode, &name)).await
    }

    /// As [`LogFs::extended_names`].
    ///
    /// # Errors
    /// As [`LogFs::extended_names`].
    pub async fn extended_names(&self, inode: InodeId) -> Result<Vec<Vec<u8>>, Error> {
        self.with_owner(inode, async move |fs: LogFs| fs.extended_names(inode)).await
    }

    /// As [`LogFs::set_extended`].
    ///
    /// # Errors
    /// As [`LogFs::set_extended`].
    pub async fn set_extended(
        &self,
        inode: InodeId,
        name: &[u8],
        value: &[u8],
        setting: SetCondition,
    ) -> Result<(), Error> {
        let (name, value) = (name.to_vec(), value.to_vec());
        self.with_owner(inode, async move |fs: LogFs| fs.set_extended(inode, &name, &value, setting).await).await
    }

    /// As [`LogFs::set_extended_with_mode`]; of the root directory in two steps, because each
    /// domain has its mode.
    ///
    /// # Errors
    /// As [`LogFs::set_extended_with_mode`].
    pub async fn set_extended_with_mode(
        &self,
        inode: InodeId,
        name: &[u8],
        value: Option<&[u8]>,
        mode: u16,
    ) -> Result<(), Error> {
        let (name, value) = (name.to_vec(), value.map(<[u8]>::to_vec));
        let set = async move |fs: LogFs| fs.set_extended_with_mode(inode, &name, value.as_deref(), mode).await;
        self.with_owner(inode, set).await?;
        if inode == InodeId::ROOT {
            self.set_attributes(inode, AttributeChange { mode: Some(mode), ..AttributeChange::default() }).await?;
        }
        Ok(())
    }

    /// As [`LogFs::remove_extended`].
    ///
    /// # Errors
    /// As [`LogFs::remove_extended`].
    pub async fn remove_extended(&self, inode: InodeId, name: &[u8]) -> Result<(), Error> {
        let name = name.to_vec();
        self.with_owner(inode, async move |fs: LogFs| fs.remove_extended(inode, &name).await).await
    }
}
