//! Reading and writing over all domains. Content for another core is sent in a buffer of its own.

use iolab_disk::Buffer;

use super::volume::Volume;
use crate::record::InodeId;
use crate::{DefragmentProgress, Error, LogFs};

/// The result of a call with a buffer, and the buffer unless the device or the other core lost it.
type WithBuffer<T> = (Result<T, Error>, Option<Buffer>);

/// Unwraps the answer of a core that may be gone, and the buffer with it.
fn flatten<T>(answer: Result<WithBuffer<T>, Error>) -> WithBuffer<T> {
    answer.unwrap_or_else(|gone| (Err(gone), None))
}

impl Volume {
    /// As [`LogFs::read`].
    ///
    /// # Errors
    /// As [`LogFs::read`].
    pub async fn read(&self, inode: InodeId, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
        self.with_owner(inode, async move |fs: LogFs| fs.read(inode, offset, length).await).await
    }

    /// As [`LogFs::write`]. Content for another core is copied once.
    ///
    /// # Errors
    /// As [`LogFs::write`].
    pub async fn write(&self, inode: InodeId, offset: u64, content: &[u8]) -> Result<(), Error> {
        if let Some(fs) = self.here(inode) {
            return fs.write(inode, offset, content).await;
        }
        let content = content.to_vec();
        self.with_owner(inode, async move |fs: LogFs| fs.write(inode, offset, &content).await).await
    }

    /// As [`LogFs::append`].
    ///
    /// # Errors
    /// As [`LogFs::append`].
    pub async fn append(&self, inode: InodeId, content: &[u8]) -> Result<u64, Error> {
        if let Some(fs) = self.here(inode) {
            return fs.append(inode, content).await;
        }
        let content = content.to_vec();
        self.with_owner(inode, async move |fs: LogFs| fs.append(inode, &content).await).await
    }

    /// As [`LogFs::truncate`].
    ///
    /// # Errors
    /// As [`LogFs::truncate`].
    pub async fn truncate(&self, inode: InodeId, size: u64) -> Result<(), Error> {
        self.with_owner(inode, async move |fs: LogFs| fs.truncate(inode, size).await).await
    }

    /// As [`LogFs::punch`].
    ///
    /// # Errors
    /// As [`LogFs::punch`].
    pub async fn punch(&self, inode: InodeId, offset: u64, length: u64) -> Result<(), Error> {
        self.with_owner(inode, async move |fs: LogFs| fs.punch(inode, offset, length).await).await
    }

    /// As [`LogFs::allocate`].
    ///
    /// # Errors
    /// As [`LogFs::allocate`].
    pub async fn allocate(&self, inode: InodeId, offset: u64, length: u64) -> Result<(), Error> {
        self.with_owner(inode, async move |fs: LogFs| fs.allocate(inode, offset, length).await).await
    }

    /// As [`LogFs::read_into`].
    ///
    /// # Errors
    /// As [`LogFs::read_into`].
    pub async fn read_into(&self, inode: InodeId, offset: u64, buffer: Buffer) -> WithBuffer<usize> {
        flatten(self.with_owner(inode, async move |fs: LogFs| Ok(fs.read_into(inode, offset, buffer).await)).await)
    }

    /// As [`LogFs::write_buffer`]: the buffer itself is sent to the core that writes it.
    ///
    /// # Errors
    /// As [`LogFs::write_buffer`].
    pub async fn write_buffer(&self, inode: InodeId, offset: u64, buffer: Buffer) -> WithBuffer<()> {
        flatten(self.with_owner(inode, async move |fs: LogFs| Ok(fs.write_buffer(inode, offset, buffer).await)).await)
    }

    /// As [`LogFs::append_buffer`]: the buffer itself is sent to the core that writes it.
    ///
    /// # Errors
    /// As [`LogFs::append_buffer`].
    pub async fn append_buffer(&self, inode: InodeId, buffer: Buffer) -> WithBuffer<u64> {
        flatten(self.with_owner(inode, async move |fs: LogFs| Ok(fs.append_buffer(inode, buffer).await)).await)
    }

    /// As [`LogFs::next_data`].
    ///
    /// # Errors
    /// As [`LogFs::next_data`].
    pub async fn next_data(&self, inode: InodeId, offset: u64) -> Result<Option<u64>, Error> {
        self.with_owner(inode, async move |fs: LogFs| fs.next_data(inode, offset)).await
    }

    /// As [`LogFs::next_hole`].
    ///
    /// # Errors
    /// As [`LogFs::next_hole`].
    pub async fn next_hole(&self, inode: InodeId, offset: u64) -> Result<Option<u64>, Error> {
        self.with_owner(inode, async move |fs: LogFs| fs.next_hole(inode, offset)).await
    }

    /// As [`LogFs::fragments`].
    ///
    /// # Errors
    /// As [`LogFs::fragments`].
    pub async fn fragments(&self, inode: InodeId) -> Result<u64, Error> {
        self.with_owner(inode, async move |fs: LogFs| fs.fragments(inode)).await
    }

    /// One step of defragmenting a file, continuing from `progress`: see
    /// [`Defragmentation::step`](crate::Defragmentation::step).
    ///
    /// # Errors
    /// As [`Defragmentation::step`](crate::Defragmentation::step).
    pub async fn defragment_step(
        &self,
        inode: InodeId,
        progress: DefragmentProgress,
    ) -> Result<DefragmentProgress, Error> {
        self.with_owner(inode, async move |fs: LogFs| fs.defragment(inode).behind(progress).step().await).await
    }
}
