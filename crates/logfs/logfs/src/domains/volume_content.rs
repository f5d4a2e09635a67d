//! Reading and writing over all domains. Content for another core is sent in a buffer of its own.

use iolab_disk::Buffer;

use super::volume::{Answered, Volume};
use crate::content::WithBuffer;
use crate::record::InodeId;
use crate::{DefragmentProgress, Error, LogFs, Span};

/// Unwraps the answer of a core that may be gone, and the buffer with it.
fn flatten<T>(answer: Result<WithBuffer<T>, Error>) -> WithBuffer<T> {
    answer.unwrap_or_else(|gone| (Err(gone), None))
}

impl Volume {
    /// As [`LogFs::read`].
    ///
    /// # Errors
    /// As [`LogFs::read`].
    pub fn read(&self, inode: InodeId, offset: u64, length: usize) -> Answered<'_, Result<Vec<u8>, Error>> {
        Box::pin(
            async move { self.with_owner(inode, async move |fs: LogFs| fs.read(inode, offset, length).await).await },
        )
    }

    /// As [`LogFs::write`]. Content for another core is copied once.
    ///
    /// # Errors
    /// As [`LogFs::write`].
    pub fn write<'a>(&'a self, inode: InodeId, offset: u64, content: &'a [u8]) -> Answered<'a, Result<(), Error>> {
        Box::pin(async move {
            if let Some(fs) = self.here(inode) {
                return fs.write(inode, offset, content).await;
            }
            let content = content.to_vec();
            self.with_owner(inode, async move |fs: LogFs| fs.write(inode, offset, &content).await).await
        })
    }

    /// As [`LogFs::append`].
    ///
    /// # Errors
    /// As [`LogFs::append`].
    pub fn append<'a>(&'a self, inode: InodeId, content: &'a [u8]) -> Answered<'a, Result<u64, Error>> {
        Box::pin(async move {
            if let Some(fs) = self.here(inode) {
                return fs.append(inode, content).await;
            }
            let content = content.to_vec();
            self.with_owner(inode, async move |fs: LogFs| fs.append(inode, &content).await).await
        })
    }

    /// As [`LogFs::truncate`].
    ///
    /// # Errors
    /// As [`LogFs::truncate`].
    pub fn truncate(&self, inode: InodeId, size: u64) -> Answered<'_, Result<(), Error>> {
        Box::pin(async move { self.with_owner(inode, async move |fs: LogFs| fs.truncate(inode, size).await).await })
    }

    /// As [`LogFs::punch`].
    ///
    /// # Errors
    /// As [`LogFs::punch`].
    pub fn punch(&self, inode: InodeId, offset: u64, length: u64) -> Answered<'_, Result<(), Error>> {
        Box::pin(
            async move { self.with_owner(inode, async move |fs: LogFs| fs.punch(inode, offset, length).await).await },
        )
    }

    /// As [`LogFs::allocate`].
    ///
    /// # Errors
    /// As [`LogFs::allocate`].
    pub fn allocate(&self, inode: InodeId, offset: u64, length: u64) -> Answered<'_, Result<(), Error>> {
        Box::pin(async move {
            self.with_owner(inode, async move |fs: LogFs| fs.allocate(inode, offset, length).await).await
        })
    }

    /// As [`LogFs::read_into`].
    ///
    /// # Errors
    /// As [`LogFs::read_into`].
    pub fn read_into(&self, inode: InodeId, offset: u64, buffer: Buffer) -> Answered<'_, WithBuffer<usize>> {
        Box::pin(async move {
            flatten(self.with_owner(inode, async move |fs: LogFs| Ok(fs.read_into(inode, offset, buffer).await)).await)
        })
    }

    /// As [`LogFs::write_buffer`]: the buffer itself is sent to the core that writes it.
    ///
    /// # Errors
    /// As [`LogFs::write_buffer`].
    pub fn write_buffer(&self, inode: InodeId, offset: u64, buffer: Buffer) -> Answered<'_, WithBuffer<()>> {
        Box::pin(async move {
            flatten(
                self.with_owner(inode, async move |fs: LogFs| Ok(fs.write_buffer(inode, offset, buffer).await)).await,
            )
        })
    }

    /// As [`LogFs::read_vectored`].
    ///
    /// # Errors
    /// As [`LogFs::read_vectored`].
    pub fn read_vectored(
        &self,
        inode: InodeId,
        offset: u64,
        buffers: Vec<Buffer>,
    ) -> Answered<'_, Result<(usize, Vec<Buffer>), Error>> {
        Box::pin(async move {
            self.with_owner(inode, async move |fs: LogFs| fs.read_vectored(inode, offset, buffers).await).await
        })
    }

    /// As [`LogFs::write_vectored`]: the buffers themselves are sent to the core that writes them.
    ///
    /// # Errors
    /// As [`LogFs::write_vectored`].
    pub fn write_vectored<'a>(
        &'a self,
        inode: InodeId,
        spans: &[Span],
        buffers: Vec<Buffer>,
    ) -> Answered<'a, Result<(), Error>> {
        let spans = spans.to_vec();
        Box::pin(async move {
            self.with_owner(inode, async move |fs: LogFs| fs.write_vectored(inode, &spans, buffers).await).await
        })
    }

    /// As [`LogFs::append_buffer`]: the buffer itself is sent to the core that writes it.
    ///
    /// # Errors
    /// As [`LogFs::append_buffer`].
    pub fn append_buffer(&self, inode: InodeId, buffer: Buffer) -> Answered<'_, WithBuffer<u64>> {
        Box::pin(async move {
            flatten(self.with_owner(inode, async move |fs: LogFs| Ok(fs.append_buffer(inode, buffer).await)).await)
        })
    }

    /// As [`LogFs::next_data`].
    ///
    /// # Errors
    /// As [`LogFs::next_data`].
    pub fn next_data(&self, inode: InodeId, offset: u64) -> Answered<'_, Result<Option<u64>, Error>> {
        Box::pin(async move { self.with_owner(inode, async move |fs: LogFs| fs.next_data(inode, offset)).await })
    }

    /// As [`LogFs::next_hole`].
    ///
    /// # Errors
    /// As [`LogFs::next_hole`].
    pub fn next_hole(&self, inode: InodeId, offset: u64) -> Answered<'_, Result<Option<u64>, Error>> {
        Box::pin(async move { self.with_owner(inode, async move |fs: LogFs| fs.next_hole(inode, offset)).await })
    }

    /// As [`LogFs::fragments`].
    ///
    /// # Errors
    /// As [`LogFs::fragments`].
    pub fn fragments(&self, inode: InodeId) -> Answered<'_, Result<u64, Error>> {
        Box::pin(async move { self.with_owner(inode, async move |fs: LogFs| fs.fragments(inode)).await })
    }

    /// One step of defragmenting a file, continuing from `progress`: see
    /// [`Defragmentation::step`](crate::Defragmentation::step).
    ///
    /// # Errors
    /// As [`Defragmentation::step`](crate::Defragmentation::step).
    pub fn defragment_step(
        &self,
        inode: InodeId,
        progress: DefragmentProgress,
    ) -> Answered<'_, Result<DefragmentProgress, Error>> {
        Box::pin(async move {
            self.with_owner(inode, async move |fs: LogFs| fs.defragment(inode).behind(progress).step().await).await
        })
    }
}
